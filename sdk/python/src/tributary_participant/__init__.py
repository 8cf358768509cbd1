"""A training participant: register functions, call run(), and a coordinator can train, evaluate, aggregate and serve over HTTP."""

from .errors import CallCancelled, ParticipantError
from .participant import Participant, register_aggregate, register_evaluate, register_initial, register_serve, register_train, run, start
from .results import AggregateResult, CallContext, EvaluateResult, TrainResult
from .server import RunningParticipant
from .settings import Settings
from .version import VERSION as __version__

__all__ = [
    "AggregateResult",
    "CallCancelled",
    "CallContext",
    "EvaluateResult",
    "Participant",
    "ParticipantError",
    "RunningParticipant",
    "Settings",
    "TrainResult",
    "__version__",
    "register_aggregate",
    "register_evaluate",
    "register_initial",
    "register_serve",
    "register_train",
    "run",
    "start",
]
