from chasles.interop.mazure.arm import ARM as ARM
from chasles.interop.mazure.arm import Arm as Arm
from chasles.interop.mazure.arm import Misprint as Misprint
from chasles.interop.mazure.costs import OperationCount as OperationCount
from chasles.interop.mazure.costs import operation_counts as operation_counts
from chasles.interop.mazure.figures import plot_matrices as plot_matrices
from chasles.interop.mazure.linearization import LLLIN as LLLIN
from chasles.interop.mazure.linearization import LLLR as LLLR
from chasles.interop.mazure.linearization import LLLT as LLLT
from chasles.interop.mazure.linearization import LLR as LLR
from chasles.interop.mazure.linearization import LLT as LLT
from chasles.interop.mazure.linearization import LR as LR
from chasles.interop.mazure.linearization import LT as LT
from chasles.interop.mazure.linearization import MAKEA as MAKEA
from chasles.interop.mazure.linearization import MAKEB as MAKEB
from chasles.interop.mazure.linearization import LinearizedArm as LinearizedArm
from chasles.interop.mazure.newton_euler import MAKEQ as MAKEQ
from chasles.interop.mazure.newton_euler import NE as NE
from chasles.interop.mazure.newton_euler import NewtonEuler as NewtonEuler
from chasles.interop.mazure.newton_euler import R as R
from chasles.interop.mazure.newton_euler import T as T
from chasles.interop.mazure.newton_euler import trans as trans
from chasles.interop.mazure.newton_euler import vectorpr as vectorpr

__all__: list[str]
