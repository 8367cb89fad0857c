"""The kernels of profile mlx-cpu-0.32.4 give MLX's own bits, operation by operation."""

from __future__ import annotations

import ctypes
import ctypes.util
import math

import numpy as np
import pytest

pytest.importorskip("mlx.core", reason="MLX isn't installed: scripts/requirements.txt")

from mlx_kernel_library import (  # noqa: E402
    CODE,
    DTYPES,
    STYLES,
    Kernels,
    assert_equal,
    bits,
    dtype_id,
    empty,
    kernels,
    mx,
    operand,
    promoted,
)

__all__ = ["kernels"]  # the fixture

types = pytest.mark.parametrize("dtype", DTYPES, ids=dtype_id)
styles = pytest.mark.parametrize("style", STYLES)
NONE = np.zeros(1, dtype=np.int32)


def positions(rows: int) -> np.ndarray:
    """All rows active."""
    return np.arange(rows, dtype=np.int32)


def random_for(*key: object) -> np.random.Generator:
    """Operands depend on the case alone."""
    return np.random.default_rng(list(repr(key).encode()))


def storage(width: int, group: int, scale_dtype: mx.Dtype) -> int:
    """The storage code of a matrix: width 0 is dense."""
    return width | ((group.bit_length() - 1) << 8 if width else 0) | CODE[scale_dtype] << 16


# --- matrices ------------------------------------------------------------------------------------


def packed(random: np.random.Generator, shape: tuple[int, int], width: int) -> mx.array:
    """Random codes as MLX packs them: any bits are codes."""
    words = shape[1] * width // 32
    return mx.array(random.integers(0, 2**32, (shape[0], words), dtype=np.uint32))


def test_codes_are_packed_as_the_kernels_read_them(kernels: Kernels) -> None:
    """mx.quantize's own packing, each width: what it dequantizes is what the kernel dequantizes."""
    random = random_for("packing")
    for width in (2, 3, 4, 5, 6, 8):
        w = operand(random, (33, 256), mx.float32, "plain")
        codes, scales, biases = mx.quantize(w, 64, width)
        out = empty((33, 256), mx.float32)
        kernels("mlxcel_mlx_embed", NONE, NONE, bits(codes), bits(scales), bits(biases), out, 33, 256, storage(width, 64, mx.float32), 0)
        assert_equal(out, mx.dequantize(codes, scales, biases, 64, width), f"{width} bits")


@types
@styles
def test_dequantize(kernels: Kernels, dtype: mx.Dtype, style: str) -> None:
    """Two roundings a weight; embedding rows are picked by token."""
    for width in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            random = random_for("dequantize", dtype, style, width, group)
            codes = packed(random, (17, 3 * group), width)
            scales, biases = (operand(random, (17, 3), dtype, style) for _ in range(2))
            want = mx.dequantize(codes, scales, biases, group, width)
            tokens = random.integers(0, 17, 9).astype(np.int32)
            for lookup, expected in ((0, want), (1, want[mx.array(tokens)])):
                out = empty(expected.shape, dtype)
                kernels(
                    "mlxcel_mlx_embed",
                    tokens,
                    positions(9),
                    bits(codes),
                    bits(scales),
                    bits(biases),
                    out,
                    len(out),
                    3 * group,
                    storage(width, group, dtype),
                    lookup,
                )
                assert_equal(out, expected, f"{width} bits, groups of {group}")


@types
@styles
def test_quantized_matmul(kernels: Kernels, dtype: mx.Dtype, style: str) -> None:
    """Sequential in the dtype, every width and group, one row and many, with and without bias."""
    for width in (2, 3, 4, 5, 6, 8):
        for group, rows, outputs in ((32, 1, 37), (64, 3, 64), (128, 2, 8)):
            check_quantized(kernels, dtype, dtype, style, width, group, rows, outputs, 5 * group)


@styles
@pytest.mark.parametrize("x_dtype", DTYPES, ids=dtype_id)
@pytest.mark.parametrize("scale_dtype", DTYPES, ids=dtype_id)
def test_quantized_matmul_of_mixed_dtypes(kernels: Kernels, x_dtype: mx.Dtype, scale_dtype: mx.Dtype, style: str) -> None:
    """Different dtypes are promoted to f32 before anything is computed."""
    for width in (4, 8):
        check_quantized(kernels, x_dtype, scale_dtype, style, width, 64, 2, 40, 192)


def check_quantized(
    kernels: Kernels, x_dtype: mx.Dtype, scale_dtype: mx.Dtype, style: str, width: int, group: int, rows: int, outputs: int, inputs: int
) -> None:
    """One quantized product, and with the layer's bias added on its own."""
    random = random_for("qmm", x_dtype, scale_dtype, style, width, group, rows, outputs)
    x = operand(random, (rows, inputs), x_dtype, style)
    codes = packed(random, (outputs, inputs), width)
    scales, biases = (operand(random, (outputs, inputs // group), scale_dtype, style) for _ in range(2))
    dtype = promoted(x_dtype, scale_dtype)
    vector = operand(random, (outputs,), dtype, style)
    plain = mx.quantized_matmul(x, codes, scales, biases, True, group, width)
    assert plain.dtype == dtype
    for flags, want in ((0, plain), (1 | CODE[dtype] << 4, plain + vector)):
        out = empty(want.shape, dtype)
        kernels(
            "mlxcel_mlx_matmul",
            bits(x),
            bits(codes),
            bits(scales),
            bits(biases),
            bits(vector),
            positions(rows),
            out,
            rows,
            inputs,
            outputs,
            storage(width, group, scale_dtype),
            flags,
            CODE[x_dtype],
        )
        assert_equal(out, want, f"{width} bits, groups of {group}, {rows} rows, flags {flags}")


@pytest.mark.parametrize("x_dtype", DTYPES, ids=dtype_id)
@pytest.mark.parametrize("w_dtype", DTYPES, ids=dtype_id)
@styles
def test_dense_matmul(kernels: Kernels, x_dtype: mx.Dtype, w_dtype: mx.Dtype, style: str) -> None:
    """Sequential in f32, one rounding, that of the bias included."""
    for rows, outputs, inputs in ((1, 1, 7), (1, 70, 33), (3, 1, 50), (5, 33, 128), (70, 20, 131), (2, 9, 1031)):
        random = random_for("dense", x_dtype, w_dtype, style, rows, outputs, inputs)
        x = operand(random, (rows, inputs), x_dtype, style)
        w = operand(random, (outputs, inputs), w_dtype, style)
        dtype = promoted(x_dtype, w_dtype)
        for bias_dtype in DTYPES:
            if promoted(dtype, bias_dtype) != dtype:
                continue  # the layer's result would have another dtype than its product
            vector = operand(random, (outputs,), bias_dtype, style)
            for flags, want in ((0, x @ w.T), (1 | CODE[bias_dtype] << 4, mx.addmm(vector, x, w.T))):
                out = empty(want.shape, dtype)
                kernels(
                    "mlxcel_mlx_matmul",
                    bits(x),
                    bits(w),
                    bits(w),
                    bits(w),
                    bits(vector),
                    positions(rows),
                    out,
                    rows,
                    inputs,
                    outputs,
                    storage(0, 1, w_dtype),
                    flags,
                    CODE[x_dtype],
                )
                assert_equal(out, want, f"[{rows}, {inputs}] x [{outputs}, {inputs}], flags {flags}")


# --- norms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("x_dtype", DTYPES, ids=dtype_id)
@pytest.mark.parametrize("w_dtype", DTYPES, ids=dtype_id)
@styles
def test_rms_norm(kernels: Kernels, x_dtype: mx.Dtype, w_dtype: mx.Dtype, style: str) -> None:
    """Plain, Gemma's 1 + w, one rounding, and without a weight, which is a weight of ones."""
    for rows, width in ((3, 1), (9, 49), (4, 577), (2, 2048), (2, 1539)):
        random = random_for("rms", x_dtype, w_dtype, style, rows, width)
        x = operand(random, (rows, width), x_dtype, style)
        w = operand(random, (width,), w_dtype, style)
        wide = x.astype(mx.float32)
        decomposed = wide * mx.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * w.astype(mx.float32)
        cases = [
            (0, w, mx.fast.rms_norm(x, w, 1e-5)),
            (1, w, mx.fast.rms_norm(x, 1.0 + w, 1e-5)),
            (2, w, decomposed.astype(x_dtype)),
            (0, mx.ones(width, x_dtype), mx.fast.rms_norm(x, None, 1e-5)),
        ]
        for mode, weight, want in cases:
            out = empty(want.shape, want.dtype)
            kernels("mlxcel_mlx_rms_norm", bits(x), positions(rows), bits(weight), out, rows, width, CODE[x_dtype], CODE[weight.dtype], mode, 0, 1e-5)
            assert_equal(out, want, f"mode {mode}, width {width}")
        index = np.array([rows - 1, 0], dtype=np.int32)
        out, want = (empty((2, width), promoted(x_dtype, w_dtype)), mx.fast.rms_norm(x[mx.array(index)], w, 1e-5))
        kernels("mlxcel_mlx_rms_norm", bits(x), index, bits(w), out, 2, width, CODE[x_dtype], CODE[w_dtype], 0, 1, 1e-5)
        assert_equal(out, want, f"gathered, width {width}")


@pytest.mark.parametrize("x_dtype", DTYPES, ids=dtype_id)
@pytest.mark.parametrize("w_dtype", DTYPES, ids=dtype_id)
@styles
def test_layer_norm(kernels: Kernels, x_dtype: mx.Dtype, w_dtype: mx.Dtype, style: str) -> None:
    """An absent weight is ones, an absent bias is -0 everywhere: +0 would turn a result of -0."""
    for rows, width in ((3, 1), (9, 49), (4, 577), (2, 2048), (2, 1539)):
        random = random_for("layer", x_dtype, w_dtype, style, rows, width)
        x = operand(random, (rows, width), x_dtype, style)
        w, b = (operand(random, (width,), w_dtype, style) for _ in range(2))
        minus_zero = mx.full((width,), -0.0, w_dtype)
        cases = [
            (w, b, mx.fast.layer_norm(x, w, b, 1e-5)),
            (w, minus_zero, mx.fast.layer_norm(x, w, None, 1e-5)),
            (mx.ones(width, x_dtype), minus_zero.astype(x_dtype), mx.fast.layer_norm(x, None, None, 1e-5)),
        ]
        for weight, bias, want in cases:
            out = empty(want.shape, want.dtype)
            kernels("mlxcel_mlx_layer_norm", bits(x), bits(weight), bits(bias), out, rows, width, CODE[x_dtype], CODE[weight.dtype], 1e-5)
            assert_equal(out, want, f"width {width}")


# --- element by element --------------------------------------------------------------------------

BINARY = {0: mx.add, 1: mx.subtract, 2: mx.multiply, 3: mx.divide, 4: mx.maximum}
UNARY = {5: mx.sigmoid, 6: mx.exp, 7: mx.erf, 8: mx.sqrt, 9: mx.rsqrt, 10: mx.square}
CONVERT = 11


def every_pattern(dtype: mx.Dtype) -> mx.array:
    """Every value of a 16-bit type; of f32 every 8191st and the specials."""
    if dtype != mx.float32:
        return mx.array(np.arange(65536, dtype=np.uint16)).view(dtype)
    special = np.array([0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x42B00000, 0x42B00001, 0x42AEAC50], dtype=np.uint32)
    steps = np.arange(0, 2**32, 8191, dtype=np.uint64).astype(np.uint32)
    return mx.array(np.concatenate([steps, special, special | 0x80000000])).view(dtype)


def elementwise(
    kernels: Kernels, operation: int, a: mx.array, b: mx.array, want: mx.array, what: str, divide: int = 1, scalar: float | None = None
) -> None:
    """One elementwise kernel against what MLX made of the same."""
    out = empty(want.shape, want.dtype)
    kernels(
        "mlxcel_mlx_elementwise",
        bits(a),
        bits(b),
        out,
        operation,
        a.size,
        CODE[a.dtype],
        CODE[want.dtype],
        divide,
        b.size,
        int(scalar is not None),
        scalar or 0.0,
    )
    assert_equal(out, want, what)


@types
def test_unary(kernels: Kernels, dtype: mx.Dtype) -> None:
    """MLX's own polynomials and the exact functions, over the whole range."""
    a = every_pattern(dtype)
    for operation, function in UNARY.items():
        elementwise(kernels, operation, a, a, function(a), function.__name__)
    for to in DTYPES:
        elementwise(kernels, CONVERT, a, a, a.astype(to), f"to {to}")
    near = mx.array(np.random.default_rng(1).uniform(-95, 95, 400_000).astype(np.float32)).astype(dtype)
    for operation in (5, 6, 7):
        elementwise(kernels, operation, near, near, UNARY[operation](near), UNARY[operation].__name__)


@types
@styles
def test_binary(kernels: Kernels, dtype: mx.Dtype, style: str) -> None:
    """Operands of one shape, broadcast ones, and scalars, which are rounded to the dtype first."""
    random = random_for("binary", dtype, style)
    a, b = operand(random, (60, 50), dtype, style), operand(random, (60, 50), dtype, style)
    for operation, function in BINARY.items():
        name = function.__name__
        elementwise(kernels, operation, a, b, function(a, b), name)
        elementwise(kernels, operation, a, b[3], function(a, b[3]), f"{name} along rows")
        elementwise(kernels, operation, a, b[:, 3], function(a, b[:, 3:4]), f"{name} along columns", divide=50)
        for scalar in (0.1, 1.702, -3.0):
            elementwise(kernels, operation, a, a, function(a, scalar), f"{name} with {scalar}", scalar=scalar)


@types
def test_binary_of_specials(kernels: Kernels, dtype: mx.Dtype) -> None:
    """Zeros of both signs, infinities, NaNs, the least and the largest value, in all pairs."""
    patterns = {
        mx.float32: [0, 1, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000],
        mx.float16: [0, 1, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x7D00],
        mx.bfloat16: [0, 1, 0x80, 0x3F80, 0x7F7F, 0x7F80, 0x7FC0],
    }[dtype]
    sign = 0x80000000 if dtype == mx.float32 else 0x8000
    values = np.array([p | s for p in patterns for s in (0, sign)], dtype=np.uint32 if dtype == mx.float32 else np.uint16)
    a, b = (mx.array(v.ravel()).view(dtype) for v in np.meshgrid(values, values))
    for operation, function in BINARY.items():
        elementwise(kernels, operation, a, b, function(a, b), function.__name__)


@types
def test_host_functions(kernels: Kernels, dtype: mx.Dtype) -> None:
    """tanhf and powf are this host's, as they are for MLX."""
    a = every_pattern(dtype)
    cases = [(0, 0.0, mx.tanh(a)), (1, 3.0, a**3), (1, 2.0, a**2), (1, 0.1, mx.power(a, 0.1))]
    for function, exponent, want in cases:
        out = empty(want.shape, dtype)
        kernels("mlxcel_host_unary", bits(a), out, function, a.size, CODE[dtype], exponent)
        assert_equal(out, want, f"function {function}, exponent {exponent}")


# --- softmax, sums, scans ------------------------------------------------------------------------


@types
@styles
def test_softmax(kernels: Kernels, dtype: mx.Dtype, style: str) -> None:
    """Both precisions; rows with -inf, rows of nothing else, infinities and NaNs."""
    for rows, width in ((7, 1), (5, 33), (3, 2000)):
        x = operand(random_for("softmax", dtype, style, width), (rows, width), dtype, style)
        check_softmax(kernels, x)
        masked = mx.where(mx.arange(width) % 3 == 1, mx.array(-math.inf, dtype), x)
        check_softmax(kernels, masked)
    for value in (-math.inf, math.inf, math.nan):
        check_softmax(kernels, mx.full((2, 9), value, dtype))
        check_softmax(kernels, mx.concatenate([mx.full((2, 1), value, dtype), mx.zeros((2, 8), dtype)], -1))
        check_softmax(kernels, mx.concatenate([mx.zeros((2, 8), dtype), mx.full((2, 1), value, dtype)], -1))


def check_softmax(kernels: Kernels, x: mx.array) -> None:
    """Along the last axis."""
    for precise in (0, 1):
        out = empty(x.shape, x.dtype)
        kernels("mlxcel_mlx_softmax", bits(x), out, x.shape[0], x.shape[1], CODE[x.dtype], precise)
        assert_equal(out, mx.softmax(x, -1, precise=bool(precise)), f"{x.shape}, precise {precise}")


@types
@styles
def test_sums(kernels: Kernels, dtype: mx.Dtype, style: str) -> None:
    """Row sums in f32, cumulative sums in the dtype, along any axis."""
    x = operand(random_for("sums", dtype, style), (3, 301, 4), dtype, style)
    for axis, (outer, length, inner) in enumerate(((1, 3, 1204), (3, 301, 4), (903, 4, 1))):
        out = empty(x.shape, dtype)
        kernels("mlxcel_mlx_scan", bits(x), out, outer, length, inner, CODE[dtype])
        assert_equal(out, mx.cumsum(x, axis), f"scan along {axis}")
    for axes, rows in ((2, 903), ((1, 2), 3)):
        want = mx.sum(x, axes).reshape(-1)
        out = empty((rows,), dtype)
        kernels("mlxcel_mlx_row_sum", bits(x), out, rows, x.size // rows, CODE[dtype])
        assert_equal(out, want, f"sum over {axes}")
    zero = mx.full((4, 2), -0.0, dtype)
    out = empty((4, 2), dtype)
    kernels("mlxcel_mlx_scan", bits(zero), out, 4, 2, 1, CODE[dtype])
    assert_equal(out, mx.cumsum(zero, 1), "scan of -0")
    out = empty((4,), dtype)
    kernels("mlxcel_mlx_row_sum", bits(zero), out, 4, 2, CODE[dtype])
    assert_equal(out, mx.sum(zero, 1), "sum of -0")


# --- rotary embedding and attention --------------------------------------------------------------


def log_base(base: float, half: int) -> float:
    """Of logf and a division in f32: rounding the exact quotient once can give other bits (50000, 24)."""
    logf = ctypes.CDLL(ctypes.util.find_library("m")).logf
    logf.restype, logf.argtypes = ctypes.c_float, [ctypes.c_float]
    return float(np.float32(logf(base)) / np.float32(half))


@types
@pytest.mark.parametrize("traditional", [False, True])
@pytest.mark.parametrize("offset", [0, 1, 127, 8191, 131071, 1_000_003])
def test_rope(kernels: Kernels, dtype: mx.Dtype, traditional: bool, offset: int) -> None:
    """Whole and partial heads, bases, scales, given frequencies."""
    heads, rows = 3, 5
    random = random_for("rope", dtype, traditional, offset)
    for head_dim, dims, base, scale in (
        (64, 64, 10000.0, 1.0),
        (80, 32, 1e6, 1.0),
        (64, 48, 500000.0, 0.125),
        (48, 48, 50000.0, 1.0),
        (80, 80, 1e7, 1.0),
        (128, 96, 3e6, 1.0),
        (256, 256, 100000.0, 0.3),
    ):
        x = operand(random, (rows, heads, head_dim), dtype, "wide")
        frequencies = mx.array(np.exp2(random.uniform(0, 20, dims // 2)).astype(np.float32))
        for given in (None, frequencies):
            turned = mx.fast.rope(
                x.transpose(1, 0, 2)[None],
                dims,
                traditional=traditional,
                base=None if given is not None else base,
                scale=scale,
                offset=offset,
                freqs=given,
            )
            out = empty(x.shape, dtype)
            kernels(
                "mlxcel_mlx_rope",
                bits(x),
                np.arange(offset, offset + rows, dtype=np.int32),
                bits(frequencies),
                out,
                rows,
                heads,
                head_dim,
                dims,
                int(traditional),
                int(given is not None),
                CODE[dtype],
                log_base(base, dims // 2),
                scale,
            )
            assert_equal(out, turned[0].transpose(1, 0, 2), f"{dims} of {head_dim}, base {base}, scale {scale}, frequencies {given is not None}")


@types
@styles
@pytest.mark.parametrize("heads,kv_heads,head_dim", [(4, 4, 64), (6, 2, 40), (3, 1, 256)])
def test_attention(kernels: Kernels, dtype: mx.Dtype, style: str, heads: int, kv_heads: int, head_dim: int) -> None:
    """Causal rows at the end of a cache, no mask, additive masks; the cache is written by kv_store."""
    random = random_for("attention", dtype, style, heads, kv_heads, head_dim)
    context, length, rows, slot, layer, slots, layers = 41, 33, 7, 1, 1, 3, 2
    q = operand(random, (rows, heads, head_dim), dtype, style)
    k, v = (operand(random, (length, kv_heads, head_dim), dtype, style) for _ in range(2))
    cells = (layers, slots, kv_heads, context, head_dim)
    k_cache, v_cache = np.zeros(cells, bits(k).dtype), np.zeros(cells, bits(v).dtype)
    kernels(
        "mlxcel_mlx_kv_store",
        bits(k),
        bits(v),
        np.full(length, slot, np.int32),
        positions(length),
        k_cache,
        v_cache,
        length,
        kv_heads,
        head_dim,
        layer,
        slots,
        context,
        CODE[dtype],
    )
    assert np.array_equal(k_cache[layer, slot, :, :length], bits(k).transpose(1, 0, 2)) and np.count_nonzero(k_cache) == np.count_nonzero(bits(k))
    assert np.array_equal(v_cache[layer, slot, :, :length], bits(v).transpose(1, 0, 2)) and np.count_nonzero(v_cache) == np.count_nonzero(bits(v))
    head_first = [a.transpose(1, 0, 2)[None] for a in (q, k, v)]
    scale = 0.3 / math.sqrt(head_dim)
    at = np.arange(length - rows, length, dtype=np.int32)

    def run(kind: int, mask: mx.array, want: mx.array, capacity: int, keys: np.ndarray, values: np.ndarray) -> None:
        out = empty(q.shape, dtype)
        kernels(
            "mlxcel_mlx_attention",
            bits(q),
            keys,
            values,
            np.full(rows, slot, np.int32),
            at,
            bits(mask),
            out,
            rows,
            heads,
            kv_heads,
            head_dim,
            layer,
            slots,
            capacity,
            kind,
            CODE[dtype],
            scale,
        )
        assert_equal(out, want[0].transpose(1, 0, 2), f"mask kind {kind}")

    attend = mx.fast.scaled_dot_product_attention
    run(0, q, attend(*head_first, scale=scale, mask="causal"), context, k_cache, v_cache)
    full = [np.ascontiguousarray(cache[:, :, :, :length]) for cache in (k_cache, v_cache)]
    run(1, q, attend(*head_first, scale=scale), length, *full)
    mask = operand(random, (rows, length), dtype, style)
    mask = mx.where(mx.array(random.random((rows, length)) < 0.2), mx.array(-math.inf, dtype), mask)
    run(2, mask, attend(*head_first, scale=scale, mask=mask), length, *full)


@types
def test_attention_over_more_keys_than_the_stack_holds(kernels: Kernels, dtype: mx.Dtype) -> None:
    """Scores are computed again in every pass then."""
    random = random_for("long", dtype)
    length = 4096 + 77
    q, k, v = (operand(random, (n, 1, 32), dtype, "plain") for n in (2, length, length))
    out = empty(q.shape, dtype)
    kernels(
        "mlxcel_mlx_attention",
        bits(q),
        bits(k),
        bits(v),
        np.zeros(2, np.int32),
        np.array([length - 2, length - 1], np.int32),
        bits(q),
        out,
        2,
        1,
        1,
        32,
        0,
        1,
        length,
        0,
        CODE[dtype],
        0.4,
    )
    want = mx.fast.scaled_dot_product_attention(*(a.transpose(1, 0, 2)[None] for a in (q, k, v)), scale=0.4, mask="causal")
    assert_equal(out, want[0].transpose(1, 0, 2), "long")


# --- convolution ---------------------------------------------------------------------------------


@types
@styles
def test_convolution(kernels: Kernels, dtype: mx.Dtype, style: str) -> None:
    """conv2d with strides and padding, and conv1d as a convolution of height 1."""
    cases = [
        (2, 9, 11, 3, 10, 3, 3, 2, 2, 1, 0),
        (1, 8, 8, 1, 32, 3, 3, 2, 2, 0, 1),
        (1, 6, 5, 32, 8, 3, 3, 2, 2, 1, 1),
        (1, 7, 7, 5, 3, 1, 1, 1, 1, 0, 0),
        (3, 1, 40, 16, 17, 1, 5, 1, 3, 0, 2),
    ]
    for batch, in_h, in_w, channels, outputs, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w in cases:
        random = random_for("convolution", dtype, style, channels, outputs)
        x = operand(random, (batch, in_h, in_w, channels), dtype, style)
        w = operand(random, (outputs, kernel_h, kernel_w, channels), dtype, style)
        want = mx.conv2d(x, w, (stride_h, stride_w), (pad_h, pad_w))
        out = empty(want.shape, dtype)
        kernels(
            "mlxcel_mlx_convolution",
            bits(x),
            bits(w),
            out,
            batch,
            in_h,
            in_w,
            channels,
            want.shape[1],
            want.shape[2],
            outputs,
            kernel_h,
            kernel_w,
            stride_h,
            stride_w,
            pad_h,
            pad_w,
            CODE[dtype],
        )
        assert_equal(out, want, f"{x.shape} by {w.shape}")
        if in_h == 1:
            assert_equal(out, mx.conv1d(x[:, 0], w[:, 0], stride_w, pad_w)[:, None], f"conv1d {x.shape}")
