"""How rows are divided among participants."""

from __future__ import annotations

from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

from tributary_participant.partitions import part_of  # noqa: E402

_LABELS = numpy.arange(1797) % 10


def _parts(of: int, **partition: Any) -> list[Any]:
    return [part_of(_LABELS, {"partition": {**partition, "of": of, "index": index}}) for index in range(of)]


@pytest.mark.parametrize("scheme", ["iid", "shards", "dirichlet"])
@pytest.mark.parametrize("of", [1, 7, 1000])
def test_parts_are_disjoint_cover_all_rows_and_are_not_empty(scheme: str, of: int) -> None:
    parts = _parts(of, scheme=scheme, alpha=0.1, seed=3)
    assert min(map(len, parts)) > 0
    assert sorted(numpy.concatenate(parts).tolist()) == list(range(1797))
    again = _parts(of, scheme=scheme, alpha=0.1, seed=3)
    assert all((part == other).all() for part, other in zip(parts, again, strict=True))


def test_dirichlet_parts_are_the_more_one_sided_the_smaller_alpha() -> None:
    def largest_share(alpha: float) -> float:
        parts = _parts(10, scheme="dirichlet", alpha=alpha, seed=1)
        return float(numpy.mean([numpy.bincount(_LABELS[part]).max() / len(part) for part in parts]))

    assert largest_share(0.1) > largest_share(100) + 0.1


def test_without_a_partition_all_rows_are_one_participants() -> None:
    assert len(part_of(_LABELS, {"name": "digits"})) == len(part_of(_LABELS, None)) == 1797


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(ValueError, match="iid, shards, dirichlet, not 'by size'"):
        part_of(_LABELS, {"partition": {"scheme": "by size", "index": 0, "of": 2}})
