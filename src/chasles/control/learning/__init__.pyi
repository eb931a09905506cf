from chasles.control.learning.iterative import IterativeLearning as IterativeLearning
from chasles.control.learning.iterative import LearningError as LearningError
from chasles.control.learning.learned_torque import LearnedTorque as LearnedTorque

__all__: list[str]
