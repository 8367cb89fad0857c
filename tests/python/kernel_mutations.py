"""Mutations of the kernels' sources: each breaks one clause field of one helper.

A mutation is a textual edit of one source file. The kernel object is compiled from the edited copy
and runs in a real oracle run, which must notice. Where an edit provably can't change a result the
proof is given instead, and the run must then find no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

PINNED = "pinned-f32"
MLX = "mlx-cpu-0.32.4"

# Put behind elementary.h's includes: what the edits below call.
PINNED_PRELUDE = """
MLXCEL_INLINE float mutate_narrow1(float x) { return _cvtsh_ss((unsigned short)_cvtss_sh(x, 0)); }
MLXCEL_INLINE v16 mutate_narrow(v16 a) {
  float f[16];
  v16_store(f, a);
  for (int i = 0; i < 16; ++i) f[i] = mutate_narrow1(f[i]);
  return v16_load(f);
}
MLXCEL_INLINE v16 mutate_unfused(v16 a, v16 b, v16 c) { return v16_add(v16_mul(a, b), c); }
"""


@dataclass(frozen=True)
class Mutation:
    """One edit: `old` becomes `new`, everywhere in `file`."""

    profile: str
    helper: str  # op class of the clause
    fields: tuple[str, ...]  # clause fields that it breaks
    name: str
    file: str  # below src/kernels
    old: str
    new: str
    run: str  # oracle class that must notice
    dtype: str = "f32"
    proof: str = ""  # why no result can change

    @property
    def label(self) -> str:
        """For reports and test ids."""
        return f"{self.profile}/{self.helper}/{self.name}"


def pinned(
    helper: str, fields: str, name: str, edit: tuple[str, str, str], run: str, proof: str = ""
) -> Mutation:
    """A mutation of a pinned kernel: `edit` is (file below cpu/, old, new)."""
    file, old, new = edit
    return Mutation(
        PINNED, helper, tuple(fields.split()), name, f"cpu/{file}", old, new, run, "f32", proof
    )


TREE = (
    "vec16.h",
    "MLXCEL_INLINE v16 v16_tree_of_16(const v16* a) "
    "{ return (v16){v8_tree_of_8(a), v8_tree_of_8(a + 8)}; }\n#endif",
    "MLXCEL_INLINE v16 v16_tree_of_16(const v16* a) {\n"
    "  float lanes[16], sums[16];\n"
    "  for (int i = 0; i < 16; ++i) {\n"
    "    v16_store(lanes, a[i]);\n"
    "    sums[i] = 0;\n"
    "    for (int j = 0; j < 16; ++j) sums[i] += lanes[j];\n"
    "  }\n"
    "  return v16_load(sums);\n"
    "}\n#endif",
)
TREE_OF_ONE = (
    "vec16.h",
    "  __m128 l2 = _mm_add_ps(l4, _mm_movehl_ps(l4, l4));\n"
    "  return _mm_cvtss_f32(_mm_add_ss(l2, _mm_shuffle_ps(l2, l2, 1)));\n}\n\n"
    "MLXCEL_INLINE __m256 v8_add_halves",
    "  float l[4];\n  _mm_storeu_ps(l, l4);\n  return ((l[0] + l[1]) + l[2]) + l[3];\n}\n\n"
    "MLXCEL_INLINE __m256 v8_add_halves",
)
FLUSH = ("elementary.h", "#define MLXCEL_MXCSR_FLUSH_BITS 0x8040u", "#define MLXCEL_MXCSR_FLUSH_BITS 0u")
DENSE_FMA = "sum[o] = v16_fma(xv, load_typed16(w[o] + k * type_bytes(type), type), sum[o]);"
TILE_FMA = "for (int o = 0; o < DOT_OUTPUTS; ++o) sum[r][o] = v16_fma(xv, wv[o], sum[r][o]);"
AFFINE_FMA = (
    "sum[o] = v16_fma(xv, affine_weights16_in_code_lanes(codes[o], bits, &unpack, &a[o]), sum[o]);"
)
AFFINE_WEIGHT = "return v16_fma(v16_from_int(v16_unpack_codes(unpack, load_codes(codes, bits))), a->scale, a->bias);"
NORM_STORE = (
    "v16_store(out + k, v16_mul(v16_mul(v16_load(x + k), v16_set1(r)), "
    "load_typed16(weight + k * type_bytes(type), type))"
)
STORE_ROW = "      v16_store(y + (n0 - n_begin), sums);"

PINNED_MUTATIONS = (
    pinned("dense-matmul", "operand_dtype", "narrow-operand", (
        "dot.h", DENSE_FMA, DENSE_FMA.replace("(xv,", "(mutate_narrow(xv),")), "dense-matmul"),
    pinned("dense-matmul", "accumulator", "narrow-accumulator", (
        "dot.h", DENSE_FMA, f"{DENSE_FMA} sum[o] = mutate_narrow(sum[o]);"), "dense-matmul"),
    pinned("dense-matmul", "rounding", "unfuse-product-and-sum", (
        "dot.h", DENSE_FMA, DENSE_FMA.replace("v16_fma", "mutate_unfused")), "dense-matmul"),
    pinned("dense-matmul", "rounding", "unfuse-in-tiles-only", (
        "dot.h", TILE_FMA, TILE_FMA.replace("v16_fma", "mutate_unfused")), "dense-matmul"),
    pinned("dense-matmul", "result_dtype", "narrow-result", (
        "dot.h", STORE_ROW, STORE_ROW.replace("sums", "mutate_narrow(sums)")), "dense-matmul"),
    pinned("dense-matmul", "association", "tree-to-sequence", TREE, "dense-matmul"),
    pinned("dense-matmul", "association", "lanes-restart-at-a-block", (
        "dot.h", "#define DOT_BLOCK 1024", "#define DOT_BLOCK 1023"), "dense-matmul"),
    pinned("dense-matmul", "dequantization", "bf16-widened-by-one-bit-less", (
        "vec16.h", "_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)",
        "_mm256_and_si256(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16), "
        "_mm256_set1_epi32((int)0xFFFE0000u))"), "dense-matmul"),
    pinned("dense-matmul", "denormals", "flush-subnormals", FLUSH, "dense-matmul"),
    pinned("quantized-matmul", "operand_dtype", "narrow-operand", (
        "dot.h", AFFINE_FMA, AFFINE_FMA.replace("(xv,", "(mutate_narrow(xv),")), "q4-qmv"),
    pinned("quantized-matmul", "accumulator", "narrow-accumulator", (
        "dot.h", AFFINE_FMA, f"{AFFINE_FMA} sum[o] = mutate_narrow(sum[o]);"), "q4-qmv"),
    pinned("quantized-matmul", "rounding", "unfuse-product-and-sum", (
        "dot.h", AFFINE_FMA, AFFINE_FMA.replace("v16_fma", "mutate_unfused")), "q4-qmv"),
    pinned("quantized-matmul", "rounding dequantization", "two-round-weights", (
        "weights.h", AFFINE_WEIGHT, AFFINE_WEIGHT.replace("v16_fma", "mutate_unfused")), "q4-qmm"),
    pinned("quantized-matmul", "dequantization", "weights-rounded-to-16-bits", (
        "weights.h", AFFINE_WEIGHT,
        AFFINE_WEIGHT.replace("return v16_fma", "return mutate_narrow(v16_fma").replace(
            "->bias);", "->bias));")), "q4-qmm"),
    pinned("quantized-matmul", "result_dtype", "narrow-result", (
        "dot.h", STORE_ROW, STORE_ROW.replace("sums", "mutate_narrow(sums)")), "q4-qmv"),
    pinned("quantized-matmul", "association", "tree-to-sequence", TREE, "q4-qmv"),
    pinned("quantized-matmul", "denormals", "flush-subnormals", FLUSH, "q4-qmv"),
    pinned("embedding", "operand_dtype dequantization rounding", "two-round-weights", (
        "weights.h", AFFINE_WEIGHT, AFFINE_WEIGHT.replace("v16_fma", "mutate_unfused")),
        "embedding"),
    pinned("embedding", "result_dtype", "narrow-result", (
        "weights.h", "v16_store(out, affine_weights16(codes, bits, &unpack, &a));",
        "v16_store(out, mutate_narrow(affine_weights16(codes, bits, &unpack, &a)));"),
        "embedding"),
    pinned("embedding", "denormals", "flush-subnormals", FLUSH, "embedding"),
    pinned("rms-norm", "operand_dtype", "narrow-operand", (
        "pinned_f32.c", "    acc = v16_fma(xv, xv, acc);",
        "    acc = v16_fma(mutate_narrow(xv), xv, acc);"), "rms-norm"),
    pinned("rms-norm", "accumulator", "narrow-accumulator", (
        "pinned_f32.c", "    acc = v16_fma(xv, xv, acc);",
        "    acc = mutate_narrow(v16_fma(xv, xv, acc));"), "rms-norm"),
    pinned("rms-norm", "rounding", "unfuse-squares", (
        "pinned_f32.c", "    acc = v16_fma(xv, xv, acc);",
        "    acc = mutate_unfused(xv, xv, acc);"), "rms-norm"),
    pinned("rms-norm", "rounding functions", "multiply-by-the-reciprocal-width", (
        "pinned_f32.c", "sum_of_squares(x, width) / (float)width",
        "sum_of_squares(x, width) * (1.0f / (float)width)"), "rms-norm"),
    pinned("rms-norm", "rounding", "divide-by-the-root", (
        "pinned_f32.c", "v16_mul(v16_mul(v16_load(x + k), v16_set1(r)),",
        "v16_mul(v16_div(v16_load(x + k), v16_set1(1.0f / r)),"), "rms-norm"),
    pinned("rms-norm", "rounding", "weight-before-scale", (
        "pinned_f32.c",
        "v16_mul(v16_mul(v16_load(x + k), v16_set1(r)), load_typed16(weight + k * type_bytes(type), type))",
        "v16_mul(v16_mul(v16_load(x + k), load_typed16(weight + k * type_bytes(type), type)), v16_set1(r))"),
        "rms-norm"),
    pinned("rms-norm", "functions", "approximate-reciprocal-root", (
        "pinned_f32.c", "1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + eps)))",
        "_mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(mean + eps)))"), "rms-norm"),
    pinned("rms-norm", "constants", "epsilon-in-16-bits", (
        "pinned_f32.c", "(mean + eps)", "(mean + mutate_narrow1(eps))"), "rms-norm"),
    pinned("rms-norm", "association", "tree-to-sequence", TREE_OF_ONE, "rms-norm"),
    pinned("rms-norm", "dequantization", "weights-rounded-to-16-bits", (
        "pinned_f32.c", "v16_set1(r)), load_typed16(weight + k * type_bytes(type), type)));",
        "v16_set1(r)), mutate_narrow(load_typed16(weight + k * type_bytes(type), type))));"),
        "rms-norm"),
    pinned("rms-norm", "result_dtype", "narrow-result", (
        "pinned_f32.c", NORM_STORE,
        NORM_STORE.replace("out + k, ", "out + k, mutate_narrow(") + ")"), "rms-norm"),
    pinned("rms-norm", "denormals", "flush-subnormals", FLUSH, "rms-norm"),
    pinned("silu-gate", "rounding", "multiply-before-dividing", (
        "pinned_f32.c",
        "v16_mul(v16_div(gv, v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv)))), uv)",
        "v16_div(v16_mul(gv, uv), v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv))))"),
        "activation-projection"),
    pinned("silu-gate", "operand_dtype", "narrow-operand", (
        "pinned_f32.c", "v16 gv = v16_load(g + r * GATE_TILE),",
        "v16 gv = mutate_narrow(v16_load(g + r * GATE_TILE)),"), "activation-projection"),
    pinned("silu-gate", "result_dtype", "narrow-result", (
        "pinned_f32.c", "          v16_store(to, y);", "          v16_store(to, mutate_narrow(y));"),
        "activation-projection"),
    pinned("silu-gate", "functions", "reciprocal-instead-of-division", (
        "pinned_f32.c", "v16_div(gv, v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv))))",
        "v16_mul(gv, v16_div(v16_set1(1.0f), v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv)))))"),
        "activation-projection"),
    pinned("silu-gate", "functions", "another-exp", (
        "elementary.h", "  r = v16_fma(n, v16_set1(-MLXCEL_EXP_LN2_LO), r);\n", ""),
        "activation-projection"),
    pinned("silu-gate", "constants", "coefficient-in-16-bits", (
        "elementary.h", "v16_set1(MLXCEL_EXP_C1)", "v16_set1(mutate_narrow1(MLXCEL_EXP_C1))"),
        "activation-projection"),
    pinned("silu-gate", "accumulator", "narrow-exponential", (
        "pinned_f32.c", "v16_exp(v16_neg(gv))", "mutate_narrow(v16_exp(v16_neg(gv)))"),
        "activation-projection"),
    pinned("silu-gate", "denormals", "flush-subnormals", FLUSH, "activation-projection"),
    pinned("rope", "rounding", "unfuse-rotation", (
        "pinned_f32.c", "v16_store(y + i, v16_fma(a, c, v16_neg(v16_mul(b, s))));",
        "v16_store(y + i, v16_sub(v16_mul(a, c), v16_mul(b, s)));"), "rope"),
    pinned("rope", "rounding", "fuse-the-other-product", (
        "pinned_f32.c", "v16_store(y + half + i, v16_fma(b, c, v16_mul(a, s)));",
        "v16_store(y + half + i, v16_fma(a, s, v16_mul(b, c)));"), "rope"),
    pinned("rope", "constants functions", "tables-in-16-bits", (
        "pinned_f32.c", "c = v16_load(cos + i), s = v16_load(sin + i);",
        "c = mutate_narrow(v16_load(cos + i)), s = mutate_narrow(v16_load(sin + i));"), "rope"),
    pinned("rope", "operand_dtype", "narrow-operand", (
        "pinned_f32.c", "v16 a = v16_load(y + i), b = v16_load(y + half + i), c = v16_load(cos + i)",
        "v16 a = mutate_narrow(v16_load(y + i)), b = v16_load(y + half + i), c = v16_load(cos + i)"),
        "rope"),
    pinned("rope kv-store", "result_dtype", "narrow-result", (
        "pinned_f32.c",
        "  for (; i + 16 <= count; i += 16) v16_store(to + i, v16_load(from + i));",
        "  for (; i + 16 <= count; i += 16) v16_store(to + i, mutate_narrow(v16_load(from + i)));"),
        "rope"),
    pinned("rope", "denormals", "flush-subnormals", FLUSH, "rope"),
    pinned("attention", "rounding", "scale-before-dot", (
        "pinned_f32.c", "part[i] = v16_fma(qv, v16_load(key[i] + d), part[i]);",
        "part[i] = v16_fma(v16_mul(qv, v16_set1(scale)), v16_load(key[i] + d), part[i]);"),
        "attention"),
    pinned("attention", "rounding accumulator", "narrow-scores", (
        "pinned_f32.c", "return v16_mul(v16_tree_of_16(acc), v16_set1(scale));",
        "return mutate_narrow(v16_mul(v16_tree_of_16(acc), v16_set1(scale)));"), "attention"),
    pinned("attention", "rounding", "unfuse-values", (
        "pinned_f32.c", "acc[i] = v16_fma(pv, v16_load(row + 16 * i), acc[i]);",
        "acc[i] = mutate_unfused(pv, v16_load(row + 16 * i), acc[i]);"), "attention"),
    pinned("attention", "functions", "reciprocal-instead-of-division", (
        "pinned_f32.c", "v16_store(out + d, v16_div(v16_load(o + d), v16_set1(l)));",
        "v16_store(out + d, v16_mul(v16_load(o + d), v16_set1(1.0f / l)));"), "attention"),
    pinned("attention", "functions", "another-exp", (
        "elementary.h", "  r = v16_fma(n, v16_set1(-MLXCEL_EXP_LN2_LO), r);\n", ""), "attention"),
    pinned("attention", "constants", "scale-in-16-bits", (
        "pinned_f32.c", "return v16_mul(v16_tree_of_16(acc), v16_set1(scale));",
        "return v16_mul(v16_tree_of_16(acc), v16_set1(mutate_narrow1(scale)));"), "attention"),
    pinned("attention", "association", "scores-tree-to-sequence", TREE, "attention"),
    pinned("attention", "association", "sum-tree-to-sequence", TREE_OF_ONE, "attention"),
    pinned("attention", "association", "shorter-blocks", (
        "pinned_f32.c", "j += MLXCEL_ATTENTION_BLOCK) {", "j += 48) {"), "attention"),
    pinned("attention", "operand_dtype", "narrow-operand", (
        "pinned_f32.c", "      v16 qv = v16_load(q + d);",
        "      v16 qv = mutate_narrow(v16_load(q + d));"), "attention"),
    pinned("attention", "result_dtype", "narrow-result", (
        "pinned_f32.c", "v16_store(out + d, v16_div(v16_load(o + d), v16_set1(l)));",
        "v16_store(out + d, mutate_narrow(v16_div(v16_load(o + d), v16_set1(l))));"), "attention"),
    pinned("attention", "denormals", "flush-subnormals", FLUSH, "attention"),
)

# Put behind mlx_number.h's round_to.
MLX_PRELUDE = """
MLXCEL_INLINE float mutate_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
// The other 16-bit type's rounding; of f32, to 20 bits.
MLXCEL_INLINE float mutate_narrow(float x) { return float_of_bits((bits_of_float(x) + 0x7ffu) & 0xfffff000u); }
"""


def mlx(
    helper: str,
    fields: str,
    name: str,
    edit: tuple[str, str, str],
    run: str,
    dtype: str = "f32",
    proof: str = "",
) -> Mutation:
    """A mutation of a sequential kernel: `edit` is (file below mlx/, old, new)."""
    file, old, new = edit
    return Mutation(
        MLX, helper, tuple(fields.split()), name, f"mlx/{file}", old, new, run, dtype, proof
    )


MLX_FLUSH = ("mlx_number.h", "#define MXCSR_FLUSH_BITS 0x8040u", "#define MXCSR_FLUSH_BITS 0u")
PRODUCT = (
    "lanes_t product = lanes_round(lanes_mul(xv, lanes_load(tile + k * TILE_OUTPUTS + v * LANES)), step);"
)
SUM = "sum[v] = lanes_round(lanes_add(sum[v], product), step);"
FUSED = "sum[v] = lanes_round(_mm256_fmadd_ps(xv, lanes_load(tile + k * TILE_OUTPUTS + v * LANES), sum[v]), step);"
REVERSED = (
    "  for (size_t k = 0; k < count; ++k) {\n    lanes_t xv = lanes_set1(load_typed(x, k, x_type));",
    "  for (size_t i = 0; i < count; ++i) {\n    size_t k = count - 1 - i;\n"
    "    lanes_t xv = lanes_set1(load_typed(x, k, x_type));",
)
DECODE_PRODUCT = "lanes_t product = lanes_round(lanes_mul(scale, lanes_from_codes(codes + LANES * i)), type);"
DECODE_SUM = "lanes_round(lanes_add(product, bias), type)"
EMBED = "round_to(scale * (float)(uint8_t)(codes >> (8 * i)), type) + bias"
SQUARE_SUM = "    sum = sum + d * d;"
PLAIN_SUM = "  for (size_t i = 0; i < width; ++i) sum = sum + load_typed(x, i, type);"
MEAN = "return sum * (1.0f / (float)width);"
RMS_ROOT = "float r = 1.0f / f32_sqrt(mean_of(sum_of_squares(x, a->width, a->x_type, 0.0f), a->width) + a->eps);"
RMS_STORE = "store_typed(out, i, a->out_type, round_to(load_typed(x, i, a->x_type) * r, step) * w);"
LAYER_SCALE = "float y = round_to((load_typed(x, i, a->x_type) - mu) * r, a->out_type);"
LAYER_WEIGHT = "y = round_to(y * load_typed(a->weight, i, a->weight_type), a->out_type);"
SOFTMAX_SUM = "sum = round_to(sum + round_to(mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work), work);"
SCORE_SUM = "sum[i] = sum[i] + a->q[d] * load_typed(key[i], d, type);"
VALUE_SUM = "sums[d] = sums[d] + weights[j] * load_typed(value, d, type);"
PROBABILITY = "round_to((once ? scores[i] : mlx_exp(scores[i] - maximum)) * inverse, a->type)"
QUERY = "round_to(rounded_scale * load_typed(MLXCEL_AT(q), unit * a.head_dim + d, type), type)"
ROTATION = "store_typed(out, first, a->type, round_to(x1 * c, a->type) - round_to(x2 * s, a->type));"
CONVOLUTION_SUM = "sum[o] = sum[o] + value * load_typed(weights[o], tap, type);"
EXP_TERM = "float p = f32_fma(1.535336188319500e-4f, f, 1.339887440266574e-3f);"

MLX_MUTATIONS = (
    mlx("dense-matmul", "rounding", "fuse-product-and-sum", ("mlx_matmul.h", SUM, FUSED), "dense-matmul"),
    mlx("dense-matmul", "association", "blocks-in-reverse", ("mlx_matmul.h", *REVERSED), "dense-matmul"),
    mlx("dense-matmul", "accumulator", "accumulate-in-the-dtype", (
        "mlx_cpu.c", ".step = MLXCEL_FORMAT_BITS(format) ? type : MLXCEL_FORMAT_F32,",
        ".step = type,"), "dense-matmul", "bf16"),
    mlx("dense-matmul", "operand_dtype", "narrow-operand", (
        "mlx_matmul.h", "lanes_set1(load_typed(x, k, x_type))",
        "lanes_set1(mutate_narrow(load_typed(x, k, x_type)))"), "dense-matmul"),
    mlx("dense-matmul", "result_dtype", "narrow-result", (
        "mlx_matmul.h", "store_typed(a->out, row * a->outputs + n0 + o, a->type, y);",
        "store_typed(a->out, row * a->outputs + n0 + o, a->type, mutate_narrow(y));"), "dense-matmul"),
    mlx("dense-matmul", "denormals", "flush-subnormals", MLX_FLUSH, "dense-matmul"),
    mlx("quantized-matmul", "accumulator rounding", "accumulate-in-f32", (
        "mlx_cpu.c", ".step = MLXCEL_FORMAT_BITS(format) ? type : MLXCEL_FORMAT_F32,",
        ".step = MLXCEL_FORMAT_F32,"), "q4-qmv", "bf16"),
    mlx("quantized-matmul", "rounding", "products-not-rounded", (
        "mlx_matmul.h", PRODUCT, PRODUCT.replace("lanes_round(", "(").replace(", step)", ")")),
        "q4-qmv", "bf16"),
    mlx("quantized-matmul", "rounding", "fuse-product-and-sum", ("mlx_matmul.h", SUM, FUSED), "q4-qmm"),
    mlx("quantized-matmul", "association", "blocks-in-reverse", ("mlx_matmul.h", *REVERSED), "q4-qmv"),
    mlx("quantized-matmul", "dequantization", "one-rounding", (
        "mlx_weights.h", DECODE_PRODUCT, DECODE_PRODUCT.replace("lanes_round(", "(").replace(", type)", ")")),
        "q4-qmm", "bf16"),
    mlx("quantized-matmul", "dequantization", "fused-weights", (
        "mlx_weights.h", DECODE_SUM,
        "lanes_round(_mm256_fmadd_ps(scale, lanes_from_codes(codes + LANES * i), bias), type)"), "q4-qmm"),
    mlx("quantized-matmul", "dequantization rounding", "weights-not-rounded", (
        "mlx_weights.h", DECODE_SUM, "lanes_add(product, bias)"), "q4-qmv", "f16"),
    mlx("quantized-matmul", "operand_dtype", "narrow-operand", (
        "mlx_matmul.h", "lanes_set1(load_typed(x, k, x_type))",
        "lanes_set1(mutate_narrow(load_typed(x, k, x_type)))"), "q4-qmm"),
    mlx("quantized-matmul", "result_dtype", "narrow-result", (
        "mlx_matmul.h", "store_typed(a->out, row * a->outputs + n0 + o, a->type, y);",
        "store_typed(a->out, row * a->outputs + n0 + o, a->type, mutate_narrow(y));"), "q4-qmv"),
    mlx("quantized-matmul", "denormals", "flush-subnormals", MLX_FLUSH, "q4-qmv"),
    mlx("dequantize embedding", "dequantization rounding", "one-rounding", (
        "mlx_weights.h", EMBED, EMBED.replace("round_to(", "(").replace(", type)", ")")),
        "dequantize", "bf16"),
    mlx("dequantize embedding", "dequantization", "fused-weights", (
        "mlx_weights.h", EMBED, "mutate_fma(scale, (float)(uint8_t)(codes >> (8 * i)), bias)"),
        "dequantize"),
    mlx("dequantize embedding", "operand_dtype", "narrow-scale", (
        "mlx_weights.h", "float scale = load_typed(table->s, group, type)",
        "float scale = mutate_narrow(load_typed(table->s, group, type))"), "dequantize"),
    mlx("dequantize embedding", "result_dtype", "narrow-result", (
        "mlx_weights.h", EMBED, f"mutate_narrow({EMBED})"), "dequantize"),
    mlx("dequantize embedding", "denormals", "flush-subnormals", MLX_FLUSH, "dequantize"),
    mlx("layer-norm", "rounding", "divide-by-the-width", (
        "mlx_norm.h", MEAN, "return sum / (float)width;"), "layer-norm"),
    mlx("layer-norm", "rounding", "scaled-value-not-rounded", (
        "mlx_norm.h", LAYER_SCALE, LAYER_SCALE.replace("round_to(", "(").replace(", a->out_type)", ")")),
        "layer-norm", "bf16"),
    mlx("layer-norm", "rounding", "fuse-weight-and-bias", (
        "mlx_norm.h", LAYER_WEIGHT, LAYER_WEIGHT.replace("round_to(", "(").replace(", a->out_type)", ")")),
        "layer-norm", "bf16"),
    mlx("layer-norm", "rounding", "fuse-squares", (
        "mlx_norm.h", SQUARE_SUM, "    sum = mutate_fma(d, d, sum);"), "layer-norm"),
    mlx("layer-norm", "accumulator", "narrow-accumulator", (
        "mlx_norm.h", PLAIN_SUM, PLAIN_SUM.replace("sum + load_typed(x, i, type)",
        "mutate_narrow(sum + load_typed(x, i, type))")), "layer-norm"),
    mlx("layer-norm", "association", "sum-in-reverse", (
        "mlx_norm.h", PLAIN_SUM, PLAIN_SUM.replace("(x, i, type)", "(x, width - 1 - i, type)")),
        "layer-norm"),
    mlx("layer-norm", "functions", "approximate-reciprocal-root", (
        "mlx_norm.h",
        "float r = 1.0f / f32_sqrt(mean_of(sum_of_squares(x, a->width, a->x_type, mu), a->width) + a->eps);",
        "float r = _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(mean_of(sum_of_squares(x, a->width, a->x_type, mu), a->width) + a->eps)));"),
        "layer-norm"),
    mlx("layer-norm", "constants", "reciprocal-width-narrowed", (
        "mlx_norm.h", MEAN, "return sum * mutate_narrow(1.0f / (float)width);"), "layer-norm"),
    mlx("layer-norm", "operand_dtype", "narrow-operand", (
        "mlx_norm.h", LAYER_SCALE, LAYER_SCALE.replace("load_typed(x, i, a->x_type)",
        "mutate_narrow(load_typed(x, i, a->x_type))")), "layer-norm"),
    mlx("layer-norm", "result_dtype", "narrow-result", (
        "mlx_norm.h", "store_typed(out, i, a->out_type, y + load_typed(a->bias, i, a->weight_type));",
        "store_typed(out, i, a->out_type, mutate_narrow(y + load_typed(a->bias, i, a->weight_type)));"),
        "layer-norm"),
    mlx("layer-norm", "denormals", "flush-subnormals", MLX_FLUSH, "layer-norm"),
    mlx("rms-norm", "rounding", "divide-by-the-width", (
        "mlx_norm.h", MEAN, "return sum / (float)width;"), "rms-norm"),
    mlx("rms-norm", "rounding", "scaled-value-not-rounded", (
        "mlx_norm.h", RMS_STORE, RMS_STORE.replace("round_to(", "(").replace(", step)", ")")),
        "rms-norm", "bf16"),
    mlx("rms-norm", "rounding", "single-rounding-rounds-twice", (
        "mlx_norm.h", "int step = a->mode == RMS_ONE_ROUNDING ? MLXCEL_FORMAT_F32 : a->out_type;",
        "int step = a->out_type;"), "rms-norm", "bf16"),
    mlx("rms-norm", "rounding", "one-plus-weight-not-rounded", (
        "mlx_norm.h", "w = round_to(1.0f + w, a->weight_type);", "w = 1.0f + w;"), "rms-norm", "bf16"),
    mlx("rms-norm", "rounding", "fuse-squares", (
        "mlx_norm.h", SQUARE_SUM, "    sum = mutate_fma(d, d, sum);"), "rms-norm"),
    mlx("rms-norm", "accumulator", "narrow-accumulator", (
        "mlx_norm.h", SQUARE_SUM, "    sum = mutate_narrow(sum + d * d);"), "rms-norm"),
    mlx("rms-norm", "association", "sum-in-reverse", (
        "mlx_norm.h", "float d = load_typed(x, i, type) - center;",
        "float d = load_typed(x, width - 1 - i, type) - center;"), "rms-norm"),
    mlx("rms-norm", "functions", "approximate-reciprocal-root", (
        "mlx_norm.h", RMS_ROOT, RMS_ROOT.replace("1.0f / f32_sqrt(", "_mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(")
        .replace("a->eps);", "a->eps)));")), "rms-norm"),
    mlx("rms-norm", "constants", "epsilon-narrowed", (
        "mlx_norm.h", RMS_ROOT, RMS_ROOT.replace("a->eps", "mutate_narrow(a->eps)")), "rms-norm"),
    mlx("rms-norm", "operand_dtype", "narrow-operand", (
        "mlx_norm.h", RMS_STORE, RMS_STORE.replace("load_typed(x, i, a->x_type)",
        "mutate_narrow(load_typed(x, i, a->x_type))")), "rms-norm"),
    mlx("rms-norm", "result_dtype", "narrow-result", (
        "mlx_norm.h", RMS_STORE, RMS_STORE.replace("a->out_type, ", "a->out_type, mutate_narrow(").replace(" * w);", " * w));")),
        "rms-norm"),
    mlx("rms-norm", "denormals", "flush-subnormals", MLX_FLUSH, "rms-norm"),
    mlx("residual-add", "operand_dtype", "narrow-operand", (
        "mlx_elementwise.h", "return a + b;", "return mutate_narrow(a) + b;"), "residual-add"),
    mlx("residual-add", "rounding result_dtype", "narrow-result", (
        "mlx_elementwise.h", "return a + b;", "return mutate_narrow(a + b);"), "residual-add"),
    mlx("residual-add", "rounding", "ties-away-from-even", (
        "mlx_number.h", "(bits + 0x7fffu + (bits >> 16 & 1)) >> 16", "(bits + 0x8000u) >> 16"),
        "residual-add", "bf16"),
    mlx("residual-add", "denormals", "flush-subnormals", MLX_FLUSH, "residual-add"),
    mlx("activation silu-gate", "rounding", "exponential-not-rounded", (
        "mlx_elementary.h", "float y = 1.0f / (1.0f + round_to(mlx_exp(f32_abs(x)), type));",
        "float y = 1.0f / (1.0f + mlx_exp(f32_abs(x)));"), "activation", "bf16"),
    mlx("activation silu-gate", "rounding", "sigmoid-rounded-before-the-difference", (
        "mlx_elementary.h", "return x < 0 ? y : 1.0f - y;",
        "return x < 0 ? y : 1.0f - round_to(y, type);"), "activation", "bf16"),
    mlx("activation silu-gate", "functions", "another-exp", (
        "mlx_elementary.h", EXP_TERM, EXP_TERM.replace("1.339887440266574e-3f", "1.3398874e-3f + 1e-9f")),
        "activation"),
    mlx("activation silu-gate", "functions", "exp-not-fused", (
        "mlx_elementary.h", "  p = f32_fma(p, f, 6.931472028550421e-1f);", "  p = p * f + 6.931472028550421e-1f;"),
        "activation"),
    mlx("activation silu-gate", "functions", "erf-polynomial-not-fused", (
        "mlx_elementary.h", "  r = f32_fma(r, t, 0.254829592f);", "  r = r * t + 0.254829592f;"), "activation"),
    mlx("activation silu-gate", "constants", "constants-not-rounded-to-the-dtype", (
        "mlx_cpu.c", ".scalar = round_to(scalar, type)};", ".scalar = scalar};"), "activation", "bf16"),
    mlx("activation silu-gate", "operand_dtype", "narrow-operand", (
        "mlx_elementwise.h", "return a * b;", "return mutate_narrow(a) * b;"), "activation"),
    mlx("activation silu-gate", "result_dtype", "narrow-result", (
        "mlx_elementwise.h", "return a * b;", "return mutate_narrow(a * b);"), "activation"),
    mlx("activation silu-gate", "denormals", "flush-subnormals", MLX_FLUSH, "activation"),
    mlx("softmax", "rounding", "divide-by-the-sum", (
        "mlx_reduce.h", "round_to(e * inverse, work)", "round_to(e / sum, work)"), "softmax"),
    mlx("softmax", "rounding", "exponential-not-rounded", (
        "mlx_reduce.h", SOFTMAX_SUM,
        "sum = round_to(sum + mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work);"),
        "softmax", "bf16"),
    mlx("softmax", "accumulator", "narrow-accumulator", (
        "mlx_reduce.h", SOFTMAX_SUM, f"{SOFTMAX_SUM} for (size_t i = 0; i < 1; ++i) sum = mutate_narrow(sum);"),
        "softmax"),
    mlx("softmax", "association", "sum-in-reverse", (
        "mlx_reduce.h", SOFTMAX_SUM, SOFTMAX_SUM.replace("load_typed(x, i, type)", "load_typed(x, width - 1 - i, type)")),
        "softmax"),
    mlx("softmax", "functions", "another-exp", (
        "mlx_elementary.h", EXP_TERM, EXP_TERM.replace("1.339887440266574e-3f", "1.3398874e-3f + 1e-9f")), "softmax"),
    mlx("softmax", "operand_dtype", "narrow-operand", (
        "mlx_reduce.h", "float e = round_to(mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work);",
        "float e = round_to(mlx_exp(round_to(mutate_narrow(load_typed(x, i, type)) - maximum, work)), work);"),
        "softmax"),
    mlx("softmax", "result_dtype", "narrow-result", (
        "mlx_reduce.h", "store_typed(out, i, type, round_to(e * inverse, work));",
        "store_typed(out, i, type, mutate_narrow(round_to(e * inverse, work)));"), "softmax"),
    mlx("softmax", "denormals", "flush-subnormals", MLX_FLUSH, "softmax"),
    mlx("attention", "rounding", "query-not-rounded", (
        "mlx_cpu.c", QUERY, QUERY.replace("round_to(", "(").replace(", type), type)", ", type))")),
        "attention", "bf16"),
    mlx("attention", "rounding", "score-not-rounded", (
        "mlx_attention.h", "float s = round_to(sum[i], type);", "float s = sum[i];"), "attention", "bf16"),
    mlx("attention", "rounding", "probability-not-rounded", (
        "mlx_attention.h", PROBABILITY, PROBABILITY.replace("round_to(", "(").replace(", a->type)", ")")),
        "attention", "bf16"),
    mlx("attention", "rounding", "divide-by-the-sum", (
        "mlx_attention.h", "* inverse, a->type)", "/ total, a->type)"), "attention"),
    mlx("attention", "rounding", "fuse-scores", (
        "mlx_attention.h", SCORE_SUM, "sum[i] = mutate_fma(a->q[d], load_typed(key[i], d, type), sum[i]);"),
        "attention"),
    mlx("attention", "rounding", "fuse-values", (
        "mlx_attention.h", VALUE_SUM, "sums[d] = mutate_fma(weights[j], load_typed(value, d, type), sums[d]);"),
        "attention"),
    mlx("attention", "accumulator", "narrow-accumulator", (
        "mlx_attention.h", VALUE_SUM, "sums[d] = mutate_narrow(sums[d] + weights[j] * load_typed(value, d, type));"),
        "attention"),
    mlx("attention", "association", "score-sums-in-reverse", (
        "mlx_attention.h", SCORE_SUM,
        "sum[i] = sum[i] + a->q[a->head_dim - 1 - d] * load_typed(key[i], a->head_dim - 1 - d, type);"),
        "attention"),
    mlx("attention", "constants", "scale-not-rounded", (
        "mlx_cpu.c", "float rounded_scale = round_to(scale, type);", "float rounded_scale = scale;"),
        "attention", "bf16"),
    mlx("attention", "functions", "another-exp", (
        "mlx_elementary.h", EXP_TERM, EXP_TERM.replace("1.339887440266574e-3f", "1.3398874e-3f + 1e-9f")), "attention"),
    mlx("attention", "operand_dtype", "narrow-operand", (
        "mlx_attention.h", SCORE_SUM, SCORE_SUM.replace("load_typed(key[i], d, type)", "mutate_narrow(load_typed(key[i], d, type))")),
        "attention"),
    mlx("attention", "result_dtype", "narrow-result", (
        "mlx_attention.h", "store_typed(out, d, a->type, sums[d]);", "store_typed(out, d, a->type, mutate_narrow(sums[d]));"),
        "attention"),
    mlx("attention", "denormals", "flush-subnormals", MLX_FLUSH, "attention"),
    mlx("rope", "rounding", "cos-and-sin-not-rounded", (
        "mlx_rope.h", "float c = round_to(mlx_cos(theta), a->type), s = round_to(mlx_sin(theta), a->type);",
        "float c = mlx_cos(theta), s = mlx_sin(theta);"), "rope", "bf16"),
    mlx("rope", "rounding", "products-not-rounded", (
        "mlx_rope.h", ROTATION, "store_typed(out, first, a->type, x1 * c - x2 * s);"), "rope", "bf16"),
    mlx("rope", "rounding", "fuse-rotation", (
        "mlx_rope.h", ROTATION, "store_typed(out, first, a->type, mutate_fma(x1, c, -round_to(x2 * s, a->type)));"), "rope"),
    mlx("rope", "constants", "base-narrowed", (
        "mlx_rope.h", "return mlx_exp(-(float)j * a->log_base);",
        "return mlx_exp(-(float)j * mutate_narrow(a->log_base));"), "rope"),
    mlx("rope", "functions", "another-exp", (
        "mlx_elementary.h", EXP_TERM, EXP_TERM.replace("1.339887440266574e-3f", "1.3398874e-3f + 1e-9f")), "rope"),
    mlx("rope", "functions", "sine-not-fused", (
        "mlx_elementary.h", "return f32_fma(r, p * z, r);", "return r * (p * z) + r;"), "rope"),
    mlx("rope", "operand_dtype", "narrow-operand", (
        "mlx_rope.h", "float x1 = load_typed(x, first, a->type)", "float x1 = mutate_narrow(load_typed(x, first, a->type))"),
        "rope"),
    mlx("rope", "result_dtype", "narrow-result", (
        "mlx_rope.h", ROTATION, ROTATION.replace("a->type, round_to(x1", "a->type, mutate_narrow(round_to(x1").replace("a->type));", "a->type)));")),
        "rope"),
    mlx("rope", "denormals", "flush-subnormals", MLX_FLUSH, "rope"),
    mlx("kv-store", "operand_dtype result_dtype", "stored-in-fewer-bits", (
        "mlx_cpu.c", "static void copy_elements(const uint8_t* from, uint8_t* to, size_t bytes) {\n  for (size_t i = 0; i < bytes; i += 2) *(any_u16_t*)(to + i) = *(const any_u16_t*)(from + i);",
        "static void copy_elements(const uint8_t* from, uint8_t* to, size_t bytes) {\n  for (size_t i = 0; i < bytes; i += 2) *(any_u16_t*)(to + i) = (uint16_t)(*(const any_u16_t*)(from + i) & 0xfffe);"),
        "kv-store"),
    mlx("kv-store", "denormals", "flush-subnormals", MLX_FLUSH, "kv-store", proof=(
        "the kernel moves bit patterns as integers; no floating-point operation reads or writes them, "
        "so MXCSR's flush bits have nothing to act on")),
    mlx("prefix-scan", "accumulator", "accumulate-in-f32", (
        "mlx_reduce.h", "if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);",
        "if (i) sum = sum + load_typed(x, first + i * stride, type);"), "prefix-scan", "bf16"),
    mlx("prefix-scan", "rounding result_dtype", "narrow-sum", (
        "mlx_reduce.h", "if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);",
        "if (i) sum = mutate_narrow(round_to(sum + load_typed(x, first + i * stride, type), type));"), "prefix-scan"),
    mlx("prefix-scan", "association", "scan-in-pairs", (
        "mlx_reduce.h",
        "    if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);\n    store_typed(out, first + i * stride, type, sum);",
        "    if (i & 1) {\n"
        "      float pair = round_to(load_typed(x, first + (i - 1) * stride, type) + load_typed(x, first + i * stride, type), type);\n"
        "      sum = i == 1 ? pair : round_to(load_typed(out, first + (i - 2) * stride, type) + pair, type);\n"
        "    } else if (i) {\n"
        "      sum = round_to(sum + load_typed(x, first + i * stride, type), type);\n"
        "    }\n"
        "    store_typed(out, first + i * stride, type, sum);"), "prefix-scan"),
    mlx("prefix-scan", "operand_dtype", "narrow-operand", (
        "mlx_reduce.h", "if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);",
        "if (i) sum = round_to(sum + mutate_narrow(load_typed(x, first + i * stride, type)), type);"), "prefix-scan"),
    mlx("prefix-scan", "denormals", "flush-subnormals", MLX_FLUSH, "prefix-scan"),
    mlx("cumulative-norm", "accumulator", "narrow-scan", (
        "mlx_reduce.h", "if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);",
        "if (i) sum = mutate_narrow(sum + load_typed(x, first + i * stride, type));"), "cumulative-norm"),
    mlx("cumulative-norm", "association", "steps-in-reverse", (
        "mlx_norm.h", PLAIN_SUM, PLAIN_SUM.replace("(x, i, type)", "(x, width - 1 - i, type)")), "cumulative-norm"),
    mlx("cumulative-norm", "rounding functions", "approximate-division", (
        "mlx_elementwise.h", "return a / b;", "return a * (1.0f / b);"), "cumulative-norm"),
    mlx("cumulative-norm", "rounding", "difference-narrowed", (
        "mlx_elementwise.h", "return a - b;", "return mutate_narrow(a - b);"), "cumulative-norm"),
    mlx("cumulative-norm", "operand_dtype", "narrow-operand", (
        "mlx_norm.h", PLAIN_SUM, PLAIN_SUM.replace("load_typed(x, i, type)", "mutate_narrow(load_typed(x, i, type))")),
        "cumulative-norm"),
    mlx("cumulative-norm", "constants", "epsilon-narrowed", (
        "mlx_cpu.c", ".scalar = round_to(scalar, type)};", ".scalar = mutate_narrow(scalar)};"), "cumulative-norm"),
    mlx("cumulative-norm", "result_dtype", "truncated-result", (
        "mlx_number.h", "(bits + 0x7fffu + (bits >> 16 & 1)) >> 16", "bits >> 16"), "cumulative-norm", "bf16"),
    mlx("cumulative-norm", "denormals", "flush-subnormals", MLX_FLUSH, "cumulative-norm"),
    mlx("convolution", "association", "channels-outside", (
        "mlx_convolution.h",
        "      for (size_t c = 0; c < a->in_channels; ++c, ++tap) {\n",
        "      for (size_t i = 0; i < a->in_channels; ++i) {\n        size_t c = a->in_channels - 1 - i;\n"
        "        tap = (kh * a->kernel_w + kw) * a->in_channels + c;\n"), "sscp-conv"),
    mlx("convolution", "rounding", "fuse-product-and-sum", (
        "mlx_convolution.h", CONVOLUTION_SUM, "sum[o] = mutate_fma(value, load_typed(weights[o], tap, type), sum[o]);"),
        "sscp-conv"),
    mlx("convolution", "accumulator", "accumulate-in-the-dtype", (
        "mlx_convolution.h", CONVOLUTION_SUM, CONVOLUTION_SUM.replace("= sum[o] + value * load_typed(weights[o], tap, type)",
        "= round_to(sum[o] + value * load_typed(weights[o], tap, type), type)")), "sscp-conv", "bf16"),
    mlx("convolution", "operand_dtype", "narrow-operand", (
        "mlx_convolution.h", CONVOLUTION_SUM, CONVOLUTION_SUM.replace("+ value", "+ mutate_narrow(value)")), "sscp-conv"),
    mlx("convolution", "result_dtype", "narrow-result", (
        "mlx_convolution.h", "store_typed(a->out, place + channel + o, type, sum[o]);",
        "store_typed(a->out, place + channel + o, type, mutate_narrow(sum[o]));"), "sscp-conv"),
    mlx("convolution", "denormals", "flush-subnormals", MLX_FLUSH, "sscp-conv"),
)

MUTATIONS: tuple[Mutation, ...] = PINNED_MUTATIONS + MLX_MUTATIONS
ROOTS = {PINNED: "cpu/pinned_f32.c", MLX: "mlx/mlx_cpu.c"}
PRELUDES = {
    PINNED: ("kernels/cpu/elementary.h", '#include "kernels/kernel_abi.h"\n', PINNED_PRELUDE),
    MLX: (
        "kernels/mlx/mlx_number.h",
        "MLXCEL_INLINE float f32_sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }\n",
        MLX_PRELUDE,
    ),
}
# Fields that an edit of a kernel can't break, with the reason.
EXEMPT: dict[str, dict[tuple[str, str], str]] = {PINNED: {}, MLX: {}}
