"""Initial functions: untrained parameters, which all participants of a federation with central noise start from."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from conftest import Serve
from tributary_participant import CallContext, Participant, TrainResult
from tributary_participant.safetensors import Tensor, dump, load

UNTRAINED = {"config": {"untrained": True, "clip_norm": 1}, "dataset": [{"x": [1], "y": 0}]}


def model(*values: float) -> bytes:
    return dump({"weight": Tensor.of(list(values), dtype="F32")})


def never(parameters: bytes | None, dataset: Any) -> bytes:
    raise AssertionError("a call for untrained parameters must not train")


def values_of(reply: Any) -> list[float]:
    assert reply.status == 200, reply.raw
    return load(base64.b64decode(reply.body["parameters"]))["weight"].values()


def test_a_train_call_for_untrained_parameters_calls_the_initial_function_and_clips_nothing(serve: Serve) -> None:
    participant = serve(train=never, initial=lambda: model(3, 4))
    reply = participant.send("/v1/train", UNTRAINED)
    assert values_of(reply) == [3, 4]
    assert reply.body["metrics"]["untrained"] == 1
    assert "num_samples" not in reply.body
    assert reply.body["warnings"] == []
    assert participant.send("/v1/info").body["capabilities"]["initial"] is True


def test_the_function_may_take_the_context_with_its_config(serve: Serve) -> None:
    def initial(context: CallContext) -> bytes:
        return model(*[context.config["seed"]] * 2)

    participant = serve(train=never, initial=initial)
    assert values_of(participant.send("/v1/train", {"config": {"untrained": True, "seed": 7}})) == [7, 7]


def test_without_an_initial_function_the_call_is_refused_and_nothing_is_trained(serve: Serve) -> None:
    reply = serve(train=never).send("/v1/train", UNTRAINED)
    assert (reply.status, reply.body["code"]) == (501, "NOT_REGISTERED")


def test_a_call_with_parameters_does_not_ask_for_untrained_ones(serve: Serve) -> None:
    body = {**UNTRAINED, "parameters": base64.b64encode(model(1)).decode()}
    reply = serve(train=never, initial=lambda: model(1)).send("/v1/train", body)
    assert (reply.status, reply.body["code"]) == (422, "VALIDATION_ERROR")


@pytest.mark.parametrize("returned", [None, [1.0], TrainResult(b"x")])
def test_it_returns_bytes(serve: Serve, returned: object) -> None:
    reply = serve(train=never, initial=lambda: returned).send("/v1/train", UNTRAINED)
    assert (reply.status, reply.body["code"]) == (500, "FUNCTION_ERROR")


def test_a_function_that_wants_data_is_refused_at_its_registration() -> None:
    with pytest.raises(TypeError, match=r"a function for initial must take \(\)"):
        Participant().register_initial(lambda dataset: model(1))
