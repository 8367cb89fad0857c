"""Mutations of the kernels of profile mlx-cpu-0.32.4 (src/kernels/mlx)."""

from __future__ import annotations

from kernel_mutations import MLX, Mutation, wrapped

# Put behind mlx_number.h's last function: what the edits below call.
PRELUDE = """
MLXCEL_INLINE float mutate_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// To 12 bits: fewer than f32 has, more than 16-bit types have.
MLXCEL_INLINE float mutate_narrow(float x) { return float_of_bits((bits_of_float(x) + 0x7ffu) & 0xfffff000u); }
// To 4 bits: fewer than any dtype has.
MLXCEL_INLINE float mutate_coarse(float x) { return float_of_bits((bits_of_float(x) + 0x3ffffu) & 0xfff80000u); }
"""
# Small cases with rows of every kind of operand.
CASES = {
    "dense-matmul": "x=[6,100]",
    "q4-qmv": "x=[7,96]",
    "q4-qmm": "x=[33,96]",
    "layer-norm": "x=[200,33]",
    "rms-norm": "plain f32 x=[200,33]",
    "residual-add": "a=[5,37]",
    "activation": "silu f32 x=[10,1536]",
    "softmax": "x=[6,2000]",
    "attention": "q=[3,80]",
    "cumulative-norm": "x=[17,3,5]",
    "sscp-conv": "x=[2,7,6,5]",
    "rope": "half f32 x=[7,240]",
    "dequantize": "codes=[37,48]",
    "prefix-scan": "contiguous f32 x=[5,37]",
    "embedding": "codes",
    "kv-store": "",
}


def mlx(
    helper: str,
    fields: str,
    name: str,
    edit: tuple[str, str, str],
    run: str,
    dtype: str = "f32",
    case: str = "",
    proof: str = "",
) -> Mutation:
    """`edit` is (file below mlx/, old, new)."""
    file, old, new = edit
    case = case or CASES[run].replace(" f32 ", f" {dtype} ")
    return Mutation(MLX, helper, tuple(fields.split()), name, f"mlx/{file}", old, new, run, dtype, case, proof)


def unrounded(line: str, inner: str, dtype: str) -> str:
    """`line` without its round_to(inner, dtype)."""
    rounding = f"round_to({inner}, {dtype})"
    assert line.count(rounding) == 1, f"{rounding!r} is {line.count(rounding)} times in {line!r}"
    return line.replace(rounding, f"({inner})")


FLUSH = ("mlx_number.h", "#define MXCSR_FLUSH_BITS 0x8040u", "#define MXCSR_FLUSH_BITS 0u")
TRUNCATE = ("mlx_number.h", "(bits + 0x7fffu + (bits >> 16 & 1)) >> 16", "bits >> 16")
TIES_AWAY = ("mlx_number.h", "(bits + 0x7fffu + (bits >> 16 & 1)) >> 16", "(bits + 0x8000u) >> 16")
# The coefficient that the series of 2^f has, instead of the polynomial's.
OTHER_EXP = ("mlx_elementary.h", "2.402264791363012e-1f", "2.402265069591007e-1f")
PRODUCT = "lanes_t product = lanes_round(lanes_mul(xv, lanes_load(tile + k * TILE_OUTPUTS + v * LANES)), step);"
SUM = "sum[v] = lanes_round(lanes_add(sum[v], product), step);"
FUSED = "sum[v] = lanes_round(_mm256_fmadd_ps(xv, lanes_load(tile + k * TILE_OUTPUTS + v * LANES), sum[v]), step);"
NARROW_SUM = "sum[v] = _mm256_and_ps(lanes_add(sum[v], product), _mm256_castsi256_ps(_mm256_set1_epi32((int)0xfffff000u)));"
ACTIVATION = "lanes_set1(load_typed(x, k, x_type))"
REVERSED = (
    "mlx_matmul.h",
    f"  for (size_t k = 0; k < count; ++k) {{\n    lanes_t xv = {ACTIVATION};",
    f"  for (size_t i = 0; i < count; ++i) {{\n    size_t k = count - 1 - i;\n    lanes_t xv = {ACTIVATION};",
)
STEP = ".step = MLXCEL_FORMAT_BITS(format) ? type : MLXCEL_FORMAT_F32,"
MATMUL_BIAS = "y = y + load_typed(a->bias, n0 + o, a->bias_type);"
MATMUL_STORE = "store_typed(a->out, row * a->outputs + n0 + o, a->type, y);"
DECODE_PRODUCT = "lanes_t product = lanes_round(lanes_mul(scale, lanes_from_codes(codes + LANES * i)), type);"
DECODE_SUM = "lanes_round(lanes_add(product, bias), type)"
EMBED = "round_to(scale * (float)(uint8_t)(codes >> (8 * i)), type) + bias"

MATMULS = (
    mlx("dense-matmul", "rounding:product", "fuse-product-and-sum", ("mlx_matmul.h", SUM, FUSED), "dense-matmul"),
    mlx("dense-matmul", "rounding:sum", "sums-truncated", ("mlx_matmul.h", SUM, NARROW_SUM), "dense-matmul"),
    mlx("dense-matmul", "rounding:bias", "narrow-bias",
        ("mlx_matmul.h", MATMUL_BIAS, wrapped(MATMUL_BIAS, "load_typed(a->bias, n0 + o, a->bias_type)")),
        "dense-matmul", case=" bias="),
    mlx("dense-matmul", "rounding:result", "result-truncated", TRUNCATE, "dense-matmul", "bf16"),
    mlx("dense-matmul", "association", "sums-in-reverse", REVERSED, "dense-matmul"),
    mlx("dense-matmul", "accumulator", "accumulate-in-the-dtype", ("mlx_cpu.c", STEP, ".step = type,"), "dense-matmul", "bf16"),
    mlx("dense-matmul", "operand_dtype", "narrow-operand",
        ("mlx_matmul.h", ACTIVATION, wrapped(ACTIVATION, "load_typed(x, k, x_type)")), "dense-matmul"),
    mlx("dense-matmul", "result_dtype", "narrow-result", ("mlx_matmul.h", MATMUL_STORE, MATMUL_STORE.replace(", y)", ", mutate_narrow(y))")), "dense-matmul"),
    mlx("dense-matmul", "denormals", "flush-subnormals", FLUSH, "dense-matmul", case="x=[33,130]"),
    mlx("quantized-matmul", "accumulator rounding:sum", "accumulate-in-f32",
        ("mlx_cpu.c", STEP, ".step = MLXCEL_FORMAT_F32,"), "q4-qmv", "bf16"),
    mlx("quantized-matmul", "rounding:product", "products-not-rounded",
        ("mlx_matmul.h", PRODUCT, PRODUCT.replace("lanes_round(", "(").replace(", step)", ")")), "q4-qmv", "bf16"),
    mlx("quantized-matmul", "rounding:product", "fuse-product-and-sum", ("mlx_matmul.h", SUM, FUSED), "q4-qmm"),
    mlx("quantized-matmul", "rounding:bias", "narrow-bias",
        ("mlx_matmul.h", MATMUL_BIAS, wrapped(MATMUL_BIAS, "load_typed(a->bias, n0 + o, a->bias_type)")), "q4-qmm", case=" bias="),
    mlx("quantized-matmul", "association", "sums-in-reverse", REVERSED, "q4-qmv"),
    mlx("quantized-matmul", "rounding:weight-product dequantization", "one-rounding",
        ("mlx_weights.h", DECODE_PRODUCT, DECODE_PRODUCT.replace("lanes_round(", "(").replace(", type)", ")")), "q4-qmm", "bf16"),
    mlx("quantized-matmul", "dequantization", "fused-weights",
        ("mlx_weights.h", DECODE_SUM,
         "lanes_round(_mm256_fmadd_ps(scale, lanes_from_codes(codes + LANES * i), bias), type)"), "q4-qmm"),
    mlx("quantized-matmul", "rounding:weight-bias dequantization", "weights-not-rounded",
        ("mlx_weights.h", DECODE_SUM, "lanes_add(product, bias)"), "q4-qmv", "f16"),
    mlx("quantized-matmul", "operand_dtype", "narrow-operand",
        ("mlx_matmul.h", ACTIVATION, wrapped(ACTIVATION, "load_typed(x, k, x_type)")), "q4-qmm"),
    mlx("quantized-matmul", "result_dtype", "narrow-result", ("mlx_matmul.h", MATMUL_STORE, MATMUL_STORE.replace(", y)", ", mutate_narrow(y))")), "q4-qmv"),
    mlx("quantized-matmul", "denormals", "flush-subnormals", FLUSH, "q4-qmv"),
) + tuple(
    mlx(helper, fields, name, edit, helper, dtype)
    for helper in ("dequantize", "embedding")
    for fields, name, edit, dtype in (
        ("rounding:weight-product dequantization", "one-rounding",
         ("mlx_weights.h", EMBED, unrounded(EMBED, "scale * (float)(uint8_t)(codes >> (8 * i))", "type")), "bf16"),
        ("dequantization", "fused-weights",
         ("mlx_weights.h", EMBED, "mutate_fma(scale, (float)(uint8_t)(codes >> (8 * i)), bias)"), "f32"),
        ("rounding:weight-bias", "narrow-sum", ("mlx_weights.h", EMBED, wrapped(EMBED)), "f32"),
        ("operand_dtype", "narrow-scale",
         ("mlx_weights.h", "float scale = load_typed(table->s, group, type)",
          "float scale = mutate_narrow(load_typed(table->s, group, type))"), "f32"),
        ("result_dtype", "result-truncated", TRUNCATE, "bf16"),
        ("denormals", "flush-subnormals", FLUSH, "f32"),
    )
)

PLAIN_SUM = "  for (size_t i = 0; i < width; ++i) sum = sum + load_typed(x, i, type);"
DIFFERENCE = "float d = load_typed(x, i, type) - center;"
SQUARE_SUM = "    sum = sum + d * d;"
MEAN = "return sum * (1.0f / (float)width);"
LAYER_ROOT = "float r = 1.0f / f32_sqrt(mean_of(sum_of_squares(x, a->width, a->x_type, mu), a->width) + a->eps);"
LAYER_SCALE = "float y = round_to((load_typed(x, i, a->x_type) - mu) * r, a->out_type);"
LAYER_WEIGHT = "y = round_to(y * load_typed(a->weight, i, a->weight_type), a->out_type);"
LAYER_STORE = "store_typed(out, i, a->out_type, y + load_typed(a->bias, i, a->weight_type));"
RMS_ROOT = "float r = 1.0f / f32_sqrt(mean_of(sum_of_squares(x, a->width, a->x_type, 0.0f), a->width) + a->eps);"
RMS_STORE = "store_typed(out, i, a->out_type, round_to(load_typed(x, i, a->x_type) * r, step) * w);"
ONE_PLUS = "w = round_to(1.0f + w, a->weight_type);"


def root_edits(line: str, mean_stage: str) -> tuple[tuple[str, str, tuple[str, str, str]], ...]:
    """Of r = 1 / sqrt(mean + eps): (fields, name, edit)."""
    argument = line[line.index("f32_sqrt(") + len("f32_sqrt(") : -2]
    mean = argument.removesuffix(" + a->eps")
    root = f"f32_sqrt({argument})"
    return (
        (f"rounding:{mean_stage}", "narrow-mean", ("mlx_norm.h", line, wrapped(line, mean))),
        ("rounding:epsilon", "narrow-sum-with-epsilon", ("mlx_norm.h", line, wrapped(line, argument))),
        ("rounding:root", "narrow-root", ("mlx_norm.h", line, wrapped(line, root))),
        ("rounding:reciprocal functions:ieee-div", "narrow-reciprocal", ("mlx_norm.h", line, wrapped(line, f"1.0f / {root}"))),
        ("functions:ieee-sqrt", "approximate-reciprocal-root",
         ("mlx_norm.h", line, line.replace(f"1.0f / {root}", f"_mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss({argument})))"))),
        ("constants", "narrow-epsilon", ("mlx_norm.h", line, wrapped(line, "a->eps"))),
    )


LAYER_NORM = tuple(
    mlx("layer-norm", fields, name, edit, "layer-norm") for fields, name, edit in root_edits(LAYER_ROOT, "variance")
) + tuple(
    mlx("layer-norm", fields, name, ("mlx_norm.h", old, new), "layer-norm", dtype)
    for fields, name, old, new, dtype in (
        ("rounding:mean", "divide-by-the-width", MEAN, "return sum / (float)width;", "f32"),
        ("constants", "narrow-reciprocal-width", MEAN, wrapped(MEAN, "1.0f / (float)width"), "f32"),
        ("rounding:sum accumulator", "narrow-sum", PLAIN_SUM, wrapped(PLAIN_SUM, "sum + load_typed(x, i, type)"), "f32"),
        ("rounding:difference", "narrow-difference", DIFFERENCE, wrapped(DIFFERENCE, "load_typed(x, i, type) - center"), "f32"),
        ("rounding:square", "fuse-squares", SQUARE_SUM, "    sum = mutate_fma(d, d, sum);", "f32"),
        ("rounding:square-sum", "narrow-sum-of-squares", SQUARE_SUM, "    sum = mutate_narrow(sum + d * d);", "f32"),
        ("rounding:scale", "scaled-value-not-rounded", LAYER_SCALE,
         unrounded(LAYER_SCALE, "(load_typed(x, i, a->x_type) - mu) * r", "a->out_type"), "bf16"),
        ("rounding:weight", "weighted-value-not-rounded", LAYER_WEIGHT,
         unrounded(LAYER_WEIGHT, "y * load_typed(a->weight, i, a->weight_type)", "a->out_type"), "bf16"),
        ("rounding:bias result_dtype", "narrow-result", LAYER_STORE,
         wrapped(LAYER_STORE, "y + load_typed(a->bias, i, a->weight_type)"), "f32"),
        ("association", "sum-in-reverse", PLAIN_SUM, PLAIN_SUM.replace("(x, i, type)", "(x, width - 1 - i, type)"), "f32"),
        ("operand_dtype", "narrow-operand", LAYER_SCALE, wrapped(LAYER_SCALE, "load_typed(x, i, a->x_type)"), "f32"),
        ("dequantization", "narrow-weight", LAYER_WEIGHT,
         wrapped(LAYER_WEIGHT, "load_typed(a->weight, i, a->weight_type)"), "f32"),
    )
) + (mlx("layer-norm", "denormals", "flush-subnormals", FLUSH, "layer-norm"),)

RMS_NORM = tuple(
    mlx("rms-norm", fields, name, edit, "rms-norm") for fields, name, edit in root_edits(RMS_ROOT, "mean")
) + tuple(
    mlx("rms-norm", fields, name, ("mlx_norm.h", old, new), "rms-norm", dtype, case)
    for fields, name, old, new, dtype, case in (
        ("rounding:mean", "divide-by-the-width", MEAN, "return sum / (float)width;", "f32", ""),
        ("rounding:square", "fuse-squares", SQUARE_SUM, "    sum = mutate_fma(d, d, sum);", "f32", ""),
        ("rounding:square-sum accumulator", "narrow-sum-of-squares", SQUARE_SUM, "    sum = mutate_narrow(sum + d * d);", "f32", ""),
        ("rounding:one-plus", "one-plus-weight-not-rounded", ONE_PLUS, "w = 1.0f + w;", "bf16", "gemma bf16"),
        ("rounding:scale", "scaled-value-not-rounded", RMS_STORE,
         unrounded(RMS_STORE, "load_typed(x, i, a->x_type) * r", "step"), "bf16", ""),
        ("rounding:scale", "single-rounding-rounds-twice",
         "int step = a->mode == RMS_ONE_ROUNDING ? MLXCEL_FORMAT_F32 : a->out_type;", "int step = a->out_type;", "bf16",
         "single-rounding bf16"),
        ("rounding:weight result_dtype", "narrow-result", RMS_STORE,
         wrapped(RMS_STORE, "round_to(load_typed(x, i, a->x_type) * r, step) * w"), "f32", ""),
        ("association", "sum-in-reverse", DIFFERENCE, DIFFERENCE.replace("(x, i, type)", "(x, width - 1 - i, type)"), "f32", ""),
        ("operand_dtype", "narrow-operand", RMS_STORE, wrapped(RMS_STORE, "load_typed(x, i, a->x_type)"), "f32", ""),
        ("dequantization", "narrow-weight", RMS_STORE, RMS_STORE.replace("* w)", "* mutate_narrow(w))"), "f32", ""),
    )
) + (
    mlx("rms-norm", "rounding:result", "result-truncated", TRUNCATE, "rms-norm", "bf16", "single-rounding bf16"),
    mlx("rms-norm", "denormals", "flush-subnormals", FLUSH, "rms-norm"),
)

SIGMOID = "float y = 1.0f / (1.0f + round_to(mlx_exp(f32_abs(x)), type));"
# Elementwise dispatches whose constant names the step.
ADD = "return a + b;"
SUBTRACT = "return a - b;"
MULTIPLY = "return a * b;"
DIVIDE = "return a / b;"
GATE = "activation silu-gate"


def step_edit(line: str, condition: str) -> tuple[str, str, str]:
    """Narrows the result of an elementwise operation where `condition` holds."""
    value = line.removeprefix("return ").removesuffix(";")
    return "mlx_elementwise.h", line, f"return {condition} ? mutate_coarse({value}) : {value};"


def constant_is(value: str) -> str:
    """The dispatch's constant is `value` in the dtype."""
    return f"b == round_to({value}, type)"


ELEMENTWISE = (
    mlx("residual-add", "operand_dtype", "narrow-operand", ("mlx_elementwise.h", ADD, "return mutate_narrow(a) + b;"), "residual-add"),
    mlx("residual-add", "rounding result_dtype", "narrow-sum", ("mlx_elementwise.h", ADD, "return mutate_narrow(a + b);"), "residual-add"),
    mlx("residual-add", "rounding", "ties-away-from-even", TIES_AWAY, "residual-add", "bf16"),
    mlx("residual-add", "denormals", "flush-subnormals", FLUSH, "residual-add"),
) + tuple(
    mlx(GATE, fields, name, edit, "activation", dtype, case)
    for fields, name, edit, dtype, case in (
        ("rounding:exp", "exponential-not-rounded",
         ("mlx_elementary.h", SIGMOID, unrounded(SIGMOID, "mlx_exp(f32_abs(x))", "type")), "bf16", ""),
        ("rounding:one-plus", "narrow-one-plus",
         ("mlx_elementary.h", SIGMOID, wrapped(SIGMOID, "1.0f + round_to(mlx_exp(f32_abs(x)), type)")), "f32", ""),
        ("rounding:quotient", "narrow-quotient",
         ("mlx_elementary.h", SIGMOID, wrapped(SIGMOID, "1.0f / (1.0f + round_to(mlx_exp(f32_abs(x)), type))")), "f32", ""),
        ("rounding:sigmoid", "sigmoid-rounded-before-the-difference",
         ("mlx_elementary.h", "return x < 0 ? y : 1.0f - y;", "return x < 0 ? y : 1.0f - round_to(y, type);"), "bf16", ""),
        ("rounding:product", "narrow-product", ("mlx_elementwise.h", MULTIPLY, "return mutate_coarse(a * b);"), "bf16", ""),
        ("rounding:argument", "narrow-argument-of-gelu-sigmoid", step_edit(MULTIPLY, constant_is("1.702f")), "bf16", "gelu-sigmoid"),
        ("rounding:argument", "narrow-argument-of-gelu-tanh", step_edit(MULTIPLY, constant_is("0.7978845608f")), "bf16", "gelu-tanh"),
        ("rounding:quotient", "narrow-quotient-of-gelu-erf", step_edit(DIVIDE, constant_is("1.41421356237f")), "bf16", "gelu-erf"),
        ("rounding:erf", "narrow-erf", ("mlx_elementwise.h", "return mlx_erf(a, type);", "return mutate_coarse(mlx_erf(a, type));"),
         "bf16", "gelu-erf"),
        ("rounding:one-plus", "narrow-one-plus-of-gelu-erf", step_edit(ADD, "b == 1.0f"), "bf16", "gelu-erf"),
        ("rounding:one-plus", "narrow-one-plus-of-gelu-tanh", step_edit(ADD, "b == 1.0f"), "bf16", "gelu-tanh"),
        ("rounding:half", "narrow-half-of-gelu-erf", step_edit(DIVIDE, "b == 2.0f"), "bf16", "gelu-erf"),
        ("rounding:half", "narrow-half-of-gelu-tanh", step_edit(MULTIPLY, "b == 0.5f"), "bf16", "gelu-tanh"),
        ("rounding:cubic", "narrow-cubic", step_edit(MULTIPLY, constant_is("0.044715f")), "bf16", "gelu-tanh"),
        ("rounding:inner-sum", "narrow-inner-sum", step_edit(ADD, "b != 1.0f"), "bf16", "gelu-tanh"),
        ("functions:mlx-exp-1", "another-exp", OTHER_EXP, "f32", ""),
        ("functions:mlx-exp-1", "exp-not-fused",
         ("mlx_elementary.h", "  p = f32_fma(p, f, 6.931472028550421e-1f);", "  p = p * f + 6.931472028550421e-1f;"), "f32", ""),
        ("functions:mlx-erf-1", "erf-polynomial-not-fused",
         ("mlx_elementary.h", "  r = f32_fma(r, t, 0.254829592f);", "  r = r * t + 0.254829592f;"), "f32", "gelu-erf"),
        ("functions:ieee-div", "reciprocal-instead-of-division", ("mlx_elementwise.h", DIVIDE, "return a * (1.0f / b);"), "f32", "gelu-erf"),
        ("constants", "constants-not-rounded-to-the-dtype",
         ("mlx_cpu.c", ".scalar = round_to(scalar, type)};", ".scalar = scalar};"), "bf16", "gelu-tanh"),
        ("operand_dtype", "narrow-operand", ("mlx_elementwise.h", MULTIPLY, "return mutate_narrow(a) * b;"), "f32", ""),
        ("result_dtype", "narrow-result", ("mlx_elementwise.h", MULTIPLY, "return mutate_narrow(a * b);"), "f32", ""),
        ("denormals", "flush-subnormals", FLUSH, "f32", ""),
    )
) + (
    mlx("silu-gate", "rounding:gate-product", "narrow-gate-product", ("mlx_elementwise.h", MULTIPLY, "return mutate_coarse(a * b);"),
        "activation", "bf16", "gate=[6,300]"),
)

SOFTMAX_SUM = "sum = round_to(sum + round_to(mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work), work);"
SOFTMAX_EXP = "float e = round_to(mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work);"
SOFTMAX_INVERSE = "float inverse = round_to(1.0f / sum, work);"
SOFTMAX_STORE = "store_typed(out, i, type, e * inverse);"
SCAN_SUM = "if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);"
SCAN_STORE = "    store_typed(out, first + i * stride, type, sum);"
SCAN_PAIRS = (
    "    if (i & 1) {\n"
    "      float pair = round_to(load_typed(x, first + (i - 1) * stride, type) + load_typed(x, first + i * stride, type), type);\n"
    "      sum = i == 1 ? pair : round_to(load_typed(out, first + (i - 2) * stride, type) + pair, type);\n"
    "    } else if (i) {\n"
    "      sum = round_to(sum + load_typed(x, first + i * stride, type), type);\n"
    "    }\n"
)

REDUCTIONS = tuple(
    mlx("softmax", fields, name, ("mlx_reduce.h", old, new), "softmax", dtype, case)
    for fields, name, old, new, dtype, case in (
        ("rounding:difference", "difference-not-rounded", SOFTMAX_EXP,
         unrounded(SOFTMAX_EXP, "load_typed(x, i, type) - maximum", "work"), "bf16", "same-dtype"),
        ("rounding:exp", "exponential-not-rounded", SOFTMAX_SUM,
         unrounded(SOFTMAX_SUM, "mlx_exp(round_to(load_typed(x, i, type) - maximum, work))", "work"), "bf16", "same-dtype"),
        ("rounding:sum", "sum-not-rounded", SOFTMAX_SUM,
         SOFTMAX_SUM.replace("sum = round_to(", "sum = (").removesuffix(", work);") + ");", "bf16", "same-dtype"),
        ("rounding:reciprocal functions:ieee-div", "divide-by-the-sum", SOFTMAX_STORE, SOFTMAX_STORE.replace("* inverse", "/ sum"),
         "f32", ""),
        ("rounding:reciprocal", "reciprocal-not-rounded", SOFTMAX_INVERSE, "float inverse = 1.0f / sum;", "bf16", "same-dtype"),
        ("rounding:product", "narrow-product", SOFTMAX_STORE, wrapped(SOFTMAX_STORE, "e * inverse", "mutate_coarse"), "bf16",
         "same-dtype"),
        ("rounding:result", "narrow-product-of-precise", SOFTMAX_STORE, wrapped(SOFTMAX_STORE, "e * inverse", "mutate_coarse"), "bf16",
         "precise"),
        ("accumulator", "narrow-accumulator", SOFTMAX_SUM, wrapped(SOFTMAX_SUM, SOFTMAX_SUM[len("sum = ") : -1]), "f32", ""),
        ("association", "sum-in-reverse", SOFTMAX_SUM, SOFTMAX_SUM.replace("(x, i, type)", "(x, width - 1 - i, type)"), "f32", ""),
        ("operand_dtype", "narrow-operand", SOFTMAX_EXP, wrapped(SOFTMAX_EXP, "load_typed(x, i, type)"), "f32", ""),
        ("result_dtype", "narrow-result", SOFTMAX_STORE, wrapped(SOFTMAX_STORE, "e * inverse"), "f32", ""),
    )
) + (
    mlx("softmax", "functions:mlx-exp-1", "another-exp", OTHER_EXP, "softmax"),
    mlx("softmax", "denormals", "flush-subnormals", FLUSH, "softmax"),
) + tuple(
    mlx("prefix-scan", fields, name, ("mlx_reduce.h", old, new), "prefix-scan", dtype)
    for fields, name, old, new, dtype in (
        ("accumulator rounding", "accumulate-in-f32", SCAN_SUM, unrounded(SCAN_SUM, "sum + load_typed(x, first + i * stride, type)", "type"),
         "bf16"),
        ("result_dtype", "narrow-result", SCAN_STORE, wrapped(SCAN_STORE, "sum"), "f32"),
        ("association", "scan-in-pairs", f"    {SCAN_SUM}\n", SCAN_PAIRS, "f32"),
        ("operand_dtype", "narrow-operand", SCAN_SUM, wrapped(SCAN_SUM, "load_typed(x, first + i * stride, type)"), "f32"),
    )
) + (mlx("prefix-scan", "denormals", "flush-subnormals", FLUSH, "prefix-scan"),)

RECIPROCAL_ROOT = "return 1.0f / round_to(f32_sqrt(a), type);"
CUMULATIVE_NORM = tuple(
    mlx("cumulative-norm", fields, name, edit, "cumulative-norm", dtype, "x=[9,32,32]" if name == "scan-in-pairs" else "")
    for fields, name, edit, dtype in (
        ("rounding:step-sum", "narrow-step-sum", ("mlx_norm.h", PLAIN_SUM, wrapped(PLAIN_SUM, "sum + load_typed(x, i, type)")), "f32"),
        ("rounding:scan-sum accumulator", "narrow-scan",
         ("mlx_reduce.h", SCAN_SUM, wrapped(SCAN_SUM, "sum + load_typed(x, first + i * stride, type)")), "f32"),
        ("rounding:mean rounding:variance functions:ieee-div", "multiply-by-the-reciprocal-count",
         ("mlx_elementwise.h", DIVIDE, "return a * (1.0f / b);"), "f32"),
        ("rounding:difference", "narrow-difference", ("mlx_elementwise.h", SUBTRACT, "return mutate_narrow(a - b);"), "f32"),
        ("rounding:epsilon", "narrow-sum-with-epsilon", ("mlx_elementwise.h", ADD, "return mutate_narrow(a + b);"), "f32"),
        ("rounding:root", "narrow-root", ("mlx_elementwise.h", RECIPROCAL_ROOT, wrapped(RECIPROCAL_ROOT, "f32_sqrt(a)")), "f32"),
        ("rounding:reciprocal", "narrow-reciprocal",
         ("mlx_elementwise.h", RECIPROCAL_ROOT, f"return {wrapped(RECIPROCAL_ROOT.removeprefix('return ').removesuffix(';'))};"), "f32"),
        ("functions:ieee-sqrt", "approximate-reciprocal-root",
         ("mlx_elementwise.h", RECIPROCAL_ROOT, "return _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(a)));"), "f32"),
        ("rounding:scale rounding:weight", "narrow-products", ("mlx_elementwise.h", MULTIPLY, "return mutate_narrow(a * b);"), "f32"),
        ("rounding:result result_dtype", "result-truncated", TRUNCATE, "bf16"),
        ("association:steps", "steps-in-reverse",
         ("mlx_norm.h", PLAIN_SUM, PLAIN_SUM.replace("(x, i, type)", "(x, width - 1 - i, type)")), "f32"),
        ("association:scan", "scan-in-pairs", ("mlx_reduce.h", f"    {SCAN_SUM}\n", SCAN_PAIRS), "f32"),
        ("operand_dtype", "narrow-operand",
         ("mlx_norm.h", PLAIN_SUM, wrapped(PLAIN_SUM, "load_typed(x, i, type)")), "f32"),
        ("dequantization", "narrow-weight", ("mlx_elementwise.h", MULTIPLY, "return a * mutate_narrow(b);"), "f32"),
        ("constants", "narrow-epsilon", ("mlx_cpu.c", ".scalar = round_to(scalar, type)};", ".scalar = mutate_narrow(scalar)};"), "f32"),
        ("denormals", "flush-subnormals", FLUSH, "f32"),
    )
)

SCORE_SUM = "sum[i] = sum[i] + a->q[d] * load_typed(key[i], d, type);"
SCORE = "float s = round_to(sum[i], type);"
MASKED = "round_to(s + load_typed(a->mask, j + i, type), type)"
EXPONENTIAL = "scores[i] = mlx_exp(scores[i] - maximum);"
TOTAL = "total = total + scores[i];"
INVERSE = "float inverse = 1.0f / total;"
PROBABILITY = "round_to((once ? scores[i] : mlx_exp(scores[i] - maximum)) * inverse, a->type)"
VALUE_SUM = "sums[d] = sums[d] + weights[j] * load_typed(value, d, type);"
ATTENTION_STORE = "store_typed(out, d, a->type, sums[d]);"
QUERY = "round_to(rounded_scale * load_typed(MLXCEL_AT(q), unit * a.head_dim + d, type), type)"
ROUNDED_SCALE = "float rounded_scale = round_to(scale, type);"
KEY_LOOP = "  for (size_t j = 0; j < count; ++j) {\n    const uint8_t* value"

ATTENTION = tuple(
    mlx("attention", fields, name, (file, old, new), "attention", dtype, case)
    for fields, name, file, old, new, dtype, case in (
        ("rounding:scale-before-dot", "query-not-rounded", "mlx_cpu.c", QUERY,
         unrounded(QUERY, "rounded_scale * load_typed(MLXCEL_AT(q), unit * a.head_dim + d, type)", "type"), "bf16", ""),
        ("rounding:product", "fuse-scores", "mlx_attention.h", SCORE_SUM,
         "sum[i] = mutate_fma(a->q[d], load_typed(key[i], d, type), sum[i]);", "f32", ""),
        ("rounding:score-sum", "narrow-score-sums", "mlx_attention.h", SCORE_SUM, wrapped(SCORE_SUM, "sum[i] + a->q[d] * load_typed(key[i], d, type)"), "f32", ""),
        ("rounding:score", "score-not-rounded", "mlx_attention.h", SCORE, "float s = sum[i];", "bf16", ""),
        ("rounding:mask", "masked-score-not-rounded", "mlx_attention.h", MASKED,
         unrounded(MASKED, "s + load_typed(a->mask, j + i, type)", "type"), "bf16", "mask-additive"),
        ("rounding:difference", "narrow-difference", "mlx_attention.h", EXPONENTIAL, wrapped(EXPONENTIAL, "scores[i] - maximum"), "f32", ""),
        ("rounding:exp", "narrow-exponential", "mlx_attention.h", EXPONENTIAL, wrapped(EXPONENTIAL, "mlx_exp(scores[i] - maximum)"), "f32", ""),
        ("rounding:sum", "narrow-sum", "mlx_attention.h", TOTAL, wrapped(TOTAL, "total + scores[i]"), "f32", ""),
        ("rounding:reciprocal", "narrow-reciprocal", "mlx_attention.h", INVERSE, wrapped(INVERSE, "1.0f / total"), "f32", ""),
        ("rounding:quotient functions:ieee-div", "divide-by-the-sum", "mlx_attention.h", PROBABILITY,
         PROBABILITY.replace("* inverse", "/ total"), "f32", ""),
        ("rounding:probability", "probability-not-rounded", "mlx_attention.h", PROBABILITY,
         unrounded(PROBABILITY, "(once ? scores[i] : mlx_exp(scores[i] - maximum)) * inverse", "a->type"), "bf16", ""),
        ("rounding:product", "fuse-values", "mlx_attention.h", VALUE_SUM,
         "sums[d] = mutate_fma(weights[j], load_typed(value, d, type), sums[d]);", "f32", ""),
        ("rounding:value-sum accumulator", "narrow-accumulator", "mlx_attention.h", VALUE_SUM,
         wrapped(VALUE_SUM, "sums[d] + weights[j] * load_typed(value, d, type)"), "f32", ""),
        ("rounding:result", "coarse-result", "mlx_attention.h", ATTENTION_STORE, wrapped(ATTENTION_STORE, "sums[d]", "mutate_coarse"), "bf16",
         ""),
        ("association:scores", "score-sums-in-reverse", "mlx_attention.h", SCORE_SUM,
         "sum[i] = sum[i] + a->q[a->head_dim - 1 - d] * load_typed(key[i], a->head_dim - 1 - d, type);", "f32", ""),
        ("association:softmax", "sum-in-reverse", "mlx_attention.h",
         f"      {EXPONENTIAL}\n      {TOTAL}\n    }}",
         f"      {EXPONENTIAL}\n    }}\n    for (size_t i = end - j; i-- > 0;) {TOTAL}", "f32", "q=[16,576]"),
        ("association:values", "values-in-reverse", "mlx_attention.h", KEY_LOOP,
         KEY_LOOP.replace("size_t j = 0; j < count; ++j", "size_t j = count; j-- > 0;"), "f32", ""),
        ("constants", "scale-not-rounded", "mlx_cpu.c", ROUNDED_SCALE, "float rounded_scale = scale;", "bf16", ""),
        ("functions:mlx-exp-1", "another-exp", *OTHER_EXP, "f32", "q=[16,576]"),
        ("operand_dtype", "narrow-operand", "mlx_attention.h", SCORE_SUM, wrapped(SCORE_SUM, "load_typed(key[i], d, type)"), "f32", ""),
        ("result_dtype", "narrow-result", "mlx_attention.h", ATTENTION_STORE, wrapped(ATTENTION_STORE, "sums[d]"), "f32", ""),
        ("denormals", "flush-subnormals", *FLUSH, "f32", ""),
    )
)

POSITION = "float theta = (float)position * a->scale * rope_inverse_frequency(a, j);"
TURN = "float c = round_to(mlx_cos(theta), a->type), s = round_to(mlx_sin(theta), a->type);"
INVERSE_FREQUENCY = "return mlx_exp(-(float)j * a->log_base);"
GIVEN_FREQUENCY = "return 1.0f / load_typed(a->frequencies, j, MLXCEL_FORMAT_F32);"
OPERANDS = "float x1 = load_typed(x, first, a->type), x2 = load_typed(x, second, a->type);"
ROTATION = "store_typed(out, first, a->type, round_to(x1 * c, a->type) - round_to(x2 * s, a->type));"
FREQUENCIES = "x=[6,192]"  # the case with a table of frequencies: the shape names it

ROPE = tuple(
    mlx("rope", fields, name, (file, old, new), "rope", dtype, case)
    for fields, name, file, old, new, dtype, case in (
        ("rounding:position-scale", "narrow-position", "mlx_rope.h", POSITION, wrapped(POSITION, "(float)position * a->scale"), "f32",
         "x=[5,32]"),
        ("rounding:exponent", "narrow-exponent", "mlx_rope.h", INVERSE_FREQUENCY, wrapped(INVERSE_FREQUENCY, "-(float)j * a->log_base"), "f32",
         ""),
        ("rounding:exp", "narrow-exponential", "mlx_rope.h", INVERSE_FREQUENCY,
         wrapped(INVERSE_FREQUENCY, "mlx_exp(-(float)j * a->log_base)"), "f32", ""),
        ("rounding:angle", "narrow-angle", "mlx_rope.h", POSITION,
         wrapped(POSITION, "(float)position * a->scale * rope_inverse_frequency(a, j)"), "f32", ""),
        ("rounding:cos-sin", "cos-and-sin-not-rounded", "mlx_rope.h", TURN, "float c = mlx_cos(theta), s = mlx_sin(theta);", "bf16", ""),
        ("rounding:product", "products-not-rounded", "mlx_rope.h", ROTATION, "store_typed(out, first, a->type, x1 * c - x2 * s);", "bf16", ""),
        ("rounding:product", "fuse-rotation", "mlx_rope.h", ROTATION,
         "store_typed(out, first, a->type, mutate_fma(x1, c, -round_to(x2 * s, a->type)));", "f32", ""),
        ("rounding:sum result_dtype", "narrow-result", "mlx_rope.h", ROTATION,
         wrapped(ROTATION, "round_to(x1 * c, a->type) - round_to(x2 * s, a->type)"), "f32", ""),
        ("rounding:reciprocal functions:ieee-div", "narrow-reciprocal", "mlx_rope.h", GIVEN_FREQUENCY,
         f"return {wrapped(GIVEN_FREQUENCY.removeprefix('return ').removesuffix(';'))};", "f32", FREQUENCIES),
        ("constants", "narrow-base", "mlx_rope.h", INVERSE_FREQUENCY, wrapped(INVERSE_FREQUENCY, "a->log_base"), "f32", ""),
        ("constants", "narrow-frequencies", "mlx_rope.h", GIVEN_FREQUENCY,
         wrapped(GIVEN_FREQUENCY, "load_typed(a->frequencies, j, MLXCEL_FORMAT_F32)"), "f32", FREQUENCIES),
        ("functions:mlx-exp-1", "exp-not-fused", "mlx_elementary.h", "p = f32_fma(p, f, 1.0f);", "p = p * f + 1.0f;", "f32",
         "interleaved f32 x=[6,256]"),
        ("functions:mlx-sin-1", "sine-not-fused", "mlx_elementary.h", "return f32_fma(r, p * z, r);", "return r * (p * z) + r;", "f32", ""),
        ("functions:mlx-cos-1", "cosine-with-the-series-coefficient", "mlx_elementary.h", "4.166664568298827e-2f", "4.166666666666667e-2f", "f32",
         ""),
        ("operand_dtype", "narrow-operand", "mlx_rope.h", OPERANDS, wrapped(OPERANDS, "load_typed(x, first, a->type)"), "f32", ""),
        ("denormals", "flush-subnormals", *FLUSH, "f32", ""),
    )
)

COSINE = (
    mlx("rope", "functions:mlx-cos-1", "cosine-not-fused",
        ("mlx_elementary.h", "f32_fma(z, -0.5f, p * z * z)", "z * -0.5f + p * z * z"), "rope",
        proof="half of a float is a float, so that the sum is rounded once either way; where it isn't one, z is far below the 1 that is added"),
)

COPY = (
    "static void copy_elements(const uint8_t* from, uint8_t* to, size_t bytes) {\n"
    "  for (size_t i = 0; i < bytes; i += 2) *(any_u16_t*)(to + i) = *(const any_u16_t*)(from + i);"
)
STORE_V = "copy_elements(MLXCEL_AT(v) + unit * head_bytes, MLXCEL_AT(v_cache) + cell, head_bytes);"
CHANNEL_LOOP = "      for (size_t c = 0; c < a->in_channels; ++c, ++tap) {\n"
CHANNELS_REVERSED = (
    "      for (size_t i = 0; i < a->in_channels; ++i) {\n        size_t c = a->in_channels - 1 - i;\n"
    "        tap = (kh * a->kernel_w + kw) * a->in_channels + c;\n"
)
CONVOLUTION_SUM = "sum[o] = sum[o] + value * load_typed(weights[o], tap, type);"
ROUNDED_SUM = "sum[o] = round_to(sum[o] + value * load_typed(weights[o], tap, type), type);"
CONVOLUTION_STORE = "store_typed(a->out, place + channel + o, type, sum[o]);"

OTHERS = (
    mlx("kv-store", "operand_dtype result_dtype", "stored-in-fewer-bits",
        ("mlx_cpu.c", COPY, COPY.replace("= *(const any_u16_t*)(from + i)", "= (uint16_t)(*(const any_u16_t*)(from + i) & 0xfffe)")),
        "kv-store"),
    mlx("kv-store", "algorithm", "values-not-stored", ("mlx_cpu.c", f"    {STORE_V}\n", ""), "kv-store"),
    mlx("kv-store", "algorithm", "keys-as-values", ("mlx_cpu.c", STORE_V, STORE_V.replace("MLXCEL_AT(v) +", "MLXCEL_AT(k) +")), "kv-store"),
    mlx("kv-store", "denormals", "flush-subnormals", FLUSH, "kv-store", proof=(
        "the kernel moves bit patterns as integers; no floating-point operation reads or writes them, "
        "so MXCSR's flush bits have nothing to act on")),
) + tuple(
    mlx("convolution", fields, name, (file, old, new), "sscp-conv", dtype, case)
    for fields, name, file, old, new, dtype, case in (
        ("rounding:product", "fuse-product-and-sum", "mlx_convolution.h", CONVOLUTION_SUM,
         "sum[o] = mutate_fma(value, load_typed(weights[o], tap, type), sum[o]);", "f32", ""),
        ("rounding:sum", "narrow-sum", "mlx_convolution.h", CONVOLUTION_SUM, wrapped(CONVOLUTION_SUM, "sum[o] + value * load_typed(weights[o], tap, type)"), "f32", ""),
        ("rounding:result", "result-truncated", *TRUNCATE, "bf16", ""),
        ("accumulator", "accumulate-in-the-dtype", "mlx_convolution.h", CONVOLUTION_SUM,
         ROUNDED_SUM, "bf16", ""),
        ("accumulator", "accumulate-in-the-dtype-over-one-row", "mlx_convolution.h", CONVOLUTION_SUM,
         ROUNDED_SUM, "f16", "conv1d"),
        ("association", "channels-in-reverse", "mlx_convolution.h", CHANNEL_LOOP, CHANNELS_REVERSED, "f32", ""),
        ("operand_dtype", "narrow-operand", "mlx_convolution.h", CONVOLUTION_SUM, CONVOLUTION_SUM.replace("+ value", "+ mutate_narrow(value)"),
         "f32", ""),
        ("dequantization", "narrow-weight", "mlx_convolution.h", CONVOLUTION_SUM,
         wrapped(CONVOLUTION_SUM, "load_typed(weights[o], tap, type)"), "f32", ""),
        ("result_dtype", "narrow-result", "mlx_convolution.h", CONVOLUTION_STORE, wrapped(CONVOLUTION_STORE, "sum[o]"), "f32", ""),
        ("denormals", "flush-subnormals", *FLUSH, "f32", "conv1d f32 x=[2,1,37,20]"),
    )
)

MLX_MUTATIONS = MATMULS + LAYER_NORM + RMS_NORM + ELEMENTWISE + REDUCTIONS + CUMULATIVE_NORM + ATTENTION + ROPE + COSINE + OTHERS
