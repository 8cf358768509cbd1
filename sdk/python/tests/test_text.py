"""Base64 and JSON: what is read is read whole and exactly, or refused with the place."""

from __future__ import annotations

import base64
import json
import random

import pytest

from tributary_participant.base64_text import decode_base64, encode_base64
from tributary_participant.errors import ParticipantError
from tributary_participant.json_text import parse_object


def test_base64_of_any_bytes_comes_back() -> None:
    chance = random.Random(1)
    for length in range(200):
        data = chance.randbytes(length)
        text = encode_base64(data).decode()
        assert text == base64.b64encode(data).decode()
        assert decode_base64(text, "p") == data


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("AQ*ID!AA", 2),
        ("AQ-_", 2),
        ("AQI", 3),
        ("A===", 1),
        ("AQ==AQ==", 2),
        ("AQID\n", 4),
        ("====", 0),
        ("Ä===", 0),
        ("AQI\U0001f600", 3),
        ("A", 1),
        ("AQ=D", 2),
        ("=", 1),
    ],
)
def test_bad_base64_is_refused_at_the_offset_where_the_trainer_node_refuses_it(text: str, offset: int) -> None:
    with pytest.raises(ParticipantError) as caught:
        decode_base64(text, "parameters")
    assert (caught.value.status, caught.value.code) == (422, "INVALID_BASE64")
    assert caught.value.details == {"field": "parameters", "offset": offset}


def test_every_single_wrong_character_of_a_long_text_is_found() -> None:
    text = base64.b64encode(bytes(range(48))).decode()
    for place in range(len(text)):
        with pytest.raises(ParticipantError) as caught:
            decode_base64(f"{text[:place]}*{text[place + 1 :]}", "p")
        assert caught.value.details == {"field": "p", "offset": place}


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"{'a':1}", b'{"a":NaN}', b'{"a":Infinity}', b'{"a":-Infinity}', b"\xff\xfe", b'{"a":"\xff"}', b'{"a":1}x'],
)
def test_a_body_that_is_not_json_is_a_400(body: bytes) -> None:
    with pytest.raises(ParticipantError) as caught:
        parse_object(body)
    assert (caught.value.status, caught.value.code) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("body", [b"[]", b"1", b'"a"', b"null"])
def test_json_that_is_not_an_object_is_a_422(body: bytes) -> None:
    with pytest.raises(ParticipantError) as caught:
        parse_object(body)
    assert caught.value.status == 422


def test_a_number_of_a_million_digits_is_refused_and_costs_nothing() -> None:
    with pytest.raises(ParticipantError) as caught:
        parse_object(b'{"a":' + b"9" * 1_000_000 + b"}")
    assert caught.value.status == 400


def nested(depth: int) -> bytes:
    """An object of the given depth, lists and objects in turn."""
    value: object = 1
    for level in range(depth - 1):
        value = [value] if level % 2 else {"k": value}
    return json.dumps({"d": value}).encode()


def test_64_levels_are_read_and_65_are_not() -> None:
    assert "d" in parse_object(nested(64))
    for depth in (65, 100, 900):
        with pytest.raises(ParticipantError) as caught:
            parse_object(nested(depth))
        assert (caught.value.status, "deeper" in caught.value.message) == (400, True)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_million_levels_are_a_400_not_a_crash(opening: bytes) -> None:
    with pytest.raises(ParticipantError) as caught:
        parse_object(b'{"d":' + opening * 1_000_000)
    assert caught.value.status == 400


def test_brackets_within_strings_do_not_count_as_levels() -> None:
    value = {"text": "[{" * 500 + '\\"[' * 500 + "\\", "rows": [{"a": "]\n["} for _ in range(200)]}
    assert parse_object(json.dumps(value).encode()) == value
