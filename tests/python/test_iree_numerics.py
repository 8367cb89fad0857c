"""What the pinned compiler does to plain StableHLO on CPU: docs/internals/iree-numerics.md, one test a fact.

A test that fails means that the fact has changed, for better or worse: the page and the helpers that rely on it must be looked at.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("iree.runtime", reason="iree-base-runtime isn't installed (scripts/setup.sh)")

from iree_program import (BF16, F32, call, compile_text, fma, fused_dot, lanes_sum, run, sequential_sum, to_bf16, ulp_distance)

LEVELS = {"v3": 8, "v4": 16}  # f32 lanes of a vector register


def random(*shape: int, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) * np.exp(spread * generator.standard_normal(shape))).astype(F32)


def bits(values: np.ndarray) -> np.ndarray:
    return values.view({4: np.uint32, 2: np.uint16}[values.dtype.itemsize])


def same(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and np.array_equal(bits(left), bits(right))


def elementwise(body: str, count: int, operands: str = "abc", element: str = "f32") -> str:
    arguments = ", ".join(f"%{name}: tensor<{count}x{element}>" for name in operands)
    t = f"tensor<{count}x{element}>"
    return f"func.func @f({arguments}) -> {t} {{\n{body.replace('T', t)}\n  return %r : {t}\n}}"


def generic(body: str, count: int) -> str:
    """A linalg.generic over a, b, c, whose body makes %r of %x, %y, %w."""
    maps = ", ".join(["affine_map<(i) -> (i)>"] * 4)
    t = f"tensor<{count}xf32>"
    return f"""func.func @f(%a: {t}, %b: {t}, %c: {t}) -> {t} {{
  %e = tensor.empty() : {t}
  %z = arith.constant 0x80000000 : f32
  %g = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}} ins(%a, %b, %c : {t}, {t}, {t}) outs(%e : {t}) {{
  ^bb0(%x: f32, %y: f32, %w: f32, %o: f32):
    {body}
    linalg.yield %r : f32
  }} -> {t}
  return %g : {t}
}}"""


def dot(rows: int, width: int, out: int, operand: str = "f32", result: str = "f32") -> str:
    x, w, r = f"tensor<{rows}x{width}x{operand}>", f"tensor<{out}x{width}x{operand}>", f"tensor<{rows}x{out}x{result}>"
    contraction = f"stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : ({x}, {w}) -> {r}"
    return f"func.func @f(%x: {x}, %w: {w}) -> {r} {{\n  %r = {contraction}\n  return %r : {r}\n}}"


ROW_SUM = """func.func @f(%x: tensor<3x4096xf32>) -> tensor<3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x4096xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}"""


# --- sums ------------------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_default_o2_spreads_a_sum_over_the_lanes_of_a_register(level: str) -> None:
    x = random(3, 4096)
    result = run(ROW_SUM, x, level=level, reproducible=False)
    assert same(result, lanes_sum(x, LEVELS[level]))
    assert not same(result, sequential_sum(x))


@pytest.mark.parametrize("level", LEVELS)
def test_a_sum_is_sequential_without_reassociation(level: str) -> None:
    x = random(3, 4096)
    assert same(run(ROW_SUM, x, level=level), sequential_sum(x))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("rows", [1, 5])
def test_a_dot_is_one_chain_of_fused_multiply_adds(level: str, rows: int) -> None:
    x, w = random(5, 517), random(33, 517, seed=1)
    assert same(run(dot(rows, 517, 33), x[:rows], w, level=level), fused_dot(x[:rows], w))


def test_a_dot_of_bf16_with_an_f32_result_is_the_same_chain() -> None:
    x, w = random(5, 517).astype(BF16), random(33, 517, seed=1).astype(BF16)
    assert same(run(dot(5, 517, 33, "bf16"), x, w), fused_dot(x.astype(F32), w.astype(F32)))


def test_a_dot_with_a_bf16_result_sums_in_bf16() -> None:
    x, w = random(8, 4096, spread=0).astype(BF16), random(64, 4096, seed=1, spread=0).astype(BF16)
    exact = x.astype(np.float64) @ w.astype(np.float64).T
    narrow = np.abs(run(dot(8, 4096, 64, "bf16", "bf16"), x, w).astype(np.float64) - exact).max()
    wide = np.abs(to_bf16(run(dot(8, 4096, 64, "bf16"), x, w)).astype(np.float64) - exact).max()
    assert wide < 1.0 < narrow


@pytest.mark.parametrize("level", LEVELS)
def test_a_convolution_is_one_chain_over_rows_columns_and_channels(level: str) -> None:
    x, w = random(1, 7, 9, 24), random(32, 3, 3, 24, seed=1)
    text = """func.func @f(%x: tensor<1x7x9x24xf32>, %w: tensor<32x3x3x24xf32>) -> tensor<1x4x5x32xf32> {
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 2], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x7x9x24xf32>, tensor<32x3x3x24xf32>) -> tensor<1x4x5x32xf32>
  return %r : tensor<1x4x5x32xf32>
}"""
    padded = np.pad(x, ((0, 0), (0, 2), (1, 1), (0, 0)))
    expected = np.zeros((1, 4, 5, 32), F32)
    for row in range(3):
        for column in range(3):
            for channel in range(24):
                expected = fma(padded[:, row:row + 7:2, column:column + 9:2, channel][..., None], w[:, row, column, channel], expected)
    assert same(run(text, x, w, level=level), expected)


@pytest.mark.parametrize("level", LEVELS)
def test_a_scan_operation_is_sequential(level: str) -> None:
    x = random(5, 1003)
    text = """func.func @f(%x: tensor<5x1003xf32>) -> tensor<5x1003xf32> {
  %e = tensor.empty() : tensor<5x1003xf32>
  %c = tensor.empty() : tensor<5xf32>
  %r, %s = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<5x1003xf32>) outs(%e, %c : tensor<5x1003xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %y = arith.addf %b, %a : f32
    iree_linalg_ext.yield %y : f32
  } -> tensor<5x1003xf32>, tensor<5xf32>
  return %r : tensor<5x1003xf32>
}"""
    expected = np.stack([sequential_sum(x[:, :i + 1]) for i in range(x.shape[1])], axis=1)
    assert same(run(text, x, level=level), expected)


# --- fused multiply-adds ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_a_product_that_meets_a_sum_is_fused(level: str) -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    text = elementwise("  %p = stablehlo.multiply %a, %b : T\n  %r = stablehlo.add %p, %c : T", 4096)
    result = run(text, a, b, c, level=level)
    assert same(result, fma(a, b, c))
    assert not same(result, a * b + c)


def test_reducing_to_f32_does_not_keep_a_product_apart() -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    body = "  %p = stablehlo.multiply %a, %b : T\n  %q = stablehlo.reduce_precision %p, format = e8m23 : T\n  %r = stablehlo.add %q, %c : T"
    assert same(run(elementwise(body, 4096), a, b, c), fma(a, b, c))


def test_a_barrier_keeps_a_product_apart() -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    body = "  %p = stablehlo.multiply %a, %b : T\n  %q = stablehlo.optimization_barrier %p : T\n  %r = stablehlo.add %q, %c : T"
    assert same(run(elementwise(body, 4096), a, b, c), a * b + c)


@pytest.mark.parametrize("level", LEVELS)
def test_a_fused_multiply_add_of_minus_zero_keeps_a_product_apart(level: str) -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    body = "%p = math.fma %x, %y, %z : f32\n    %r = arith.addf %p, %w : f32"
    assert same(run(generic(body, 4096), a, b, c, level=level), a * b + c)


def quantized(rows: int) -> str:
    """w = scale * code + bias over [out, group, 32], contracted with x over group and element, written with plain multiplications."""
    return f"""#w = affine_map<(n, g, i) -> (n, g, i)>
#s = affine_map<(n, g, i) -> (n, g)>
func.func @f(%x: tensor<{rows}x4x32xf32>, %q: tensor<33x4x32xi8>, %s: tensor<33x4xf32>) -> tensor<{rows}x33xf32> {{
  %e = tensor.empty() : tensor<33x4x32xf32>
  %w = linalg.generic {{indexing_maps = [#w, #s, #w], iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%q, %s : tensor<33x4x32xi8>, tensor<33x4xf32>) outs(%e : tensor<33x4x32xf32>) {{
  ^bb0(%code: i8, %scale: f32, %o: f32):
    %c = arith.extui %code : i8 to i32
    %v = arith.uitofp %c : i32 to f32
    %p = arith.mulf %scale, %v : f32
    linalg.yield %p : f32
  }} -> tensor<33x4x32xf32>
  %z = arith.constant 0.0 : f32
  %t = tensor.empty() : tensor<{rows}x33xf32>
  %i = linalg.fill ins(%z : f32) outs(%t : tensor<{rows}x33xf32>) -> tensor<{rows}x33xf32>
  %r = linalg.generic {{indexing_maps = [affine_map<(m, n, g, i) -> (m, g, i)>, affine_map<(m, n, g, i) -> (n, g, i)>, affine_map<(m, n, g, i) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}} ins(%x, %w : tensor<{rows}x4x32xf32>, tensor<33x4x32xf32>)
      outs(%i : tensor<{rows}x33xf32>) {{
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %n = arith.addf %acc, %p : f32
    linalg.yield %n : f32
  }} -> tensor<{rows}x33xf32>
  return %r : tensor<{rows}x33xf32>
}}"""


def test_whether_a_contraction_is_fused_depends_on_the_rows() -> None:
    """One row is vectorized together with the dequantization, unfused; several rows are a matrix product, fused. So helpers never leave it open."""
    codes = np.random.default_rng(3).integers(0, 256, (33, 4, 32), dtype=np.uint8)
    scales, x = random(33, 4, seed=1), random(3, 4, 32)
    weights = (scales[:, :, None] * codes).astype(F32).reshape(33, 128)
    flat = x.reshape(3, 128)
    unfused = np.stack([sequential_sum(flat[:, None, :] * weights[None, r:r + 1]) for r in range(33)], axis=1)[:, :, 0]
    assert same(run(quantized(1), x[:1], codes.view(np.int8), scales), unfused[:1])
    assert same(run(quantized(3), x, codes.view(np.int8), scales), fused_dot(flat, weights))


# --- roundings ---------------------------------------------------------------------------------------------------------------------------------------


def round_trip(narrow: str, keep: str = "", result: str = "f32") -> str:
    """(a * b), to `narrow` and back, + c, as `result`."""
    t, n, r = "tensor<4096xf32>", f"tensor<4096x{narrow}>", f"tensor<4096x{result}>"
    return f"""func.func @f(%a: {t}, %b: {t}, %c: {t}) -> {r} {{
  %p = stablehlo.multiply %a, %b : {t}
  %q = stablehlo.convert %p : ({t}) -> {n}
  {f'%k = {keep} %q : {n}' if keep else ''}
  %s = stablehlo.convert {'%k' if keep else '%q'} : ({n}) -> {t}
  %u = stablehlo.add %s, %c : {t}
  %r = stablehlo.convert %u : ({t}) -> {r}
  return %r : {r}
}}"""


def test_a_bf16_round_trip_inside_a_dispatch_is_dropped() -> None:
    """With a bf16 result all is one dispatch; with an f32 result a dispatch ends at the conversion, and the rounding stays."""
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    rounded = to_bf16(a * b) + c
    result = run(round_trip("bf16", result="bf16"), a, b, c)
    assert same(result, fma(a, b, c).astype(BF16))
    assert not same(result, rounded.astype(BF16))
    assert same(run(round_trip("bf16"), a, b, c), rounded)


def test_a_bf16_round_trip_across_a_barrier_is_kept() -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    text = round_trip("bf16", "stablehlo.optimization_barrier", "bf16")
    assert same(run(text, a, b, c), (to_bf16(a * b) + c).astype(BF16))


def test_reduce_precision_to_bf16_is_kept() -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    body = "  %p = stablehlo.multiply %a, %b : T\n  %q = stablehlo.reduce_precision %p, format = e8m7 : T\n  %r = stablehlo.add %q, %c : T"
    assert same(run(elementwise(body, 4096), a, b, c), to_bf16(a * b) + c)


def test_an_f16_round_trip_is_kept() -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    assert same(run(round_trip("f16", result="f16"), a, b, c), ((a * b).astype(np.float16).astype(F32) + c).astype(np.float16))


def test_rounding_by_integer_arithmetic_is_kept() -> None:
    a, b, c = random(4096), random(4096, seed=1), random(4096, seed=2)
    body = """%p = math.fma %x, %y, %z : f32
    %i = arith.bitcast %p : f32 to i32
    %c16 = arith.constant 16 : i32
    %c1 = arith.constant 1 : i32
    %half = arith.constant 32767 : i32
    %mask = arith.constant -65536 : i32
    %up = arith.shrui %i, %c16 : i32
    %odd = arith.andi %up, %c1 : i32
    %h = arith.addi %odd, %half : i32
    %s = arith.addi %i, %h : i32
    %k = arith.andi %s, %mask : i32
    %f = arith.bitcast %k : i32 to f32
    %r = arith.addf %f, %w : f32"""
    assert same(run(generic(body, 4096), a, b, c), to_bf16(a * b) + c)


def test_bf16_arithmetic_is_f32_rounded_once() -> None:
    a, b, c = (random(4096, seed=s).astype(BF16) for s in range(3))
    body = "  %p = stablehlo.multiply %a, %b : T\n  %r = stablehlo.add %p, %c : T"
    result = run(elementwise(body, 4096, element="bf16"), a, b, c)
    assert same(result, fma(a.astype(F32), b.astype(F32), c.astype(F32)).astype(BF16))
    assert not same(result, (to_bf16(a.astype(F32) * b.astype(F32)) + c.astype(F32)).astype(BF16))


def test_f16_arithmetic_is_rounded_after_every_operation() -> None:
    a, b, c = (random(4096, seed=s).astype(np.float16) for s in range(3))
    body = "  %p = stablehlo.multiply %a, %b : T\n  %r = stablehlo.add %p, %c : T"
    assert same(run(elementwise(body, 4096, element="f16"), a, b, c), a * b + c)


def test_f64_becomes_f32_signatures_too() -> None:
    a, b = random(64), random(64, seed=1)
    module = compile_text("func.func @f(%a: tensor<64xf64>, %b: tensor<64xf64>) -> tensor<64xf64> {\n"
                          "  %r = stablehlo.add %a, %b : tensor<64xf64>\n  return %r : tensor<64xf64>\n}")
    assert same(call(module, a, b), a + b)


@pytest.mark.parametrize("device", ["local-sync", "local-task"])
def test_f32_subnormals_are_flushed_and_f16_ones_kept(device: str) -> None:
    tiny, one = np.full(64, 1e-40, F32), np.ones(64, F32)
    product = compile_text(elementwise("  %r = stablehlo.multiply %a, %b : T", 64, "ab"))
    assert not call(product, tiny, one, device=device).any()
    text = ("func.func @f(%a: tensor<64xf32>) -> tensor<64xf16> {\n"
            "  %r = stablehlo.convert %a : (tensor<64xf32>) -> tensor<64xf16>\n  return %r : tensor<64xf16>\n}")
    small = np.full(64, 6e-8, F32)  # the smallest subnormal of f16
    assert same(call(compile_text(text), small, device=device), small.astype(np.float16))


# --- functions ---------------------------------------------------------------------------------------------------------------------------------------

# name of the operation, range, exact function, the largest error found (units in the last place), rounded up
FUNCTIONS = [
    ("stablehlo.exponential", -80, 80, np.exp, 2),
    ("stablehlo.tanh", -9, 9, np.tanh, 6),
    ("stablehlo.logistic", -15, 15, lambda x: 1 / (1 + np.exp(-x)), 4),
    ("math.erf", -4, 4, np.vectorize(math.erf), 10),
    ("stablehlo.log", 1e-3, 1e3, np.log, 2),
]


@pytest.mark.parametrize(("operation", "low", "high", "exact", "bound"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions_are_polynomials_of_the_compiler(operation: str, low: float, high: float, exact, bound: float) -> None:
    x = np.random.default_rng(0).uniform(low, high, 100_000).astype(F32)
    text = elementwise(f"  %r = {operation} %a : T", x.size, "a")
    v3, v4 = run(text, x, level="v3"), run(text, x, level="v4")
    assert same(v3, v4)
    distance = ulp_distance(v3, exact(x.astype(np.float64)))
    assert 0.5 < distance <= bound  # not correctly rounded, but within the bound


def test_division_and_square_root_are_correctly_rounded() -> None:
    a, b = np.abs(random(100_000)), np.abs(random(100_000, seed=1))
    assert same(run(elementwise("  %r = stablehlo.divide %a, %b : T", a.size, "ab"), a, b), a / b)
    assert same(run(elementwise("  %r = stablehlo.sqrt %a : T", a.size, "a"), a), np.sqrt(a))


def test_a_reciprocal_root_is_a_root_and_a_division() -> None:
    a = np.exp(np.random.default_rng(0).uniform(-80, 80, 100_000)).astype(F32)
    assert same(run(elementwise("  %r = stablehlo.rsqrt %a : T", a.size, "a"), a), F32(1) / np.sqrt(a))


def test_small_exponentials_are_zero() -> None:
    x = np.full(64, -87.4, F32)
    assert np.exp(x[0]) > 0
    assert not run(elementwise("  %r = stablehlo.exponential %a : T", 64, "a"), x).any()


@pytest.mark.parametrize(("operation", "exact"), [("stablehlo.cosine", np.cos), ("stablehlo.sine", np.sin)])
def test_sine_and_cosine_of_large_angles_are_wrong(operation: str, exact) -> None:
    text = elementwise(f"  %r = {operation} %a : T", 4096, "a")
    module = compile_text(text)
    for scale, least in ((1e3, 1e-5), (1e5, 1e-3)):
        x = (scale + np.arange(4096)).astype(F32)
        error = np.abs(call(module, x).astype(np.float64) - exact(x.astype(np.float64))).max()
        assert error > least


# --- unsigned bytes ----------------------------------------------------------------------------------------------------------------------------------

BYTES_DOT = """func.func @f(%x: tensor<1x8xf32>, %q: tensor<4x8xui8>) -> tensor<1x4xf32> {
  %w = stablehlo.convert %q : (tensor<4x8xui8>) -> tensor<4x8xf32>
  BETWEEN
  %r = stablehlo.dot_general %x, %v, contracting_dims = [1] x [1] : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}"""


def test_unsigned_bytes_converted_straight_into_a_dot_are_taken_as_signed() -> None:
    x, q = np.ones((1, 8), F32), np.full((4, 8), 200, np.uint8)
    straight = run(BYTES_DOT.replace("  BETWEEN\n", "").replace("%v", "%w"), x, q)
    assert same(straight, np.full((1, 4), 8 * (200 - 256), F32))
    barrier = "%v = stablehlo.optimization_barrier %w : tensor<4x8xf32>"
    assert same(run(BYTES_DOT.replace("BETWEEN", barrier), x, q), np.full((1, 4), 8 * 200, F32))


# --- the frozen modules of profile iree-canonical ------------------------------------------------------------------------------------------------------

GOLDENS = sorted((Path(__file__).resolve().parent.parent / "golden" / "canonical").glob("*.mlir"))
ELEMENTS = {"f32": F32, "f16": np.float16, "bf16": BF16, "i8": np.int8, "i32": np.int32}


def operands_of(text: str) -> list[np.ndarray]:
    """Random operands of the module's function; positions count from 0, slots are 0 too."""
    operands = []
    for index, (sizes, element) in enumerate(re.findall(r"%[0-9]+: tensor<((?:[0-9]+x)+)([a-z0-9]+)>", text)):
        shape = tuple(int(size) for size in sizes.split("x")[:-1])
        if element == "i32":
            operands.append(np.zeros(shape, np.int32))
        elif element == "i8":
            operands.append(np.random.default_rng(index).integers(-128, 128, shape).astype(np.int8))
        else:
            operands.append(random(*shape, seed=index).astype(ELEMENTS[element]))
    return operands


def test_there_are_frozen_modules() -> None:
    assert len(GOLDENS) > 40


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
def test_levels_and_devices_agree_on_every_frozen_module(path: Path) -> None:
    text = path.read_text()
    operands = operands_of(text)
    modules = [compile_text(text, level=level) for level in LEVELS]
    results = [call(module, *operands) for module in modules] + [call(modules[0], *operands, device="local-task")]
    assert all(same(results[0], other) for other in results[1:])
    assert np.isfinite(results[0].astype(np.float64)).all()
