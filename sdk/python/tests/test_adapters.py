"""numpy, torch and JAX adapters: the same tensors, in arrays that may be written to."""

from __future__ import annotations

import base64
import subprocess
import sys
from typing import Any

import pytest
from test_safetensors import REAL, REAL_VALUES

from tributary_participant.numpy_tensors import dump_numpy, load_numpy
from tributary_participant.safetensors import load

np = pytest.importorskip("numpy")


def test_numpy_arrays_have_the_values_and_may_be_written_to() -> None:
    arrays = load_numpy(REAL)
    for name, (dtype, shape, values) in REAL_VALUES.items():
        assert arrays[name].shape == shape
        assert arrays[name].ravel().tolist() == values
        if dtype != "BF16":
            assert arrays[name].dtype.itemsize == len(load(REAL)[name].data) // max(1, len(values)) or len(values) == 0
        arrays[name][...] = 0


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">f4", ">i8"])
def test_numpy_arrays_come_back_whatever_their_dtype_order_and_strides(dtype: str) -> None:
    array = np.arange(24).reshape(4, 6).astype(dtype)[::2, ::-1].T
    back = load_numpy(dump_numpy({"a": array, "scalar": array[0, 0]}))
    assert np.array_equal(back["a"], array)
    assert back["a"].dtype == array.dtype.newbyteorder("<")
    assert back["scalar"].shape == ()


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["a"]), np.array([1j]), np.array(["2020-01-01"], "M8[D]")])
def test_arrays_that_are_no_numbers_are_refused(array: object) -> None:
    with pytest.raises(ValueError, match="safetensors does not have"):
        dump_numpy({"a": array})


def test_the_package_needs_neither_numpy_nor_torch_nor_jax() -> None:
    """Imported, and used, by a Python in which all of them fail to load."""
    program = """
import sys
sys.modules["numpy"] = sys.modules["torch"] = sys.modules["jax"] = None
import tributary_participant, tributary_participant.numpy_tensors, tributary_participant.torch_tensors, tributary_participant.jax_tensors
from tributary_participant.safetensors import Tensor, dump, load
assert load(dump({"a": Tensor.of([1.5])}))["a"].values() == [1.5]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env={"PYTHONPATH": ":".join(filter(None, sys.path))})


def test_torch_tensors_come_back() -> None:
    torch = pytest.importorskip("torch")
    from tributary_participant.torch_tensors import dump_torch, load_torch

    tensors = load_torch(REAL)
    assert {name: (tuple(value.shape), value.flatten().tolist()) for name, value in tensors.items()} == {
        name: (shape, values) for name, (_, shape, values) in REAL_VALUES.items()
    }
    assert load(dump_torch(tensors)).keys() == REAL_VALUES.keys()
    turned = torch.arange(6.0).reshape(2, 3).t().requires_grad_()
    assert torch.equal(load_torch(dump_torch({"a": turned}))["a"], turned)
    tensors["weight"][0, 0] = 9
    with pytest.raises(ValueError, match="safetensors does not have"):
        dump_torch({"a": torch.zeros(1, dtype=torch.complex64)})


def test_a_pytree_of_jax_comes_back_with_names_that_numpy_reads() -> None:
    jax = pytest.importorskip("jax")
    from tributary_participant.errors import ParticipantError
    from tributary_participant.jax_tensors import dump_jax, load_jax

    jnp = jax.numpy
    tree = {"params": {"dense": [jnp.arange(6.0).reshape(2, 3), jnp.ones(3, jnp.bfloat16)]}, "step": jnp.int32(7)}
    data = dump_jax(tree)
    assert {name: array.shape for name, array in load_numpy(data).items()} == {
        "params/dense/0": (2, 3),
        "params/dense/1": (3,),
        "step": (),
    }
    back = load_jax(data, jax.tree_util.tree_map(jnp.zeros_like, tree))
    assert jax.tree_util.tree_structure(back) == jax.tree_util.tree_structure(tree)
    for one, other in zip(jax.tree_util.tree_leaves(back), jax.tree_util.tree_leaves(tree), strict=True):
        assert one.dtype == other.dtype
        assert (one == other).all()
    assert dump_jax(back) == data
    with pytest.raises(ParticipantError, match="different tensors: step"):
        load_jax(data, {"params": tree["params"]})
    with pytest.raises(ParticipantError, match=r'"step" has shape \[\], and the model \[2\]'):
        load_jax(data, {**tree, "step": jnp.zeros(2)})


def test_64_bit_values_keep_their_type_or_are_refused_by_jax() -> None:
    jax = pytest.importorskip("jax")
    from tributary_participant.errors import ParticipantError
    from tributary_participant.jax_tensors import dump_jax, load_jax

    jnp = jax.numpy
    tree = {"weight": jnp.ones(2), "steps": 3, "mean": np.array([0.1, 0.2])}
    data = dump_jax(tree)
    back = load_jax(data, tree)
    assert [str(back[name].dtype) for name in ("weight", "steps", "mean")] == ["float32", "int64", "float64"]
    assert back["mean"].tolist() == [0.1, 0.2]
    assert dump_jax(back) == data
    wide = dump_jax({"weight": np.array([0.1, 0.2])})
    with pytest.raises(ParticipantError, match='tensor "weight" is float64, .*jax_enable_x64'):
        load_jax(wide, {"weight": jnp.zeros(2)})


def test_a_jax_model_trains_as_a_participant(serve: Any) -> None:
    jax = pytest.importorskip("jax")
    from tributary_participant.jax_tensors import dump_jax, load_jax

    jnp = jax.numpy
    x = jnp.linspace(-1, 1, 32)
    y = 3 * x + 0.5
    fresh = {"weight": jnp.zeros(()), "bias": jnp.zeros(())}

    def loss(model: Any) -> Any:
        return ((model["weight"] * x + model["bias"] - y) ** 2).mean()

    def train(parameters: bytes | None, dataset: Any) -> bytes:
        model = fresh if parameters is None else load_jax(parameters, like=fresh)
        for _ in range(20):
            model = jax.tree_util.tree_map(lambda value, gradient: value - 0.3 * gradient, model, jax.grad(loss)(model))
        return dump_jax(model)

    served = serve(train=train)
    first = served.send("/train", {"parameters": None}).body
    second = served.send("/train", {"parameters": first["parameters"]}).body
    losses = [float(loss(load_jax(base64.b64decode(answer["parameters"]), like=fresh))) for answer in (first, second)]
    assert losses[1] < losses[0] < 0.1
