from chasles.base.verbs import report as report
from chasles.studies.choices import StudyController as StudyController
from chasles.studies.choices import StudyRobot as StudyRobot
from chasles.studies.controllers import kinds as kinds
from chasles.studies.controllers import settings_of as settings_of
from chasles.studies.loading import load as load
from chasles.studies.loading import shipped as shipped
from chasles.studies.loading import shipped_path as shipped_path
from chasles.studies.origin import WorkerError as WorkerError
from chasles.studies.running import DamagedResultsWarning as DamagedResultsWarning
from chasles.studies.running import UnidentifiedWarning as UnidentifiedWarning
from chasles.studies.running import run as run
from chasles.studies.settings import Design as Design
from chasles.studies.settings import Execution as Execution
from chasles.studies.settings import Factors as Factors
from chasles.studies.settings import Tuning as Tuning
from chasles.studies.study import Study as Study

__all__: list[str]
