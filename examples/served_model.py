"""A model of own functions: two numbers that participants learn together, and a serve function that answers calls of the published model.

`python examples/served_model.py 20 22 21` learns the mean and the spread of its readings. Published with `gw train publish`, a call whose text
is a reading is answered with how unusual it is.
"""

import sys
from functools import lru_cache

from tributary_participant import ParticipantError, TrainResult, register_evaluate, register_serve, register_train, run
from tributary_participant.safetensors import Tensor, dump, load

READINGS = [float(text) for text in sys.argv[1:]] or [20.0, 22.0, 21.0]  # they never leave this process


def train(parameters, dataset):
    mean = sum(READINGS) / len(READINGS)
    spread = sum(abs(reading - mean) for reading in READINGS) / len(READINGS)
    return TrainResult(dump({"usual": Tensor.of([mean, spread], dtype="F64", shape=[2])}), num_samples=len(READINGS))


def evaluate(parameters, dataset):
    mean, _ = usual(parameters)
    return 1 / (1 + abs(mean - sum(READINGS) / len(READINGS)))


@lru_cache(maxsize=2)  # a call gets the same object as the one before, so a model is loaded once
def usual(parameters):
    return load(parameters)["usual"].values()


def serve(parameters, input):
    mean, spread = usual(parameters)
    try:
        return {"reading": float(input), "deviations": round(abs(float(input) - mean) / max(spread, 1e-9), 2)}
    except ValueError:
        raise ParticipantError("VALIDATION_ERROR", "Send one number as the text of the message.") from None


register_train(train)
register_evaluate(evaluate)
register_serve(serve)
run()
