"""The process of an own strategy in Python. It gets everything through its standard streams: a JSON header, and the parameters as safetensors."""

import json
import os
import resource
import struct
import sys
from types import SimpleNamespace

MEMORY = int(sys.argv[1])
sys.path.insert(0, sys.argv[2])
# Limits of the process itself, before it loads a line of the strategy: memory, no files written, no other processes.
for limit, value in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
    resource.setrlimit(limit, (value, value))

answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def read(length):
    data = sys.stdin.buffer.read(length)
    if len(data) != length:
        raise EOFError("the input ended early")
    return data


def read_blob():
    return read(struct.unpack("<Q", read(8))[0])


def send(header, *blobs):
    text = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    answers.write(struct.pack("<Q", len(text)) + text)
    for blob in blobs:
        answers.write(blob)
    answers.flush()


def select(asked, module):
    """The ids of a round's participants."""
    exec(compile(asked["source"], "strategy.py", "exec"), module)
    if not callable(module.get("select")):
        raise TypeError("the source defines no function select(participants, context)")
    participants = [SimpleNamespace(**one) for one in asked["participants"]]
    return list(module["select"](participants, SimpleNamespace(round=asked["round"], count=asked["count"])))


def main():
    try:
        from tributary_participant.numpy_tensors import dump_numpy, load_numpy

        try:
            import numpy  # noqa: F401
        except ImportError:
            raise RuntimeError("the Python of this coordinator (STRATEGY_PYTHON) has no numpy") from None
        asked = json.loads(read_blob())
        module = {"__name__": "strategy"}
        if "participants" in asked:
            send({}, json.dumps(select(asked, module)).encode())
            return

        def tensors():
            blob = read_blob()
            return load_numpy(blob) if blob else None

        base, state = tensors(), tensors()
        updates = [SimpleNamespace(weight=weight, parameters=tensors()) for weight in asked["weights"]]
        exec(compile(asked["source"], "strategy.py", "exec"), module)
        if not callable(module.get("aggregate")):
            raise TypeError("the source defines no function aggregate(updates, context)")
        context = SimpleNamespace(base=base, state=state, settings=asked["settings"], round=asked["round"])
        returned = module["aggregate"](updates, context)
        parameters, following = returned if isinstance(returned, tuple) else (returned, None)
        blobs = [dump_numpy(parameters)] + ([] if following is None else [dump_numpy(following)])
    except BaseException as failure:
        send({"error": f"{type(failure).__name__}: {failure}"[:500]})
        return
    send({}, *blobs)


main()
