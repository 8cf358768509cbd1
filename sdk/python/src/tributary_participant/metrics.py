"""The metrics that Prometheus reads at /metrics, with the trainer node's names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS_SECONDS = (0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600, 3600)


class Metrics:
    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        self._gauges = gauges
        self._lock = threading.Lock()
        self._calls: dict[tuple[str, int], int] = {}
        # By route: the count of each bucket, not cumulative, and the sum of all seconds.
        self._seconds: dict[str, tuple[list[int], list[float]]] = {}
        self._bytes = {"in": 0, "out": 0}

    def count_call(self, *, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._calls[route, status] = self._calls.get((route, status), 0) + 1
            counts, total = self._seconds.setdefault(route, ([0] * (len(_BUCKETS_SECONDS) + 1), [0.0]))
            counts[sum(seconds > edge for edge in _BUCKETS_SECONDS)] += 1
            total[0] += seconds

    def count_bytes(self, direction: str, count: int) -> None:
        with self._lock:
            self._bytes[direction] += count

    def text(self) -> str:
        lines: list[str] = []
        with self._lock:
            _head(lines, "trainer_calls_total", "counter", "Calls answered.")
            lines += [f'trainer_calls_total{{route="{route}",status="{status}"}} {n}' for (route, status), n in sorted(self._calls.items())]
            _head(lines, "trainer_call_seconds", "histogram", "From request to answer.")
            for route, (counts, total) in sorted(self._seconds.items()):
                lines += _histogram(route, counts, total[0])
            _head(lines, "trainer_body_bytes_total", "counter", "Bytes of request and answer bodies.")
            lines += [f'trainer_body_bytes_total{{direction="{direction}"}} {n}' for direction, n in self._bytes.items()]
        for name, (about, read) in self._gauges.items():
            _head(lines, name, "gauge", about)
            lines.append(f"{name} {read()}")
        return "\n".join(lines) + "\n"


def _head(lines: list[str], name: str, kind: str, about: str) -> None:
    lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _histogram(route: str, counts: list[int], total: float) -> list[str]:
    lines = []
    so_far = 0
    for edge, count in zip([*map(str, _BUCKETS_SECONDS), "+Inf"], counts, strict=True):
        so_far += count
        lines.append(f'trainer_call_seconds_bucket{{le="{edge}",route="{route}"}} {so_far}')
    lines.append(f'trainer_call_seconds_sum{{route="{route}"}} {total}')
    lines.append(f'trainer_call_seconds_count{{route="{route}"}} {so_far}')
    return lines
