"""Serve functions: calls of a published model, with its parameters by their hash."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from conftest import Serve
from tributary_participant import CallContext, ParticipantError

MODEL = b"the parameters of round 2"
HASH = f"sha256:{hashlib.sha256(MODEL).hexdigest()}"


def upper(parameters: bytes, input: str) -> str:
    return f"{parameters.decode()}: {input.upper()}"


def test_parameters_are_sent_once_and_named_by_their_hash_afterwards(serve: Serve) -> None:
    participant = serve(serve=upper)
    first = participant.send("/v1/serve", {"parameters_ref": HASH, "input": "hi"})
    assert (first.status, first.body["code"]) == (404, "BLOB_NOT_FOUND")
    header = base64.b64encode(json.dumps({"input": "hi"}).encode()).decode()
    sent = participant.send("/v1/serve", MODEL, headers={"content-type": "application/octet-stream", "x-train-config": header})
    assert (sent.status, sent.body["output"]) == (200, "the parameters of round 2: HI")
    assert participant.send("/serve", {"parameters_ref": HASH, "input": "again"}).body["output"] == "the parameters of round 2: AGAIN"


def test_parameters_that_one_organization_sent_are_not_there_for_another(serve: Serve) -> None:
    participant = serve(serve=upper)
    body = {"parameters": base64.b64encode(MODEL).decode(), "input": "a"}
    assert participant.send("/v1/serve", body, headers={"x-gw-tenant": "org_a"}).status == 200
    named = {"parameters_ref": HASH, "input": "b"}
    assert participant.send("/v1/serve", named, headers={"x-gw-tenant": "org_b"}).body["code"] == "BLOB_NOT_FOUND"
    assert participant.send("/v1/serve", named, headers={"x-gw-tenant": "org_a"}).status == 200


def test_parameters_used_least_recently_make_room(serve: Serve) -> None:
    participant = serve(serve=lambda parameters, input: len(parameters), bytes_budget=4000, body_bytes_max=4000)
    models = [bytes([number]) * 400 for number in range(3)]
    for model in models:
        assert participant.send("/v1/serve", {"parameters": base64.b64encode(model).decode(), "input": ""}).body["output"] == "400"
    named = [{"parameters_ref": f"sha256:{hashlib.sha256(model).hexdigest()}", "input": ""} for model in models]
    assert [participant.send("/v1/serve", body).status for body in named] == [404, 200, 200]


@pytest.mark.parametrize(("returned", "output"), [("text", "text"), (3, "3"), ([1.5, "é"], '[1.5,"é"]'), ({"a": True}, '{"a":true}')])
def test_a_value_that_is_not_text_is_written_as_json(serve: Serve, returned: object, output: str) -> None:
    participant = serve(serve=lambda parameters, input: returned)
    assert participant.send("/v1/serve", {"parameters": base64.b64encode(MODEL).decode(), "input": ""}).body["output"] == output


@pytest.mark.parametrize("returned", [None, b"bytes", float("nan"), object(), "x" * 100_001])
def test_a_value_that_cannot_be_an_answer_is_an_error_of_the_function(serve: Serve, returned: object) -> None:
    participant = serve(serve=lambda parameters, input: returned)
    reply = participant.send("/v1/serve", {"parameters": base64.b64encode(MODEL).decode(), "input": ""})
    assert (reply.status, reply.body["code"]) == (500, "FUNCTION_ERROR")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"input": "x"}, "parameters"),
        ({"parameters_ref": "sha256:zz", "input": "x"}, "parameters_ref"),
        ({"parameters": base64.b64encode(MODEL).decode(), "input": 7}, "input"),
        ({"parameters": base64.b64encode(MODEL).decode()}, "input"),
    ],
)
def test_what_is_wrong_with_a_call_is_named(serve: Serve, body: dict[str, object], field: str) -> None:
    reply = serve(serve=upper).send("/v1/serve", body)
    assert (reply.status, reply.body["details"]["field"]) == (422, field)


def test_a_function_gets_the_callers_settings_and_may_refuse_an_input(serve: Serve) -> None:
    def answer(parameters: bytes, input: str, context: CallContext) -> str:
        if input == "":
            raise ParticipantError("VALIDATION_ERROR", "The input is empty.")
        return str(context.config["max_tokens"])

    participant = serve(serve=answer)
    model = base64.b64encode(MODEL).decode()
    assert participant.send("/v1/serve", {"parameters": model, "input": "x", "config": {"max_tokens": 5}}).body["output"] == "5"
    refused = participant.send("/v1/serve", {"parameters": model, "input": ""})
    assert (refused.status, refused.body["error"]) == (422, "The input is empty.")


def test_only_a_participant_with_a_serve_function_declares_it(serve: Serve) -> None:
    assert serve(serve=upper).send("/v1/info").body["capabilities"]["serve"] is True
    other = serve(evaluate=lambda parameters, dataset: 1)
    assert other.send("/v1/info").body["capabilities"]["serve"] is False
    assert other.send("/v1/serve", {"input": ""}).body["code"] == "NOT_REGISTERED"
