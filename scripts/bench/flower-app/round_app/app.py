"""A round as short as Flower makes it: every client adds a constant to what it is sent, FedAvg takes the mean.

The seconds of every round, from choosing the clients to the new arrays, go to the file that ROUND_SECONDS_FILE names, one a line.
"""
import os
import time

import numpy
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from flwr.serverapp.strategy import FedAvg

client = ClientApp()
server = ServerApp()


@client.train()
def train(message, context):
    arrays = [array + numpy.float32(0.5) for array in message.content["arrays"].to_numpy_ndarrays()]
    content = RecordDict({"arrays": ArrayRecord(arrays), "metrics": MetricRecord({"num-examples": 1})})
    return Message(content=content, reply_to=message)


class TimedFedAvg(FedAvg):
    """FedAvg, and how long each round took."""

    def configure_train(self, server_round, arrays, config, grid):
        # Waiting for clients to come is no part of a round.
        while len(list(grid.get_node_ids())) < self.min_available_nodes:
            time.sleep(0.05)
        self.started = time.monotonic()
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(self, server_round, replies):
        result = super().aggregate_train(server_round, replies)
        with open(os.environ["ROUND_SECONDS_FILE"], "a", encoding="ascii") as file:
            file.write(f"{time.monotonic() - self.started}\n")
        return result


@server.main()
def main(grid, context):
    config = context.run_config
    nodes = int(config["nodes"])
    strategy = TimedFedAvg(fraction_evaluate=0.0, min_train_nodes=nodes, min_available_nodes=nodes)
    start = ArrayRecord([numpy.zeros(int(config["length"]), numpy.float32)])
    strategy.start(grid=grid, initial_arrays=start, num_rounds=int(config["rounds"]))
