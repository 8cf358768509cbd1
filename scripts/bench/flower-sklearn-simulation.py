"""Rounds of Flower's simulation of sdk/python/examples/sklearn_digits.py, for bench-simulate: clients, rounds, actors.

The clients train what those of our simulation train: the same rows, the same model. Prints a line for each round, with the accuracy after it.
"""
import os
import sys
import time

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import numpy
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

clients, rounds, actors = (int(text) for text in sys.argv[1:4])
app = ClientApp()


@app.train()
def train(message, context):
    from sklearn_digits import TRAIN, X, Y, dump_numpy, model_of, part_of

    partition = {"scheme": "dirichlet", "alpha": 0.1, "seed": 1, "index": context.node_config["partition-id"], "of": clients}
    rows = part_of(Y[:TRAIN], {"partition": partition})
    coef, intercept = message.content["arrays"].to_numpy_ndarrays()
    model = model_of(dump_numpy({"coef": coef, "intercept": intercept}), {"lr": 0.1})
    model.partial_fit(X[rows], Y[rows], classes=numpy.arange(10))
    metrics = MetricRecord({"num-examples": len(rows), "accuracy": float(model.score(X[rows], Y[rows]))})
    content = RecordDict({"arrays": ArrayRecord([model.coef_, model.intercept_]), "metrics": metrics})
    return Message(content=content, reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context):
    from sklearn_digits import TRAIN, X, Y, dump_numpy, model_of

    class Timed(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            # Clients that are not there yet are not asked, and that they come is no part of a round.
            while len(list(grid.get_node_ids())) < clients:
                time.sleep(0.05)
            self.began = time.perf_counter()
            return super().configure_train(server_round, arrays, config, grid)

        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            arrays, metrics = super().aggregate_train(server_round, replies)
            answered = sum(not reply.has_error() for reply in replies)
            coef, intercept = arrays.to_numpy_ndarrays()
            accuracy = model_of(dump_numpy({"coef": coef, "intercept": intercept}), {}).score(X[TRAIN:], Y[TRAIN:])
            print(f"ROUND {time.perf_counter() - self.began} {answered} {accuracy}", flush=True)
            return arrays, metrics

    strategy = Timed(fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=clients)
    initial = ArrayRecord([numpy.zeros((10, 64)), numpy.zeros(10)])
    strategy.start(grid=grid, initial_arrays=initial, num_rounds=rounds)


run_simulation(
    server_app=server,
    client_app=app,
    num_supernodes=clients,
    backend_config={"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": actors, "include_dashboard": False}},
)
