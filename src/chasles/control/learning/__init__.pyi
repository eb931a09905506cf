from chasles.control.learning.iterative import IterativeLearning as IterativeLearning
from chasles.control.learning.iterative import LearningError as LearningError
from chasles.control.learning.learned_torque import LearnedTorque as LearnedTorque
from chasles.control.learning.repetitive import RepetitiveTorque as RepetitiveTorque

__all__: list[str]
