"""What registered functions are given beside their arguments, and what they may return beside the bare value."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Parameters = bytes | bytearray | memoryview


@dataclass(frozen=True)
class CallContext:
    """Handed to a function that has an argument named `context`. What the caller left out is empty or None."""

    request_id: str
    config: Mapping[str, Any] = field(default_factory=dict)
    round_id: str | int | float | None = None
    weights: Sequence[float] | None = None
    """For aggregate: one for each entry of the list; None means equal."""
    client_ids: Sequence[str] | None = None
    strategy: Mapping[str, Any] | None = None
    on_invalid: str | None = None
    """"drop": the answer is made of the other clients where one is unusable. Anything else: refuse the call."""
    format: str | None = None
    """The format the caller wants where there is none to take it from."""
    base: bytes | None = None
    state: bytes | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the caller has left or the time is over. Work in native code can look at it; Python code is stopped anyway."""


@dataclass(frozen=True)
class TrainResult:
    parameters: Parameters
    num_samples: int | None = None
    metrics: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class EvaluateResult:
    accuracy: float
    num_samples: int | None = None
    metrics: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class AggregateResult:
    parameters: Parameters
    state: Parameters | None = None
    metrics: Mapping[str, Any] | None = None
    clients: Sequence[Mapping[str, Any]] | None = None
