"""safetensors: real files are read, what is written is read by others, and damaged files are refused without reading past them."""

from __future__ import annotations

import base64
import json
import math
import pickle
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from tributary_participant import ParticipantError
from tributary_participant.safetensors import Tensor, dump, load

# Written by safetensors 0.8.0 from tensors of torch 2.5.1.
REAL = base64.b64decode(
    "GAIAAAAAAAB7InN0ZXBzIjp7ImR0eXBlIjoiSTY0Iiwic2hhcGUiOlsyXSwiZGF0YV9vZmZzZXRzIjpbMCwxNl19LCJ3aWRlIjp7ImR0eXBlIjoiRjY0Iiwi"
    "c2hhcGUiOltdLCJkYXRhX29mZnNldHMiOlsxNiwyNF19LCJub25lIjp7ImR0eXBlIjoiRjMyIiwic2hhcGUiOlswLDNdLCJkYXRhX29mZnNldHMiOlsyNCwy"
    "NF19LCJ3ZWlnaHQiOnsiZHR5cGUiOiJGMzIiLCJzaGFwZSI6WzIsM10sImRhdGFfb2Zmc2V0cyI6WzI0LDQ4XX0sImJyYWluIjp7ImR0eXBlIjoiQkYxNiIs"
    "InNoYXBlIjpbM10sImRhdGFfb2Zmc2V0cyI6WzQ4LDU0XX0sImJpYXMiOnsiZHR5cGUiOiJGMTYiLCJzaGFwZSI6WzJdLCJkYXRhX29mZnNldHMiOls1NCw1"
    "OF19LCJzbWFsbCI6eyJkdHlwZSI6Ikk4Iiwic2hhcGUiOlsyXSwiZGF0YV9vZmZzZXRzIjpbNTgsNjBdfSwiYnl0ZXMiOnsiZHR5cGUiOiJVOCIsInNoYXBl"
    "IjpbMl0sImRhdGFfb2Zmc2V0cyI6WzYwLDYyXX0sIm1hc2siOnsiZHR5cGUiOiJCT09MIiwic2hhcGUiOlsyXSwiZGF0YV9vZmZzZXRzIjpbNjIsNjRdfX0g"
    "ICAgIP//////////AAAAAAABAACamZmZmZm5PwAAwD8AAADAAACAPgAAgEAAAKBAAADAwM09QMCAf2YuAEKAfwD/AQA="
)
REAL_VALUES = {
    "steps": ("I64", (2,), [-1, 2**40]),
    "wide": ("F64", (), [0.1]),
    "none": ("F32", (0, 3), []),
    "weight": ("F32", (2, 3), [1.5, -2.0, 0.25, 4.0, 5.0, -6.0]),
    "brain": ("BF16", (3,), [0.10009765625, -3.0, math.inf]),
    "bias": ("F16", (2,), [0.0999755859375, 3.0]),
    "small": ("I8", (2,), [-128, 127]),
    "bytes": ("U8", (2,), [0, 255]),
    "mask": ("BOOL", (2,), [True, False]),
}


def seen(tensors: dict[str, Tensor]) -> dict[str, Any]:
    return {name: (tensor.dtype, tensor.shape, tensor.values()) for name, tensor in tensors.items()}


def test_a_file_of_the_reference_writer_is_read_in_every_dtype() -> None:
    assert seen(load(REAL)) == REAL_VALUES


def test_the_file_the_trainer_node_is_tested_with_is_read_too() -> None:
    fixture = Path(__file__).parents[3] / "trainer-node/codec/__fixtures__/python-files.json"
    tensors = load(base64.b64decode(json.loads(fixture.read_text())["safetensors"]))
    assert seen(tensors)["weight"] == ("F32", (2, 3), [1.5, -2.0, 0.25, 4.0, 5.0, -6.0])


def test_what_is_written_comes_back_and_equal_tensors_give_equal_bytes() -> None:
    tensors = {name: Tensor.of(values, dtype=dtype, shape=shape) for name, (dtype, shape, values) in REAL_VALUES.items()}
    written = dump(tensors)
    assert seen(load(written)) == REAL_VALUES
    assert dump(dict(reversed(list(tensors.items())))) == written
    assert dump(load(written)) == written
    assert dump(load(dump({}))) == dump({})


def test_every_tensor_is_aligned_to_its_element() -> None:
    written = dump(
        {"a": Tensor.of([1], dtype="U8"), "b": Tensor.of([1.0]), "c": Tensor.of([1.0], dtype="F64"), "d": Tensor.of([1], dtype="I16")}
    )
    (length,) = struct.unpack("<Q", written[:8])
    assert length % 8 == 0
    offsets = {name: entry["data_offsets"][0] for name, entry in json.loads(written[8 : 8 + length]).items()}
    assert offsets == {"c": 0, "b": 8, "d": 12, "a": 14}


def test_brain_floats_are_rounded_to_nearest_ties_to_even() -> None:
    # 1 + 2^-8 lies between 1 and 1 + 2^-7; the even one is 1. 1 + 3 * 2^-8 lies between 1 + 2^-7 and 1 + 2^-6, which is even.
    tensor = Tensor.of([1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-16, -math.inf, 3.4e38, math.nan], dtype="BF16")
    values = tensor.values()
    assert values[:5] == [1.0, 1 + 2**-6, 1 + 2**-7, -math.inf, math.inf]
    assert math.isnan(values[5])


def test_values_that_do_not_have_the_shape_are_refused_when_the_tensor_is_made() -> None:
    with pytest.raises(ValueError, match="shape"):
        Tensor.of([1.0, 2.0], shape=[3])
    with pytest.raises(ValueError, match="dtype"):
        Tensor.of([1.0], dtype="F8")
    with pytest.raises(ValueError, match="bytes"):
        dump({"a": Tensor("F32", (2,), b"1234")})


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(start: int, end: int, shape: list[Any], dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", 415),
        (b"\x00" * 8, 415),
        (b"\x93NUMPY", 415),
        (b"PK\x03\x04archive/data.pkl", 415),
        (pickle.dumps({"a": 1}, 2), 415),
        (pickle.dumps({"a": 1}, 5), 415),
        (pickle.dumps({"a": 1}, 0), 415),
        (struct.pack("<Q", 2**63) + b"{}", 415),
        (struct.pack("<Q", 100) + b"{}", 415),
        (file_of(b"{]"), 422),
        (file_of(b'{"a":' + b"[" * 5000), 422),
        (file_of(b'{"a":' + b"9" * 5000 + b"}"), 422),
        (file_of(b'{"\xff":1}'), 422),
        (file_of({"a": 1}), 422),
        (file_of({"a": entry(0, 4, [1], "F8")}, b"1234"), 415),
        (file_of({"a": entry(0, 4, [1], ["F32"])}, b"1234"), 415),
        (file_of({"a": entry(0, 4, [2])}, b"1234"), 422),
        (file_of({"a": entry(0, 4, [1.0])}, b"1234"), 422),
        (file_of({"a": entry(0, 4, [True])}, b"1234"), 422),
        (file_of({"a": entry(0, 4, [-1, -1])}, b"1234"), 422),
        (file_of({"a": entry(4, 0, [1])}, b"1234"), 422),
        (file_of({"a": entry(0, 8, [2])}, b"1234"), 422),
        (file_of({"a": entry(0, 4, [1])}, b"12345"), 422),
        (file_of({"a": entry(0, 4, [1]), "b": entry(0, 4, [1])}, b"1234"), 422),
        (file_of({"a": entry(0, 4, [1]), "b": entry(8, 12, [1])}, b"123456789012"), 422),
        (file_of({"a": entry(0, 0, [2**40, 2**40, 0])}), 422),
        (file_of({"a": entry(0, 0, [0] * 33)}), 422),
        (file_of({"n" * 513: entry(0, 0, [0])}), 422),
        (file_of({str(index): entry(0, 0, [0]) for index in range(10_001)}), 422),
    ],
)
def test_inconsistent_files_are_refused(data: bytes, status: int) -> None:
    with pytest.raises(ParticipantError) as caught:
        load(data)
    assert caught.value.status == status


def test_no_mutation_of_a_real_file_gets_past_the_reader_as_anything_but_tensors_or_a_4xx() -> None:
    chance = random.Random(7)
    refused = 0
    for _ in range(5_000):
        data = bytearray(REAL)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        del data[chance.choice([len(data), chance.randrange(len(data))]) :]
        try:
            for tensor in load(data).values():
                tensor.values()
        except ParticipantError as problem:
            assert problem.status in (415, 422)
            refused += 1
    assert refused > 2_000
