"""A running participant: its functions, its limits and its current calls."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .answer import Answer, answer_of
from .bound_update import bound_of, bound_update
from .call_fields import CLIENTS_MAX, CallInput, CallSetting, called_function, read_call
from .closed_rounds import ClosedRounds
from .compression import Residuals, can_compress
from .errors import ParticipantError
from .functions import INITIAL, OPERATIONS, Functions, Registered
from .json_text import DEPTH_MAX
from .mask_keys import can_mask
from .metrics import Metrics
from .progress import Progress
from .safetensors import ELEMENTS_MAX, NAME_BYTES_MAX, TENSORS_MAX
from .secure_steps import STEPS, SecureSums
from .served_parameters import ServedParameters
from .settings import Settings
from .signature import Signatures
from .slots import ByteBudget, Devices, Reservation, Slots
from .stored_calls import StoredCalls
from .timed_call import CallLimits, TimedCall
from .version import VERSION

_DRAINING_RETRY_SECONDS = 10
_STUCK_SECONDS = 2.0
# An aggregate function computes on the CPU: it must not wait for a training.
_ON_DEVICES = ("train", "evaluate")


@dataclass(frozen=True)
class Caller:
    """Who waits for a call. `has_left` is asked regularly in the waiting thread, which is also the time to send progress on."""

    request_id: str
    progress: Progress
    has_left: Callable[[], bool]
    tenant: str = ""
    """The caller's organization: what is stored for one is not for another."""


class Node:
    def __init__(self, functions: Functions, settings: Settings) -> None:
        self.functions = functions
        self.settings = settings
        self.budget = ByteBudget(settings.bytes_budget)
        self.draining = threading.Event()
        self.rounds = ClosedRounds()
        self.stored_calls = StoredCalls(settings.bytes_budget // 4)
        self._secure_sums = SecureSums(settings.bytes_budget // 4)
        self.signatures = None if settings.secret is None else Signatures(settings.secret)
        self._residuals = Residuals(settings.bytes_budget // 4)
        self._served = ServedParameters(settings.bytes_budget // 4)
        self._slots = Slots(threads=settings.threads, queue_max=settings.queue_max)
        self._devices = Devices(settings.devices, queue_max=settings.queue_max)
        self._default_dataset = _load_dataset(settings.dataset_path)
        # When each abandoned function was abandoned.
        self._overdue: dict[TimedCall, float] = {}
        self._in_flight = 0
        self._lock = threading.Lock()
        self.metrics = Metrics(
            {
                "trainer_queue_size": ("Calls waiting for a thread.", lambda: self._slots.load()[1]),
                "trainer_running": ("Calls that have a thread.", lambda: self._slots.load()[0]),
                "trainer_held_bytes": ("Bytes of bodies arriving, queued or running.", lambda: self.budget.held),
                "trainer_overdue": ("Abandoned functions that are still running.", lambda: len(self._overdue)),
            }
        )

    def refuse_draining(self) -> None:
        if self.draining.is_set():
            message = "The participant is shutting down. Use another one, or try again later."
            raise ParticipantError("DRAINING", message, retry_after_seconds=_DRAINING_RETRY_SECONDS)

    def run_call(self, operation: str, fields: dict[str, Any], caller: Caller, *, reservation: Reservation) -> Answer:
        """Runs a call. Raises the errors of the caller and of the function, TIMEOUT, and ClientLeft, also if its round is closed."""
        with self.rounds.watched(caller.tenant, fields.get("round_id")) as stopped:
            watched = replace(caller, has_left=lambda: stopped.is_set() or caller.has_left())
            return self._run_call(operation, fields, watched, reservation=reservation)

    def _run_call(self, operation: str, fields: dict[str, Any], caller: Caller, *, reservation: Reservation) -> Answer:
        operation = called_function(operation, fields)
        function = self.functions.find(operation)
        cancelled = threading.Event()
        setting = CallSetting(
            default_dataset=self._default_dataset,
            properties=self.settings.properties,
            takes_context=function.takes_context,
            request_id=caller.request_id,
            cancelled=cancelled,
            report=caller.progress.report,
            served=lambda reference, sent: self._served.take(caller.tenant, reference, sent),
        )
        call = read_call(operation, fields, setting)
        limits = CallLimits(timeout_ms=self.settings.task_timeout_ms, has_left=caller.has_left, cancelled=cancelled)
        # What is wrong with the config is found before anything is taken; the device is known only then.
        device: str | None = None
        bounded = _bounded_call(operation, function, call, lambda: device)
        function_call = self._residuals.compressing(operation, call, bounded, tenant=caller.tenant)
        device = self._devices.take(limits.wait) if operation in _ON_DEVICES else None
        try:
            self._slots.take(limits.wait)
        except BaseException:
            self._devices.give_back(device)
            raise
        started = time.monotonic()
        work = TimedCall(function_call, name=f"{operation} {caller.request_id}")
        try:
            returned = work.run(limits)
        finally:
            self._after(work, reservation, device)
        return answer_of(operation, returned, duration_ms=(time.monotonic() - started) * 1000, warnings=call.warnings)

    def run_once(self, key: tuple[str, str] | None, run: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Runs a call with an idempotency key and its fingerprint once. The second value tells whether the answer is an earlier one."""
        if key is None:
            return run(), False
        earlier = self.stored_calls.take(*key)
        if earlier is not None:
            return earlier, True
        try:
            answer = run()
        except BaseException:
            self.stored_calls.fail(key[0])
            raise
        self.stored_calls.finish(*key, answer)
        return answer, False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts a call from its body to the last byte of its answer, so that stop() can wait for it."""
        with self._lock:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def calls_in_flight(self) -> int:
        return self._in_flight

    def state(self) -> str:
        if self.draining.is_set():
            return "draining"
        # If all threads are in native code that does not end, only a restart helps. Python code has been stopped by then.
        with self._lock:
            stuck = sum(time.monotonic() - since > _STUCK_SECONDS for since in self._overdue.values())
        return "stuck" if stuck >= self.settings.threads else "ready"

    def describe(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "version": VERSION,
            "kernel": "python",
            "operations": [*(name for name in OPERATIONS if name != "serve" or name in self.functions.names), "call"],
            "registered": self.functions.names,
            "formats": list(settings.formats),
            "capabilities": self.capabilities(),
            "properties": dict(settings.properties),
            "devices": list(settings.devices),
            **({"secure_aggregation": list(STEPS)} if self.capabilities()["mask"] else {}),
            "body_types": ["application/json", "application/octet-stream"],
            "tasks": [],
            "strategies": [],
            "datasets": [],
            "default_dataset": self._default_dataset is not None,
            "limits": {
                "body_bytes": settings.body_bytes_max,
                "aggregate_body_bytes": settings.body_bytes_max,
                "held_bytes": settings.bytes_budget,
                "queue": settings.queue_max,
                "threads": settings.threads,
                "task_timeout_ms": settings.task_timeout_ms,
                "json_depth": DEPTH_MAX,
                "clients": CLIENTS_MAX,
                "tensors": TENSORS_MAX,
                "tensor_elements": ELEMENTS_MAX,
                "tensor_name_bytes": NAME_BYTES_MAX,
            },
        }

    def capabilities(self) -> dict[str, Any]:
        """What a coordinator may rely on: updates are clipped, noised and masked here, in the one format that this package reads."""
        can_bound = "train" in self.functions.names and "safetensors" in self.settings.formats
        able = {"clip": can_bound, "noise": can_bound, "mask": can_bound and can_mask(), "steps": False}
        able |= {"compress": can_bound and can_compress(), "serve": "serve" in self.functions.names}
        able["initial"] = can_bound and INITIAL in self.functions.names
        able["proximal"] = "train" in self.functions.names and self.settings.proximal
        return {**able, "formats": list(self.settings.formats)}

    def secure_sums(self) -> SecureSums:
        if not self.capabilities()["mask"]:
            message = "This participant cannot mask its updates: it needs a train function, the format safetensors, cryptography and numpy."
            raise ParticipantError("NOT_REGISTERED", message)
        return self._secure_sums

    def _after(self, work: TimedCall, reservation: Reservation, device: str | None) -> None:
        """Releases what the call reserved, as soon as its function has ended, so that the limits stay accurate."""
        if work.has_ended:
            self._devices.give_back(device)
            self._slots.give_back()
            return
        held = reservation.move()
        with self._lock:
            self._overdue[work] = time.monotonic()

        def wait_for_the_end() -> None:
            work.end()
            with self._lock:
                del self._overdue[work]
            held.release()
            self._devices.give_back(device)
            self._slots.give_back()

        threading.Thread(target=wait_for_the_end, name="overdue", daemon=True).start()


def _bounded_call(operation: str, function: Registered, call: CallInput, device: Callable[[], str | None]) -> Callable[[], Any]:
    """The call of a function. If the config bounds the update, it is clipped and noised before it leaves the function's thread."""

    def run() -> Any:
        keywords = {"context": replace(call.context, device=device())} if function.takes_context else {}
        return function.call(*call.arguments, **keywords)

    bound = bound_of(call.context.config) if operation == "train" else None
    if bound is None:
        return run
    base = call.arguments[0]
    return lambda: bound_update(run(), base=base, bound=bound)


def _load_dataset(path: str | None) -> Any:
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as problem:
        raise ValueError(f"dataset_path: {path} cannot be used: {problem}") from problem
