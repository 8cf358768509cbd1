"""The context that registered functions receive, and the results that they may return instead of a plain value."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Parameters = bytes | bytearray | memoryview

# The coordinator names a round by the id of its federation and its number.
_ROUND = re.compile(r"(?:^|/)(\d{1,9})$")


@dataclass(frozen=True)
class CallContext:
    """Passed to a function that has an argument named `context`. Fields that the caller omitted are empty or None."""

    request_id: str
    config: Mapping[str, Any] = field(default_factory=dict)
    round_id: str | int | float | None = None
    weights: Sequence[float] | None = None
    """For aggregate: one weight per entry of the list; None means equal weights."""
    client_ids: Sequence[str] | None = None
    strategy: Mapping[str, Any] | None = None
    on_invalid: str | None = None
    """"drop": invalid clients are left out. Anything else: the call is refused."""
    format: str | None = None
    """The format that the caller requests for parameters that begin without any."""
    base: bytes | None = None
    state: bytes | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the caller disconnects or the deadline passes. Native code can check it; Python code is stopped anyway."""
    client_id: str | None = None
    """The id of this participant in the federation, which its round records name."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    """The participant's own properties: `run(properties=...)` or TRAINER_PROPERTIES."""
    device: str | None = None
    """The device that this call has for itself, one of `run(devices=...)`, such as "cuda:0"; None without devices, and for aggregate."""
    report: Callable[[float], None] = field(default=lambda fraction: None, repr=False, compare=False)
    """Where `progress` reports to."""

    @property
    def round(self) -> int | None:
        """The number of the round, from 1; None if the caller named no round of a federation."""
        if isinstance(self.round_id, int):
            return self.round_id
        found = _ROUND.search(self.round_id) if isinstance(self.round_id, str) else None
        return None if found is None else int(found[1])

    def progress(self, fraction: float) -> None:
        """Reports how much of the call is done, from 0 to 1. The federation shows it for this participant while the round runs."""
        self.report(fraction)


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
