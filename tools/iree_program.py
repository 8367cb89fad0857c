"""Compiles small MLIR texts with the pinned compiler and runs them in this process.

Needs iree-base-compiler and iree-base-runtime of one version. For tests and experiments: the
program itself runs no Python.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
from iree import runtime

BF16 = ml_dtypes.bfloat16
F32 = np.float32

COMPILE_TIMEOUT_S = 300
# src/kernels/kernel_objects.c: the flags of every module, without the level and what has no
# influence on numbers.
BASE_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-opt-level=O2",
)
REPRODUCIBLE = "--iree-llvmcpu-reassociate-fp-reductions=false"


def compiler() -> Path:
    """The compiler's program: $MLXCEL_XLA_IREE_COMPILE, else the one in iree-base-compiler."""
    named = os.environ.get("MLXCEL_XLA_IREE_COMPILE")
    if named:
        return Path(named)
    package = importlib.util.find_spec("iree.compiler")
    return Path(package.submodule_search_locations[0]) / "_mlir_libs" / "iree-compile"


def compile_text(text: str, level: str = "v3", reproducible: bool = True, flags: tuple[str, ...] = ()) -> bytes:
    """The module for x86-64-`level`; the compiler's diagnostics are the error."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "module.mlir", Path(folder) / "module.vmfb"
        source.write_text(text)
        command = [str(compiler()), str(source), "-o", str(output), *BASE_FLAGS, f"--iree-llvmcpu-target-cpu=x86-64-{level}", *flags]
        if reproducible:
            command.append(REPRODUCIBLE)
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{source.name} isn't accepted: {done.stderr[:2000]}")
        return output.read_bytes()


def call(module: bytes, *operands: np.ndarray, device: str = "local-sync") -> np.ndarray:
    """Calls the module's only function."""
    context = runtime.SystemContext(config=runtime.Config(device))
    loaded = runtime.VmModule.copy_buffer(context.instance, module)
    context.add_vm_module(loaded)
    name = next(n for n in loaded.function_names if not n.startswith("__"))
    result = context.modules[loaded.name][name](*operands)
    return np.array(result.to_host())


def run(text: str, *operands: np.ndarray, **options) -> np.ndarray:
    """Compiles `text` and calls its only function."""
    return call(compile_text(text, **options), *operands)


# --- emulations: what a text would give if it were executed as stated -------------------------------


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c, rounded once (the product is exact in double)."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(F32)


def sequential_sum(values: np.ndarray) -> np.ndarray:
    """One f32 accumulator over the last axis, from +0."""
    total = np.zeros(values.shape[:-1], F32)
    for i in range(values.shape[-1]):
        total = (total + values[..., i]).astype(F32)
    return total


def lanes_sum(values: np.ndarray, lanes: int) -> np.ndarray:
    """Element i into lane i mod `lanes`, then the halves are added until one is left."""
    sums = sequential_sum(np.moveaxis(values.reshape(*values.shape[:-1], -1, lanes), -1, -2))
    while sums.shape[-1] > 1:
        half = sums.shape[-1] // 2
        sums = (sums[..., :half] + sums[..., half:]).astype(F32)
    return sums[..., 0]


def fused_dot(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x [rows, in] times w [out, in]: one chain of fused multiply-adds an output."""
    total = np.zeros((x.shape[0], w.shape[0]), F32)
    for k in range(x.shape[1]):
        total = fma(x[:, k, None], w[None, :, k], total)
    return total


def to_bf16(values: np.ndarray) -> np.ndarray:
    """Rounded to bf16, as f32."""
    return values.astype(BF16).astype(F32)


def ulp_distance(values: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance of f32 `values` to double `exact`, in units of the last place."""
    spacing = np.spacing(np.abs(exact).astype(F32)).astype(np.float64)
    return float(np.max(np.abs(values.astype(np.float64) - exact) / spacing))
