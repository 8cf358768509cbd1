"""A pickle is treated as bytes. Only a registered function may unpickle it."""

from __future__ import annotations

import base64
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import Serve

from tributary_participant.numpy_tensors import load_numpy
from tributary_participant.safetensors import load


class SideEffect:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def hostile(path: Path) -> list[bytes]:
    pickles = [pickle.dumps(SideEffect(path), protocol) for protocol in range(6)]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as torch_file:
        torch_file.writestr("archive/data.pkl", pickles[2])
    return [*pickles, archive.getvalue()]


def test_a_pickle_with_a_side_effect_reaches_functions_raw_and_is_never_run_by_us(serve: Serve, tmp_path: Path) -> None:
    mark = tmp_path / "pickle-was-run"
    got: list[Any] = []
    served = serve(
        train=lambda p, d: got.append(p) or p,
        evaluate=lambda p, d: got.append(p) or 1,
        aggregate=lambda entries: got.extend(entries) or entries[0],
    )
    bodies = hostile(mark)
    for data in bodies:
        text = base64.b64encode(data).decode()
        assert base64.b64decode(served.send("/train", {"parameters": text}).body["parameters"]) == data
        assert served.send("/v1/evaluate", {"parameters": text, "dataset": {"data": text}}).status == 200
        assert served.send("/aggregate", {"parameters_list": [text], "base": text, "state": text}).status == 200
        assert served.send("/call", {"method": "train", "parameters": text}).status == 200
        assert served.send("/train", data, headers={"Content-Type": "application/octet-stream"}).status == 200
        # As a request body it is not JSON, whatever its Content-Type.
        assert served.send("/train", data, headers={"Content-Type": "application/python-pickle"}).status == 400
    assert got == [data for data in bodies for _ in range(5)]
    assert not mark.exists()
    pickle.loads(bodies[2])
    assert mark.exists(), "the pickles of this test must be able to do harm"


@pytest.mark.parametrize("read", [load, load_numpy])
def test_a_function_that_reads_with_our_helpers_answers_415_to_pickles(serve: Serve, tmp_path: Path, read: Any) -> None:
    mark = tmp_path / "pickle-was-run"
    served = serve(train=lambda p, d: read(p) and p)
    for data in hostile(mark):
        reply = served.send("/train", {"parameters": base64.b64encode(data).decode()})
        assert (reply.status, reply.body["code"]) == (415, "UNSUPPORTED_PARAMETERS")
        assert "safetensors" in reply.body["error"]
    assert not mark.exists()
