"""A participant whose training changes nothing: what its update differs from the parameters by is the noise that the package added."""

import sys

import numpy as np

from tributary_participant import register_evaluate, register_train, run
from tributary_participant.numpy_tensors import dump_numpy

SIZE = int(sys.argv[1])


@register_train
def train(parameters, dataset):
    return parameters or dump_numpy({"w": np.zeros(SIZE, np.float32)})


@register_evaluate
def evaluate(parameters, dataset):
    return 0.0


run()
