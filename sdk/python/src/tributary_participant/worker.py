"""A process of a simulation: runs the functions of one file for many virtual clients, one call at a time, over its standard streams.

`make simulate` starts it: `python -m tributary_participant.worker file.py`. Each request is four bytes of length and a JSON header
(operation, fields, the file of the parameters); each answer is the same, followed by the parameters.
"""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import sys
from typing import IO, Any

from .answer import Answer, dump_fields
from .errors import ParticipantError
from .node import Caller, Node
from .participant import default_functions
from .progress import Progress
from .settings import Settings
from .slots import Reservation


def main(path: str) -> None:
    answers = private_answers()
    load_functions(path)
    node = start_node()
    parameters = _Parameters()
    while (request := read_frame(sys.stdin.buffer)) is not None:
        try:
            answer = run_request(node, request, parameters.read(request.get("file")))
            write_frame(answers, {"fields": answer.fields}, answer.parameters)
        except ParticipantError as problem:
            write_frame(answers, {"error": problem.message}, None)


def private_answers() -> IO[bytes]:
    """The stream of answers. What functions print goes to the errors, so that it does not get into it."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def start_node() -> Node:
    return Node(default_functions(), Settings(threads=1))


class _Parameters:
    """The clients of a round start from the same file, so the last one is kept."""

    def __init__(self) -> None:
        self._last: tuple[str, bytes] | None = None

    def read(self, path: str | None) -> bytes | None:
        if path is None:
            return None
        if self._last is None or self._last[0] != path:
            with open(path, "rb") as file:
                self._last = (path, file.read())
        return self._last[1]


def run_request(node: Node, request: dict[str, Any], parameters: bytes | None) -> Answer:
    caller = Caller(str(request["fields"].get("client_id")), Progress(), lambda: False)
    reservation = Reservation(node.budget)
    return node.run_call(request["operation"], {**request["fields"], "parameters": parameters}, caller, reservation=reservation)


def load_functions(path: str) -> None:
    """Loads the file, which registers its functions. It is not the main program, so a `run()` under its `__main__` does nothing."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    specification = importlib.util.spec_from_file_location("simulated_functions", path)
    if specification is None or specification.loader is None:
        sys.exit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules["simulated_functions"] = module
    specification.loader.exec_module(module)
    if not default_functions().names:
        sys.exit(f"{path} registers no function: call register_train and register_evaluate")


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    length = stream.read(4)
    if len(length) < 4:
        return None
    value: dict[str, Any] = json.loads(stream.read(struct.unpack("<I", length)[0]))
    return value


def write_frame(stream: IO[bytes], header: dict[str, Any], body: memoryview | None) -> None:
    text = dump_fields({**header, "bytes": 0 if body is None else body.nbytes})
    stream.write(struct.pack("<I", len(text)) + text)
    if body is not None:
        stream.write(body)
    stream.flush()


if __name__ == "__main__":
    main(sys.argv[1])
