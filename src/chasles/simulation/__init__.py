"""Closed-loop simulation: plant, law and reference in one compiled scan.

`closed_loop` joins them: `sampled_controller` is what happens at a call, `timing` when its torques act, and
`loop_programs` are the compiled functions. Steps have a fixed length (`plant_steps`) or one that the error controls
(`controlled_period`); `step_errors` are estimated and judged (`step_accuracy`). A run is set up by `preparation`,
stepped, recorded and labelled; `metrics`, `energy_audit` and `sensitivities` follow. `plant` is what a law controls.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
