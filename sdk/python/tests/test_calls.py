"""train, evaluate and aggregate over HTTP, from registered functions."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from conftest import Serve

from tributary_participant import AggregateResult, CallContext, EvaluateResult, ParticipantError, TrainResult

ROWS = [{"a": 0, "label": 0}, {"a": 1, "label": 1}]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_the_three_operations_have_the_documents_shapes(serve: Serve) -> None:
    served = serve(
        train=lambda parameters, dataset: parameters + str(len(dataset)).encode(),
        evaluate=lambda parameters, dataset: len(parameters) / len(dataset),
        aggregate=b"".join,
    )
    trained = served.send("/train", {"parameters": b64(b"w"), "dataset": ROWS})
    assert trained.status == 200
    assert trained.headers["content-type"] == "application/json"
    assert trained.body == {
        "parameters": b64(b"w2"),
        "sha256": sha256(b"w2"),
        "metrics": {"duration_ms": pytest.approx(0, abs=5_000)},
        "warnings": [],
    }
    assert served.send("/evaluate", {"parameters": b64(b"w"), "dataset": ROWS}).body["accuracy"] == 0.5
    assert served.send("/aggregate", {"parameters_list": [b64(b"a"), b64(b"b")]}).body["parameters"] == b64(b"ab")


@pytest.mark.parametrize("path", ["/train", "/v1/train", "/train/", "/V1/Train", "/train?x=1"])
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded"])
def test_every_spelling_of_the_route_and_any_content_type_is_the_same_call(serve: Serve, path: str, content_type: str) -> None:
    served = serve(train=lambda parameters, dataset: b"x")
    assert served.send(path, {"dataset": ROWS}, headers={"Content-Type": content_type}).body["parameters"] == b64(b"x")


def test_call_is_the_second_generation_of_the_same_three(serve: Serve) -> None:
    served = serve(train=lambda p, d: b"t", evaluate=lambda p, d: 1, aggregate=lambda entries: b"a")
    for path in ("/call", "/v1/call"):
        assert served.send(path, {"method": "train"}).body["parameters"] == b64(b"t")
        assert served.send(path, {"method": "evaluate"}).body["accuracy"] == 1
        assert served.send(path, {"method": "aggregate", "parameters_list": ["AAAA"]}).body["parameters"] == b64(b"a")
        for wrong in ({}, {"method": "run"}, {"method": ["train"]}):
            reply = served.send(path, wrong)
            assert (reply.status, reply.body["details"]) == (422, {"field": "method"})


@pytest.mark.parametrize("fields", [{"parameters": None}, {"parameters": ""}, {}])
def test_no_parameters_in_any_form_reach_the_function_as_none(serve: Serve, fields: dict[str, Any]) -> None:
    served = serve(train=lambda parameters, dataset: b"fresh" if parameters is None else b"sent")
    assert served.send("/train", {**fields, "dataset": ROWS}).body["parameters"] == b64(b"fresh")


def test_the_dataset_reaches_the_function_as_it_was_sent_and_its_own_where_none_was(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "dataset.json"
    file.write_text(json.dumps([{"mine": 1}]))
    echo = lambda parameters, dataset: json.dumps(dataset).encode()  # noqa: E731
    served, without = serve(train=echo, dataset_path=str(file)), serve(train=echo)
    for dataset in (ROWS, {"x": [[1]], "y": [0]}, "digits", {"name": "digits", "partition": {"index": 0, "of": 2}}, 5):
        sent = served.send("/train", {"dataset": dataset}).body["parameters"]
        assert json.loads(base64.b64decode(sent)) == dataset
    assert json.loads(base64.b64decode(served.send("/train", {}).body["parameters"])) == [{"mine": 1}]
    assert json.loads(base64.b64decode(without.send("/train", {"dataset": None}).body["parameters"])) is None
    assert (served.send("/v1/info").body["default_dataset"], without.send("/v1/info").body["default_dataset"]) == (True, False)


def test_a_function_with_a_context_sees_the_other_fields(serve: Serve) -> None:
    seen: list[CallContext] = []

    def train(parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
        seen.append(context)
        return TrainResult(b"p", num_samples=2, metrics={"loss": 0.5})

    def aggregate(parameters_list: list[bytes], *, context: CallContext) -> AggregateResult:
        seen.append(context)
        return AggregateResult(b"m", state=b"s2", clients=[{"id": "x", "accepted": True}])

    served = serve(train=train, aggregate=aggregate)
    config = {"epochs": 3, "lr": 0.1}
    body = served.send("/train", {"config": config, "round_id": "r1", "format": "safetensors"}, headers={"x-request-id": "mine-1"}).body
    assert (body["num_samples"], body["metrics"]["loss"], body["warnings"]) == (2, 0.5, [])
    assert (seen[0].config, seen[0].round_id, seen[0].format, seen[0].request_id) == (config, "r1", "safetensors", "mine-1")
    fields = {
        "parameters_list": ["AAAA", "AAAA"],
        "weights": [1, 2.5],
        "client_ids": ["x", "y"],
        "strategy": {"name": "mean"},
        "base": b64(b"base"),
        "state": b64(b"s1"),
        "on_invalid": "drop",
    }
    body = served.send("/aggregate", fields).body
    assert (body["parameters"], body["state"], body["clients"]) == (b64(b"m"), b64(b"s2"), [{"id": "x", "accepted": True}])
    context = seen[1]
    assert (context.weights, context.client_ids, context.strategy) == ([1, 2.5], ["x", "y"], {"name": "mean"})
    assert (context.base, context.state, context.on_invalid) == (b"base", b"s1", "drop")


def test_a_caller_is_warned_of_fields_that_are_not_read(serve: Serve) -> None:
    served = serve(aggregate=lambda parameters_list: b"m")
    body = served.send("/aggregate", {"parameters_list": ["AAAA"], "weights": [1], "extra": 1}).body
    assert body["warnings"] == ["unknown field ignored: extra", "the registered function has no context argument, so weights is ignored"]


@pytest.mark.parametrize(
    ("path", "fields", "status", "code", "details"),
    [
        ("/train", {"parameters": "AAAA*AAA"}, 422, "INVALID_BASE64", {"field": "parameters", "offset": 4}),
        ("/train", {"parameters": 5}, 422, "VALIDATION_ERROR", {"field": "parameters"}),
        ("/train", {"parameters": ["AAAA"]}, 422, "VALIDATION_ERROR", {"field": "parameters"}),
        ("/train", {"config": []}, 422, "VALIDATION_ERROR", {"field": "config"}),
        ("/train", {"round_id": {}}, 422, "VALIDATION_ERROR", {"field": "round_id"}),
        ("/train", {"dataset": []}, 422, "EMPTY_DATASET", None),
        ("/evaluate", {"dataset": {"x": [], "y": []}}, 422, "EMPTY_DATASET", None),
        ("/train", {"base_hash": "0" * 63}, 422, "VALIDATION_ERROR", {"field": "base_hash"}),
        ("/train", {"base_hash": "0" * 64}, 409, "BASE_MISMATCH", {"expected": "0" * 64, "actual": None}),
        (
            "/train",
            {"parameters": "AAAA", "base_hash": "0" * 64},
            409,
            "BASE_MISMATCH",
            {"expected": "0" * 64, "actual": sha256(b"\0\0\0")},
        ),
        ("/train", {"parameters_ref": "sha256:" + "0" * 64}, 404, "BLOB_NOT_FOUND", {"field": "parameters_ref"}),
        ("/aggregate", {}, 422, "VALIDATION_ERROR", {"field": "parameters_list"}),
        ("/aggregate", {"parameters_list": "AAAA"}, 422, "VALIDATION_ERROR", {"field": "parameters_list"}),
        ("/aggregate", {"parameters_list": []}, 422, "EMPTY_LIST", None),
        ("/aggregate", {"parameters_list": ["AAAA", None]}, 422, "VALIDATION_ERROR", {"client": 1, "field": "parameters_list[1]"}),
        ("/aggregate", {"parameters_list": [""]}, 422, "VALIDATION_ERROR", {"client": 0, "field": "parameters_list[0]"}),
        (
            "/aggregate",
            {"parameters_list": ["AAAA", "AA-A"]},
            422,
            "INVALID_BASE64",
            {"client": 1, "field": "parameters_list[1]", "offset": 2},
        ),
        ("/aggregate", {"parameters_list": ["AAAA"] * 10_001}, 422, "VALIDATION_ERROR", {"field": "parameters_list"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "weights": [1, 2]}, 422, "VALIDATION_ERROR", {"field": "weights"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "weights": [-1]}, 422, "VALIDATION_ERROR", {"field": "weights"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "weights": [0]}, 422, "VALIDATION_ERROR", {"field": "weights"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "on_invalid": "bogus"}, 422, "VALIDATION_ERROR", {"field": "on_invalid"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "weights": [True]}, 422, "VALIDATION_ERROR", {"field": "weights"}),
        ("/aggregate", '{"parameters_list":["AAAA"],"weights":[1e999]}', 422, "VALIDATION_ERROR", {"field": "weights"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "weights": [10**400]}, 422, "VALIDATION_ERROR", {"field": "weights"}),
        ("/aggregate", {"parameters_list": ["AAAA"], "client_ids": [1]}, 422, "VALIDATION_ERROR", {"field": "client_ids"}),
        ("/train", "{", 400, "VALIDATION_ERROR", None),
        ("/evaluate", "", 400, "VALIDATION_ERROR", None),
        ("/train", "[]", 422, "VALIDATION_ERROR", None),
        ("/v2/train", {}, 404, "NOT_FOUND", None),
    ],
)
def test_wrong_calls_are_answered_by_code_and_place_and_no_function_runs(
    serve: Serve, path: str, fields: Any, status: int, code: str, details: Any
) -> None:
    ran: list[str] = []
    served = serve(
        train=lambda p, d, context: ran.append("train"),
        evaluate=lambda p, d, context: ran.append("evaluate"),
        aggregate=lambda entries, context: ran.append("aggregate"),
    )
    reply = served.send(path, fields)
    body = reply.body
    assert (reply.status, body["code"], body.get("details")) == (status, code, details)
    assert set(body) <= {"error", "code", "details", "request_id"}
    assert body["request_id"] == reply.headers["x-request-id"]
    assert ran == []


def test_the_base_hash_of_what_was_sent_passes(serve: Serve) -> None:
    served = serve(train=lambda p, d: b"x", aggregate=lambda entries: b"x")
    assert served.send("/train", {"parameters": "AAAA", "base_hash": sha256(b"\0\0\0").upper()}).status == 200
    assert served.send("/aggregate", {"parameters_list": ["AAAA"], "base": "AAAA", "base_hash": sha256(b"\0\0\0")}).status == 200


@pytest.mark.parametrize("path", ["/evaluate", "/v1/aggregate"])
def test_what_is_not_registered_is_a_501_that_says_what_is(serve: Serve, path: str) -> None:
    reply = serve(train=lambda p, d: b"x").send(path, {})
    assert (reply.status, reply.body["code"], reply.body["details"]["registered"]) == (501, "NOT_REGISTERED", ["train"])
    assert serve(train=lambda p, d: b"x").send("/call", {"method": "evaluate"}).status == 501


def failing(kind: str) -> Any:
    def function(parameters: Any, dataset: Any) -> Any:
        if kind == "exit":
            raise SystemExit(3)
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "mute":
            raise type("Mute", (Exception,), {"__str__": lambda self: 1 / 0})()
        if kind == "endless":
            return function(parameters, dataset)
        raise ValueError("row 3 has no label")

    return function


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("plain", "The function failed: ValueError: row 3 has no label"),
        ("exit", "The function failed: SystemExit: 3"),
        ("interrupt", "The function failed: KeyboardInterrupt"),
        ("mute", "The function failed: Mute: (its message cannot be read)"),
        ("endless", "The function failed: RecursionError: "),
    ],
)
def test_a_function_that_fails_is_a_500_with_type_and_message_and_no_stack_and_the_next_call_works(
    serve: Serve, kind: str, message: str
) -> None:
    served = serve(train=failing(kind), evaluate=lambda p, d: 1)
    reply = served.send("/train", {})
    assert (reply.status, reply.body["code"]) == (500, "FUNCTION_ERROR")
    assert reply.body["error"].startswith(message)
    assert b"Traceback" not in reply.raw and b".py" not in reply.raw
    assert served.send("/evaluate", {}).status == 200


@pytest.mark.parametrize(("kind", "status"), [("SHAPE_MISMATCH", 422), ("UNSUPPORTED_PARAMETERS", 415), ("DATASET_NOT_FOUND", 404)])
def test_a_function_may_answer_by_itself_what_the_caller_did_wrong(serve: Serve, kind: str, status: int) -> None:
    def train(parameters: Any, dataset: Any) -> bytes:
        raise ParticipantError(kind, "not so", details={"tensor": "w"})

    reply = serve(train=train).send("/train", {})
    assert (reply.status, reply.body["code"], reply.body["details"]) == (status, kind, {"tensor": "w"})


@pytest.mark.parametrize("details", [{"loss": float("nan")}, {"model": object()}, {(1, 2): 3}])
def test_details_that_json_does_not_have_do_not_spoil_the_answer(serve: Serve, details: Any) -> None:
    def train(parameters: Any, dataset: Any) -> bytes:
        raise ParticipantError("NON_FINITE", "client 2 sent a NaN", details=details)

    reply = serve(train=train).send("/train", {})
    assert (reply.status, reply.body["error"], "details" in reply.body) == (422, "client 2 sent a NaN", False)


_LOOP: dict[str, Any] = {}
_LOOP["self"] = _LOOP


class Scalar:
    """As numpy and torch have them."""

    def __init__(self, value: float) -> None:
        self.value = value

    def item(self) -> float:
        return self.value


_METRICS = {
    "loss": 0.5,
    "auc": float("nan"),
    "f1": {"cat": float("-inf"), "dog": Scalar(0.25)},
    "grad": Scalar(float("inf")),
    "each": [1.0, float("nan")],
}
_WARNING = "metrics left out because they are NaN or infinite: auc, f1/cat, grad, each"


@pytest.mark.parametrize("operation", ["train", "evaluate"])
def test_a_metric_that_is_not_finite_is_left_out_with_a_warning_and_the_work_is_not_lost(serve: Serve, operation: str) -> None:
    served = serve(
        train=lambda p, d: TrainResult(b"a", num_samples=3, metrics=_METRICS),
        evaluate=lambda p, d: EvaluateResult(0.5, num_samples=3, metrics=_METRICS),
    )
    reply = served.send(f"/{operation}", {})
    assert (reply.status, reply.body["num_samples"], reply.body["warnings"]) == (200, 3, [_WARNING])
    assert {**reply.body["metrics"], "duration_ms": 0} == {"loss": 0.5, "f1": {"dog": 0.25}, "duration_ms": 0}


def test_a_warning_names_some_of_many_metrics(serve: Serve) -> None:
    metrics = {f"metric {index} {'x' * 100}": float("nan") for index in range(1000)}
    reply = serve(train=lambda p, d: TrainResult(b"a", metrics=metrics)).send("/train", {})
    assert reply.status == 200 and reply.body["warnings"][0].endswith(" and 990 more")
    assert len(reply.body["warnings"][0]) < 1000


@pytest.mark.parametrize(
    "returned",
    [
        None,
        "AAAA",
        1,
        [b"a"],
        TrainResult(None),
        TrainResult(b"a", num_samples=-1),
        TrainResult(b"a", metrics=[1]),
        TrainResult(b"a", metrics={"loss": object()}),
        TrainResult(b"a", metrics={"loss": {1, 2}}),
        TrainResult(b"a", metrics=_LOOP),
    ],
)  # type: ignore[arg-type]
def test_what_train_may_not_return_is_the_functions_error(serve: Serve, returned: Any) -> None:
    reply = serve(train=lambda p, d: returned).send("/train", {})
    assert (reply.status, reply.body["code"]) == (500, "FUNCTION_ERROR")


@pytest.mark.parametrize("returned", [None, "0.5", True, float("nan"), float("inf"), [0.5], EvaluateResult("x")])  # type: ignore[arg-type]
def test_what_evaluate_may_not_return_is_the_functions_error(serve: Serve, returned: Any) -> None:
    reply = serve(evaluate=lambda p, d: returned).send("/evaluate", {})
    assert (reply.status, reply.body["code"]) == (500, "FUNCTION_ERROR")


def test_scalars_of_numpy_are_numbers_and_views_are_bytes(serve: Serve) -> None:
    np = pytest.importorskip("numpy")
    served = serve(
        train=lambda p, d: TrainResult(memoryview(np.arange(4, dtype="<i2")), num_samples=np.int64(3), metrics={"loss": np.float32(0.5)}),
        evaluate=lambda p, d: np.float32(0.25),
    )
    body = served.send("/train", {}).body
    assert (base64.b64decode(body["parameters"]), body["num_samples"], body["metrics"]["loss"]) == (struct.pack("<4h", 0, 1, 2, 3), 3, 0.5)
    assert served.send("/evaluate", {}).body["accuracy"] == 0.25


def test_octets_carry_parameters_without_base64_both_ways(serve: Serve) -> None:
    def train(parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
        return TrainResult((parameters or b"") + bytes([len(dataset)]), num_samples=context.config["epochs"])

    served = serve(train=train, evaluate=lambda p, d: len(p), aggregate=b"|".join)
    config = json.dumps({"dataset": ROWS, "config": {"epochs": 4}})
    octets = {"Content-Type": "application/octet-stream", "Accept": "application/octet-stream"}
    for header in (config, base64.b64encode(config.encode()).decode()):
        reply = served.send("/train", b"\x00\xff", headers={**octets, "X-Train-Config": header})
        assert (reply.status, reply.raw) == (200, b"\x00\xff\x02")
        assert json.loads(reply.headers["x-result"])["num_samples"] == 4
    assert served.send("/train", b"x", headers={**octets, "X-Train-Config": "[1]"}).status == 422
    assert served.send("/evaluate", b"x", headers=octets).status == 422
    assert served.send("/evaluate", b"xyz", headers={"Content-Type": "application/octet-stream"}).body["accuracy"] == 3
    frames = b"".join(struct.pack("<I", len(head)) + head + data for head, data in ((b'{"bytes":2}', b"ab"), (b'{"bytes":1}', b"c")))
    assert served.send("/aggregate", frames, headers=octets).raw == b"ab|c"
    for broken in (frames[:-1], b"\x01", b"\xff\xff\xff\xff", struct.pack("<I", 2) + b"{}", struct.pack("<I", 2) + b"[]"):
        assert served.send("/aggregate", broken, headers=octets).status == 422


def test_the_samples_which_weigh_an_update_are_answered_however_large_its_metrics_are(serve: Serve) -> None:
    def train(parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
        many = {f"f1 of {number}": number / 3 for number in range(context.config.get("count", 0))}
        return TrainResult(b"x", num_samples=4, metrics={"note": "я" * context.config["length"], **many})

    def aggregate(parameters_list: list[bytes]) -> AggregateResult:
        return AggregateResult(b"m", metrics={"loss": 0.5}, clients=[{"note": "я" * 9000}])

    served = serve(train=train, aggregate=aggregate)
    octets = {"Content-Type": "application/octet-stream", "Accept": "application/octet-stream"}

    def head(path: str, config: dict[str, Any], body: bytes = b"") -> dict[str, Any]:
        text = served.send(path, body, headers={**octets, "X-Train-Config": json.dumps({"config": config})}).headers["x-result"]
        assert len(text) <= 8192
        return json.loads(text)

    left_out = "left out because they do not fit the X-Result header: {}; accept JSON"
    assert head("/train", {"length": 9})["metrics"]["note"] == "я" * 9
    long = head("/train", {"length": 9000})
    assert list(long.pop("metrics")) == ["duration_ms"]
    assert long == {"num_samples": 4, "sha256": sha256(b"x"), "warnings": [left_out.format("warnings, metrics (1 of 2)")]}
    many = head("/train", {"length": 9, "count": 2000})
    kept = list(many["metrics"])
    assert kept[:3] == ["note", "f1 of 0", "f1 of 1"]
    assert len(json.dumps(many, separators=(",", ":"))) > 8192 - 50
    assert many["warnings"] == [left_out.format(f"warnings, metrics ({2002 - len(kept)} of 2002)")]
    aggregated = head("/aggregate", {}, struct.pack("<I", 11) + b'{"bytes":1}' + b"a")
    assert (aggregated["metrics"]["loss"], aggregated["warnings"]) == (0.5, [left_out.format("clients")])


def test_aggregate_frames_carry_ids_weights_base_and_state(serve: Serve) -> None:
    seen: list[Any] = []

    def aggregate(parameters_list: list[bytes], context: CallContext) -> bytes:
        seen.append((parameters_list, context.weights, context.client_ids, context.base, context.state))
        return b"m"

    parts = [
        ({"bytes": 1, "id": "x", "weight": 2}, b"a"),
        ({"bytes": 1, "field": "base"}, b"B"),
        ({"bytes": 1, "id": "y", "weight": 3}, b"b"),
        ({"bytes": 1, "field": "state"}, b"S"),
    ]
    frames = b"".join(struct.pack("<I", len(json.dumps(head))) + json.dumps(head).encode() + data for head, data in parts)
    assert serve(aggregate=aggregate).send("/aggregate", frames, headers={"Content-Type": "application/octet-stream"}).status == 200
    assert seen == [([b"a", b"b"], [2, 3], ["x", "y"], b"B", b"S")]


@pytest.mark.parametrize(
    ("headers", "settings", "is_shown"),
    [
        ({}, {}, True),
        ({"x-gw-tenant": "org_1"}, {}, False),
        ({"x-forwarded-for": "10.0.0.1"}, {}, False),
        ({"x-gw-tenant": "org_1"}, {"exceptions": "all"}, True),
    ],
)
def test_the_message_of_an_exception_is_for_the_owner(
    serve: Any, headers: dict[str, str], settings: dict[str, Any], is_shown: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def train(parameters: Any, dataset: Any) -> bytes:
        raise ValueError("could not parse row {'patient': 'Jane Doe'}")

    reply = serve(train=train, **settings).send("/train", {"dataset": [1]}, headers=headers)
    assert (reply.status, reply.body["code"], reply.body["details"]) == (500, "FUNCTION_ERROR", {"exception": "ValueError"})
    assert ("Jane Doe" in reply.raw.decode()) is is_shown
    assert "The function failed: ValueError" in reply.body["error"]
    assert "Jane Doe" in caplog.text
