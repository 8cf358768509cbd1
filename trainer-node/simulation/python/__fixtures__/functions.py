"""Functions of a simulation's tests: every step adds a number, so that what comes out shows what ran."""

import os
from typing import Any

from tributary_participant import CallContext, EvaluateResult, TrainResult, register_evaluate, register_initial, register_train, run
from tributary_participant.safetensors import Tensor, dump, load


def value_of(parameters: bytes | None) -> float:
    return load(parameters)["w"].values()[0] if parameters else 0.0


@register_train
def train(parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
    if context.config.get("fail") == "raise":
        raise ValueError("as the test wants")
    if context.config.get("fail") == "exit":
        os._exit(3)
    print("functions may print")
    part = dataset["partition"]["index"] + 1
    moved = value_of(parameters) + context.config["step"]
    metrics = {"id": int(str(context.client_id)[1:]), "round": context.round}
    return TrainResult(dump({"w": Tensor.of([moved])}), num_samples=part, metrics=metrics)


@register_initial
def initial(context: CallContext) -> bytes:
    return dump({"w": Tensor.of([context.config.get("start", 0.0)])})


@register_evaluate
def evaluate(parameters: bytes | None, dataset: Any) -> EvaluateResult:
    return EvaluateResult(value_of(parameters) / 100, num_samples=1)


if __name__ == "__main__":
    run()
