"""Mutations of the texts of profile mlx-cpu-0.32.4: other arguments, other kernels, another order.

The texts are sequences of dispatches whose arguments are constants; values are numbered, so a line
is named by its value. tests/golden/mlx_op_*.mlir show them all. By structure those frozen texts
notice every edit.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class TextMutation:
    """One edit of the emitted text: every `old` becomes `new`."""

    helper: str  # op class of the clause
    fields: str  # that it breaks
    name: str
    run: str  # oracle class that must notice
    dtype: str  # of its activations
    case: str  # in "VARIANT WEIGHTS SHAPE" of the case that is run, the class's first such
    old: str
    new: str
    proof: str = ""  # why no result can change

    @property
    def label(self) -> str:
        """For reports."""
        return f"mlx-cpu-0.32.4 text/{self.helper}/{self.name}"


def integer(value: int, old: int, new: int) -> tuple[str, str]:
    """The i32 constant %value."""
    return f"%{value} = arith.constant {old} : i32", f"%{value} = arith.constant {new} : i32"


def number(value: int, old: str, new: str) -> tuple[str, str]:
    """The f32 constant %value, by its bits."""
    return f"%{value} = arith.constant 0x{old} : f32", f"%{value} = arith.constant 0x{new} : f32"


def operands(kernel: str, old: str, new: str) -> tuple[str, str]:
    """The first operands of a dispatch that workgroup count `kernel` names: "elementwise[%9]"."""
    return f"@{kernel}({old}", f"@{kernel}({new}"


def bits(value: float, steps: int = 0) -> str:
    """An f32 as texts have it; or the one `steps` behind it."""
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0] + steps:08X}"


def log_base(base: float, pairs: int) -> float:
    """Logarithm and quotient, each rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", math.log(base)))[0] / pairs


# Operations of mlxcel_mlx_elementwise; src/kernels/mlx_abi.h.
ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, SIGMOID, EXP, ERF, SQRT, RSQRT = range(10)
TANH, POWER = range(2)  # of mlxcel_host_unary


def activations(helper: str, shape: str) -> tuple[TextMutation, ...]:
    """Of the activation alone or with its gate; `gate` operands stand in front."""
    first = 1 if helper == "activation" else 2  # number of the first constant
    result = []
    for fields, name, variant, dtype, edit in (
        ("functions:mlx-exp-1", "exponential-for-the-sigmoid", "silu", "f32", integer(first, SIGMOID, EXP)),
        ("rounding:product", "divide-by-the-sigmoid", "silu", "bf16", integer(first + 10, MULTIPLY, DIVIDE)),
        ("constants", "next-constant-of-the-argument", "gelu-sigmoid", "f32", number(first + 7, "3FD9DB23", "3FD9DB24")),
        ("rounding:quotient", "root-of-two-multiplied", "gelu-erf", "f32", integer(first, DIVIDE, MULTIPLY)),
        ("constants", "next-constant-of-the-quotient", "gelu-erf", "f32", number(first + 7, "3FB504F3", "3FB504F4")),
        ("functions:mlx-erf-1", "sigmoid-for-erf", "gelu-erf", "f16", integer(first + 10, ERF, SIGMOID)),
        ("functions:host-powf rounding:power", "square-for-the-cube", "gelu-tanh", "f32", number(first + 13, "40400000", "40000000")),
        ("functions:host-tanhf rounding:tanh", "power-for-tanh", "gelu-tanh", "f16", integer(first + 46, TANH, POWER)),
        ("constants", "next-constant-of-the-cubic", "gelu-tanh", "f32", number(first + 23, "3D372713", "3D372714")),
        ("constants", "next-constant-of-the-argument", "gelu-tanh", "f32", number(first + 43, "3F4C422A", "3F4C422B")),
        ("rounding:inner-sum", "difference-for-the-sum", "gelu-tanh", "bf16", integer(first + 26, ADD, SUBTRACT)),
    ):
        result.append(TextMutation(helper, fields, f"{name}-of-{variant}", "activation", dtype, f"{variant} {dtype} {shape}", *edit))
    return tuple(result)


def mutations(helper: str, run: str, *edits: tuple[str, str, str, str, tuple[str, str]]) -> tuple[TextMutation, ...]:
    """Each of (fields, name, dtype, case, edit)."""
    return tuple(TextMutation(helper, fields, name, run, dtype, case, *edit) for fields, name, dtype, case, edit in edits)


GIVEN = "x=[17,3,5]"  # cumulative-norm in f32, whose text begins with the counts
MLX_TEXT_MUTATIONS = (
    activations("activation", "x=")
    + activations("silu-gate", "gate=")
    + mutations(
        "silu-gate", "activation",
        ("rounding:gate-product", "gate-added", "f32", "silu f32 gate=", integer(22, MULTIPLY, ADD)),
        ("rounding:product", "up-activated", "f32", "silu f32 gate=", operands("elementwise[%20]", "%0, %11", "%1, %11")),
    )
    + mutations(
        "cumulative-norm", "cumulative-norm",
        ("functions:host-powf rounding:power", "cube-for-the-square", "f32", GIVEN, (bits(2.0), bits(3.0))),
        ("constants", "other-epsilon", "f32", GIVEN, (bits(1e-3), bits(1.001e-3))),
        ("constants", "other-count", "f32", GIVEN, (f"dense<{bits(15.0)}>", f"dense<{bits(16.0)}>")),
        ("association:scan rounding:scan-sum", "statistics-of-one-step", "f32", GIVEN, operands("elementwise[%38]", "%29, %18", "%23, %18")),
        ("rounding:mean functions:ieee-div", "sums-for-means", "f32", GIVEN, integer(30, DIVIDE, MAXIMUM)),
        ("functions:ieee-sqrt", "root-for-its-reciprocal", "f32", GIVEN, ("constant 9 : i32", f"constant {SQRT} : i32")),
        ("rounding:difference", "not-centered", "f32", GIVEN, integer(40, SUBTRACT, ADD)),
    )
    + mutations(
        "attention", "attention",
        ("constants", "next-scale", "f32", "mask-causal f32 q=[3,80]", (bits(0.3), bits(0.3, 1))),
        ("constants", "scale-left-out", "bf16", "mask-causal bf16 q=[3,80]", (bits(0.3), bits(1.0))),
        ("association:softmax", "every-key-seen", "f32", "mask-causal f32 q=[16,576]", integer(12, 0, 1)),
        ("rounding:mask", "mask-left-out", "f32", "mask-additive f32 q=[5,80]", integer(13, 2, 1)),
        ("operand_dtype", "values-for-keys", "f32", "mask-causal f32 q=[3,80]", ("(%0, %1, %2, ", "(%0, %2, %1, ")),
    )
    + mutations(
        "rope", "rope",
        ("constants", "next-base", "f32", "half f32 x=[7,240]", (bits(log_base(500000, 16)), bits(log_base(500000, 16), 1))),
        ("rounding:position-scale", "next-scale", "f32", "half f32 x=[7,240]", (bits(0.25), bits(0.25, 1))),
        ("association", "other-pairs", "f32", "half f32 x=[7,240]", integer(6, 0, 1)),
        ("association", "half-pairs-for-interleaved", "bf16", "interleaved bf16 x=[6,256]", integer(6, 1, 0)),
        ("operand_dtype", "fewer-pairs", "f32", "half f32 x=[7,240]", integer(5, 32, 16)),
        ("constants rounding:reciprocal", "frequencies-left-out", "f32", "half f32 x=[6,192]", integer(8, 1, 0)),
    )
    + mutations(
        "convolution", "sscp-conv",
        ("operand_dtype", "padding-of-lines-moved", "f32", "conv2d f32 x=[2,7,6,5]", integer(13, 1, 0)),
        ("operand_dtype", "padding-of-columns-moved", "f32", "conv2d f32 x=[2,7,6,5]", integer(14, 2, 1)),
        ("association", "kernel-turned", "f32", "conv2d f32 x=[2,7,6,5]",
         ("%9 = arith.constant 2 : i32\n    %10 = arith.constant 3 : i32", "%9 = arith.constant 3 : i32\n    %10 = arith.constant 2 : i32")),
        ("operand_dtype", "stride-of-lines", "bf16", "conv2d bf16 x=[1,9,128,1]", integer(11, 2, 1)),
        ("operand_dtype", "stride-of-columns", "f16", "conv1d f16 x=[1,1,50,6]", integer(12, 2, 1)),
        ("operand_dtype", "padding-of-one-dimension", "f32", "conv1d f32 x=[1,1,50,6]", integer(14, 3, 2)),
    )
    + mutations(
        "rms-norm", "rms-norm",
        ("rounding:one-plus", "plain-for-gemma", "bf16", "gemma bf16 x=[6,255]", integer(7, 1, 0)),
        ("rounding:scale", "plain-for-one-rounding", "bf16", "single-rounding bf16 x=[6,101]", integer(7, 2, 0)),
        ("constants", "other-epsilon", "f32", "plain f32 x=[7,37]", (bits(1e-5), bits(1.001e-5))),
    )
    + mutations(
        "layer-norm", "layer-norm",
        ("rounding:weight rounding:bias", "bias-for-weight", "f32", "f32 x=[7,37]", ("(%0, %1, %2, ", "(%0, %2, %1, ")),
        ("constants", "other-epsilon", "f32", "f32 x=[7,37]", (bits(1e-5), bits(1.001e-5))),
    )
    + mutations(
        "softmax", "softmax",
        ("accumulator", "same-dtype-for-precise", "bf16", "precise bf16 x=[5,33]", integer(4, 1, 0)),
        ("accumulator", "precise-for-same-dtype", "f16", "same-dtype f16 x=[5,33]", integer(4, 0, 1)),
    )
    + mutations(
        "prefix-scan", "prefix-scan",
        ("association", "rows-for-columns", "f32", "strided f32 x=[33,128]",
         ("%1 = arith.constant 1 : i32\n    %2 = arith.constant 33 : i32\n    %3 = arith.constant 128 : i32",
          "%1 = arith.constant 33 : i32\n    %2 = arith.constant 128 : i32\n    %3 = arith.constant 1 : i32")),
    )
    + mutations("residual-add", "residual-add", ("rounding", "difference-for-the-sum", "f32", "a=[5,37]", integer(2, ADD, SUBTRACT)))
    + mutations(
        "dense-matmul", "dense-matmul",
        ("rounding:bias", "bias-left-out", "f32", "f32 x=[6,100]", integer(8, 1, 0)),
        ("operand_dtype", "bias-read-as-bf16", "f16", "f16 x=[6,100]", integer(8, 17, 33)),
    )
    + mutations(
        "quantized-matmul", "q4-qmm",
        ("dequantization", "biases-for-scales", "f32", "f32 x=[33,96]", ("%1, %2, %3, ", "%1, %3, %2, ")),
        ("rounding:bias", "bias-left-out", "f32", "bias=[24]", integer(10, 1, 0)),
    )
    + mutations("dequantize", "dequantize", ("dequantization", "biases-for-scales", "bf16", "bf16 codes=[37,48]", ("%0, %1, %2, ", "%0, %2, %1, ")))
    + mutations("embedding", "embedding", ("dequantization", "biases-for-scales", "f16", "f16 codes", ("%2, %3, %4, ", "%2, %4, %3, ")))
    + mutations("kv-store", "kv-store", ("operand_dtype", "value-for-key", "f32", "", ("(%0, %1, %2, %3, ", "(%1, %0, %2, %3, ")))
)
