"""A Flower app as Flower's own scikit-learn example writes it: nothing in this file knows Tributary."""

import warnings

import numpy as np
from flwr.app import Context
from flwr.client import NumPyClient
from flwr.clientapp import ClientApp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split


def load_data(partition_id, num_partitions):
    x, y = load_digits(return_X_y=True)
    x, y = x[partition_id::num_partitions] / 16.0, y[partition_id::num_partitions]
    return train_test_split(x, y, test_size=0.2, random_state=42)


class FlowerClient(NumPyClient):
    def __init__(self, model, data):
        self.model = model
        self.X_train, self.X_test, self.y_train, self.y_test = data

    def get_parameters(self, config):
        return [self.model.coef_, self.model.intercept_]

    def fit(self, parameters, config):
        self.set_parameters(parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(self.X_train, self.y_train)
        accuracy = self.model.score(self.X_train, self.y_train)
        return self.get_parameters(config), len(self.X_train), {"train_accuracy": accuracy}

    def evaluate(self, parameters, config):
        self.set_parameters(parameters)
        loss = log_loss(self.y_test, self.model.predict_proba(self.X_test), labels=list(range(10)))
        return loss, len(self.X_test), {"accuracy": self.model.score(self.X_test, self.y_test)}

    def set_parameters(self, parameters):
        self.model.coef_, self.model.intercept_ = parameters


def client_fn(context: Context):
    data = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    model = LogisticRegression(max_iter=context.run_config["local-epochs"], warm_start=True)
    model.classes_ = np.arange(10)
    model.coef_ = np.zeros((10, 64))
    model.intercept_ = np.zeros((10,))
    return FlowerClient(model, data).to_client()


app = ClientApp(client_fn=client_fn)
