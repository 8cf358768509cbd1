"""The package as a user has it: installed by pip, run as a process, and the examples."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tributary_participant import Participant, Settings
from tributary_participant.settings import read_settings

ROOT = Path(__file__).parents[1]


def environment(**more: str) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TRAINER_", "PYTEST_")) and name not in ("HOST", "DATASET_PATH")
    }
    return {**inherited, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", **more}


def test_pip_installs_the_package_with_its_types_and_without_anything_else(tmp_path: Path) -> None:
    # Built from a copy, because the builder writes beside the source; without the network, because a test should not need it.
    source = shutil.copytree(ROOT, tmp_path / "source", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    target = tmp_path / "target"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120)
    assert (target / "tributary_participant/py.typed").exists()
    assert {path.name.partition("-")[0] for path in target.iterdir()} == {"tributary_participant"}
    program = "import tributary_participant as package; print(package.__file__, package.__version__)"
    outside = {**environment(), "PYTHONPATH": str(target)}
    printed = subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env=outside, capture_output=True, text=True).stdout
    assert printed.split() == [str(target / "tributary_participant/__init__.py"), "0.1.0"]


PROGRAM = """
from tributary_participant import register_train, register_evaluate, register_aggregate, run

def train(parameters, dataset):
    return b"trained"

register_train(train)
register_evaluate(lambda parameters, dataset: 0.5)
register_aggregate(lambda parameters_list: parameters_list[0])
run()
"""


def test_the_readmes_program_serves_until_a_signal_stops_it() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment(TRAINER_PORT="0"), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"ready on (http://127\.0\.0\.1:(\d+))", process.stderr.readline())
            assert found
            connection = http.client.HTTPConnection("127.0.0.1", int(found[2]), timeout=20)
            connection.request("POST", "/train", body='{"parameters":null,"dataset":[{"a":1}]}')
            assert connection.getresponse().read().startswith(b'{"parameters":"dHJhaW5lZA==",')
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_the_numpy_example_learns() -> None:
    pytest.importorskip("numpy")
    accuracies = demo("numpy_logistic.py")
    assert len(accuracies) == 10
    assert accuracies[-1] > 0.95


def test_the_torch_example_learns_or_says_that_torch_is_missing() -> None:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        result = run_example("torch_digits.py", "--demo")
        assert (result.returncode, result.stderr.strip()) == (1, "torch is not installed: pip install torch")
        return
    assert demo("torch_digits.py")[-1] > 0.95


def demo(name: str) -> list[float]:
    result = run_example(name, "--demo")
    assert result.returncode == 0, result.stderr
    return [float(line.split()[-1]) for line in result.stdout.splitlines()]


def run_example(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / name), *arguments]
    return subprocess.run(command, timeout=120, env=environment(), capture_output=True, text=True)


def test_registering_gives_the_function_back_so_that_it_is_a_decorator() -> None:
    participant = Participant()

    def train(parameters: Any, dataset: Any) -> bytes:
        return b""

    assert participant.register_train(train) is train
    assert participant.register_evaluate(train) is train
    assert participant.register_aggregate(len) is len


@pytest.mark.parametrize("wrong", [None, b"x", lambda: b"", lambda parameters: b"", lambda a, b, c: b""])
def test_what_cannot_be_called_as_train_is_refused_when_it_is_registered(wrong: Any) -> None:
    with pytest.raises(TypeError):
        Participant().register_train(wrong)


def test_a_participant_without_a_function_does_not_start() -> None:
    with pytest.raises(RuntimeError, match="register_train"):
        Participant().start(port=0)


def test_settings_come_from_the_program_then_the_environment_then_the_defaults() -> None:
    assert read_settings({}, {}) == Settings()
    assert (Settings().host, Settings().port, Settings().auth) == ("127.0.0.1", 5000, "loopback")
    variables = {"TRAINER_PORT": "6000", "TRAINER_QUEUE_MAX": "3", "HOST": "0.0.0.0", "TRAINER_TOKEN": "", "TRAINER_HOST_NAMES": "a, b"}
    settings = read_settings(variables, {"port": 7000})
    assert settings.host_names == ("a", "b")
    assert (settings.port, settings.queue_max, settings.host, settings.token) == (7000, 3, "0.0.0.0", None)


@pytest.mark.parametrize(
    ("variables", "given", "named"),
    [
        ({"TRAINER_PORT": "x", "TRAINER_QUEUE_MAX": "y"}, {}, ["TRAINER_PORT", "TRAINER_QUEUE_MAX"]),
        ({"TRAINER_PORT": "70000", "TRAINER_THREADS": "0"}, {}, ["port", "threads"]),
        ({}, {"auth": "open", "token": "short", "queue_max": 1.5}, ["auth", "token", "queue_max"]),
        ({}, {"host_names": "a", "token": "short"}, ["host_names", "token"]),
        ({}, {"body_bytes_max": 2048, "bytes_budget": 1024}, ["bytes_budget"]),
    ],
)
def test_all_wrong_settings_are_said_at_once(variables: dict[str, str], given: dict[str, Any], named: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        read_settings(variables, given)
    assert all(name in str(caught.value) for name in named)


def test_an_unknown_setting_and_a_missing_dataset_fail_at_the_start(tmp_path: Path) -> None:
    participant = Participant()
    participant.register_evaluate(lambda parameters, dataset: 1)
    with pytest.raises(TypeError):
        participant.start(prot=1)
    with pytest.raises(ValueError, match="dataset_path"):
        participant.start(port=0, dataset_path=str(tmp_path / "none.json"))


def test_a_port_that_is_taken_is_said_in_a_line_with_what_to_do() -> None:
    participant = Participant()
    participant.register_evaluate(lambda parameters, dataset: 1.0)
    with participant.start(port=0) as running:
        with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1:{running.port}: .*TRAINER_PORT"):
            participant.start(port=running.port)
        with pytest.raises(SystemExit, match=rf"^participant: cannot listen on 127\.0\.0\.1:{running.port}: "):
            participant.run(port=running.port)
