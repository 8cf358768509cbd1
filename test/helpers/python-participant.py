"""A participant of sdk/python whose every step adds the same numbers: what comes out shows whether anything was clipped or noised."""

from typing import Any

from tributary_participant import CallContext, EvaluateResult, TrainResult, register_evaluate, register_initial, register_train, run
from tributary_participant.safetensors import Tensor, dump, load


def values_of(parameters: bytes | None) -> list[float]:
    return load(parameters)["weight"].values() if parameters else [0.0, 0.0, 0.0, 0.0]


@register_train
def train(parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
    # With `by_client`, the client p2 moves twice as far as p1 and has twice as many samples.
    step = int((context.client_id or "p1")[1:]) if context.config.get("by_client") else 1
    moved = [value + (index + 1) * step for index, value in enumerate(values_of(parameters))]
    # `samples` has what clients declare instead, by their id.
    samples = context.config.get("samples", {}).get(context.client_id, 10 * step)
    return TrainResult(dump({"weight": Tensor.of(moved)}), num_samples=samples)


@register_initial
def initial() -> bytes:
    return dump({"weight": Tensor.of(values_of(None))})


@register_evaluate
def evaluate(parameters: bytes | None, dataset: Any) -> EvaluateResult:
    return EvaluateResult(min(1.0, values_of(parameters)[0] / 10), num_samples=10)


run()
