#include "emit/canonical/canonical_mutations.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

// Values of the mutated lines are named %m<n>: no emitted value is.
#define V "(%[0-9]+)"
#define U "%[0-9]+"
#define NEXT "\n    "
#define TENSOR "(tensor<[^>]*>)"
#define LINE "[^\n]*\n"

// What a 16-bit result hides: steps in f32, visible only on operands where the result is all but a tie. Such rules are for f32 results.
#define WIDE "f32>) attributes"

typedef struct rule_t {
  const char *name, *field;
  const char* cases;  // beginning of the names of the cases that it is for; "" = all; WIDE = all with an f32 result
  const char *pattern, *replacement;
} rule_t;

// Rounding to bf16 is 13 lines behind the bitcast; the last is the select.
#define BF16_ROUND U " = arith\\.bitcast " V " : f32 to i32\n(" LINE "){12}    " V " = arith\\.select " U ", " U ", " U " : f32"
#define F16_ROUND U " = arith\\.truncf " V " : f32 to f16" NEXT V " = arith\\.extf " U " : f16 to f32"
// The next line, unless it converts the rounded value to its dtype.
#define NOT_NARROWED "\n(    (" U " = (math|stablehlo|arith\\.([a-su-z]|t[a-qs-z]))|[a-z_]+\\.))"
#define PRODUCT V " = math\\.fma " V ", " V ", " U " : f32"
#define MATRIX "(tensor<[0-9]+x[0-9]+x(f32|f16|bf16)>)"
#define TENSOR4 "(tensor<([0-9]+x){4}(f32|f16|bf16)>)"
#define REDUCTION V " = linalg\\.generic (\\{[^\n]*\"reduction\"\\]\\})"

static const rule_t rules[] = {
    // --- rounding
    {"drop-round", "rounding", "", BF16_ROUND NOT_NARROWED, "\\3 = arith.bitcast \\1 : f32 to f32\n\\4"},
    {"drop-round", "rounding", "", F16_ROUND NOT_NARROWED, "\\2 = arith.bitcast \\1 : f32 to f32\n\\3"},
    {"drop-round-of-result", "rounding", "", BF16_ROUND NEXT "(" U " = arith\\.truncf)", "\\3 = arith.bitcast \\1 : f32 to f32\n    \\4"},
    {"drop-round-of-f16-result", "rounding", "", F16_ROUND NEXT "(" U " = arith\\.truncf)", "\\2 = arith.bitcast \\1 : f32 to f32\n    \\3"},
    {"truncate", "rounding", "", "arith\\.constant 32767 : i32", "arith.constant 0 : i32"},
    {"fuse-multiply-add", "rounding", WIDE, PRODUCT NEXT V " = arith\\.addf " V ", \\1 : f32", "\\4 = math.fma \\2, \\3, \\5 : f32"},
    {"fuse-multiply-add", "rounding", WIDE, PRODUCT NEXT V " = arith\\.addf \\1, " V " : f32", "\\4 = math.fma \\2, \\3, \\5 : f32"},
    {"fuse-epsilon", "rounding", WIDE, PRODUCT NEXT V " = (arith\\.constant 0x3727C5AC : f32)" NEXT V " = arith\\.addf \\1, \\4 : f32",
     "\\4 = \\5\n    \\6 = math.fma \\2, \\3, \\4 : f32"},
    {"fuse-multiply-subtract", "rounding", "rope_half_f32", PRODUCT "(.*)" NEXT V " = arith\\.subf \\1, " V " : f32",
     "%m0 = arith.constant 0.0 : f32\\4\n    %m1 = arith.negf \\6 : f32\n    \\5 = math.fma \\2, \\3, %m1 : f32"},
    {"divide-by-sum", "rounding", "softmax_precise_f32", V " = arith\\.divf " U ", " V " : f32\n(.*)" NEXT PRODUCT,
     "\\1 = arith.bitcast \\2 : f32 to f32\n\\3\n    \\4 = arith.divf \\5, \\6 : f32"},
    {"scale-after-dot", "rounding", "attention_causal_f32",
     V " = math\\.fma " V ", " V ", " U " : f32(.*)" V " = arith\\.cmpi sle, " V ", " V " : i32" NEXT V " = arith\\.select " U ", " V ", " V " : f32",
     "\\1 = arith.bitcast \\3 : f32 to f32\\4%m0 = arith.constant 0x3E99999A : f32\n    %m1 = arith.mulf \\9, %m0 : f32\n    \\5 = arith.cmpi sle, \\6, \\7 : "
     "i32\n"
     "    %m2 = arith.constant 0xFF7FFFFF : f32\n    \\8 = arith.select \\5, %m1, %m2 : f32"},
    {"multiply-by-reciprocal-count", "rounding", "cumulative_norm_f32", V " = arith\\.sitofp " V " : i32 to f32" NEXT V " = arith\\.divf " V ", \\1 : f32",
     "\\1 = arith.sitofp \\2 : i32 to f32\n    %m0 = arith.constant 0x3F800000 : f32\n    %m1 = arith.divf %m0, \\1 : f32\n    \\3 = arith.mulf \\4, %m1 : "
     "f32"},
    {"divide-by-count", "rounding", WIDE,
     V " = arith\\.constant 0x3CF83E10 : f32" NEXT U " = arith\\.constant 0x80000000 : f32" NEXT V " = math\\.fma " V ", \\1, " U " : f32",
     "\\1 = arith.constant 0x42040000 : f32\n    \\2 = arith.divf \\3, \\1 : f32"},
    {"split-products", "rounding", "dense_matmul_f32",
     V " = stablehlo\\.dot_general " V ", " V ", contracting_dims = \\[1\\] x \\[1\\] : \\(tensor<3x33xf32>, tensor<5x33xf32>\\) -> tensor<3x5xf32>",
     "%m0 = stablehlo.broadcast_in_dim \\2, dims = [0, 2] : (tensor<3x33xf32>) -> tensor<3x5x33xf32>\n"
     "    %m1 = stablehlo.broadcast_in_dim \\3, dims = [1, 2] : (tensor<5x33xf32>) -> tensor<3x5x33xf32>\n"
     "    %m2 = stablehlo.multiply %m0, %m1 : tensor<3x5x33xf32>\n    %m3 = stablehlo.optimization_barrier %m2 : tensor<3x5x33xf32>\n"
     "    %m4 = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "    \\1 = stablehlo.reduce(%m3 init: %m4) applies stablehlo.add across dimensions = [2] : (tensor<3x5x33xf32>, tensor<f32>) -> tensor<3x5xf32>"},
    // --- accumulator
    {"sum-in-f16", "accumulator", "", V " = arith\\.addf " V ", " V " : f32" NEXT "((linalg|iree_linalg_ext)\\.yield) \\1 : f32",
     "%m0 = arith.addf \\2, \\3 : f32\n    %m1 = arith.truncf %m0 : f32 to f16\n    \\1 = arith.extf %m1 : f16 to f32\n    \\4 \\1 : f32"},
    {"sum-in-bf16", "accumulator", "", V " = (stablehlo\\.(dot_general|convolution)[^\n]*xbf16>\\) -> (tensor<[0-9x]*))f32>",
     "%m0 = \\2bf16>\n    \\1 = stablehlo.convert %m0 : (\\4bf16>) -> \\4f32>"},
    {"sum-in-f16", "accumulator", "", V " = (stablehlo\\.(dot_general|convolution)[^\n]*xf16>\\) -> (tensor<[0-9x]*))f32>",
     "%m0 = \\2f16>\n    \\1 = stablehlo.convert %m0 : (\\4f16>) -> \\4f32>"},
    // --- operands and result
    {"narrow-result", "result_dtype", "", "return " V " : " TENSOR "\n", "%m0 = stablehlo.reduce_precision \\1, format = e5m5 : \\2\n    return %m0 : \\2\n"},
    {"narrow-operand", "operand_dtype", "", V " = stablehlo\\.dot_general " V "([^\n]*) : \\(" TENSOR,
     "%m0 = stablehlo.reduce_precision \\2, format = e5m5 : \\4\n    \\1 = stablehlo.dot_general %m0\\3 : (\\4"},
    {"narrow-operand", "operand_dtype", "", V " = stablehlo\\.convolution\\(" V "([^\n]*) : \\(" TENSOR,
     "%m0 = stablehlo.reduce_precision \\2, format = e5m5 : \\4\n    \\1 = stablehlo.convolution(%m0\\3 : (\\4"},
    // --- association
    {"reverse-sum", "association", WIDE, REDUCTION " ins\\(" V "((, " U ")*) : " MATRIX,
     "%m0 = stablehlo.reverse \\3, dims = [1] : \\6\n    \\1 = linalg.generic \\2 ins(%m0\\4 : \\6"},
    {"reverse-sum", "association", "attention_causal_f32", REDUCTION " ins\\(" V "((, " U ")*) : " TENSOR4,
     "%m0 = stablehlo.reverse \\3, dims = [3] : \\6\n    \\1 = linalg.generic \\2 ins(%m0\\4 : \\6"},
    {"reverse-sum", "association", WIDE, REDUCTION " ins\\(" V ", " V " : " TENSOR4 ", " TENSOR4 "\\)",
     "%m0 = stablehlo.reverse \\3, dims = [1, 2, 3] : \\5\n    %m1 = stablehlo.reverse \\4, dims = [1, 2, 3] : \\8\n"
     "    \\1 = linalg.generic \\2 ins(%m0, %m1 : \\5, \\8)"},
    {"reverse-sum", "association", WIDE,
     V " = stablehlo\\.dot_general " V ", " V "([^\n]*)contracting_dims = \\[([0-9])\\] x \\[([0-9])\\] : \\(" TENSOR ", " TENSOR "\\)",
     "%m0 = stablehlo.reverse \\2, dims = [\\5] : \\7\n    %m1 = stablehlo.reverse \\3, dims = [\\6] : \\8\n"
     "    \\1 = stablehlo.dot_general %m0, %m1\\4contracting_dims = [\\5] x [\\6] : (\\7, \\8)"},
    {"reverse-sum", "association", WIDE, V " = stablehlo\\.convolution\\(" V ", " V "\\)([^\n]*) : \\(" TENSOR ", " TENSOR "\\)",
     "%m0 = stablehlo.reverse \\2, dims = [3] : \\5\n    %m1 = stablehlo.reverse \\3, dims = [3] : \\6\n"
     "    \\1 = stablehlo.convolution(%m0, %m1)\\4 : (\\5, \\6)"},
    {"swap-summands", "association", "", "arith\\.addf " V ", " V " : f32", "arith.addf \\2, \\1 : f32"},
    {"exclusive-scan", "association", "", "inclusive\\(true\\)", "inclusive(false)"},
    {"move-padding", "association", "conv", "pad = \\[\\[([0-9]), ([0-9])\\], \\[([0-9]), ([0-9])\\]\\]", "pad = [[\\2, \\1], [\\4, \\3]]"},
    {"swap-padding", "association", "conv2d", "pad = \\[\\[([0-9]), ([0-9])\\], \\[([0-9]), ([0-9])\\]\\]", "pad = [[\\2, \\1], [\\3, \\4]]"},
    // --- dequantization
    {"signed-codes", "dequantization", "", "arith\\.extui", "arith.extsi"},
    {"signed-conversion", "dequantization", "", "arith\\.uitofp", "arith.sitofp"},
    {"narrow-scale", "dequantization", WIDE,
     V " = arith\\.uitofp " V " : i32 to f32" NEXT V " = arith\\.constant 0x80000000 : f32" NEXT V " = math\\.fma " V ", \\1, \\3 : f32",
     "\\1 = arith.uitofp \\2 : i32 to f32\n    \\3 = arith.constant 0x80000000 : f32\n    %m0 = arith.truncf \\5 : f32 to f16\n"
     "    %m1 = arith.truncf \\1 : f32 to f16\n    %m2 = arith.mulf %m0, %m1 : f16\n    \\4 = arith.extf %m2 : f16 to f32"},
    // --- constants
    {"other-constant", "constants", WIDE, "arith\\.constant 0x(3CF83E1|3E99999|3FB504F|3D37271|3F4C422)[0-9A-F] : f32", "arith.constant 0x\\15 : f32"},
    {"constant-not-rounded", "constants", "", "arith\\.constant 0x(3FB5|3D37|3F4C|3E9A)0000 : f32", "arith.constant 0x\\14321 : f32"},
    {"constant-not-rounded", "constants", "", "arith\\.constant 0x(3FD9E|3E99A)000 : f32", "arith.constant 0x\\1321 : f32"},
    {"other-epsilon", "constants", "", V " = arith\\.addf " V ", " V " : f32" NEXT V " = math\\.sqrt",
     "%m0 = arith.constant 0x3F000000 : f32\n    \\1 = arith.addf \\2, %m0 : f32\n    \\4 = math.sqrt"},
    // --- functions
    {"approximate-root", "functions", WIDE,
     V " = math\\.sqrt " V " : f32" NEXT U " = arith\\.constant 0x3F800000 : f32" NEXT V " = arith\\.divf " U ", \\1 : f32", "\\3 = math.rsqrt \\2 : f32"},
    {"other-exp", "functions", WIDE, V " = math\\.exp " V " : f32",
     "%m0 = arith.constant 0x3FB8AA3B : f32\n    %m1 = arith.mulf \\2, %m0 : f32\n    \\1 = math.exp2 %m1 : f32"},
    {"other-tanh", "functions", WIDE, V " = math\\.tanh " V " : f32",
     "%m0 = arith.addf \\2, \\2 : f32\n    %m1 = math.exp %m0 : f32\n    %m2 = arith.constant 1.0 : f32\n    %m3 = arith.addf %m1, %m2 : f32\n"
     "    %m4 = arith.constant 2.0 : f32\n    %m5 = arith.divf %m4, %m3 : f32\n    \\1 = arith.subf %m2, %m5 : f32"},
    {"other-erf", "functions", WIDE, V " = math\\.erf " V " : f32",
     "%m0 = arith.constant 0x3F906EBB : f32\n    %m1 = arith.mulf \\2, %m0 : f32\n    \\1 = math.tanh %m1 : f32"},
    {"other-root", "functions", WIDE, V " = math\\.sqrt " V " : f32",
     "%m0 = math.log \\2 : f32\n    %m1 = arith.constant 0x3F000000 : f32\n    %m2 = arith.mulf %m0, %m1 : f32\n    \\1 = math.exp %m2 : f32"},
    {"other-table-row", "functions", "rope", "arith\\.maxsi " V ", " V " : i32" NEXT V " = arith\\.constant 7 : i32",
     "arith.maxsi \\1, \\2 : i32\n    \\3 = arith.constant 6 : i32"},
};

// Why some edits change no result.
#define RESULT_ROUNDS "the conversion to bf16 behind it is the function's result and rounds in the same way"
// Elsewhere the compiler drops a conversion to bf16 and back, and the edit shows.
#define DISPATCH_ENDS "the pinned compiler ends a dispatch here: the value is stored in its dtype, which rounds in the same way"
#define HALF "half of a bf16 is a bf16"
static const mlxcel_canonical_proof_t proofs[] = {
    {"", "swap-summands", -1, "IEEE addition is commutative"},
    {"", "drop-round-of-f16-result", -1, "the conversion to the result's dtype behind it rounds in the same way"},
    {"", "signed-conversion", -1, "a code is below 256: both conversions give it"},
    {"dequantize_u2", "signed-codes", -1, "the shift is logical, and the mask keeps bits of the byte only"},
    {"dequantize_u4", "signed-codes", -1, "the shift is logical, and the mask keeps bits of the byte only"},
    {"quantized_matmul_u4", "signed-codes", -1, "the shift is logical, and the mask keeps bits of the byte only"},
    {"projection_u4", "signed-codes", -1, "the shift is logical, and the mask keeps bits of the byte only"},
    {"quantized_matmul_u4_f32_f16", "fuse-multiply-add", 1, "the product of an f16 and a code of 4 bits is exact in f32"},
    {"gelu_erf_bf16", "drop-round", 3, "the division by 2 behind it is exact: rounding before or after it is the same"},
    {"gelu_erf_bf16", "truncate", 4, HALF},
    {"gelu_tanh_bf16", "drop-round", 6, HALF},
    {"gelu_tanh_bf16", "truncate", 6, HALF},
    {"", "approximate-root", -1, "this compiler expands math.rsqrt into the same square root and division"},
    {"dequantize_u4_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"dense_matmul_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"layer_norm_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"rms_norm_plain_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"rms_norm_gemma_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"residual_add_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"silu_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"gelu_erf_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"gelu_tanh_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"softmax_precise_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"rope_interleaved_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"cumulative_norm_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"conv2d_bf16", "drop-round-of-result", -1, RESULT_ROUNDS},
    {"quantized_matmul_u4_bf16_bias", "drop-round-of-result", 1, RESULT_ROUNDS},
    {"projection_u4_bf16", "drop-round-of-result", 2, RESULT_ROUNDS},
    {"projection_u4_bf16", "drop-round-of-result", 1, DISPATCH_ENDS},
    {"attention_additive_bf16", "drop-round-of-result", 3, RESULT_ROUNDS},
    {"attention_additive_bf16", "drop-round-of-result", 0, DISPATCH_ENDS},
    {"attention_additive_bf16", "drop-round-of-result", 2, DISPATCH_ENDS},
    {"softmax_precise_f32", "reverse-sum", 0, "a maximum doesn't depend on the order"},
    {"attention_causal_f32", "reverse-sum", 0, "a maximum doesn't depend on the order"},
    {"projection_u4_bf16", "drop-round", 10, HALF},
    {"projection_u4_bf16", "truncate", 12, HALF},
};

const mlxcel_canonical_proof_t* mlxcel_canonical_proof_at(size_t index) { return index < IREE_ARRAYSIZE(proofs) ? &proofs[index] : NULL; }

static bool begins_with(const char* text, const char* beginning) { return strncmp(text, beginning, strlen(beginning)) == 0; }

static bool rule_is_for(const rule_t* rule, const char* case_name, const char* text) {
  return strcmp(rule->cases, WIDE) == 0 ? strstr(text, WIDE) != NULL : begins_with(case_name, rule->cases);
}

static const char* proof_of(const char* case_name, const char* rule, uint32_t occurrence) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(proofs); ++i) {
    bool here = proofs[i].occurrence < 0 || (uint32_t)proofs[i].occurrence == occurrence;
    if (here && strcmp(proofs[i].rule, rule) == 0 && begins_with(case_name, proofs[i].case_name)) return proofs[i].text;
  }
  return NULL;
}

#define GROUPS 10

// Appends |replacement|; \1 .. \9 are the groups of a match in |text|.
static void append_replacement(mlxcel_strbuf_t* out, const char* text, const regmatch_t* groups, const char* replacement) {
  for (const char* c = replacement; *c; ++c) {
    if (*c == '\\' && c[1] >= '1' && c[1] <= '9') {
      const regmatch_t* group = &groups[*++c - '0'];
      if (group->rm_so >= 0) mlxcel_strbuf_append(out, iree_make_string_view(text + group->rm_so, (size_t)(group->rm_eo - group->rm_so)));
    } else {
      mlxcel_strbuf_append(out, iree_make_string_view(c, 1));
    }
  }
}

// |text| with the match at |groups|, which is relative to |from|, replaced.
static iree_status_t replace_match(const char* text, const char* from, const regmatch_t* groups, const char* replacement, char** out_text) {
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  mlxcel_strbuf_append(&out, iree_make_string_view(text, (size_t)(from - text) + (size_t)groups[0].rm_so));
  append_replacement(&out, from, groups, replacement);
  mlxcel_strbuf_append_cstring(&out, from + groups[0].rm_eo);
  iree_status_t status = mlxcel_strbuf_take_status(&out);
  *out_text = iree_status_is_ok(status) ? mlxcel_strbuf_release(&out) : NULL;
  mlxcel_strbuf_deinitialize(&out);
  return status;
}

typedef struct visit_t {
  const char *case_name, *text;
  mlxcel_canonical_mutation_visitor_t visit;
  void* user_data;
} visit_t;

// Every match of |regex|; occurrences of a rule of several patterns are counted on.
static iree_status_t visit_matches(const visit_t* visit, const rule_t* rule, const regex_t* regex, uint32_t* occurrence) {
  regmatch_t groups[GROUPS];
  for (const char* from = visit->text; regexec(regex, from, GROUPS, groups, 0) == 0; from += groups[0].rm_so + 1) {
    mlxcel_canonical_mutation_t mutation = {rule->name, rule->field, *occurrence, proof_of(visit->case_name, rule->name, *occurrence)};
    char* mutated = NULL;
    IREE_RETURN_IF_ERROR(replace_match(visit->text, from, groups, rule->replacement, &mutated));
    iree_status_t status = visit->visit(visit->user_data, &mutation, mutated);
    free(mutated);
    IREE_RETURN_IF_ERROR(status);
    ++*occurrence;
  }
  return iree_ok_status();
}

static uint32_t occurrences_before(size_t rule, const uint32_t* counts) {
  uint32_t sum = 0;
  for (size_t i = 0; i < rule; ++i) sum += strcmp(rules[i].name, rules[rule].name) == 0 ? counts[i] : 0;
  return sum;
}

iree_status_t mlxcel_canonical_mutations_visit(const char* case_name, const char* text, mlxcel_canonical_mutation_visitor_t visit, void* user_data) {
  visit_t state = {case_name, text, visit, user_data};
  uint32_t counts[IREE_ARRAYSIZE(rules)] = {0};
  for (size_t i = 0; i < IREE_ARRAYSIZE(rules); ++i) {
    if (!rule_is_for(&rules[i], case_name, text)) continue;
    regex_t regex;
    if (regcomp(&regex, rules[i].pattern, REG_EXTENDED) != 0) {
      return iree_make_status(IREE_STATUS_INTERNAL, "the pattern of mutation %s can't be read; report this", rules[i].name);
    }
    uint32_t before = occurrences_before(i, counts), occurrence = before;
    iree_status_t status = visit_matches(&state, &rules[i], &regex, &occurrence);
    regfree(&regex);
    IREE_RETURN_IF_ERROR(status);
    counts[i] = occurrence - before;
  }
  return iree_ok_status();
}
