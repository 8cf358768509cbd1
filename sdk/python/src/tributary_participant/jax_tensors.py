"""safetensors and the parameters of JAX models (Flax, Haiku, Equinox). Only these functions need jax, which is imported when one is called."""

from __future__ import annotations

from typing import Any

from .errors import ParticipantError
from .numpy_tensors import TYPES, array_of
from .safetensors import Octets, Tensor, dump, load


def dump_jax(tree: Any) -> bytes:
    """The arrays of a pytree, each named by its path in it, such as `params/Dense_0/kernel`."""
    import numpy

    tensors = {}
    for name, leaf in _named_leaves(tree):
        given = numpy.asarray(leaf)
        if str(given.dtype) == "bfloat16":
            tensors[name] = Tensor("BF16", given.shape, numpy.ascontiguousarray(given).tobytes())
        else:
            tensors[name] = array_of(name, given)
    return dump(tensors)


def load_jax(data: Octets, like: Any) -> Any:
    """A pytree of the structure of `like`, such as the fresh parameters of the model, with the arrays and data types of a file."""
    import jax
    import numpy

    tensors = load(data)
    wanted = _named_leaves(like)
    if names := sorted({name for name, _ in wanted} ^ set(tensors)):
        raise ParticipantError("SHAPE_MISMATCH", f"the parameters and the model have different tensors: {', '.join(names)[:500]}")
    leaves = []
    for name, leaf in wanted:
        tensor = tensors[name]
        if tuple(tensor.shape) != tuple(numpy.shape(leaf)):
            raise ParticipantError("SHAPE_MISMATCH", f'tensor "{name}" has shape {list(tensor.shape)}, and the model {list(numpy.shape(leaf))}')
        dtype = jax.numpy.bfloat16 if tensor.dtype == "BF16" else TYPES[tensor.dtype]
        leaves.append(_leaf(name, numpy.frombuffer(tensor.data, dtype).reshape(tensor.shape), leaf))
    return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(like), leaves)


def _leaf(name: str, given: Any, like: Any) -> Any:
    """
    The values as an array of JAX. Without jax_enable_x64 it has no 64-bit values and would take 32-bit ones instead, without a word: values
    that are no array of JAX in the model, such as a number of Python, stay arrays of numpy, others are an error.
    """
    import jax

    if jax.dtypes.canonicalize_dtype(given.dtype) == given.dtype:
        return jax.numpy.asarray(given)
    if isinstance(like, jax.Array):
        advice = 'Call jax.config.update("jax_enable_x64", True) first, or send 32-bit values'
        raise ParticipantError("SHAPE_MISMATCH", f'tensor "{name}" is {given.dtype}, which JAX would make 32-bit. {advice}.')
    return given.copy()


def _named_leaves(tree: Any) -> list[tuple[str, Any]]:
    import jax

    named = [("/".join(_key(step) for step in path) or "value", leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]
    if len({name for name, _ in named}) < len(named):
        raise ValueError("two arrays of the tree have the same path")
    return named


def _key(step: Any) -> str:
    """What a step of a path is called: the key of a dictionary, the place in a list, or the name of a field."""
    for attribute in ("key", "idx", "name"):
        if hasattr(step, attribute):
            return str(getattr(step, attribute))
    return str(step)
