"""Divides the rows of a dataset among participants, for simulations and examples. Needs numpy.

`part_of(labels, dataset)` gives the rows of this participant, by the `partition` that a federation's dataset names:
`{"scheme": "iid" | "shards" | "dirichlet", "index": 3, "of": 100, "seed": 1, "alpha": 0.1}`. The parts of one seed are disjoint and cover all
rows, and none is empty unless there are more parts than rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Rows = numpy.ndarray[Any, numpy.dtype[numpy.int64]]

_SCHEMES = ("iid", "shards", "dirichlet")


def part_of(labels: Any, dataset: Any) -> Rows:
    """The rows of one part; all rows if the dataset names no partition."""
    import numpy

    known = numpy.asarray(labels)
    partition = dataset.get("partition") if isinstance(dataset, Mapping) else None
    if not partition:
        return numpy.arange(len(known))
    scheme, of = partition.get("scheme", "iid"), int(partition["of"])
    if scheme not in _SCHEMES:
        raise ValueError(f"partition.scheme must be one of {', '.join(_SCHEMES)}, not {scheme!r}")
    parts = _parts(_Labels(known), scheme, of, int(partition.get("seed", 0)), float(partition.get("alpha", 1.0)))
    return parts[int(partition["index"])]


class _Labels:
    """Labels that are equal by their bytes, so that the parts of one dataset are computed once and not for each client."""

    def __init__(self, labels: Rows) -> None:
        self.labels = labels
        self._hash = (len(labels), zlib.crc32(labels.tobytes()))

    def __hash__(self) -> int:
        return hash(self._hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Labels) and self._hash == other._hash


@lru_cache(maxsize=8)
def _parts(labels: _Labels, scheme: str, of: int, seed: int, alpha: float) -> list[Rows]:
    import numpy

    random = numpy.random.default_rng(seed)
    shuffled = random.permutation(len(labels.labels))
    if scheme == "iid":
        return list(numpy.array_split(shuffled, of))
    if scheme == "shards":
        by_label = shuffled[numpy.argsort(labels.labels[shuffled], kind="stable")]
        shards, deal = numpy.array_split(by_label, 2 * of), random.permutation(2 * of)
        return _without_empty([numpy.concatenate([shards[deal[2 * index]], shards[deal[2 * index + 1]]]) for index in range(of)])
    return _without_empty(_dirichlet(labels.labels, shuffled, of, alpha, random))


def _dirichlet(labels: Rows, shuffled: Rows, of: int, alpha: float, random: Any) -> list[Rows]:
    """Each class is divided by its own Dirichlet draw."""
    import numpy

    parts: list[list[Rows]] = [[] for _ in range(of)]
    for label in numpy.unique(labels):
        rows = shuffled[labels[shuffled] == label]
        shares = random.dirichlet(numpy.full(of, alpha))
        ends = numpy.round(numpy.cumsum(shares)[:-1] * len(rows)).astype(int)
        for part, taken in zip(parts, numpy.split(rows, ends), strict=True):
            part.append(taken)
    return [numpy.concatenate(part) for part in parts]


def _without_empty(parts: list[Rows]) -> list[Rows]:
    """A part without rows gets the last one of the part that is the largest by then."""
    for index in [index for index, part in enumerate(parts) if len(part) == 0]:
        largest = max(range(len(parts)), key=lambda other: len(parts[other]))
        if len(parts[largest]) > 1:
            parts[index], parts[largest] = parts[largest][-1:], parts[largest][:-1]
    return parts
