"""Every limit of a participant, with the names and defaults of the trainer node; `/v1/info` shows them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MIB = 1024 * 1024
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 5000
    """0 selects a free port."""
    auth: str = "loopback"
    """Who may call without a token. "loopback": other machines are refused. "none": any caller that reaches the port."""
    token: str | None = None
    """If set, every call must carry it as `x-gw-api-key`, `x-api-key` or `Authorization: Bearer`."""
    secret: str | None = None
    """If set, every call but the health pages must be signed with it, as coordinators do; with a token, only training calls."""
    host_names: tuple[str, ...] = ()
    """Names beside 127.0.0.1 and localhost by which it may be called without token and secret: the `Host` header."""
    join_url: str | None = None
    """The gateway that this participant asks for work, if it cannot be called, such as behind NAT."""
    join_token: str | None = None
    """For `join_url`: the join token of a place in a federation, or the join link of an open one."""
    data_dir: str = "data"
    """The folder that keeps the participant's own join tokens."""
    threads: int = os.cpu_count() or 1
    queue_max: int = 64
    devices: tuple[str, ...] = ()
    """Names of devices, such as ("cuda:0", "cuda:1"). Each call of train and evaluate has one for itself: `context.device`."""
    body_bytes_max: int = 512 * _MIB
    bytes_budget: int = 1024 * _MIB
    """Most bytes of all bodies that are arriving, queued or running."""
    body_idle_ms: int = 60_000
    task_timeout_ms: int = _HOUR_MS
    connections_max: int = 512
    stop_grace_ms: int = 10_000
    dataset_path: str | None = None
    """A JSON file that functions receive if a request has no dataset."""
    formats: tuple[str, ...] = ("safetensors",)
    """The formats that the registered functions read and write, shown in `/v1/info` for coordinators."""

    proximal: bool = False
    """The train function adds the proximal term of `context.config["mu"]` to its loss, as the strategy fedprox needs; `/v1/info` says so."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    """What this participant says about itself, such as its region: `context.properties` of its functions, and shown in `/v1/info`."""

    exceptions: str = "owner"
    """Who gets the message of a function's exception. "owner": callers on this machine that call for no organization; others get its type."""

    def __post_init__(self) -> None:
        problems = _problems_of(self)
        if problems:
            raise ValueError("; ".join(problems))


def read_settings(environment: Mapping[str, str], given: Mapping[str, Any]) -> Settings:
    """Settings of the program, else of the environment, else the defaults. Reports all problems at once."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for variable, (name, read) in _VARIABLES.items():
        text = environment.get(variable)
        if text is None or text == "" or name in given:
            continue
        try:
            values[name] = read(text)
        except ValueError:
            problems.append(f"{variable}: {text[:50]!r} is not {_KINDS.get(read, 'a whole number')}")
    if problems:
        raise ValueError("; ".join(problems))
    settings = {**values, **given}
    if settings.get("join_url") is not None:
        # A participant that asks for its work needs no fixed port, and several can run on one machine.
        settings.setdefault("port", 0)
    return Settings(**settings)


def _read_properties(text: str) -> Any:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def _read_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _read_flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


_KINDS: Mapping[Callable[[str], Any], str] = {_read_properties: "a JSON object", _read_flag: "true or false"}

_VARIABLES: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "HOST": ("host", str),
    "TRAINER_PORT": ("port", int),
    "TRAINER_AUTH": ("auth", str),
    "TRAINER_TOKEN": ("token", str),
    "TRAINER_SECRET": ("secret", str),
    "TRAINER_HOST_NAMES": ("host_names", _read_names),
    "TRAINER_JOIN_URL": ("join_url", str),
    "TRAINER_JOIN_TOKEN": ("join_token", str),
    "DATA_DIR": ("data_dir", str),
    "TRAINER_THREADS": ("threads", int),
    "TRAINER_DEVICES": ("devices", _read_names),
    "TRAINER_QUEUE_MAX": ("queue_max", int),
    "TRAINER_BODY_BYTES_MAX": ("body_bytes_max", int),
    "TRAINER_BYTES_BUDGET": ("bytes_budget", int),
    "TRAINER_BODY_IDLE_MS": ("body_idle_ms", int),
    "TRAINER_TASK_TIMEOUT_MS": ("task_timeout_ms", int),
    "TRAINER_EXCEPTIONS": ("exceptions", str),
    "TRAINER_PROPERTIES": ("properties", _read_properties),
    "TRAINER_PROXIMAL": ("proximal", _read_flag),
    "DATASET_PATH": ("dataset_path", str),
}

_RANGES: Mapping[str, tuple[int, int]] = {
    "port": (0, 65_535),
    "threads": (1, 1024),
    "queue_max": (0, 100_000),
    "body_bytes_max": (1024, 16 * 1024 * _MIB),
    "bytes_budget": (1024, 2**53 - 1),
    "body_idle_ms": (100, _HOUR_MS),
    "task_timeout_ms": (1, 2**31 - 1),
    "connections_max": (1, 100_000),
    "stop_grace_ms": (0, _HOUR_MS),
}


_PROPERTIES_LENGTH_MAX = 4096


def _problems_of(settings: Settings) -> list[str]:
    problems = []
    for name, (least, most) in _RANGES.items():
        value = getattr(settings, name)
        if type(value) is not int or not least <= value <= most:
            problems.append(f"{name}: must be a whole number from {least} to {most}, not {value!r}")
    if settings.auth not in ("loopback", "none"):
        problems.append(f'auth: must be "loopback" or "none", not {settings.auth!r}')
    if settings.exceptions not in ("owner", "all"):
        problems.append(f'exceptions: must be "owner" or "all", not {settings.exceptions!r}')
    if type(settings.proximal) is not bool:
        problems.append(f"proximal: must be True or False, not {settings.proximal!r}")
    if not _is_plain(settings.properties):
        problems.append("properties: must be a dictionary that JSON can represent")
    if any(not isinstance(name, str) or name == "" for name in settings.devices) or len(set(settings.devices)) < len(settings.devices):
        problems.append("devices: must be names, each once")
    if isinstance(settings.host_names, str) or any(not isinstance(name, str) for name in settings.host_names):
        problems.append("host_names: must be a tuple of names")
    problems += _join_problems(settings)
    for name, text in (("token", settings.token), ("secret", settings.secret)):
        if text is not None and len(text) < 16:
            problems.append(f"{name}: must have 16 characters or more")
    if not problems and settings.bytes_budget < settings.body_bytes_max:
        problems.append("bytes_budget: must be at least body_bytes_max, or a body of the largest allowed size could never be accepted")
    return problems


def _join_problems(settings: Settings) -> list[str]:
    url, token = settings.join_url, settings.join_token
    problems = []
    if (url is None) != (token is None):
        problems.append("join_url, join_token (TRAINER_JOIN_URL, TRAINER_JOIN_TOKEN): set both or neither")
    if url is not None and not url.startswith(("http://", "https://")):
        problems.append("join_url: must be an http or https address")
    if token is not None and not re.fullmatch(r"join_[A-Za-z0-9_-]+", token):
        problems.append("join_token: must begin with join_")
    if url is not None and _is_plain(settings.properties) and len(json.dumps(dict(settings.properties))) > _PROPERTIES_LENGTH_MAX:
        problems.append(f"properties: must have at most {_PROPERTIES_LENGTH_MAX} characters as JSON, to be sent with each request for work")
    return problems


def _is_plain(properties: Any) -> bool:
    try:
        json.dumps(properties, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(properties, Mapping)
