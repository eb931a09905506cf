from chasles.identification.calibration import Calibration as Calibration
from chasles.identification.calibration import calibrate as calibrate
from chasles.identification.comparison import Prediction as Prediction
from chasles.identification.drive_gains import DriveGains as DriveGains
from chasles.identification.drive_gains import gains_from_payload as gains_from_payload
from chasles.identification.excitation import Excitation as Excitation
from chasles.identification.excitation import excite as excite
from chasles.identification.filtering import Cutoff as Cutoff
from chasles.identification.filtering import Signals as Signals
from chasles.identification.filtering import choose_cutoff as choose_cutoff
from chasles.identification.filtering import filtered_signals as filtered_signals
from chasles.identification.fourier import FourierMotion as FourierMotion
from chasles.identification.identification import Identification as Identification
from chasles.identification.identification import Parameter as Parameter
from chasles.identification.identify import identify as identify
from chasles.identification.logs.columns import Columns as Columns
from chasles.identification.logs.log import Log as Log
from chasles.identification.ordinary_least_squares import BaseParameterFit as BaseParameterFit
from chasles.identification.payload import Payload as Payload
from chasles.identification.payload import identify_payload as identify_payload
from chasles.identification.payload import payload_from_poses as payload_from_poses
from chasles.identification.recursive_payload import RecursivePayload as RecursivePayload
from chasles.identification.refinement import Refinement as Refinement
from chasles.identification.refinement import refine as refine
from chasles.identification.regions import Region as Region
from chasles.identification.shipped import shipped_log as shipped_log

__all__: list[str]
