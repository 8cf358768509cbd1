"""CPU seconds of Flower's own averaging, for bench-training: clients, length -> two numbers on standard output.

The first is of its bare function over numpy arrays, the second of what its FedAvg does with the records of replies, which hold bytes.
"""
import sys
import time

import numpy
from flwr.app import ArrayRecord, MetricRecord, RecordDict
from flwr.server.strategy.aggregate import aggregate
from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords

clients, length = int(sys.argv[1]), int(sys.argv[2])
generator = numpy.random.default_rng(1)
arrays = [generator.standard_normal(length, dtype=numpy.float32) for _ in range(clients)]


def least(work):
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


results = [([array], client + 1) for client, array in enumerate(arrays)]
bare = least(lambda: aggregate(results))
replies = [
    RecordDict({"arrays": ArrayRecord([array]), "metrics": MetricRecord({"num-examples": client + 1})})
    for client, array in enumerate(arrays)
]
print(bare, least(lambda: aggregate_arrayrecords(replies, "num-examples")))
