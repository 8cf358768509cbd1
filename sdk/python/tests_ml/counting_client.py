"""A NumPyClient that adds one to every number, and remembers the config of each call."""

from __future__ import annotations

from typing import Any

import numpy as np
from flwr.client import NumPyClient

seen: list[dict[str, Any]] = []


class CountingClient(NumPyClient):
    def get_parameters(self, config: dict[str, Any]) -> list[Any]:
        return [np.zeros(2), np.float32(3)]

    def fit(self, parameters: list[Any], config: dict[str, Any]) -> tuple[list[Any], int, dict[str, Any]]:
        seen.append(config)
        return [np.asarray(array) + 1 for array in parameters], 7, {"loss": 0.5, "note": "text"}
