"""Logistic regression with numpy.

python numpy_logistic.py            serves on port 5000 (TRAINER_PORT)
python numpy_logistic.py --demo     four participants with data of their own, ten rounds, the accuracy after each
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from federation import mean, rounds

from tributary_participant import CallContext, EvaluateResult, Participant, ParticipantError, TrainResult
from tributary_participant.numpy_tensors import dump_numpy, load_numpy

COLUMNS = 8


def make_participant(seed: int) -> Participant:
    """`seed` represents the participant's data: each participant has different rows, which never leave it."""
    participant = Participant()

    @participant.register_train
    def train(parameters: bytes | None, dataset: Any, context: CallContext) -> TrainResult:
        x, y = rows_of(dataset, seed)
        weight, bias = model_of(parameters, x.shape[1])
        rate, order = float(context.config.get("lr", 0.5)), np.random.default_rng(seed)
        for _ in range(int(context.config.get("epochs", 1))):
            for batch in np.array_split(order.permutation(len(x)), max(1, len(x) // 32)):
                error = probability(x[batch], weight, bias) - y[batch]
                weight -= rate * x[batch].T @ error / len(batch)
                bias -= rate * error.mean()
        return TrainResult(dump_numpy({"weight": weight, "bias": bias}), num_samples=len(x))

    @participant.register_evaluate
    def evaluate(parameters: bytes | None, dataset: Any) -> EvaluateResult:
        x, y = rows_of(dataset, seed=1_000_000)
        weight, bias = model_of(parameters, x.shape[1])
        return EvaluateResult(float(np.mean((probability(x, weight, bias) > 0.5) == y)), num_samples=len(x))

    @participant.register_aggregate
    def aggregate(parameters_list: list[bytes], context: CallContext) -> bytes:
        models = [load_numpy(parameters) for parameters in parameters_list]
        return dump_numpy({name: mean([model[name] for model in models], context.weights) for name in models[0]})

    return participant


def rows_of(dataset: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows like `{"f0": 0.1, ..., "label": 1}` if the caller sends some, else this participant's own."""
    if dataset is None:
        chance = np.random.default_rng(seed)
        x = chance.normal(size=(200 + seed % 7 * 50, COLUMNS))
        return x, (x @ np.linspace(-2, 2, COLUMNS) + 0.3 * chance.normal(size=len(x)) > 0).astype(float)
    try:
        labels = np.array([float(row["label"]) for row in dataset])
        return np.array([[float(row[name]) for name in row if name != "label"] for row in dataset]), labels
    except (KeyError, TypeError, ValueError):
        raise ParticipantError("VALIDATION_ERROR", 'dataset must be rows of numbers with a "label"') from None


def model_of(parameters: bytes | None, columns: int) -> tuple[np.ndarray, np.ndarray]:
    if parameters is None:
        return np.zeros(columns), np.zeros(1)
    tensors = load_numpy(parameters)
    if set(tensors) != {"weight", "bias"} or tensors["weight"].shape != (columns,):
        raise ParticipantError("SHAPE_MISMATCH", f"parameters must be weight [{columns}] and bias [1]")
    return tensors["weight"], tensors["bias"]


def probability(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x @ weight + bias, -50, 50)))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--demo", action="store_true")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    if given.demo:
        for number, accuracy in enumerate(rounds([make_participant(seed) for seed in range(1, 5)], count=10, config={"epochs": 2}), 1):
            print(f"round {number}: accuracy {accuracy:.4f}")
    else:
        make_participant(given.seed).run()
