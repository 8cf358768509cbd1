"""The participant's side of a secure sum over HTTP: what leaves it is masked, and what a coordinator may ask for is limited."""

from __future__ import annotations

import base64
import json
from functools import reduce
from typing import Any

import pytest

from tributary_participant import TrainResult, mask_keys
from tributary_participant.safetensors import Tensor, dump

numpy = pytest.importorskip("numpy")
pytest.importorskip("cryptography")

from tributary_participant.secure_sum import fraction_bits_for, to_words  # noqa: E402
from tributary_participant.shamir import _multiply, split_secret  # noqa: E402

CLIENTS = ("p1", "p2", "p3")
RANGE = 8
VALUES = {"p1": [0.5, -1.25, 3], "p2": [1, 2, -4], "p3": [-0.125, 7.5, 0.25]}


def model(values: list[float], dtype: str = "F32") -> bytes:
    return dump({"weight": Tensor.of(values, dtype=dtype)})


class Sum:
    """Three participants and a coordinator that asks each step of each."""

    def __init__(self, serve: Any) -> None:
        self.calls = {client: 0 for client in CLIENTS}
        self.served = {client: serve(train=self._train_of(client)) for client in CLIENTS}
        self.introduced = {client: self.ask(client, "train", {"dataset": [1]}).body for client in CLIENTS}
        self.everybody = [self.introduced[client]["introduction"] for client in CLIENTS]

    def _train_of(self, client: str) -> Any:
        def train(parameters: bytes | None, dataset: Any) -> TrainResult:
            self.calls[client] += 1
            return TrainResult(model(VALUES[client]), num_samples=10, metrics={"loss": 0.5})

        return train

    def ask(self, client: str, step: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        return self.served[client].send(f"/v1/secure/fed_A%2F7/{client}/{step}", body, headers=headers)

    def share(self, client: str, threshold: int = 2) -> Any:
        return self.ask(client, "shares", {"everybody": self.everybody, "threshold": threshold})

    def masked(self, client: str, partners: tuple[str, ...] = CLIENTS, factor: float = 1) -> Any:
        return self.ask(client, "masked", {"partners": list(partners), "factor": factor, "range": RANGE})

    def words(self, client: str) -> Any:
        return numpy.frombuffer(self.masked(client).raw, "<u4")


@pytest.fixture
def summed(serve: Any) -> Sum:
    return Sum(serve)


def plain(clients: tuple[str, ...] = CLIENTS) -> Any:
    bits = fraction_bits_for(clients=len(CLIENTS), limit=RANGE)
    return reduce(numpy.add, (to_words(VALUES[client], bits) for client in clients))


def joined(shares: list[dict[str, Any]]) -> bytes:
    """The secret of Shamir's shares: the value at 0 of the polynomial through them."""

    def inverse(value: int) -> int:
        return next(other for other in range(256) if _multiply(value, other) == 1)

    factors = [
        reduce(lambda product, other: _multiply(product, _multiply(other["at"], inverse(other["at"] ^ own["at"]))),
               (other for other in shares if other is not own), 1)
        for own in shares
    ]
    parts = [[_multiply(byte, factor) for byte in base64.b64decode(share["bytes"])] for share, factor in zip(shares, factors, strict=True)]
    return bytes(reduce(lambda left, right: left ^ right, column) for column in zip(*parts, strict=True))


def test_the_train_step_answers_all_but_the_update_and_trains_once(summed: Sum) -> None:
    first = summed.introduced["p1"]
    assert first["layout"] == [{"name": "weight", "dtype": "f32", "shape": [3]}]
    assert (first["num_samples"], first["introduction"]["id"]) == (10, "p1")
    assert set(first) == {"num_samples", "layout", "introduction"}, "its metrics would be exact figures of its own rows"
    assert summed.ask("p1", "train", {"dataset": [1]}).body == first
    changed = summed.ask("p1", "train", {"dataset": [2]})
    assert (changed.status, changed.body["code"]) == (409, "IDEMPOTENCY_CONFLICT"), "the answer is of another training"
    assert summed.calls["p1"] == 1
    # Another organization does not reach it, and neither does another round.
    assert summed.ask("p1", "masked", {}, headers={"x-gw-tenant": "org_other"}).body["code"] == "ROUND_CLOSED"


def test_masked_updates_look_like_chance_and_the_masks_of_pairs_and_own_masks_leave_the_plain_sum(summed: Sum) -> None:
    shares = {client: summed.share(client).body["shares"] for client in CLIENTS}
    words = {client: summed.words(client) for client in CLIENTS}
    for client in CLIENTS:
        assert not numpy.array_equal(words[client], plain((client,)))
    total = reduce(numpy.add, words.values())
    helped = [
        summed.ask(client, "help", {"in_sum": list(CLIENTS), "shares": {sender: shares[sender][client] for sender in CLIENTS}}).body
        for client in CLIENTS[:2]
    ]
    for client in CLIENTS:
        assert all(answer["pair_secrets"] == {} for answer in helped)
        own_mask = joined([answer["own_masks"][client] for answer in helped])
        mask_keys.apply_mask(total, own_mask, -1)
    assert numpy.array_equal(total, plain())


def test_a_participant_that_drops_out_is_left_out_by_its_pair_key_and_its_own_mask_stays_secret(summed: Sum) -> None:
    shares = {client: summed.share(client).body["shares"] for client in CLIENTS}
    total = summed.words("p1") + summed.words("p2")
    asked = {"in_sum": ["p1", "p2"]}
    helped = [
        summed.ask(client, "help", {**asked, "shares": {sender: shares[sender][client] for sender in CLIENTS}}).body
        for client in ("p1", "p2")
    ]
    for answer in helped:
        assert (set(answer["own_masks"]), set(answer["pair_secrets"])) == ({"p1", "p2"}, {"p3"})
    for client in ("p1", "p2"):
        mask_keys.apply_mask(total, joined([answer["own_masks"][client] for answer in helped]), -1)
    pair_secret = joined([answer["pair_secrets"]["p3"] for answer in helped])
    for person in summed.everybody[:2]:
        seed = mask_keys.agreed_key(pair_secret, base64.b64decode(person["pair_key"]), "tributary mask fed_A/7")
        # p3 has the greater id, so p1 and p2 added the masks that they share with it.
        mask_keys.apply_mask(total, seed, -1)
    assert numpy.array_equal(total, plain(("p1", "p2")))


def test_a_step_has_one_answer_and_nothing_is_answered_that_few_updates_could_be_read_from(summed: Sum) -> None:
    assert summed.masked("p1").body["code"] == "NOT_READY"
    assert summed.share("p1", threshold=1).status == 422
    shares = summed.share("p1")
    assert summed.share("p1").raw == shares.raw
    assert (summed.share("p1", threshold=3).status, summed.share("p1", threshold=3).body["code"]) == (409, "IDEMPOTENCY_CONFLICT")
    assert summed.masked("p1", ("p1",)).status == 422
    assert summed.masked("p1", ("p2", "p3")).status == 422
    first = summed.masked("p1")
    assert (first.status, first.headers["content-type"]) == (200, "application/octet-stream")
    assert summed.masked("p1").raw == first.raw
    assert summed.masked("p1", factor=0.5).body["code"] == "IDEMPOTENCY_CONFLICT"
    mine = {"p1": shares.body["shares"]["p1"]}
    few = summed.ask("p1", "help", {"in_sum": ["p1"], "shares": mine})
    assert (few.status, "below the threshold" in few.body["error"]) == (422, True)
    stolen = summed.ask("p1", "help", {"in_sum": ["p1", "p2"], "shares": {"p1": shares.body["shares"]["p2"]}})
    assert (stolen.status, "another participant" in stolen.body["error"]) == (422, True)
    helped = summed.ask("p1", "help", {"in_sum": ["p1", "p2"], "shares": mine})
    assert list(helped.body["own_masks"]) == ["p1"]
    assert summed.ask("p1", "help", {"in_sum": ["p2", "p1"], "shares": mine}).raw == helped.raw
    assert summed.ask("p1", "help", {"in_sum": ["p1", "p3"], "shares": mine}).body["code"] == "IDEMPOTENCY_CONFLICT"
    assert summed.masked("p1").body["code"] == "ROUND_CLOSED"


@pytest.mark.parametrize("others", [("ghost1", "ghost2"), ("p2", "ghost1"), ("p3",)])
def test_only_a_sum_of_the_participants_that_it_masked_with_is_helped(summed: Sum, others: tuple[str, ...]) -> None:
    """With invented participants in the sum, those that are real would all count as dropped out, and the sum would be one update."""
    shares = {client: summed.share(client).body["shares"] for client in CLIENTS}
    assert summed.masked("p1", ("p1", "p2")).status == 200
    received = {sender: shares[sender]["p1"] for sender in CLIENTS}
    refused = summed.ask("p1", "help", {"in_sum": ["p1", *others], "shares": received})
    assert (refused.status, refused.body["code"]) == (422, "VALIDATION_ERROR")
    assert f'"{min(set(others) - {"p2"})}" is not a partner' in refused.body["error"]
    helped = summed.ask("p1", "help", {"in_sum": ["p1", "p2"], "shares": received}).body
    assert (set(helped["own_masks"]), set(helped["pair_secrets"])) == ({"p1", "p2"}, {"p3"})


def test_without_a_masked_step_only_a_sum_of_the_participants_of_the_shares_step_is_helped(summed: Sum) -> None:
    shares = {client: summed.share(client).body["shares"] for client in CLIENTS}
    asked = {"shares": {sender: shares[sender]["p3"] for sender in CLIENTS}}
    assert summed.ask("p3", "help", {**asked, "in_sum": ["p1", "ghost"]}).status == 422
    assert summed.ask("p3", "help", {**asked, "in_sum": ["p1", "p2"]}).status == 200


def test_updates_beyond_the_range_and_tensors_of_integers_are_refused_by_name(serve: Any, summed: Sum) -> None:
    served = serve(train=lambda parameters, dataset: model([1, 2], dtype="I32"))
    refused = served.send("/v1/secure/r/p1/train", {"dataset": [1]})
    assert (refused.status, refused.body["code"], refused.body["details"]) == (422, "DTYPE_MISMATCH", {"tensor": "weight"})
    summed.share("p3")
    beyond = summed.ask("p3", "masked", {"partners": list(CLIENTS), "factor": 1, "range": 7})
    # Which number it is, and where, is part of the update that must not leave.
    assert (beyond.body["code"], beyond.body["details"]) == ("NON_FINITE", {"tensor": "weight"})
    assert beyond.body["error"] == 'tensor "weight" has a number beyond the limit of secure aggregation, 7; raise secureAggregation.range'


@pytest.mark.parametrize(
    ("step", "body"),
    [
        ("shares", {"everybody": [], "threshold": 2}),
        ("shares", {"everybody": [{"id": "p1"}] * 3, "threshold": 2}),
        ("shares", {"everybody": "p1", "threshold": True}),
        ("masked", {"partners": ["p1", 2], "factor": 1, "range": 1}),
        ("masked", {"partners": ["p1", "p2"], "factor": 2, "range": 1}),
        ("masked", {"partners": ["p1", "p2"], "factor": 1, "range": 0}),
        ("help", {"in_sum": ["p1", "p2"], "shares": {"p1": "not base64!"}}),
        ("help", {"in_sum": ["p1", "p2"], "shares": []}),
    ],
)
def test_a_body_that_does_not_fit_its_step_is_a_422_with_the_field(summed: Sum, step: str, body: Any) -> None:
    if step != "shares":
        assert summed.share("p1").status == 200
    reply = summed.ask("p1", step, body)
    assert (reply.status, reply.body["code"], "field" in reply.body["details"]) == (422, "VALIDATION_ERROR", True)


def test_only_a_participant_that_masks_declares_it(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    train = lambda parameters, dataset: model([1])  # noqa: E731
    info = serve(train=train).send("/v1/info").body
    assert (info["capabilities"]["mask"], info["secure_aggregation"]) == (True, ["train", "shares", "masked", "help"])
    monkeypatch.setattr("tributary_participant.node.can_mask", lambda: False)
    served = serve(train=train)
    info = served.send("/v1/info").body
    assert (info["capabilities"]["mask"], "secure_aggregation" in info) == (False, False)
    assert served.send("/v1/secure/r/p1/train", {"dataset": [1]}).status == 501


def test_steps_are_calls_like_the_others_for_access_methods_and_signatures(serve: Any) -> None:
    served = serve(train=lambda parameters, dataset: model([1]), secret="s" * 16)
    assert served.send("/v1/secure/r/p1/train", {"dataset": [1]}).status == 401
    served = serve(train=lambda parameters, dataset: model([1]))
    assert served.send("/v1/secure/r/p1/train").status == 405
    assert served.send("/v1/secure/r/p1/other", {}).status == 404
    assert served.send("/v1/secure/r/p1/train", {"dataset": [1]}, headers={"sec-fetch-site": "cross-site"}).status == 403
    assert served.send(f"/v1/secure/{'r' * 201}/p1/train", {"dataset": [1]}).status == 422


def test_any_threshold_of_shares_give_the_secret() -> None:
    secret = bytes(range(32))
    shares = [{"at": at + 1, "bytes": base64.b64encode(data)} for at, data in enumerate(split_secret(secret, shares=5, threshold=3))]
    for chosen in (shares[:3], shares[2:], shares[::2]):
        assert joined(chosen) == secret
    assert joined(shares[:2]) != secret
    with pytest.raises(ValueError, match="threshold"):
        split_secret(secret, shares=3, threshold=4)


def test_halves_are_rounded_up_as_in_the_trainer_node() -> None:
    words = to_words([0.5, -0.5, 1.5, -1.5, 0.49999999999999994, -1], 0)
    assert json.dumps(words.tolist()) == json.dumps([1, 0, 2, 2**32 - 1, 0, 2**32 - 1])
