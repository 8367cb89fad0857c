"""Mutations of the kernels of profile pinned-f32 (src/kernels/cpu)."""

from __future__ import annotations

from kernel_mutations import PINNED, Mutation, wrapped

# Put behind elementary.h's includes: what the edits below call.
PRELUDE = """
MLXCEL_INLINE float mutate_narrow1(float x) { return _cvtsh_ss((unsigned short)_cvtss_sh(x, 0)); }
MLXCEL_INLINE v16 mutate_narrow(v16 a) {
  float f[16];
  v16_store(f, a);
  for (int i = 0; i < 16; ++i) f[i] = mutate_narrow1(f[i]);
  return v16_load(f);
}
MLXCEL_INLINE v16 mutate_unfused(v16 a, v16 b, v16 c) { return v16_add(v16_mul(a, b), c); }
"""
# Cases whose kernels take one row's path and the tiles' path, whole vectors and a rest.
ONE_ROW = "x=[1,576]"
ROWS = "x=[6,100]"
CASES = {
    "dense-matmul": ROWS,
    "q4-qmv": ONE_ROW,
    "q4-qmm": "x=[33,96]",
    "rms-norm": "f32 x=[200,33]",
    "activation-projection": ROWS,
    "rope": "x=[16,576]",
    "attention": "q=[16,576]",
    "embedding": "codes",
    "dequantize": "codes",
    "residual-add": "",
}


def pinned(
    helper: str,
    fields: str,
    name: str,
    edit: tuple[str, str, str],
    run: str,
    case: str = "",
    proof: str = "",
) -> Mutation:
    """`edit` is (file below cpu/, old, new)."""
    file, old, new = edit
    return Mutation(
        PINNED, helper, tuple(fields.split()), name, f"cpu/{file}", old, new, run, "f32", case or CASES[run], proof
    )


TREE_END = (
    "MLXCEL_INLINE v16 v16_tree_of_16(const v16* a) "
    "{ return (v16){v8_tree_of_8(a), v8_tree_of_8(a + 8)}; }\n#endif"
)


def tree_of_16(total: str) -> tuple[str, str, str]:
    """Sixteen sums by a loop instead of trees; `total` is the accumulator's type."""
    loop = (
        "MLXCEL_INLINE v16 v16_tree_of_16(const v16* a) {\n"
        "  float lanes[16], sums[16];\n"
        "  for (int i = 0; i < 16; ++i) {\n"
        "    v16_store(lanes, a[i]);\n"
        f"    {total} sum = 0;\n"
        f"    for (int j = 0; j < 16; ++j) sum += ({total})lanes[j];\n"
        "    sums[i] = (float)sum;\n"
        "  }\n"
        "  return v16_load(sums);\n"
        "}\n#endif"
    )
    return "vec16.h", TREE_END, loop


TREE = tree_of_16("float")
TREE_IN_F64 = tree_of_16("double")
LAST_STEPS = (
    "  __m128 l2 = _mm_add_ps(l4, _mm_movehl_ps(l4, l4));\n"
    "  return _mm_cvtss_f32(_mm_add_ss(l2, _mm_shuffle_ps(l2, l2, 1)));\n}\n\n"
    "MLXCEL_INLINE __m256 v8_add_halves"
)
TREE_OF_ONE = (
    "vec16.h", LAST_STEPS,
    "  float l[4];\n  _mm_storeu_ps(l, l4);\n  return ((l[0] + l[1]) + l[2]) + l[3];\n}\n\n"
    "MLXCEL_INLINE __m256 v8_add_halves",
)
TREE_OF_ONE_IN_F64 = (
    "vec16.h", LAST_STEPS,
    "  float l[4];\n  _mm_storeu_ps(l, l4);\n  return (float)(((double)l[0] + l[2]) + ((double)l[1] + l[3]));\n}\n\n"
    "MLXCEL_INLINE __m256 v8_add_halves",
)
FLUSH = ("elementary.h", "#define MLXCEL_MXCSR_FLUSH_BITS 0x8040u", "#define MLXCEL_MXCSR_FLUSH_BITS 0u")
OTHER_EXP = ("elementary.h", "  r = v16_fma(n, v16_set1(-MLXCEL_EXP_LN2_LO), r);\n", "")
# One row of x: dense values, codes.
ROW_FMA = "sum[r * outputs + o] = v16_fma(xv, wv[o], sum[r * outputs + o]);"
ROW_REST = "v16_select_first(v16_fma(xv, wv, sum[r * outputs + o]), sum[r * outputs + o], rest)"
AFFINE_FMA = "sum[r * outputs + o] = v16_fma(xv, w[o], sum[r * outputs + o]);"
AFFINE_START = "sum[i] = d->first ? v16_zero() : acc[i];"
# Of other widths than four bits, and of four in tiles; of four in the lanes of their codes.
AFFINE_WEIGHT = "v16_fma(v16_from_int(values), a->low, a->high)"
ORDERED_WEIGHT = "v16_fma(v16_from_int(v16i_and(shifted, unpack->mask)), a->low, a->high)"
AFFINE_STORE = "v16_store(out, affine_weights16(codes, bits, &unpack, &a));"
WIDENED = (
    "  for (; i + 16 <= count; i += 16) v16_store(out + i, load_typed16(p + i * type_bytes(type), type));\n"
    "  if (i < count) v16_store(out + i, load_typed_first(p + i * type_bytes(type), type, count - i));"
)
WIDENED_SIXTEEN = "load_typed16(p + i * type_bytes(type), type)"
WIDENED_REST = "load_typed_first(p + i * type_bytes(type), type, count - i)"
ORDERED_TREE = "parted[i] = v16_part_halves(a[i]);"
INTERLEAVED = "v16_store(ordered + k, v16_interleave_halves(v16_load(x + k)));"
# Blocks of k of one row. Those of codes are longer than the oracle's rows, so edits that concern their order shorten them.
LONGEST = "  const int longest = DOT_LONG_BLOCK;\n"
SHORT = "  const int longest = bits ? 256 : m->width;\n"
ROW_SETUP = (
    "  row_groups_t widened;\n"
    "  dot_rows_t d = {.m = m, .x_stride = (size_t)m->width};\n"
    "  dot_rows_prepare_prefetch(&d, (size_t)m->width * (size_t)element_bits / 8, (size_t)outputs);\n"
)
ROW_LOOP = "  for (d.k0 = 0; d.k0 < m->width; d.k0 += longest) {\n"
ROW_COUNT = "    d.count = m->width - d.k0 < longest ? m->width - d.k0 : longest;\n"
ROW_FIRST = "    d.first = d.k0 == 0;\n"
ROW_BLOCKS = LONGEST + ROW_SETUP + ROW_LOOP + ROW_COUNT + ROW_FIRST


def row_blocks(loop: str = ROW_LOOP, first: str = ROW_FIRST) -> tuple[str, str, str]:
    """One row of x in blocks of 256 codes."""
    return "dot.h", ROW_BLOCKS, SHORT + ROW_SETUP + loop + ROW_COUNT + first


# Tiles, whose blocks have 512 elements on v3.
TILE_FMA = "sum[r][1] = _mm256_fmadd_ps(xv, w1, sum[r][1]);"
TILE_REST = "v16_select_first(v16_fma(xv, wv, *sum), *sum, count - k)"
TILE_START = "first ? _mm256_setzero_ps() : acc[(r * DOT_OUTPUTS + o) * 2]"
TILE_LOOP = "  for (int k0 = 0; k0 < m->width; k0 += DOT_BLOCK) {\n"
TILE_LOAD = (
    "    int count = m->width - k0 < DOT_BLOCK ? m->width - k0 : DOT_BLOCK;\n"
    "    for (int o = 0; o < DOT_OUTPUTS; ++o) weights_row(m, n[o], k0, count, w + o * DOT_BLOCK);\n"
    "    for (int r = 0; r < rows; r += TILE_ROWS) {\n"
    "      const float* xr[TILE_ROWS];\n"
    "      for (int i = 0; i < TILE_ROWS; ++i) xr[i] = x + (size_t)(r + i < rows ? r + i : rows - 1) * (size_t)m->width + k0;\n"
)
TILE_CALL = "      tile_block(xr, w, count, k0 == 0, acc + r * DOT_OUTPUTS);\n"
TILE_BLOCKS = TILE_LOOP + TILE_LOAD + TILE_CALL
TILE_STORE = "v16_tree_of_16(acc + r * DOT_OUTPUTS)"


def tile_blocks(loop: str = TILE_LOOP, first: str = "k0 == 0") -> tuple[str, str, str]:
    """Tiles whose blocks begin at k0 and start the sums where `first` says so."""
    return "dot.h", TILE_BLOCKS, loop + TILE_LOAD + TILE_CALL.replace("k0 == 0", first)


REVERSED_TILES = tile_blocks(
    "  const int behind = (m->width - 1) / DOT_BLOCK * DOT_BLOCK;\n  for (int k0 = behind; k0 >= 0; k0 -= DOT_BLOCK) {\n", "k0 == behind"
)
REVERSED_ROW = row_blocks(
    "  const int behind = (m->width - 1) / longest * longest;\n  for (d.k0 = behind; d.k0 >= 0; d.k0 -= longest) {\n",
    "    d.first = d.k0 == behind;\n",
)
BIAS = "y[(size_t)r * y_stride + i] += load_typed(m->v + (first + i) * (size_t)type_bytes(type), type);"
NARROW_BIAS = BIAS.replace("+= ", "+= mutate_narrow1(").replace("type);", "type));")
STORE_ROW = "v16_store(y, tree_of_code_lanes(acc, MLXCEL_FORMAT_BITS(m->format)));"
STORED_TREE = "tree_of_code_lanes(acc, MLXCEL_FORMAT_BITS(m->format))"
SHARE_END = "  *end = share_begin(count, group + 1, groups);\n"
SQUARES = "    acc = v16_fma(xv, xv, acc);\n  }"
MEAN = "sum_of_squares(x, width) / (float)width"
ROOT = "_mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + eps)))"
NORM_WEIGHT = "load_typed16(weight + k * type_bytes(type), type)"
NORM = f"v16_mul(v16_mul(v16_load(x + k), v16_set1(r)), {NORM_WEIGHT})"
ROTATE_FIRST = "    v16_store(y + i, v16_fma(a, c, v16_neg(v16_mul(b, s))));"
ROTATE_SECOND = "    v16_store(y + half + i, v16_fma(b, c, v16_mul(a, s)));"
ROPE_LOADS = "v16 a = v16_load(y + i), b = v16_load(y + half + i), c = v16_load(cos + i), s = v16_load(sin + i);"
ROTATION_CALL = "if (kind != 2) rope_head("
STORE = (  # of k and v; q goes into the result
    "        kv_store(row, kv_type, head_dim, (kind == 1 ? MLXCEL_AT(k_cache) : MLXCEL_AT(v_cache)) + cell);\n"
)
STORED_F32 = "((float*)(void*)to)[i] = from[i];"
CELL = "(size_t)local, context, p, head_dim, kv_type)"
TO_F16 = "_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"
TO_BF16 = "_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)))"
FLUSHED_STORE = (
    "        unsigned before = _mm_getcsr();\n        _mm_setcsr(before | MLXCEL_MXCSR_FLUSH_BITS);\n"
    f"{STORE}        _mm_setcsr(before);\n"
)
SILU = "v16_div(gv, v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv))))"
# Of many queries, whose keys are turned, and of few.
SCORE = "sum.q[r] = v16_fma(v16_set1(q[r][d]), kv, sum.q[r]);"
FEW_SCORE = "acc[r][i] = v16_fma(qv, kv[i], acc[r][i]);"
FEW_SCALE = "_mm256_mul_ps(a, _mm256_set1_ps(scale))"
FEW_TREE = "v8_add_odds(v8_add_pairs(t[0], t[1]), v8_add_pairs(t[2], t[3]))"
PAIRED_TREE = "_mm256_hadd_ps(_mm256_hadd_ps(t[0], t[1]), _mm256_hadd_ps(t[2], t[3]))"
SCORES = "  tile_t sums = tree_step1(q, turned, queries, head_dim, 0);\n"
FEW_SUMS = "  vector_t sums[QUERY_TILE][4], part[QUERY_TILE];\n"
SCALED_QUERIES = (
    "  float scaled[QUERY_TILE][512];\n  const float* scaled_q[QUERY_TILE];\n"
    "  for (int r = 0; r < queries; ++r) {\n"
    "    for (int d = 0; d < head_dim; ++d) scaled[r][d] = q[r][d] * scale;\n"
    "    scaled_q[r] = scaled[r];\n"
    "  }\n"
    "  q = scaled_q;\n  scale = 1.0f;\n"
)
PROBABILITY = "v16 e = v16_exp(v16_sub(v16_load(p + j), v16_set1(m)));"
VALUE = "acc[r][i] = v16_fma(pv, value[i], acc[r][i]);"
VALUE_LOOP = "  for (int j = from; j < to; ++j, row += (size_t)head_dim * (size_t)type_bytes(type)) {\n    v16 value"
REVERSED_VALUES = (
    "  row += (size_t)(to - 1 - from) * (size_t)head_dim * (size_t)type_bytes(type);\n"
    "  for (int j = to - 1; j >= from; --j, row -= (size_t)head_dim * (size_t)type_bytes(type)) {\n    v16 value"
)
COMBINE = "v16_fma(v16_load(o + d), av, v16_mul(v16_load(ob + d), cv))"
COMBINED_SUM = "_mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(*l), _mm_set_ss(a), _mm_set_ss(lb * c)))"
COMBINE_BODY = (
    f"  *l = {COMBINED_SUM};\n  *m = top;\n  v16 av = v16_set1(a), cv = v16_set1(c);\n  int d = 0;\n"
    f"  for (; d + 16 <= head_dim; d += 16) v16_store(o + d, {COMBINE});\n"
)
# The later of two blocks is the running one.
REVERSED_BLOCKS = COMBINE_BODY.replace(
    COMBINED_SUM, "_mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(lb), _mm_set_ss(c), _mm_set_ss(*l * a)))"
).replace(COMBINE, "v16_fma(v16_load(ob + d), cv, v16_mul(v16_load(o + d), av))")
QUOTIENT = "v16_div(v16_load(o + d), v16_set1(l))"
WIDEN_BF16 = "_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)"


def sequential_scores(total: str) -> str:
    """Scores by a loop over the lanes instead of a tree; `total` is the accumulator's type."""
    return (
        f"  tile_t sums;\n  {total} totals[TURNED_TILE][16] = {{0}};\n  float lanes[16];\n"
        "  for (int lane = 0; lane < 16; ++lane) {\n"
        "    tile_t part = lane_sum(q, turned, queries, head_dim, lane);\n"
        "    for (int r = 0; r < queries; ++r) {\n"
        "      v16_store(lanes, part.q[r]);\n"
        "      for (int j = 0; j < 16; ++j) totals[r][j] += lanes[j];\n"
        "    }\n"
        "  }\n"
        "  for (int r = 0; r < queries; ++r) {\n"
        "    for (int j = 0; j < 16; ++j) lanes[j] = (float)totals[r][j];\n"
        "    sums.q[r] = v16_load(lanes);\n"
        "  }\n"
    )


RESIDUAL = "v16_add(v16_load(add), sums)"
RESIDUAL_REST = "v16_add(v16_load_first(add, count), sums)"

DENSE = (
    pinned("dense-matmul", "operand_dtype", "narrow-operand",
           ("dot.h", ROW_FMA, wrapped(ROW_FMA, "xv")), "dense-matmul", ONE_ROW),
    pinned("dense-matmul", "accumulator", "narrow-accumulator",
           ("dot.h", ROW_FMA, wrapped(ROW_FMA, "v16_fma(xv, wv[o], sum[r * outputs + o])")), "dense-matmul", ONE_ROW),
    pinned("dense-matmul", "rounding:product-sum", "unfuse-product-and-sum",
           ("dot.h", ROW_FMA, ROW_FMA.replace("v16_fma", "mutate_unfused")), "dense-matmul", ONE_ROW),
    # The oracle's one such case has a single output, whose large products hide the rounding of the rest (kernels_equal_reference compares it bit by bit).
    pinned("dense-matmul", "association", "rest-of-one-row-missing",
           ("dot.h", ROW_REST, "sum[r * outputs + o]"), "dense-matmul", "x=[1,100]"),
    pinned("dense-matmul", "rounding:product-sum", "unfuse-in-tiles-only",
           ("dot.h", TILE_FMA, "sum[r][1] = _mm256_add_ps(_mm256_mul_ps(xv, w1), sum[r][1]);"), "dense-matmul"),
    pinned("dense-matmul", "rounding:product-sum", "unfuse-rest-of-tiles",
           ("dot.h", TILE_REST, TILE_REST.replace("v16_fma", "mutate_unfused")), "dense-matmul"),
    pinned("dense-matmul", "rounding:tree", "tree-in-f64", TREE_IN_F64, "dense-matmul"),
    pinned("dense-matmul", "rounding:bias", "narrow-bias", ("dot.h", BIAS, NARROW_BIAS), "dense-matmul", " bias="),
    pinned("dense-matmul", "result_dtype", "narrow-result",
           ("dot.h", STORE_ROW, wrapped(STORE_ROW, STORED_TREE)), "dense-matmul", ONE_ROW),
    pinned("dense-matmul", "result_dtype", "narrow-result-of-tiles",
           ("dot.h", TILE_STORE, wrapped(TILE_STORE)), "dense-matmul"),
    pinned("dense-matmul", "association", "tree-to-sequence", TREE, "dense-matmul"),
    pinned("dense-matmul", "association", "lanes-restart-at-a-block",
           ("dot.h", "#define DOT_BLOCK 512", "#define DOT_BLOCK 500"), "dense-matmul", "x=[17,2048]"),
    pinned("dense-matmul", "association", "first-block-not-zeroed",
           ("dot.h", TILE_START, TILE_START.replace("first ? _mm256_setzero_ps() : ", "")), "dense-matmul"),
    pinned("dense-matmul", "association", "every-block-from-zero", tile_blocks(first="true"), "dense-matmul", "x=[17,2048]"),
    pinned("dense-matmul", "association", "last-block-missing",
           tile_blocks(TILE_LOOP.replace("k0 < m->width", "k0 + DOT_BLOCK < m->width")), "dense-matmul", "x=[17,2048]"),
    pinned("dense-matmul", "association", "blocks-in-reverse", REVERSED_TILES, "dense-matmul", "x=[17,2048]"),
    pinned("dense-matmul", "algorithm", "shares-without-their-last-unit",
           ("dot.h", SHARE_END, SHARE_END.replace(";", " - 1;")), "dense-matmul", ONE_ROW),
    pinned("dense-matmul", "dequantization", "bf16-widened-by-one-bit-less",
           ("vec16.h", "_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)",
            "_mm256_and_si256(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16), _mm256_set1_epi32((int)0xFFFE0000u))"),
           "dense-matmul", "bf16"),
    pinned("dense-matmul", "denormals", "flush-subnormals", FLUSH, "dense-matmul", "x=[33,130]"),
)

QUANTIZED = (
    pinned("quantized-matmul", "operand_dtype", "narrow-operand",
           ("dot.h", AFFINE_FMA, wrapped(AFFINE_FMA, "xv")), "q4-qmv"),
    pinned("quantized-matmul", "accumulator", "narrow-accumulator",
           ("dot.h", AFFINE_FMA, wrapped(AFFINE_FMA, "v16_fma(xv, w[o], sum[r * outputs + o])")), "q4-qmv"),
    pinned("quantized-matmul", "rounding:product-sum", "unfuse-product-and-sum",
           ("dot.h", AFFINE_FMA, AFFINE_FMA.replace("v16_fma", "mutate_unfused")), "q4-qmv"),
    pinned("quantized-matmul", "rounding:product-sum", "unfuse-in-tiles-only",
           ("dot.h", TILE_FMA, "sum[r][1] = _mm256_add_ps(_mm256_mul_ps(xv, w1), sum[r][1]);"), "q4-qmm"),
    pinned("quantized-matmul", "rounding:weight dequantization", "two-round-weights",
           ("weights.h", AFFINE_WEIGHT, AFFINE_WEIGHT.replace("v16_fma", "mutate_unfused")), "q4-qmm"),
    pinned("quantized-matmul", "rounding:weight dequantization", "two-round-weights-of-one-row",
           ("weights.h", ORDERED_WEIGHT, ORDERED_WEIGHT.replace("v16_fma", "mutate_unfused")), "q4-qmv"),
    pinned("quantized-matmul", "dequantization", "weights-rounded-to-16-bits",
           ("weights.h", AFFINE_WEIGHT, wrapped(AFFINE_WEIGHT)), "q4-qmm"),
    pinned("quantized-matmul", "operand_dtype dequantization", "scales-widened-to-16-bits",
           ("weights.h", WIDENED, wrapped(WIDENED, WIDENED_SIXTEEN)), "q4-qmv"),
    pinned("quantized-matmul", "operand_dtype dequantization", "last-scales-widened-to-16-bits",
           ("weights.h", WIDENED, wrapped(WIDENED, WIDENED_REST)), "q4-qmm"),
    pinned("quantized-matmul", "rounding:tree", "tree-in-f64", TREE_IN_F64, "q4-qmm"),
    pinned("quantized-matmul", "rounding:tree", "tree-in-f64-of-one-row", TREE_IN_F64, "q4-qmv"),
    pinned("quantized-matmul", "rounding:bias", "narrow-bias", ("dot.h", BIAS, NARROW_BIAS), "q4-qmm", " bias="),
    pinned("quantized-matmul", "rounding:bias", "narrow-bias-of-one-row", ("dot.h", BIAS, NARROW_BIAS), "q4-qmv", "[192,9] bias="),
    pinned("quantized-matmul", "result_dtype", "narrow-result",
           ("dot.h", STORE_ROW, wrapped(STORE_ROW, STORED_TREE)), "q4-qmv"),
    pinned("quantized-matmul", "result_dtype", "narrow-result-of-tiles",
           ("dot.h", TILE_STORE, wrapped(TILE_STORE)), "q4-qmm"),
    pinned("quantized-matmul", "association", "tree-to-sequence", TREE, "q4-qmm"),
    pinned("quantized-matmul", "association", "tree-of-lanes-as-codes-left-them",
           ("vec16.h", ORDERED_TREE, "parted[i] = a[i];"), "q4-qmv"),
    pinned("quantized-matmul", "association", "codes-and-x-in-different-lanes",
           ("dot.h", INTERLEAVED, "v16_store(ordered + k, v16_load(x + k));"), "q4-qmv"),
    pinned("quantized-matmul", "association", "halves-of-the-lanes-exchanged",
           ("vec16.h", ORDERED_TREE, "{ v16 part = v16_part_halves(a[i]); parted[i] = (v16){part.hi, part.lo}; }"), "q4-qmv",
           proof="the tree's first step adds the halves, and addition commutes"),
    pinned("quantized-matmul", "association", "shorter-blocks-of-one-row", row_blocks(), "q4-qmv",
           proof="a block goes on with the sums of the one before and holds whole groups, so no addition changes"),
    pinned("quantized-matmul", "association", "first-block-of-one-row-not-zeroed",
           ("dot.h", AFFINE_START, "sum[i] = acc[i];"), "q4-qmv"),
    pinned("quantized-matmul", "association", "every-block-of-one-row-from-zero",
           row_blocks(first="    d.first = true;\n"), "q4-qmv"),
    pinned("quantized-matmul", "association", "last-block-of-one-row-missing",
           row_blocks(ROW_LOOP.replace("d.k0 < m->width", "d.k0 + longest < m->width")), "q4-qmv"),
    pinned("quantized-matmul", "association", "blocks-of-one-row-in-reverse", REVERSED_ROW, "q4-qmv"),
    pinned("quantized-matmul", "association", "first-block-not-zeroed",
           ("dot.h", TILE_START, TILE_START.replace("first ? _mm256_setzero_ps() : ", "")), "q4-qmm"),
    pinned("quantized-matmul", "association", "every-block-from-zero", tile_blocks(first="true"), "q4-qmm", "x=[16,576]"),
    pinned("quantized-matmul", "association", "last-block-missing",
           tile_blocks(TILE_LOOP.replace("k0 < m->width", "k0 + DOT_BLOCK < m->width")), "q4-qmm", "x=[16,576]"),
    pinned("quantized-matmul", "association", "blocks-in-reverse", REVERSED_TILES, "q4-qmm", "x=[16,576]"),
    pinned("quantized-matmul", "denormals", "flush-subnormals", FLUSH, "q4-qmm"),
)

WHOLE_ROWS = (
    pinned("embedding", "operand_dtype dequantization rounding", "two-round-weights",
           ("weights.h", AFFINE_WEIGHT, AFFINE_WEIGHT.replace("v16_fma", "mutate_unfused")), "embedding"),
    pinned("embedding", "result_dtype", "narrow-result",
           ("weights.h", AFFINE_STORE, wrapped(AFFINE_STORE, "affine_weights16(codes, bits, &unpack, &a)")), "embedding"),
    pinned("embedding", "denormals", "flush-subnormals", FLUSH, "embedding"),
    pinned("dequantize", "operand_dtype dequantization rounding", "two-round-weights",
           ("weights.h", AFFINE_WEIGHT, AFFINE_WEIGHT.replace("v16_fma", "mutate_unfused")), "dequantize"),
    pinned("dequantize", "result_dtype", "narrow-result",
           ("weights.h", AFFINE_STORE, wrapped(AFFINE_STORE, "affine_weights16(codes, bits, &unpack, &a)")), "dequantize"),
    pinned("dequantize", "denormals", "flush-subnormals", FLUSH, "dequantize"),
    # No operation by itself: the matmul's kernel adds the residual (test_kernel_mutations.py calls it).
    pinned("residual-add", "operand_dtype", "narrow-operand",
           ("pinned_f32.c", RESIDUAL, wrapped(RESIDUAL, "v16_load(add)")), "residual-add"),
    pinned("residual-add", "operand_dtype", "narrow-operand-behind-the-last-sixteen",
           ("pinned_f32.c", RESIDUAL_REST, wrapped(RESIDUAL_REST, "v16_load_first(add, count)")), "residual-add"),
    pinned("residual-add", "rounding result_dtype", "narrow-sum",
           ("pinned_f32.c", RESIDUAL, wrapped(RESIDUAL)), "residual-add"),
    pinned("residual-add", "rounding result_dtype", "narrow-sum-behind-the-last-sixteen",
           ("pinned_f32.c", RESIDUAL_REST, wrapped(RESIDUAL_REST)), "residual-add"),
    pinned("residual-add", "denormals", "flush-subnormals", FLUSH, "residual-add"),
)

MATMULS = DENSE + QUANTIZED + WHOLE_ROWS

ROW_OPERATIONS = (
    pinned("rms-norm", "operand_dtype", "narrow-operand",
           ("pinned_f32.c", SQUARES, SQUARES.replace("(xv, ", "(mutate_narrow(xv), ")), "rms-norm"),
    pinned("rms-norm", "accumulator", "narrow-accumulator",
           ("pinned_f32.c", SQUARES, wrapped(SQUARES, "v16_fma(xv, xv, acc)")), "rms-norm"),
    pinned("rms-norm", "rounding:square-sum", "unfuse-squares",
           ("pinned_f32.c", SQUARES, SQUARES.replace("v16_fma", "mutate_unfused")), "rms-norm"),
    pinned("rms-norm", "rounding:tree", "tree-in-f64", TREE_OF_ONE_IN_F64, "rms-norm"),
    pinned("rms-norm", "rounding:mean functions:ieee-div", "multiply-by-the-reciprocal-width",
           ("pinned_f32.c", MEAN, "sum_of_squares(x, width) * (1.0f / (float)width)"), "rms-norm"),
    pinned("rms-norm", "rounding:epsilon", "epsilon-added-in-f64",
           ("pinned_f32.c", ROOT,
            "(float)_mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd((double)mean + (double)eps)))"), "rms-norm"),
    pinned("rms-norm", "rounding:root", "narrow-root", ("pinned_f32.c", ROOT, wrapped(ROOT, "", "mutate_narrow1")), "rms-norm"),
    pinned("rms-norm", "rounding:reciprocal", "divide-by-the-root",
           ("pinned_f32.c", NORM, NORM.replace("v16_mul(v16_load(x + k), v16_set1(r))",
                                               f"v16_div(v16_load(x + k), v16_set1({ROOT.replace('mean + eps', f'{MEAN} + eps')}))")),
           "rms-norm"),
    pinned("rms-norm", "rounding:scale rounding:weight", "weight-before-scale",
           ("pinned_f32.c", NORM, f"v16_mul(v16_mul(v16_load(x + k), {NORM_WEIGHT}), v16_set1(r))"), "rms-norm"),
    pinned("rms-norm", "functions:ieee-sqrt", "approximate-reciprocal-root",
           ("pinned_f32.c", f"1.0f / {ROOT}", "_mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(mean + eps)))"), "rms-norm"),
    pinned("rms-norm", "constants", "epsilon-in-16-bits",
           ("pinned_f32.c", "mean + eps", "mean + mutate_narrow1(eps)"), "rms-norm"),
    pinned("rms-norm", "association", "tree-to-sequence", TREE_OF_ONE, "rms-norm"),
    pinned("rms-norm", "dequantization", "weights-rounded-to-16-bits",
           ("pinned_f32.c", NORM, wrapped(NORM, NORM_WEIGHT)), "rms-norm"),
    pinned("rms-norm", "result_dtype", "narrow-result", ("pinned_f32.c", NORM, wrapped(NORM)), "rms-norm"),
    pinned("rms-norm", "denormals", "flush-subnormals", FLUSH, "rms-norm"),
    pinned("silu-gate", "rounding:quotient rounding:product", "multiply-before-dividing",
           ("pinned_f32.c", f"v16_mul({SILU}, uv)", SILU.replace("v16_div(gv,", "v16_div(v16_mul(gv, uv),")),
           "activation-projection"),
    pinned("silu-gate", "rounding:one-plus", "narrow-denominator",
           ("pinned_f32.c", SILU, wrapped(SILU, "v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv)))")), "activation-projection"),
    pinned("silu-gate", "rounding:exp", "narrow-exponential",
           ("pinned_f32.c", SILU, wrapped(SILU, "v16_exp(v16_neg(gv))")), "activation-projection"),
    pinned("silu-gate", "operand_dtype", "narrow-operand",
           ("pinned_f32.c", "v16 gv = v16_load(g + r * PROJECT_OUTPUTS),", "v16 gv = mutate_narrow(v16_load(g + r * PROJECT_OUTPUTS)),"),
           "activation-projection"),
    pinned("silu-gate", "result_dtype", "narrow-result",
           ("pinned_f32.c", "          v16_store(to, y);", "          v16_store(to, mutate_narrow(y));"),
           "activation-projection"),
    pinned("silu-gate", "functions:ieee-div", "reciprocal-instead-of-division",
           ("pinned_f32.c", SILU, f"v16_mul(gv, {SILU.replace('v16_div(gv,', 'v16_div(v16_set1(1.0f),')})"),
           "activation-projection"),
    pinned("silu-gate", "functions:mlxcel-exp-1", "another-exp", OTHER_EXP, "activation-projection"),
    pinned("silu-gate", "constants", "coefficient-in-16-bits",
           ("elementary.h", "v16_set1(MLXCEL_EXP_C1)", "v16_set1(mutate_narrow1(MLXCEL_EXP_C1))"), "activation-projection"),
    pinned("silu-gate", "denormals", "flush-subnormals", FLUSH, "activation-projection"),
    pinned("rope", "rounding:fma-f32", "unfuse-rotation",
           ("pinned_f32.c", ROTATE_FIRST, "    v16_store(y + i, v16_sub(v16_mul(a, c), v16_mul(b, s)));"), "rope"),
    pinned("rope", "rounding:product", "fuse-the-other-product",
           ("pinned_f32.c", ROTATE_SECOND, "    v16_store(y + half + i, v16_fma(a, s, v16_mul(b, c)));"), "rope"),
    pinned("rope", "constants functions", "tables-in-16-bits",
           ("pinned_f32.c", ROPE_LOADS, wrapped(wrapped(ROPE_LOADS, "v16_load(cos + i)"), "v16_load(sin + i)")), "rope"),
    pinned("rope", "operand_dtype", "narrow-operand",
           ("pinned_f32.c", ROPE_LOADS, wrapped(ROPE_LOADS, "v16_load(y + i)")), "rope"),
    pinned("rope", "result_dtype", "narrow-result",
           ("pinned_f32.c", ROTATE_FIRST, wrapped(ROTATE_FIRST, "v16_fma(a, c, v16_neg(v16_mul(b, s)))")), "rope"),
    pinned("rope", "denormals", "flush-subnormals", FLUSH, "rope"),
    pinned("rope", "algorithm", "keys-not-rotated", ("pinned_f32.c", ROTATION_CALL, "if (kind == 0) rope_head("), "rope"),
    # The composition's result is q and both caches; these edits leave q as it is.
    pinned("kv-store", "operand_dtype result_dtype", "narrow-copy", ("kv.h", STORED_F32, wrapped(STORED_F32, "from[i]", "mutate_narrow1")),
           "rope"),
    pinned("kv-store", "operand_dtype", "narrow-operand", ("kv.h", TO_BF16, TO_BF16.replace("(bits,", "(_mm256_and_si256(bits, _mm256_set1_epi32(-256)),")),
           "rope", "cache=bf16"),
    pinned("kv-store", "rounding", "truncate-to-f16", ("kv.h", TO_F16, TO_F16.replace("NEAREST_INT", "ZERO")), "rope", "cache=f16"),
    pinned("kv-store", "rounding", "truncate-to-bf16", ("kv.h", TO_BF16, "bits"), "rope", "cache=bf16"),
    pinned("kv-store", "rounding", "round-in-the-mode-at-hand",
           ("kv.h", TO_F16, "(_mm_setcsr(_mm_getcsr() | 0x4000u), _mm256_cvtps_ph(a, _MM_FROUND_CUR_DIRECTION))"), "rope", "cache=f16"),
    pinned("kv-store", "result_dtype", "f16-for-bf16", ("kv.h", "return type == MLXCEL_FORMAT_F16 ? v8_to_f16(a)", "return 1 ? v8_to_f16(a)"),
           "rope", "cache=bf16"),
    pinned("kv-store", "algorithm", "values-not-stored", ("pinned_f32.c", STORE, f"        if (kind == 2) continue;\n{STORE}"), "rope"),
    pinned("kv-store", "algorithm", "values-over-keys",
           ("pinned_f32.c", STORE, STORE.replace("(kind == 1 ? MLXCEL_AT(k_cache) : MLXCEL_AT(v_cache))", "MLXCEL_AT(k_cache)")), "rope"),
    pinned("kv-store", "algorithm", "stored-one-position-later",
           ("pinned_f32.c", CELL, CELL.replace("p,", "(p + 1) % context,")), "rope"),
    pinned("kv-store", "denormals", "flush-subnormals", ("pinned_f32.c", STORE, FLUSHED_STORE), "rope",
           proof="loads and stores move bits: no operation reads or writes them that MXCSR's flush bits act on"),
    pinned("kv-store", "denormals", "flush-subnormals-to-f16", ("pinned_f32.c", STORE, FLUSHED_STORE), "rope", "cache=f16",
           proof="subnormals of f32 round to zero in f16 anyway, and VCVTPS2PH writes f16's own whatever the flush bits say"),
    pinned("kv-store", "denormals", "flush-subnormals-to-bf16", ("pinned_f32.c", STORE, FLUSHED_STORE), "rope", "cache=bf16",
           proof="integers do it; the comparison with itself only asks for NaNs"),
)

FEW = "q=[3,80]"  # queries: keys stay as they are

ATTENTION = tuple(
    pinned("attention", fields, name, edit, "attention", case)
    for fields, name, edit, case in (
        ("rounding:score", "unfuse-scores", ("attention_scores.h", SCORE, SCORE.replace("v16_fma", "mutate_unfused")), ""),
        ("rounding:score", "unfuse-scores-of-few-queries", ("attention_scores.h", FEW_SCORE, FEW_SCORE.replace("v16_fma", "mutate_unfused")), FEW),
        ("rounding:scale-after-dot", "scale-before-dot", ("attention_scores.h", FEW_SUMS, SCALED_QUERIES + FEW_SUMS), FEW),
        ("rounding:tree", "score-tree-in-f64", ("attention_scores.h", SCORES, sequential_scores("double")), ""),
        ("rounding:tree", "sum-tree-in-f64", TREE_OF_ONE_IN_F64, ""),
        ("rounding:difference", "narrow-difference",
         ("attention.h", PROBABILITY, wrapped(PROBABILITY, "v16_sub(v16_load(p + j), v16_set1(m))")), ""),
        ("rounding:exp", "narrow-exponential",
         ("attention.h", PROBABILITY, wrapped(PROBABILITY, "v16_exp(v16_sub(v16_load(p + j), v16_set1(m)))")), ""),
        ("rounding:sum", "narrow-sum", ("attention.h", "v16 added = v16_add(sum, e);", "v16 added = mutate_narrow(v16_add(sum, e));"),
         ""),
        ("rounding:value", "unfuse-values", ("attention.h", VALUE, VALUE.replace("v16_fma", "mutate_unfused")), ""),
        ("rounding:combine", "fuse-the-other-product",
         ("attention.h", COMBINE, "v16_fma(v16_load(ob + d), cv, v16_mul(v16_load(o + d), av))"), ""),
        ("rounding:combine", "unfuse-the-sums", ("attention.h", COMBINED_SUM, "*l * a + lb * c"), ""),
        ("rounding:quotient functions:ieee-div", "reciprocal-instead-of-division",
         ("attention.h", QUOTIENT, "v16_mul(v16_load(o + d), v16_set1(1.0f / l))"), ""),
        ("functions:mlxcel-exp-1", "another-exp", OTHER_EXP, ""),
        ("constants", "scale-in-16-bits", ("attention_scores.h", FEW_SCALE, wrapped(FEW_SCALE, "scale", "mutate_narrow1")), FEW),
        ("accumulator", "narrow-scores",
         ("attention_scores.h", SCORE, wrapped(SCORE, "v16_fma(v16_set1(q[r][d]), kv, sum.q[r])")), ""),
        ("association:scores", "score-tree-to-sequence", ("attention_scores.h", SCORES, sequential_scores("float")), ""),
        ("association:scores", "neighbouring-lanes-first-of-few-queries", ("attention_scores.h", FEW_TREE, PAIRED_TREE), FEW),
        ("association:blocks", "sum-tree-to-sequence", TREE_OF_ONE, ""),
        ("association:blocks", "shorter-blocks",
         ("attention_scores.h", '#include "kernels/cpu/kv.h"\n',
          '#include "kernels/cpu/kv.h"\n#undef MLXCEL_ATTENTION_BLOCK\n#define MLXCEL_ATTENTION_BLOCK 48\n'), ""),
        ("association:values", "values-in-reverse", ("attention.h", VALUE_LOOP, REVERSED_VALUES), ""),
        ("association:combine", "blocks-in-reverse", ("attention.h", COMBINE_BODY, REVERSED_BLOCKS), ""),
        ("operand_dtype", "narrow-operand", ("attention_scores.h", SCORE, wrapped(SCORE, "q[r][d]", "mutate_narrow1")), ""),
        ("operand_dtype dequantization", "bf16-widened-by-one-bit-less",
         ("vec16.h", WIDEN_BF16, f"_mm256_and_si256({WIDEN_BF16}, _mm256_set1_epi32((int)0xFFFE0000u))"), "cache=bf16"),
        ("result_dtype", "narrow-result", ("attention.h", QUOTIENT, wrapped(QUOTIENT)), ""),
        ("denormals", "flush-subnormals", FLUSH, ""),
    )
)

PINNED_MUTATIONS = MATMULS + ROW_OPERATIONS + ATTENTION
