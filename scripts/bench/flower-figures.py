"""CPU seconds of Flower's own averaging, for bench-training: clients, length -> one number on standard output."""
import sys
import time

import numpy
from flwr.server.strategy.aggregate import aggregate

clients, length = int(sys.argv[1]), int(sys.argv[2])
generator = numpy.random.default_rng(1)
results = [([generator.standard_normal(length, dtype=numpy.float32)], client + 1) for client in range(clients)]
best = float("inf")
for _ in range(3):
    started = time.process_time()
    aggregate(results)
    best = min(best, time.process_time() - started)
print(best)
