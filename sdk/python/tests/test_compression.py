"""Compressed updates: what leaves the participant is the change, smaller; what is lost comes with the next update."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from tributary_participant import TrainResult
from tributary_participant import compression as compressing
from tributary_participant.compression import Residuals, compress_update
from tributary_participant.errors import ParticipantError
from tributary_participant.safetensors import Tensor, dump, load

numpy = pytest.importorskip("numpy")

BASE = dump({"w": Tensor.of([1.0, 2.0, 3.0, 4.0]), "steps": Tensor.of([3], dtype="I64")})


def trained(*changes: float) -> bytes:
    values = [base + change for base, change in zip([1.0, 2.0, 3.0, 4.0], changes, strict=True)]
    return dump({"w": Tensor.of(values), "steps": Tensor.of([4], dtype="I64")})


def text(parameters: bytes) -> str:
    return base64.b64encode(parameters).decode()


def test_float16_int8_and_the_largest_numbers() -> None:
    update = trained(0.5, -1.27, 0.01, 0.0)
    half, _ = compress_update(update, BASE, {}, method="float16")
    assert load(half)["w#float16"].values() == pytest.approx([0.5, -1.27, 0.01, 0.0], abs=1e-3)
    levels, _ = compress_update(update, BASE, {}, method="int8")
    assert load(levels)["w#int8"].values() == [50, -127, 1, 0]
    assert load(levels)["w#scale"].values() == pytest.approx([0.01])
    largest, left = compress_update(update, BASE, {}, method="top_k", share=0.5)
    assert load(largest)["w#index"].values() == [0, 1]
    assert left["w"].tolist() == pytest.approx([0, 0, 0.01, 0], abs=1e-6)
    for parameters in (half, levels, largest):
        assert load(parameters)["steps#whole"].values() == [4]
        described = json.loads(bytes(load(parameters)["#compression"].data))
        assert set(described) == {"method", "sha256"}


# The same digests are in trainer-node/operations/compression.test.ts, of the same numbers.
@pytest.mark.parametrize(
    ("method", "sha256"),
    [
        ("float16", "5ec896941535d24e634a853ed391cf5836f89d83e3de5b1a0c4bdc0811f07fde"),
        ("int8", "6bf0da08e19714255fbb04d3af258347bfb488ef4c22b9674093fb299b528bda"),
        ("top_k", "a70bf8124539ef60a9bf3d84ea434efd67bbaa378e392430895ce83b4efeb7f0"),
    ],
)
def test_parameters_of_float16_expand_to_the_numbers_that_the_trainer_node_gets(method: str, sha256: str) -> None:
    drawn = [7]
    while len(drawn) <= 200_000:
        drawn.append((drawn[-1] * 1_664_525 + 1_013_904_223) % 2**32)
    start = 1 + (numpy.array(drawn[1:100_001]) >> 22) * 2.0**-10
    owed = {"w": (((numpy.array(drawn[100_001:]) >> 8) - 2**23) * 2.0**-33).astype("f4")}
    base = dump({"w": Tensor("F16", (100_000,), start.astype("<f2").tobytes())})
    sent, _ = compress_update(base, base, owed, method=method, share=0.5)
    assert json.loads(bytes(load(sent)["#compression"].data))["sha256"] == sha256


def test_parameters_of_float16_are_rounded_by_way_of_float32() -> None:
    """Just above the middle of 1 and its next float16, float32 is the middle, whose even neighbor is 1."""
    base = dump({"w": Tensor.of([1.0], dtype="F16")})
    sent, _ = compress_update(base, base, {"w": numpy.array([2.0**-11 + 2.0**-34], "f4")}, method="top_k", share=1)
    expected = hashlib.sha256(b"w\nf16\n1\n" + bytes(Tensor.of([1.0], dtype="F16").data)).hexdigest()
    assert json.loads(bytes(load(sent)["#compression"].data))["sha256"] == expected


def test_what_was_lost_is_sent_with_the_next_update(serve: Any) -> None:
    participant = serve(train=lambda parameters, dataset: TrainResult(trained(0.1, 1.0, 0.05, 0.0), num_samples=4))
    config = {"compress": {"method": "top_k", "share": 0.25}}

    def sent(round_id: str) -> dict[int, float]:
        body = {"parameters": text(BASE), "config": config, "round_id": round_id, "client_id": "p1"}
        reply = participant.send("/train", body)
        assert reply.status == 200, reply.raw
        tensors = load(base64.b64decode(reply.body["parameters"]))
        return dict(zip(tensors["w#index"].values(), tensors["w#value"].values(), strict=True))

    first = sent("fed_1/1")
    assert first == {1: pytest.approx(1.0)}
    # A round that is asked again gets the same, and the next one has what was left: 0.1 of the first number, and 0.1 more.
    assert sent("fed_1/1") == first
    rounds = [sent(f"fed_1/{number}") for number in range(2, 12)]
    assert {index for found in rounds for index in found} == {0, 1}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("method", ["float16", "int8", "top_k"])
def test_an_update_that_is_not_finite_is_refused_and_the_next_one_is_sent(serve: Any, method: str, value: float) -> None:
    changes = iter([(0.0, 0.0, value, 0.0), (0.5, 0.0, 0.0, 0.0)])
    participant = serve(train=lambda parameters, dataset: trained(*next(changes)))
    asked = {"parameters": text(BASE), "config": {"compress": {"method": method, "share": 0.25}}, "client_id": "p1"}
    refused = participant.send("/train", {**asked, "round_id": "fed_1/1"})
    assert (refused.status, refused.body["code"], refused.body["details"]) == (422, "NON_FINITE", {"tensor": "w"})
    assert 'the change of tensor "w" has a NaN or infinity' in refused.body["error"]
    assert participant.send("/train", {**asked, "round_id": "fed_1/2"}).status == 200


@pytest.mark.parametrize(("method", "value"), [("float16", 1e5), ("int8", 1e42), ("top_k", 1e42)])
def test_a_change_that_the_method_cannot_represent_is_refused(method: str, value: float) -> None:
    base, after = (dump({"w": Tensor.of([1.0, last], dtype="F64")}) for last in (0.0, value))
    with pytest.raises(ParticipantError, match=f"a number that {method} cannot represent"):
        compress_update(after, base, {}, method=method)


def test_what_is_owed_is_not_added_if_it_is_not_finite() -> None:
    owed = {"w": numpy.array([numpy.nan, 0, 0, 0], "f4")}
    _, left = compress_update(trained(0.5, 0, 0, 0), BASE, owed, method="float16")
    assert left["w"].tolist() == [0, 0, 0, 0]


def test_another_organization_gets_nothing_of_what_was_not_sent(serve: Any) -> None:
    changes = iter([(0.1, 1.0, 0.05, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)])
    participant = serve(train=lambda parameters, dataset: trained(*next(changes)))
    config = {"compress": {"method": "top_k", "share": 0.25}}

    def sent(round_id: str, tenant: str) -> list[float]:
        body = {"parameters": text(BASE), "config": config, "round_id": round_id, "client_id": "p1"}
        reply = participant.send("/train", body, headers={"x-gw-tenant": tenant})
        return load(base64.b64decode(reply.body["parameters"]))["w#value"].values()

    assert sent("fed_1/1", "org_1") == pytest.approx([1.0])
    assert sent("fed_1/2", "org_2") == [0.0]
    assert sent("fed_1/2", "org_1") == pytest.approx([0.1])


def test_residuals_have_a_limit_in_bytes_and_the_least_recently_used_go_first() -> None:
    residuals = Residuals(bytes_max=50_000)
    kept = lambda client: len(residuals.before(("org", "fed", client), "fed/2"))  # noqa: E731

    def keep(client: str, numbers: int) -> None:
        residuals.keep(("org", "fed", client), "fed/1", {}, {"w": numpy.zeros(numbers, "f4")})

    for client in ("p1", "p2", "p3", "p1", "p4"):
        keep(client, 4000)
    assert [kept(client) for client in ("p1", "p2", "p3", "p4")] == [1, 0, 0, 1]
    # One that is too large alone costs no other client anything, and an older one of its client would be added twice.
    keep("p4", 20_000)
    assert [kept(client) for client in ("p1", "p4")] == [1, 0]


def test_without_parameters_to_start_from_the_whole_model_is_sent(serve: Any) -> None:
    participant = serve(train=lambda parameters, dataset: trained(0, 0, 0, 0))
    reply = participant.send("/train", {"parameters": None, "config": {"compress": "int8"}})
    assert set(load(base64.b64decode(reply.body["parameters"]))) == {"w", "steps"}


@pytest.mark.parametrize(
    ("compress", "what"),
    [("zip", "must have a method"), ({"method": "top_k", "share": 2}, "share must be"), (3, "must have a method")],
)
def test_unknown_methods_are_refused(serve: Any, compress: Any, what: str) -> None:
    participant = serve(train=lambda parameters, dataset: trained(0, 0, 0, 0))
    reply = participant.send("/train", {"parameters": text(BASE), "config": {"compress": compress}})
    assert reply.status == 422
    assert f"body.config.compress: {what}" in reply.body["error"]


def test_the_capability_is_declared_where_numpy_is(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    participant = serve(train=lambda parameters, dataset: trained(0, 0, 0, 0))
    assert participant.send("/v1/info").body["capabilities"]["compress"] is True
    monkeypatch.setattr(compressing, "find_spec", lambda name: None)
    assert participant.send("/v1/info").body["capabilities"]["compress"] is False
