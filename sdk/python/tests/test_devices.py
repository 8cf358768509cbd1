"""GPUs and other devices: a call has one for itself until its function has ended."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import eventually

from tributary_participant import CallContext, EvaluateResult
from tributary_participant.settings import Settings, read_settings

DEVICES = ("fake:0", "fake:1")


class Recorder:
    """Functions that stay on their device until they are let go, and remember who was on it at the same time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.on: Counter[str | None] = Counter()
        self.most: Counter[str | None] = Counter()
        self.seen: list[str | None] = []
        self.go = threading.Event()

    def train(self, parameters: bytes | None, dataset: Any, context: CallContext) -> bytes:
        with self.lock:
            self.seen.append(context.device)
            self.on[context.device] += 1
            self.most[context.device] = max(self.most[context.device], self.on[context.device])
        self.go.wait(20)
        with self.lock:
            self.on[context.device] -= 1
        return b"trained"

    def evaluate(self, parameters: bytes | None, dataset: Any, context: CallContext) -> EvaluateResult:
        self.train(parameters, dataset, context)
        return EvaluateResult(1)


def test_no_device_has_two_calls_at_once_and_all_devices_are_used(serve: Any) -> None:
    recorder = Recorder()
    served = serve(train=recorder.train, evaluate=recorder.evaluate, devices=DEVICES, threads=8)
    assert served.send("/v1/info").body["devices"] == list(DEVICES)
    with ThreadPoolExecutor(6) as pool:
        calls = [pool.submit(served.send, path, {"dataset": [1]}) for path in ("/train", "/evaluate") * 3]
        eventually(lambda: sum(recorder.on.values()) == 2, "a call on each device")
        assert set(recorder.seen) == set(DEVICES)
        recorder.go.set()
        assert [call.result().status for call in calls] == [200] * 6
    assert recorder.most == {"fake:0": 1, "fake:1": 1}
    assert len(recorder.seen) == 6


def test_aggregate_waits_for_no_device_and_without_devices_there_is_none(serve: Any) -> None:
    recorder = Recorder()
    devices: list[str | None] = []

    def aggregate(parameters_list: list[bytes], context: CallContext) -> bytes:
        devices.append(context.device)
        return b"mean"

    served = serve(train=recorder.train, aggregate=aggregate, devices=("fake:0",), threads=2)
    with ThreadPoolExecutor(1) as pool:
        training = pool.submit(served.send, "/train", {"dataset": [1]})
        eventually(lambda: recorder.seen == ["fake:0"], "a training on the device")
        assert served.send("/aggregate", {"parameters_list": ["AAAA"]}).status == 200
        recorder.go.set()
        assert training.result().status == 200
    assert serve(train=recorder.train).send("/train", {"dataset": [1]}).status == 200
    assert (devices, recorder.seen[-1]) == ([None], None)


def test_a_call_that_ran_out_of_time_keeps_its_device_until_its_function_ends(serve: Any) -> None:
    entered, release, ended = threading.Event(), threading.Event(), threading.Event()
    devices: list[str | None] = []

    def train(parameters: bytes | None, dataset: Any, context: CallContext) -> bytes:
        devices.append(context.device)
        entered.set()
        while dataset == ["slow"]:
            try:
                if release.wait(0.01):
                    break
            except BaseException:  # as native code, which cannot be stopped
                continue
        ended.set()
        return b"trained"

    served = serve(train=train, devices=("fake:0",), threads=4, task_timeout_ms=400)
    assert served.send("/train", {"dataset": ["slow"]}).status == 504
    assert entered.is_set() and not ended.is_set()
    # The device is not free, so the next call waits for it until its own deadline.
    assert served.send("/train", {"dataset": ["quick"]}).status == 504
    assert devices == ["fake:0"]
    release.set()
    eventually(ended.is_set, "the end of the function")
    eventually(lambda: served.metric("trainer_overdue") == 0, "the device is given back")
    assert served.send("/train", {"dataset": ["quick"]}).status == 200


def test_a_call_that_is_refused_for_its_config_takes_no_device(serve: Any) -> None:
    recorder = Recorder()
    recorder.go.set()
    served = serve(train=recorder.train, devices=("fake:0",), threads=1, task_timeout_ms=2000)
    assert served.send("/train", {"dataset": [1], "config": {"noise_multiplier": 1}}).status == 422
    assert served.send("/train", {"dataset": [1]}).status == 200
    assert served.metric("trainer_running") == 0


def test_devices_are_named_by_the_environment_each_once() -> None:
    assert read_settings({"TRAINER_DEVICES": "cuda:0, cuda:1"}, {}).devices == ("cuda:0", "cuda:1")
    for wrong in (("cuda:0", "cuda:0"), ("",), (0,)):
        with pytest.raises(ValueError, match="devices: must be names, each once"):
            Settings(devices=wrong)  # type: ignore[arg-type]
