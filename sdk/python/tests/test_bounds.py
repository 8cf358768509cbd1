"""Differential privacy around a train function: what leaves the participant is clipped and noised, whatever the function does."""

from __future__ import annotations

import base64
import math
import statistics
from typing import Any

import pytest

from tributary_participant import TrainResult
from tributary_participant import bound_update as bounds
from tributary_participant.compression import can_compress
from tributary_participant.float_vectors import PlainVectors
from tributary_participant.mask_keys import can_mask
from tributary_participant.safetensors import Tensor, dump, load

SIZE = 40_000


@pytest.fixture(params=["plain", "numpy"])
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        pytest.importorskip("numpy")
    else:
        monkeypatch.setattr(bounds, "float_vectors", PlainVectors)
    return str(request.param)


def text(parameters: bytes) -> str:
    return base64.b64encode(parameters).decode()


def model(*values: float, dtype: str = "F32") -> bytes:
    return dump({"weight": Tensor.of(list(values), dtype=dtype)})


def values_of(reply: Any) -> list[float]:
    assert reply.status == 200, reply.raw
    return load(base64.b64decode(reply.body["parameters"]))["weight"].values()


def test_info_declares_what_the_package_does(serve: Any) -> None:
    train = lambda parameters, dataset: model(1)  # noqa: E731
    declared = serve(train=train).send("/v1/info").body["capabilities"]
    able = {"clip": True, "noise": True, "mask": can_mask(), "steps": False, "compress": can_compress(), "serve": False}
    able |= {"initial": False, "proximal": False}
    assert declared == {**able, "formats": ["safetensors"]}
    pickles = serve(train=train, formats=("pickle",)).send("/v1/info").body["capabilities"]
    assert pickles == {**dict.fromkeys(able, False), "formats": ["pickle"]}
    assert serve(evaluate=lambda parameters, dataset: 1).send("/v1/info").body["capabilities"]["clip"] is False


def test_that_a_train_function_applies_the_proximal_term_is_what_its_owner_says(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    train = lambda parameters, dataset: model(1)  # noqa: E731
    assert serve(train=train, proximal=True).send("/v1/info").body["capabilities"]["proximal"] is True
    assert serve(evaluate=lambda parameters, dataset: 1, proximal=True).send("/v1/info").body["capabilities"]["proximal"] is False
    with pytest.raises(ValueError, match="proximal: must be True or False"):
        serve(train=train, proximal="yes")
    monkeypatch.setenv("TRAINER_PROXIMAL", "true")
    assert serve(train=train).send("/v1/info").body["capabilities"]["proximal"] is True
    monkeypatch.setenv("TRAINER_PROXIMAL", "yes")
    with pytest.raises(ValueError, match="TRAINER_PROXIMAL: 'yes' is not true or false"):
        serve(train=train)


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_the_update_is_clipped_against_the_parameters_of_the_request(serve: Any, vectors: str, dtype: str) -> None:
    served = serve(train=lambda parameters, dataset: TrainResult(model(4, 6, dtype=dtype), num_samples=7, metrics={"loss": 1}))
    body = {"parameters": text(model(1, 2, dtype=dtype)), "dataset": [1], "config": {"clip_norm": 1}}
    reply = served.send("/train", body)
    assert values_of(reply) == pytest.approx([1 + 3 / 5, 2 + 4 / 5], rel=1e-2 if dtype == "BF16" else 1e-3)
    assert reply.body["num_samples"] == 7
    assert reply.body["metrics"]["loss"] == 1
    assert reply.body["warnings"] == []
    body["config"] = {"clip_norm": 6}
    assert values_of(served.send("/train", body)) == [4, 6]


def test_without_parameters_the_whole_model_is_the_update(serve: Any, vectors: str) -> None:
    served = serve(train=lambda parameters, dataset: model(3, 4))
    assert values_of(served.send("/train", {"dataset": [1], "config": {"clip_norm": 1}})) == pytest.approx([0.6, 0.8])


def test_noise_on_the_wire_has_the_deviation_of_the_config(serve: Any, vectors: str) -> None:
    served = serve(train=lambda parameters, dataset: TrainResult(parameters, metrics={"secret": 42}))
    body = {"parameters": text(model(*[1.0] * SIZE)), "dataset": [1], "config": {"clip_norm": 0.5, "noise_multiplier": 3}}
    first = served.send("/train", body)
    noise = [value - 1 for value in values_of(first)]
    assert abs(statistics.pstdev(noise) / 1.5 - 1) < 0.02
    assert abs(statistics.fmean(noise)) < 6 * 1.5 / math.sqrt(SIZE)
    assert abs(statistics.fmean((value / 1.5) ** 4 for value in noise) - 3) < 6 * math.sqrt(96 / SIZE)
    assert first.body["metrics"]["noise_deviation"] == 1.5
    assert "secret" not in first.body["metrics"]
    # A second call has other noise.
    assert values_of(served.send("/train", body))[:8] != [value + 1 for value in noise[:8]]


def test_a_function_that_changes_its_arguments_moves_no_base(serve: Any, vectors: str) -> None:
    def train(parameters: bytes, dataset: Any, context: Any) -> bytes:
        context.config["clip_norm"] = 1e9
        return model(100, 0)

    reply = serve(train=train).send("/train", {"parameters": text(model(0, 0)), "dataset": [1], "config": {"clip_norm": 1}})
    assert values_of(reply) == pytest.approx([1, 0])


@pytest.mark.parametrize(
    ("trained", "status", "code", "said"),
    [
        (b"\x80\x04pickle", 415, "UNSUPPORTED_PARAMETERS", "pickle"),
        (dump({"weight": Tensor.of([1, 2], dtype="I64")}), 422, "DTYPE_MISMATCH", "float tensors only"),
        (model(math.nan, 1), 422, "NON_FINITE", "NaN or infinity"),
        (model(1, 2, 3), 422, "SHAPE_MISMATCH", '"weight" is not the same'),
        (dump({"weight": Tensor.of([1, 2]), "more": Tensor.of([1])}), 422, "SHAPE_MISMATCH", '"more" is not the same'),
        (dump({}), 422, "SHAPE_MISMATCH", '"weight" is not the same'),
        ("text", 500, "FUNCTION_ERROR", "must return bytes"),
    ],
)
def test_what_cannot_be_bounded_is_never_sent(serve: Any, vectors: str, trained: Any, status: int, code: str, said: str) -> None:
    served = serve(train=lambda parameters, dataset: trained)
    reply = served.send("/train", {"parameters": text(model(1, 2)), "dataset": [1], "config": {"clip_norm": 1, "noise_multiplier": 1}})
    assert (reply.status, reply.body["code"]) == (status, code)
    assert said in reply.body["error"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"noise_multiplier": 1}, "requires a clip_norm above 0"),
        ({"clip_norm": -1}, "body.config.clip_norm: must be a finite number from 0"),
        ({"clip_norm": "1"}, "body.config.clip_norm: must be a finite number from 0"),
        ({"clip_norm": 1, "noise_multiplier": 1e7}, "body.config.noise_multiplier: must be a finite number from 0 to 1e+06"),
    ],
)
def test_a_bound_that_means_nothing_is_refused_before_the_function_runs(serve: Any, config: dict[str, Any], said: str) -> None:
    ran: list[int] = []
    reply = serve(train=lambda parameters, dataset: ran.append(1)).send("/train", {"dataset": [1], "config": config})
    assert (reply.status, reply.body["code"], ran) == (422, "VALIDATION_ERROR", [])
    assert said in reply.body["error"]
