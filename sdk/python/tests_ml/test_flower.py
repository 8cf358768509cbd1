"""Real Flower apps as participants, over real sockets."""

from __future__ import annotations

import base64
import http.client
import json
from contextlib import closing
from typing import Any

import client_app
import numpy as np
import pytest
from counting_client import CountingClient, seen
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.client import Client
from flwr.clientapp import ClientApp
from flwr.common import (
    Code,
    EvaluateIns,
    EvaluateRes,
    FitIns,
    FitRes,
    GetParametersIns,
    GetParametersRes,
    Status,
    ndarrays_to_parameters,
)

from tributary_participant import RunningParticipant
from tributary_participant.flower import participant_of
from tributary_participant.numpy_tensors import dump_numpy, load_numpy


def _call(running: RunningParticipant, operation: str, parameters: bytes | None, **fields: Any) -> dict[str, Any]:
    sent = {**fields, "parameters": None if parameters is None else base64.b64encode(parameters).decode()}
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)) as connection:
        connection.request("POST", f"/v1/{operation}", body=json.dumps(sent))
        return {"status": (answer := connection.getresponse()).status, **json.loads(answer.read())}


def _trained(answer: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    return load_numpy(base64.b64decode(answer["parameters"]))


def _mean(updates: list[dict[str, np.ndarray[Any, Any]]]) -> bytes:
    return dump_numpy({name: np.mean([update[name] for update in updates], axis=0) for name in updates[0]})


def test_an_unchanged_numpy_client_of_scikit_learn_trains_and_evaluates() -> None:
    participants = [participant_of(client_app.app, run_config={"local-epochs": 5}).start(port=0) for _ in range(3)]
    parts = [{"partition": {"scheme": "iid", "index": index, "of": 3}} for index in range(3)]
    model: bytes | None = None
    accuracies = []
    for number in range(1, 5):
        about = {"round_id": f"fed_1/{number}", "config": {"task": "digits"}}
        answers = [
            _call(running, "train", model, dataset=part, **about) for running, part in zip(participants, parts, strict=True)
        ]
        assert [answer["status"] for answer in answers] == [200, 200, 200], answers
        assert [(list(_trained(answer)), answer["num_samples"]) for answer in answers] == [(["00000", "00001"], 479)] * 3
        assert all(answer["metrics"]["train_accuracy"] > 0.3 for answer in answers)
        model = _mean([_trained(answer) for answer in answers])
        scores = [_call(running, "evaluate", model, dataset=part) for running, part in zip(participants, parts, strict=True)]
        accuracies.append(float(np.mean([score["accuracy"] for score in scores])))
        assert all(score["metrics"]["loss"] > 0 and score["num_samples"] == 120 for score in scores)
    for running in participants:
        running.stop()
    assert accuracies[-1] > 0.9, accuracies
    assert accuracies[-1] > accuracies[0]


def test_config_and_round_reach_fit_and_a_client_may_be_given_without_an_app() -> None:
    seen.clear()
    with participant_of(CountingClient()).start(port=0) as running:
        answer = _call(running, "train", None, config={"lr": 0.1, "layers": [1, 2]}, round_id="fed_1/3")
        assert answer["status"] == 200, answer
        assert seen == [{"lr": 0.1, "server_round": 3}]
        # As Flower's FedProx names it.
        assert _call(running, "train", None, config={"mu": 0.5}, round_id="fed_1/4")["status"] == 200
        assert seen.pop() == {"mu": 0.5, "proximal_mu": 0.5, "server_round": 4}
        assert {name: value for name, value in answer["metrics"].items() if name != "duration_ms"} == {"loss": 0.5}
        trained = _trained(answer)
        assert (trained["00000"].tolist(), trained["00001"].shape, trained["00001"].dtype) == ([1.0, 1.0], (), np.float32)
        # The client has no evaluate, and says so.
        assert _call(running, "evaluate", base64.b64decode(answer["parameters"]))["status"] == 500


def _message_app() -> ClientApp:
    """With the message API of Flower, and a state between the rounds."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Any) -> Message:
        arrays = message.content["arrays"]
        rounds = context.state["seen"]["rounds"] + 1 if "seen" in context.state else 1
        context.state["seen"] = MetricRecord({"rounds": rounds})
        step = message.content["config"]["server-round"] * context.run_config["lr"]
        trained = ArrayRecord({name: type(array)(array.numpy() + step) for name, array in arrays.items()})
        metrics = MetricRecord({"train_loss": 0.25, "rounds": rounds, "num-examples": 4})
        return Message(content=RecordDict({"arrays": trained, "metrics": metrics}), reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Any) -> Message:
        metrics = MetricRecord({"eval_loss": 0.75, "eval_acc": 0.5, "num-examples": 2})
        return Message(content=RecordDict({"metrics": metrics}), reply_to=message)

    return app


def test_an_app_of_the_message_api_keeps_its_names_and_its_state() -> None:
    initial = {"layer.weight": np.zeros((2, 2), np.float32), "layer.bias": np.ones(2, np.float32)}
    with participant_of(_message_app(), initial=initial, run_config={"lr": 0.5}).start(port=0) as running:
        first = _call(running, "train", None, round_id="f/1")
        assert first["status"] == 200, first
        second = _call(running, "train", base64.b64decode(first["parameters"]), round_id="f/2", config={"lr": 2.0})
        assert second["metrics"]["rounds"] == 2
        trained = _trained(second)
        assert (second["num_samples"], trained["layer.weight"].tolist()) == (4, [[4.5, 4.5], [4.5, 4.5]])
        score = _call(running, "evaluate", base64.b64decode(second["parameters"]))
        assert (score["accuracy"], score["num_samples"], score["metrics"]["loss"]) == (0.5, 2, 0.75)


def test_what_is_missing_is_said() -> None:
    with participant_of(_message_app()).start(port=0) as running:
        refused = _call(running, "train", None)
        assert refused["status"] == 422
        assert "`initial`" in refused["error"]
    with participant_of(_message_app(), accuracy="f1").start(port=0) as running:
        assert "eval_loss, eval_acc, loss" in _call(running, "evaluate", dump_numpy({"w": np.zeros(1)}))["error"]
    with pytest.raises(TypeError, match="takes a ClientApp"):
        participant_of(lambda: None)


class FailingClient(Client):
    """Fails as the legacy API lets a client say it: by the status of its answers, which have arrays and figures all the same."""

    status = Status(Code.FIT_NOT_IMPLEMENTED, "the disk of the site is full")

    def get_parameters(self, ins: GetParametersIns) -> GetParametersRes:
        return GetParametersRes(self.status, ndarrays_to_parameters([np.zeros(2)]))

    def fit(self, ins: FitIns) -> FitRes:
        return FitRes(self.status, ins.parameters, 7, {})

    def evaluate(self, ins: EvaluateIns) -> EvaluateRes:
        return EvaluateRes(self.status, 0.5, 7, {"accuracy": 0.9})


@pytest.mark.parametrize("operation", ["train", "evaluate"])
def test_an_answer_whose_status_is_a_failure_fails_the_call_with_the_status_message(operation: str) -> None:
    with participant_of(FailingClient()).start(port=0) as running:
        answer = _call(running, operation, dump_numpy({"00000": np.zeros(2)}))
    assert (answer["status"], answer["error"]) == (500, f"The Flower app's {operation} failed: the disk of the site is full")


def test_parameters_whose_status_is_a_failure_start_no_training() -> None:
    with participant_of(FailingClient()).start(port=0) as running:
        for fields in ({}, {"config": {"untrained": True}}):
            answer = _call(running, "train", None, **fields)
            assert (answer["status"], answer["error"]) == (500, "The Flower app's get_parameters failed: the disk of the site is full")
