"""From measured motion to a model: logs, identification, exciting motions, and payloads."""

from chasles.identification.calibration import Calibration, calibrate
from chasles.identification.comparison import Prediction
from chasles.identification.drive_gains import DriveGains, gains_from_payload
from chasles.identification.excitation import Excitation, excite
from chasles.identification.filtering import Cutoff, Signals, choose_cutoff, filtered_signals
from chasles.identification.fourier import FourierMotion
from chasles.identification.identification import Identification, Parameter
from chasles.identification.identify import identify
from chasles.identification.logs.columns import Columns
from chasles.identification.logs.log import Log
from chasles.identification.ordinary_least_squares import BaseParameterFit
from chasles.identification.payload import Payload, identify_payload, payload_from_poses
from chasles.identification.recursive_payload import RecursivePayload
from chasles.identification.refinement import Refinement, refine
from chasles.identification.regions import Region
from chasles.identification.shipped import shipped_log

__all__ = [
    "BaseParameterFit",
    "Calibration",
    "Columns",
    "Cutoff",
    "DriveGains",
    "Excitation",
    "FourierMotion",
    "Identification",
    "Log",
    "Parameter",
    "Payload",
    "Prediction",
    "RecursivePayload",
    "Refinement",
    "Region",
    "Signals",
    "calibrate",
    "choose_cutoff",
    "excite",
    "filtered_signals",
    "gains_from_payload",
    "identify",
    "identify_payload",
    "payload_from_poses",
    "refine",
    "shipped_log",
]
