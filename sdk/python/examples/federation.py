"""A federation in one process: some participants on free ports, and rounds of FedAvg over HTTP. A minimal coordinator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from tributary_participant import Participant

# Participants are on this machine, so proxies of the environment are ignored.
_opener = build_opener(ProxyHandler({}))


def rounds(participants: Sequence[Participant], *, count: int, config: dict[str, Any]) -> Iterator[float]:
    """Every participant trains on its own data; the first one aggregates and evaluates. Yields the accuracy after each round."""
    with ExitStack() as stack:
        urls = [stack.enter_context(participant.start(port=0)).url for participant in participants]
        parameters: str | None = None
        for number in range(count):
            trained = [call(url, "/train", {"parameters": parameters, "config": config, "round_id": number}) for url in urls]
            weights = [answer["num_samples"] for answer in trained]
            parts = [answer["parameters"] for answer in trained]
            parameters = call(urls[0], "/aggregate", {"parameters_list": parts, "weights": weights})["parameters"]
            yield call(urls[0], "/evaluate", {"parameters": parameters})["accuracy"]


def call(url: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
    request = Request(url + path, data=json.dumps(fields).encode(), headers={"Content-Type": "application/json"})
    with _opener.open(request, timeout=600) as response:
        answer: dict[str, Any] = json.load(response)
        return answer


def mean(values: Sequence[Any], weights: Sequence[float] | None) -> Any:
    """The weighted mean of arrays of numpy or tensors of torch; equal weights if there are none."""
    shares = [1.0] * len(values) if weights is None else list(weights)
    return sum(value * share for value, share in zip(values, shares, strict=True)) / sum(shares)
