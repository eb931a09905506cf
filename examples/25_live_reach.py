"""Where shall the arm go? Drag it there on its page: it goes back to where it was, and takes the best way.

Shows optimal control behind a live page: the problem is compiled once, and solved in milliseconds for each place to
which the arm is dragged. Close the page to end the program.
"""

import time

import numpy as np
from numpy.typing import NDArray

import chasles as ch
from chasles.control.optimal import residuals
from chasles.visual.view.live import LiveView

STILL, FRAME = 0.2, 0.04  # s without change after which a drag has ended; s between two pictures


def dragged(page: LiveView, at: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Wait until the arm was dragged away from where it is; None once the page is closed."""
    before = page.q
    while page.is_open:
        time.sleep(STILL)
        now = page.q
        if np.array_equal(now, before) and np.abs(now - at).max() > 1e-3:
            return now
        before = now
    return None


def main(robot: str = "panda", page: LiveView | None = None) -> None:
    """Plan a motion to each place, and show it in its own time."""
    arm = ch.load(robot)
    cost = [residuals.velocity(), 1e-3 * residuals.torque()]
    ends = [residuals.position("goal"), residuals.velocity()]
    reach = ch.OptimalControl(arm, duration=1.0, nodes=40, running=cost, exact_end=ends)
    at = arm.home
    reach.solve(at, goal=at)  # compiles
    view = page or arm.view(title="Drag the arm, and it takes the best way")
    assert isinstance(view, LiveView)  # in a notebook it would be another
    with view:
        while (goal := dragged(view, at)) is not None:
            begin = time.perf_counter()
            plan = reach.solve(at, goal=goal)
            print(f"{plan.status} after {1e3 * (time.perf_counter() - begin):.0f} ms, {plan.iterations} iterations")
            for t in np.append(np.arange(0.0, 1.0, FRAME), 1.0) if plan.success else [0.0]:
                view.show(plan(t).q)
                time.sleep(FRAME)
            at = view.q


if __name__ == "__main__":
    main()
