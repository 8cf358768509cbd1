"""Exports a federation's metrics to MLflow: every number of every committed round, as curves of one run. Needs the package mlflow.

    python -m tributary_participant.mlflow fed_... --url https://gateway.example --tracking-uri http://mlflow.example:5000

The token or API key comes from GW_TOKEN or GW_API_KEY. Repeated, it adds the rounds that were committed since: a federation is one run.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib import request
from urllib.error import HTTPError
from urllib.parse import quote

from .token_calls import open_call

_TAG = "tributary.federation"
_ROUND_TAG = "tributary.round"
_EXPERIMENT = "tributary"
_CALL_SECONDS = 60.0
# What MLflow takes in one call.
_METRICS_MAX, _PARAMS_MAX, _PARAM_CHARACTERS_MAX = 1000, 100, 6000
_ENDED = {"completed": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}


def export(federation_id: str, *, url: str, token: str, tracking_uri: str | None = None, experiment: str = _EXPERIMENT) -> str:
    """Writes what the federation's run does not have yet. Returns the id of the run.

    tracking_uri: as of MLflow; by default MLFLOW_TRACKING_URI, or the folder of MLflow itself.
    """
    from mlflow.tracking import MlflowClient

    path = f"{url.rstrip('/')}/training/federations/{quote(federation_id, safe='')}"
    federation = _get(path, token)["federation"]
    rounds = _get(f"{path}/metrics?format=json", token)["rounds"]
    client = MlflowClient(tracking_uri=tracking_uri)
    run = _run_of(client, federation, experiment)
    last = int(run.data.tags.get(_ROUND_TAG, "0"))
    for entry in rounds:
        if entry["round"] > last:
            _log_round(client, run.info.run_id, entry)
    # A federation that was extended runs again.
    client.update_run(run.info.run_id, _ENDED.get(federation["state"], "RUNNING"))
    return str(run.info.run_id)


def _run_of(client: Any, federation: Mapping[str, Any], experiment: str) -> Any:
    """The run of the federation in the experiment; creates both where they are missing."""
    from mlflow.entities import Param

    known = client.get_experiment_by_name(experiment)
    experiment_id = client.create_experiment(experiment) if known is None else known.experiment_id
    found = client.search_runs([experiment_id], f"tags.`{_TAG}` = '{federation['id']}'", max_results=1)
    if found:
        return found[0]
    tags = {_TAG: federation["id"], "mlflow.source.name": "tributary"}
    run = client.create_run(experiment_id, tags=tags, run_name=federation.get("name") or federation["id"])
    params = [Param(name, text[:_PARAM_CHARACTERS_MAX]) for name, text in _settings_of(federation)]
    client.log_batch(run.info.run_id, params=params[:_PARAMS_MAX])
    return run


def _settings_of(federation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in federation.get("settings", {}).items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", _text(entry)) for key, entry in value.items() if entry is not None)
        elif value is not None:
            yield name, _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _log_round(client: Any, run_id: str, entry: Mapping[str, Any]) -> None:
    """The round is marked after its metrics: an export that was interrupted writes it again."""
    from mlflow.entities import Metric

    at = time.time_ns() // 1_000_000
    metrics = [Metric(name, float(value), at, entry["round"]) for name, value in _metrics_of(entry)]
    for start in range(0, len(metrics), _METRICS_MAX):
        client.log_batch(run_id, metrics=metrics[start : start + _METRICS_MAX])
    client.set_tag(run_id, _ROUND_TAG, str(entry["round"]))


def _metrics_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The names are those of the TensorBoard file: `accuracy`, `train/loss`, and `p1/train/loss` for a participant."""
    yield from ((name, entry[name]) for name in ("accuracy", "loss") if entry.get(name) is not None)
    for prefix, metrics in (("", entry["metrics"]), *((f"{one['participantId']}/", one["metrics"]) for one in entry["participants"])):
        for operation, values in metrics.items():
            yield from ((f"{prefix}{operation}/{_name(name)}", value) for name, value in values.items())


def _name(metric: str) -> str:
    """MLflow takes letters, digits and `_-. /` in names."""
    return "".join(character if character.isalnum() or character in "_-. /" else "_" for character in metric)


def _get(address: str, token: str) -> dict[str, Any]:
    call = request.Request(address, headers={"Authorization": f"Bearer {token}"})
    try:
        with open_call(call, _CALL_SECONDS) as answer:
            value: dict[str, Any] = json.loads(answer.read())
            return value
    except HTTPError as error:
        with error:
            text = error.read(1000).decode("utf-8", "replace")
        raise RuntimeError(f"the gateway answered {error.code} to {address}: {text}") from None


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tributary_participant.mlflow", description="Exports a federation's metrics to MLflow.")
    parser.add_argument("federation", help="the federation's id")
    parser.add_argument("--url", default=os.environ.get("GW_API_URL", "http://127.0.0.1:4000"), help="the gateway (GW_API_URL)")
    parser.add_argument("--tracking-uri", help="of MLflow; by default MLFLOW_TRACKING_URI")
    parser.add_argument("--experiment", default=_EXPERIMENT)
    given = parser.parse_args()
    token = os.environ.get("GW_TOKEN") or os.environ.get("GW_API_KEY")
    if not token:
        parser.error("GW_TOKEN or GW_API_KEY must be set")
    run_id = export(given.federation, url=given.url, token=token, tracking_uri=given.tracking_uri, experiment=given.experiment)
    print(f"run {run_id}")


if __name__ == "__main__":
    _main()
