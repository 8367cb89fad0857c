"""Calls the kernels of profile mlx-cpu-0.32.4 directly, and compares with MLX's own results.

The kernels are those of the object that compiled modules carry, linked into a shared object beside
the program (MLXCEL_MLX_KERNELS names another one).
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core", reason="MLX isn't installed: scripts/requirements.txt")
mx.set_default_device(mx.cpu)

DTYPES = [mx.float32, mx.float16, mx.bfloat16]
CODE = {mx.float32: 0, mx.float16: 1, mx.bfloat16: 2}
BITS_TYPE = {mx.float32: mx.uint32, mx.float16: mx.uint16, mx.bfloat16: mx.uint16}
NUMPY_BITS = {mx.float32: np.uint32, mx.float16: np.uint16, mx.bfloat16: np.uint16}
STYLES = ["plain", "wide", "canceling", "subnormal", "ties"]


def dtype_id(dtype: mx.Dtype) -> str:
    """A short name for test ids."""
    return str(dtype).removeprefix("mlx.core.")


def promoted(*dtypes: mx.Dtype) -> mx.Dtype:
    """The dtype in which MLX computes on operands of these."""
    return dtypes[0] if len(set(dtypes)) == 1 else mx.float32


def _library_path() -> Path | None:
    if name := os.environ.get("MLXCEL_MLX_KERNELS"):
        return Path(name)
    program = os.environ.get("MLXCEL_BIN")
    return Path(program).resolve().parent / "libmlxcel_mlx_kernels.so" if program else None


class Kernels:
    """The shared object's kernels by name."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self._address = self._library.mlxcel_test_kernel_address
        self._address.restype = ctypes.c_void_p

    def __call__(self, name: str, *arguments: np.ndarray | int | float) -> None:
        """Runs one kernel as three workgroups. Buffers are numpy arrays."""
        address = self._address(name.encode())
        assert address, f"there is no kernel {name}"
        values: list[object] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                assert argument.flags.c_contiguous
                values += [ctypes.c_void_p(argument.ctypes.data), ctypes.c_size_t(0)]
            elif isinstance(argument, float):
                values.append(ctypes.c_float(argument))
            else:
                values.append(ctypes.c_int32(argument))
        kernel = ctypes.CFUNCTYPE(None)(address)
        for group in range(3):
            kernel(*values, ctypes.c_size_t(group), ctypes.c_size_t(3))


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    """The kernels under test."""
    path = _library_path()
    if path is None or not path.is_file():
        pytest.skip(f"{path} is not there: build it, or set MLXCEL_MLX_KERNELS or MLXCEL_BIN")
    return Kernels(path)


def bits(array: mx.array) -> np.ndarray:
    """The array's bit patterns."""
    return np.array(mx.contiguous(array).view(BITS_TYPE.get(array.dtype, array.dtype)))


def empty(shape: tuple[int, ...], dtype: mx.Dtype) -> np.ndarray:
    """Room for a result."""
    return np.full(shape, 0x5A, dtype=NUMPY_BITS[dtype])


def assert_equal(got: np.ndarray, want: mx.array, what: str) -> int:
    """Fails unless all bits agree; a NaN may be any NaN in f32, where MLX's own compiler chooses its sign."""
    expected = bits(want)
    assert got.shape == expected.shape, f"{what}: shapes {got.shape} and {expected.shape}"
    both_nan = (_is_nan(got, want.dtype)) & (_is_nan(expected, want.dtype))
    differs = np.argwhere((got != expected) & ~both_nan)
    if len(differs):
        at = tuple(differs[0])
        pytest.fail(f"{what}: {len(differs)} of {got.size} differ, first at {at}: {got[at]:#x}, MLX has {expected[at]:#x}")
    return got.size


def _is_nan(pattern: np.ndarray, dtype: mx.Dtype) -> np.ndarray:
    magnitude = pattern & {mx.float32: 0x7FFFFFFF}.get(dtype, 0x7FFF)
    infinity = {mx.float32: 0x7F800000, mx.float16: 0x7C00, mx.bfloat16: 0x7F80}[dtype]
    return magnitude > infinity


def operand(random: np.random.Generator, shape: tuple[int, ...], dtype: mx.Dtype, style: str) -> mx.array:
    """Values of a style made to tell orders and roundings apart."""
    sign = random.choice([-1.0, 1.0], shape)
    plain = random.standard_normal(shape)
    largest = 8 if dtype == mx.float16 else 20
    if style == "wide":
        values = plain * np.exp2(random.integers(-largest, largest, shape))
        values[random.random(shape) < 0.06] = 0.0
        values *= sign
    elif style == "canceling":  # neighbours of the other sign, one bit off, at changing scales
        step = 2.0 ** {mx.float32: -23, mx.float16: -10, mx.bfloat16: -7}[dtype]
        scale = np.exp2(random.integers(-2, 6, shape[-1:]))
        index = np.arange(shape[-1])
        values = scale * (1 + step * random.integers(0, 4, shape)) * np.where(index % 2, -1.0, 1.0)
    elif style == "subnormal":
        low = -24 if dtype == mx.float16 else -148
        high = -8 if dtype == mx.float16 else -58
        values = sign * np.exp2(random.uniform(low, high, shape))
    elif style == "ties":  # few bits: many products and sums lie exactly between two values
        values = sign * random.integers(0, 64, shape) * np.exp2(random.integers(-3, 3, shape))
    else:
        values = plain
    return mx.array(values.astype(np.float32)).astype(dtype)
