"""Seconds of one round of Flower's simulation, for bench-training: clients, length, actors -> one number on standard output.

Clients add a constant to what they are sent. The first round also starts Ray's actors, so the second one is reported.
"""
import os
import sys
import time

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["RAY_DEDUP_LOGS"] = "0"

import numpy
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

clients, length, actors = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
app = ClientApp()


@app.train()
def train(message, context):
    arrays = [array + 1 for array in message.content["arrays"].to_numpy_ndarrays()]
    content = RecordDict({"arrays": ArrayRecord(arrays), "metrics": MetricRecord({"num-examples": 10})})
    return Message(content=content, reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context):
    took = []

    class Timed(FedAvg):
        def configure_train(self, server_round, arrays, config, grid):
            # Those who are not there yet are not asked, and that they come is no part of a round.
            while len(list(grid.get_node_ids())) < clients:
                time.sleep(0.05)
            took.append(time.perf_counter())
            return super().configure_train(server_round, arrays, config, grid)

        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            result = super().aggregate_train(server_round, replies)
            took.append(time.perf_counter())
            answered = sum(not reply.has_error() for reply in replies)
            if answered < clients:
                # This is a thread of Flower's, which keeps to itself what is raised in it.
                print(f"{answered} of {clients} clients answered", file=sys.stderr, flush=True)
                os._exit(1)
            return result

    strategy = Timed(fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=clients)
    initial = ArrayRecord([numpy.zeros(length, dtype=numpy.float32)])
    strategy.start(grid=grid, initial_arrays=initial, num_rounds=1)
    print("ROUND", took[1] - took[0], flush=True)


run_simulation(
    server_app=server,
    client_app=app,
    num_supernodes=clients,
    backend_config={"client_resources": {"num_cpus": 1}, "init_args": {"num_cpus": actors, "include_dashboard": False}},
)
