"""A scikit-learn model for thousands of simulated clients: `make simulate ARGS=sdk/python/examples/sklearn_digits.json`.

The same file is a participant of a real federation: `python sklearn_digits.py`.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

from tributary_participant import CallContext, EvaluateResult, TrainResult, register_evaluate, register_train, run
from tributary_participant.numpy_tensors import dump_numpy, load_numpy
from tributary_participant.partitions import part_of

X, Y = load_digits(return_X_y=True)
X /= 16
TRAIN = 1437


def model_of(parameters: bytes | None, config: dict) -> SGDClassifier:
    model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=config.get("lr", 0.1), random_state=config.get("seed", 0))
    arrays = load_numpy(parameters) if parameters else {"coef": np.zeros((10, 64)), "intercept": np.zeros(10)}
    model.classes_, model.coef_, model.intercept_ = np.arange(10), arrays["coef"], arrays["intercept"]
    return model


@register_train
def train(parameters: bytes | None, dataset: dict, context: CallContext) -> TrainResult:
    rows = part_of(Y[:TRAIN], dataset)
    model = model_of(parameters, context.config)
    for _ in range(context.config.get("epochs", 1)):
        model.partial_fit(X[rows], Y[rows], classes=np.arange(10))
    trained = dump_numpy({"coef": model.coef_, "intercept": model.intercept_})
    return TrainResult(trained, num_samples=len(rows), metrics={"accuracy": model.score(X[rows], Y[rows])})


@register_evaluate
def evaluate(parameters: bytes, dataset: dict, context: CallContext) -> EvaluateResult:
    return EvaluateResult(model_of(parameters, context.config).score(X[TRAIN:], Y[TRAIN:]), num_samples=len(X) - TRAIN)


if __name__ == "__main__":
    run()
