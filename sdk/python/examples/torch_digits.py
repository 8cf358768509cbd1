"""Handwritten digits with torch: a small network, trained by participants that each have a part of the rows.

    python torch_digits.py --part 0/4   serves on port 5000 (TRAINER_PORT) with the first of four parts
    python torch_digits.py --demo       four participants, ten rounds, the accuracy after each

Needs torch. The rows are those of the trainer node (UCI digits, CC BY 4.0); another file of that form can be named with --digits.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from federation import mean, rounds

from tributary_participant import CallContext, EvaluateResult, Participant, TrainResult
from tributary_participant.torch_tensors import dump_torch, load_torch

try:
    import torch
except ModuleNotFoundError:
    sys.exit("torch is not installed: pip install torch")

DIGITS = Path(__file__).parents[3] / "trainer-node/compute/datasets/digits.txt"
TRAIN_ROWS = 1437


def make_participant(digits: Path, part: int, of: int) -> Participant:
    x, y = read_digits(digits)
    participant = Participant()

    @participant.register_train
    def train(parameters: bytes | None, _dataset: Any, context: CallContext) -> TrainResult:
        network = make_network(parameters)
        mine_x, mine_y = x[part:TRAIN_ROWS:of], y[part:TRAIN_ROWS:of]
        optimizer = torch.optim.SGD(network.parameters(), lr=float(context.config.get("lr", 0.1)), momentum=0.9)
        order = torch.Generator().manual_seed(part)
        for _ in range(int(context.config.get("epochs", 1))):
            for batch in torch.randperm(len(mine_x), generator=order).split(32):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(network(mine_x[batch]), mine_y[batch]).backward()
                optimizer.step()
        return TrainResult(dump_torch(network.state_dict()), num_samples=len(mine_x))

    @participant.register_evaluate
    def evaluate(parameters: bytes | None, _dataset: Any) -> EvaluateResult:
        with torch.no_grad():
            guesses = make_network(parameters)(x[TRAIN_ROWS:]).argmax(dim=1)
        return EvaluateResult((guesses == y[TRAIN_ROWS:]).float().mean().item(), num_samples=len(guesses))

    @participant.register_aggregate
    def aggregate(parameters_list: list[bytes], context: CallContext) -> bytes:
        models = [load_torch(parameters) for parameters in parameters_list]
        return dump_torch({name: mean([model[name] for model in models], context.weights) for name in models[0]})

    return participant


def make_network(parameters: bytes | None) -> torch.nn.Module:
    # All participants start from the same weights: averages of differently initialized networks are noise.
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    if parameters is not None:
        network.load_state_dict(load_torch(parameters))
    return network


def read_digits(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Reads lines of 64 pixels in base 17 and a label."""
    lines = path.read_text().split()
    pixels = [[int(character, 17) / 16 for character in line[:64]] for line in lines]
    return torch.tensor(pixels), torch.tensor([int(line[64]) for line in lines])


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--demo", action="store_true")
    arguments.add_argument("--digits", type=Path, default=DIGITS)
    arguments.add_argument("--part", default="0/1", metavar="PART/OF")
    given = arguments.parse_args()
    if given.demo:
        everyone = [make_participant(given.digits, part, 4) for part in range(4)]
        for number, accuracy in enumerate(rounds(everyone, count=10, config={"epochs": 3}), 1):
            print(f"round {number}: accuracy {accuracy:.4f}")
    else:
        own, all_parts = (int(piece) for piece in given.part.split("/"))
        make_participant(given.digits, own, all_parts).run()
