"""A small torch network for a hundred simulated clients: `make simulate ARGS=sdk/python/examples/torch_network.json`.

The same file is a participant of a real federation: `python torch_network.py`. Needs torch.
"""

import torch
from torch_digits import DIGITS, TRAIN_ROWS, make_network, read_digits

from tributary_participant import CallContext, EvaluateResult, TrainResult, register_evaluate, register_train, run
from tributary_participant.partitions import part_of
from tributary_participant.torch_tensors import dump_torch

torch.set_num_threads(1)  # each process of a simulation has a core of its own
X, Y = read_digits(DIGITS)


@register_train
def train(parameters: bytes | None, dataset: dict, context: CallContext) -> TrainResult:
    rows = torch.as_tensor(part_of(Y[:TRAIN_ROWS].tolist(), dataset))
    network = make_network(parameters)
    optimizer = torch.optim.SGD(network.parameters(), lr=context.config.get("lr", 0.1))
    order = torch.Generator().manual_seed(context.round or 0)
    total = steps = 0
    for _ in range(context.config.get("epochs", 1)):
        for batch in rows[torch.randperm(len(rows), generator=order)].split(16):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(X[batch]), Y[batch])
            loss.backward()
            optimizer.step()
            total, steps = total + loss.item(), steps + 1
    return TrainResult(dump_torch(network.state_dict()), num_samples=len(rows), metrics={"loss": total / max(1, steps)})


@register_evaluate
def evaluate(parameters: bytes, dataset: dict) -> EvaluateResult:
    with torch.no_grad():
        guesses = make_network(parameters)(X[TRAIN_ROWS:]).argmax(dim=1)
    return EvaluateResult((guesses == Y[TRAIN_ROWS:]).float().mean().item(), num_samples=len(guesses))


if __name__ == "__main__":
    run()
