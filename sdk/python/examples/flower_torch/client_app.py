"""A Flower app as Flower's own PyTorch quick start writes it: nothing in this file knows Tributary."""

from collections import OrderedDict

import torch
from flwr.app import Context
from flwr.client import NumPyClient
from flwr.clientapp import ClientApp
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.out = nn.Linear(8 * 6 * 6, 10)

    def forward(self, x):
        return self.out(torch.relu(self.norm(self.conv(x))).flatten(1))


def load_data(partition_id, num_partitions):
    x, y = load_digits(return_X_y=True)
    x, y = x[partition_id::num_partitions] / 16.0, y[partition_id::num_partitions]
    parts = train_test_split(x, y, test_size=0.2, random_state=42)
    x_train, x_test = (torch.tensor(part, dtype=torch.float32).reshape(-1, 1, 8, 8) for part in parts[:2])
    y_train, y_test = (torch.tensor(part) for part in parts[2:])
    train = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True)
    return train, DataLoader(TensorDataset(x_test, y_test), batch_size=32)


def get_weights(net):
    return [value.cpu().numpy() for value in net.state_dict().values()]


def set_weights(net, parameters):
    names = net.state_dict().keys()
    net.load_state_dict(OrderedDict((name, torch.tensor(value)) for name, value in zip(names, parameters)), strict=True)


class FlowerClient(NumPyClient):
    def __init__(self, net, train, test, run_config):
        self.net, self.train, self.test, self.run_config = net, train, test, run_config
        self.device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        self.net.to(self.device)

    def get_parameters(self, config):
        return get_weights(self.net)

    def fit(self, parameters, config):
        set_weights(self.net, parameters)
        optimizer = torch.optim.SGD(self.net.parameters(), lr=self.run_config["learning-rate"], momentum=0.9)
        self.net.train()
        total = 0.0
        for _ in range(self.run_config["local-epochs"]):
            for images, labels in self.train:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.net(images.to(self.device)), labels.to(self.device))
                loss.backward()
                optimizer.step()
                total += loss.item()
        steps = self.run_config["local-epochs"] * len(self.train)
        return get_weights(self.net), len(self.train.dataset), {"train_loss": total / steps}

    def evaluate(self, parameters, config):
        set_weights(self.net, parameters)
        self.net.eval()
        correct, loss = 0, 0.0
        with torch.no_grad():
            for images, labels in self.test:
                outputs = self.net(images.to(self.device))
                loss += nn.functional.cross_entropy(outputs, labels.to(self.device)).item()
                correct += (outputs.argmax(1).cpu() == labels).sum().item()
        return loss / len(self.test), len(self.test.dataset), {"accuracy": correct / len(self.test.dataset)}


def client_fn(context: Context):
    train, test = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    torch.manual_seed(0)
    return FlowerClient(Net(), train, test, context.run_config).to_client()


app = ClientApp(client_fn=client_fn)
