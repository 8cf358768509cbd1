"""The parameters of published models, kept in memory after the call that sent them."""

from __future__ import annotations

import hashlib
import threading


class ServedParameters:
    """The most recently used parameters, up to a number of bytes. A larger model is sent with every call, three times a minute at most."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], bytes] = {}
        self._bytes = 0

    def take(self, tenant: str, reference: str | None, sent: bytes | None) -> bytes | None:
        """The parameters that were sent, or those of the reference that the same organization sent earlier; always the same object."""
        if sent is not None:
            reference = f"sha256:{hashlib.sha256(sent).hexdigest()}"
        key = (tenant, reference or "")
        with self._lock:
            known = self._kept.pop(key, None)
            if known is not None:
                # Parameters in use move to the end of the eviction order.
                self._kept[key] = known
                return known
            if sent is not None and len(sent) <= self._bytes_max:
                self._kept[key] = sent
                self._bytes += len(sent)
                self._evict()
            return sent

    def _evict(self) -> None:
        while self._bytes > self._bytes_max:
            oldest = next(iter(self._kept))
            self._bytes -= len(self._kept.pop(oldest))
