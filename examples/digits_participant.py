"""A participant that knows a tenth of the digits and trains softmax regression with numpy.

python digits_participant.py --rows rows.json --port 5001            with our SDK (pip install ./sdk/python)
python digits_participant.py --rows rows.json --port 5001 --flock    with FLock's own (pip install flock-sdk)

`rows.json` is a list of rows, 64 numbers and a label each. Parameters are safetensors either way, so both train in one federation with trainer nodes.
"""
import argparse
import json

import numpy as np

from tributary_participant import CallContext, EvaluateResult, Participant, TrainResult
from tributary_participant.numpy_tensors import dump_numpy, load_numpy

COLUMNS, CLASSES = 64, 10


class Softmax:
    """What both SDKs call: parameters in, parameters out, over rows that never leave this process."""

    def __init__(self, rows):
        data = np.asarray(rows, dtype=np.float32)
        self.x, self.y = data[:, :COLUMNS], data[:, COLUMNS].astype(int)

    def init_dataset(self, dataset_path):
        """FLock reads its data from a file at start; ours is there already."""

    def train(self, parameters, epochs=2, rate=0.3, batch=10):
        weight, bias = self.model(parameters)
        order = np.random.default_rng(len(self.x))
        for _ in range(epochs):
            for part in np.array_split(order.permutation(len(self.x)), max(1, len(self.x) // batch)):
                error = self.probabilities(self.x[part], weight, bias)
                error[np.arange(len(part)), self.y[part]] -= 1
                weight -= rate * self.x[part].T @ error / len(part)
                bias -= rate * error.mean(axis=0)
        return dump_numpy({"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)})

    def evaluate(self, parameters):
        weight, bias = self.model(parameters)
        return float(np.mean(self.probabilities(self.x, weight, bias).argmax(axis=1) == self.y))

    def aggregate(self, parameters_list):
        models = [load_numpy(parameters) for parameters in parameters_list]
        return dump_numpy({name: np.mean([model[name] for model in models], axis=0, dtype=np.float32) for name in models[0]})

    @staticmethod
    def model(parameters):
        if not parameters:
            return np.zeros((COLUMNS, CLASSES), np.float32), np.zeros(CLASSES, np.float32)
        tensors = load_numpy(parameters)
        return tensors["weight"], tensors["bias"]

    @staticmethod
    def probabilities(x, weight, bias):
        scores = np.exp((z := x @ weight + bias) - z.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)


def serve_ours(model, port):
    participant = Participant()

    @participant.register_train
    def train(parameters, dataset, context: CallContext):
        epochs, rate = int(context.config.get("epochs", 2)), float(context.config.get("lr", 0.3))
        return TrainResult(model.train(parameters, epochs, rate), num_samples=len(model.x))

    @participant.register_evaluate
    def evaluate(parameters, dataset):
        return EvaluateResult(model.evaluate(parameters), num_samples=len(model.x))

    participant.register_aggregate(lambda parameters_list: model.aggregate(parameters_list))
    participant.run(port=port)


def serve_flock(model, port):
    from flock_sdk import FlockModel, FlockSDK

    FlockModel.register(Softmax)
    # Its run() listens on every address, port 5000, with a debugger; the package itself is as it is on PyPI.
    FlockSDK(model, debug=False).flask.run(host="127.0.0.1", port=port, threaded=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", required=True)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--flock", action="store_true")
    given = arguments.parse_args()
    with open(given.rows, encoding="utf8") as file:
        softmax = Softmax(json.load(file))
    (serve_flock if given.flock else serve_ours)(softmax, given.port)
