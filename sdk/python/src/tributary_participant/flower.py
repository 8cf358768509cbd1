"""Runs an existing Flower ClientApp, or a NumPyClient, unchanged as a participant: `run(app)`. Needs the packages flwr and numpy.

From a shell, `python -m tributary_participant.flower my_app.client_app:app` does the same, with the config of the app's pyproject.toml.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import ParticipantError
from .numpy_tensors import dump_numpy, load_numpy
from .participant import Participant
from .results import CallContext, EvaluateResult, TrainResult

if TYPE_CHECKING:
    import numpy

Arrays = Mapping[str, "numpy.ndarray[Any, Any]"]

_ACCURACY_NAMES = ("accuracy", "acc", "eval_acc", "eval_accuracy", "test_accuracy", "val_accuracy")
_LOSS_NAMES = ("loss", "eval_loss", "test_loss", "val_loss")
_EXAMPLES = "num-examples"
_NODE_ID = 1
_OK = 0


def run(app: Any, **options: Any) -> None:
    """Serves a Flower app until SIGINT or SIGTERM. Takes the options of `participant_of` and the settings of `Settings`."""
    own = {name: options.pop(name) for name in ("node_config", "run_config", "initial", "accuracy") if name in options}
    # A Flower node runs one message at a time, and client code may rely on that.
    participant_of(app, **own).run(**{"threads": 1, **options})


def participant_of(
    app: Any,
    *,
    node_config: Mapping[str, Any] | None = None,
    run_config: Mapping[str, Any] | None = None,
    initial: Any = None,
    accuracy: str | None = None,
) -> Participant:
    """A participant whose functions are those of a ClientApp, a NumPyClient or a Client.

    node_config: `context.node_config` of the app. If it has no `partition-id`, the partition of the federation's dataset gives it.
    run_config: `context.run_config` of the app; the federation's `task.config` has precedence.
    initial: the arrays that round 1 starts from if the federation has none: a list or dict of arrays, for apps without get_parameters.
    accuracy: which of the app's metrics is the accuracy; by default the first of accuracy, acc, eval_acc, ...
    """
    node = _FlowerNode(_as_app(app), node_config or {}, run_config or {}, initial, accuracy)
    participant = Participant()
    participant.register_train(node.train)
    participant.register_evaluate(node.evaluate)
    if node.can_initialize:
        participant.register_initial(node.untrained)
    return participant


class _FlowerNode:
    """What Flower's SuperNode does for an app: it keeps the app's context and turns calls into messages."""

    def __init__(
        self, app: Any, node_config: Mapping[str, Any], run_config: Mapping[str, Any], initial: Any, accuracy: str | None
    ) -> None:
        from flwr.app import RecordDict

        self._app = app
        # Apps of a client_fn get the messages of Flower's strategies for clients; others get records with the names of its message API.
        self._has_client_fn = getattr(app, "_call", None) is not None
        self._node_config = dict(node_config)
        self._run_config = dict(run_config)
        self._initial = None if initial is None else _named(initial)
        self._accuracy = accuracy
        self._state = RecordDict()
        self._lock = threading.Lock()
        self._is_used = False

    @property
    def can_initialize(self) -> bool:
        return self._initial is not None or self._has_client_fn

    def untrained(self, context: CallContext) -> bytes:
        """What get_parameters gives before any message with data: later, the model of a client may be one that it has trained."""
        if self._initial is None and self._is_used:
            message = (
                "This Flower app has been used since its start, so its get_parameters may give what it has learned. "
                "Restart it, or give the arrays to flower.run(app, initial=...)."
            )
            raise ParticipantError("VALIDATION_ERROR", message, details={"field": "config.untrained"})
        # Apps read their partition to load data, which get_parameters does without.
        return dump_numpy(self._initial_arrays({"partition": {"index": 0, "of": 1}}, context))

    def train(self, parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
        arrays = self._initial_arrays(dataset, context) if parameters is None else _arrays_of(parameters)
        content = self._ask("train", "fitins", arrays, dataset, context)
        if self._has_client_fn:
            trained = content["fitres.parameters"]
            samples, metrics = content["fitres.num_examples"]["num_examples"], dict(content["fitres.metrics"])
        else:
            trained, metrics = _only(content, "ArrayRecord"), dict(_only(content, "MetricRecord"))
            samples = metrics.pop(_EXAMPLES, None)
        return TrainResult(_octets_of(trained), num_samples=_whole(samples), metrics=_numbers(metrics))

    def evaluate(self, parameters: bytes | None, dataset: Any, context: CallContext) -> EvaluateResult:
        if parameters is None:
            raise ParticipantError("VALIDATION_ERROR", "A Flower app evaluates parameters, and the call has none.")
        content = self._ask("evaluate", "evaluateins", _arrays_of(parameters), dataset, context)
        if self._has_client_fn:
            samples = content["evaluateres.num_examples"]["num_examples"]
            metrics = {**dict(content["evaluateres.metrics"]), "loss": content["evaluateres.loss"]["loss"]}
        else:
            metrics = dict(_only(content, "MetricRecord"))
            samples = metrics.pop(_EXAMPLES, None)
            loss = next((metrics[name] for name in _LOSS_NAMES if name in metrics), None)
            metrics |= {} if loss is None else {"loss": loss}
        return EvaluateResult(self._accuracy_of(metrics), num_samples=_whole(samples), metrics=_numbers(metrics))

    def _initial_arrays(self, dataset: Any, context: CallContext) -> Arrays:
        """Round 1 of a federation without `initial` has no parameters; Flower's server asks a client for them."""
        if self._initial is not None:
            return self._initial
        if not self._has_client_fn:
            message = (
                "This Flower app trains from arrays, and the federation has none yet. Create it with `initial` "
                "(a blob, a published model), or give the arrays to flower.run(app, initial=...)."
            )
            raise ParticipantError("VALIDATION_ERROR", message, details={"field": "parameters"})
        content = self._send("get_parameters", {"getparametersins.config": self._config({})}, dataset, context)
        return _named(content["getparametersres.parameters"].to_numpy_ndarrays())

    def _ask(self, message_type: str, legacy: str, arrays: Arrays, dataset: Any, context: CallContext) -> Any:
        from flwr.app import ArrayRecord

        self._is_used = True
        names = ("{0}.parameters", "{0}.config") if self._has_client_fn else ("arrays", "config")
        record = ArrayRecord(list(arrays.values())) if self._has_client_fn else _record_of(arrays)
        rounds: dict[str, Any] = {"server_round" if self._has_client_fn else "server-round": context.round or 0}
        if message_type == "train" and "mu" in context.config:  # Flower's FedProx sends it by this name.
            rounds["proximal_mu" if self._has_client_fn else "proximal-mu"] = context.config["mu"]
        config = self._config({**context.config, **rounds})
        return self._send(message_type, dict(zip((name.format(legacy) for name in names), (record, config), strict=True)), dataset, context)

    def _send(self, message_type: str, records: dict[str, Any], dataset: Any, context: CallContext) -> Any:
        from flwr.app import Context, Message, RecordDict

        own = Context(
            run_id=1,
            node_id=_NODE_ID,
            node_config={**_partition_of(dataset), **self._node_config},
            state=self._state,
            run_config={**self._run_config, **_scalars(context.config)},
        )
        message = Message(content=RecordDict(records), metadata=_metadata(message_type))
        with self._lock:
            reply = self._app(message, own)
            self._state = own.state
        if reply.has_error():
            raise RuntimeError(f"the Flower app answered with an error: {reply.error.reason}")
        # A client can say by a status that it failed; its answer has arrays and figures all the same.
        status = next((record for name, record in reply.content.items() if name.endswith("res.status")), None)
        if self._has_client_fn and status is not None and status["code"] != _OK:
            raise ParticipantError("FUNCTION_ERROR", f"The Flower app's {message_type} failed: {status['message'] or status['code']}")
        return reply.content

    def _config(self, values: Mapping[str, Any]) -> Any:
        from flwr.app import ConfigRecord

        return ConfigRecord(_scalars(values))

    def _accuracy_of(self, metrics: Mapping[str, Any]) -> Any:
        for name in _ACCURACY_NAMES if self._accuracy is None else (self._accuracy,):
            if name in metrics:
                return metrics[name]
        known = ", ".join(metrics) or "none"
        message = f"The app's evaluation has no accuracy; its metrics are: {known}. Name one: flower.run(app, accuracy=...)."
        raise ParticipantError("FUNCTION_ERROR", message)


def _as_app(app: Any) -> Any:
    from flwr.client import Client, NumPyClient
    from flwr.clientapp import ClientApp

    if isinstance(app, ClientApp):
        return app
    if isinstance(app, (Client, NumPyClient)):
        client = app.to_client()
        return ClientApp(client_fn=lambda context: client)
    raise TypeError(f"flower.run takes a ClientApp, a NumPyClient or a Client, not {type(app).__name__}")


def _metadata(message_type: str) -> Any:
    """The metadata of a message that no SuperLink sent."""
    from flwr.app import Metadata

    given: dict[str, Any] = {
        "run_id": 1,
        "message_id": "tributary",
        "src_node_id": 0,
        "dst_node_id": _NODE_ID,
        "reply_to_message_id": "",
        "reply_to_message": "",
        "group_id": "",
        "created_at": time.time(),
        "ttl": 24 * 3600.0,
        "message_type": message_type,
    }
    known = inspect.signature(Metadata.__init__).parameters
    return Metadata(**{name: value for name, value in given.items() if name in known})


def _named(arrays: Any) -> dict[str, Any]:
    """Arrays by name. Those of a list get their numbers, with zeros before them, so that every sorting keeps their order."""
    if isinstance(arrays, Mapping):
        return {f"{int(name):05d}" if name.isdecimal() else name: value for name, value in arrays.items()}
    return {f"{number:05d}": array for number, array in enumerate(arrays)}


def _arrays_of(parameters: bytes) -> Arrays:
    found = load_numpy(parameters)
    return {name: found[name] for name in sorted(found)} if all(name.isdecimal() for name in found) else found


def _octets_of(record: Any) -> bytes:
    return dump_numpy(_named({name: array.numpy() for name, array in record.items()}))


def _record_of(arrays: Arrays) -> Any:
    from flwr.app import Array, ArrayRecord

    return ArrayRecord({str(int(name)) if name.isdecimal() else name: Array(value) for name, value in arrays.items()})


def _only(content: Any, kind: str) -> Any:
    found = [record for record in content.values() if type(record).__name__ == kind]
    if not found:
        raise ParticipantError("FUNCTION_ERROR", f"The reply of the Flower app has no {kind}.")
    return found[0]


def _scalars(values: Mapping[str, Any]) -> dict[str, Any]:
    """What Flower's configs can represent: no nested objects."""
    return {name: value for name, value in values.items() if isinstance(value, (bool, int, float, str, bytes))}


def _partition_of(dataset: Any) -> dict[str, Any]:
    """A federation's partition, by the names that Flower's examples read."""
    partition = dataset.get("partition") if isinstance(dataset, Mapping) else None
    if not isinstance(partition, Mapping) or "index" not in partition:
        return {}
    return {"partition-id": partition["index"], "num-partitions": partition.get("of", 1)}


def _numbers(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def _whole(samples: Any) -> int | None:
    return None if samples is None else int(samples)


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tributary_participant.flower", description="Runs a Flower ClientApp as a participant.")
    parser.add_argument("app", help="module:attribute of the ClientApp, such as my_app.client_app:app")
    parser.add_argument("--partition", type=int, help="partition-id of this node; by default that of the federation's dataset")
    parser.add_argument("--partitions", type=int, help="num-partitions")
    given = parser.parse_args()
    module, _, attribute = given.app.partition(":")
    sys.path.insert(0, os.getcwd())
    named = {"partition-id": given.partition, "num-partitions": given.partitions}
    node_config = {name: value for name, value in named.items() if value is not None}
    run(getattr(importlib.import_module(module), attribute or "app"), node_config=node_config, run_config=_project_config())


def _project_config() -> dict[str, Any]:
    """[tool.flwr.app.config] of the pyproject.toml in this folder, with dots between the names of nested tables, as Flower has it."""
    if sys.version_info < (3, 11) or not os.path.exists("pyproject.toml"):
        return {}
    import tomllib

    with open("pyproject.toml", "rb") as file:
        found = tomllib.load(file).get("tool", {}).get("flwr", {}).get("app", {}).get("config", {})
    return _flat(found, "")


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


if __name__ == "__main__":
    _main()
