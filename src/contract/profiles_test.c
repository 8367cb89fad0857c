// The op table. MLXCEL_FREEZE_GOLDENS=1 writes tests/golden/fingerprints.txt instead of comparing.
#include "contract/profiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "contract/contract_parse.h"
#include "contract/contract_test_util.h"
#include "support/comma_locale.h"

#define GOLDEN_PATH MLXCEL_SOURCE_DIR "/tests/golden/fingerprints.txt"
#define GOLDEN_BYTES_MAX 4096

static const mlxcel_profile_t* profile_of(const char* name) {
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(name));
  assert_non_null(profile);
  return profile;
}

//===- Every clause -----------------------------------------------------------------------------------------------------------------------------------===//

typedef struct tally_t {
  const mlxcel_profile_t* profile;
  size_t clause_count;
  bool classes[MLXCEL_OP_COUNT];
} tally_t;

// Legal, found again by its own operation, and told apart from nothing by the time that it was made.
static iree_status_t check_instance(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause) {
  tally_t* tally = user_data;
  mlxcel_clause_storage_t again;
  mlxcel_sha256_hex_t first_digest, second_digest;
  ++tally->clause_count;
  tally->classes[clause->op] = true;
  test_require_ok(mlxcel_clause_check(clause));
  test_require_ok(mlxcel_profile_clause(tally->profile, operation, &again));
  test_require_ok(mlxcel_clause_digest(clause, &first_digest));
  test_require_ok(mlxcel_clause_digest(&again.clause, &second_digest));
  assert_string_equal(first_digest.text, second_digest.text);
  assert_int_equal(strlen(first_digest.text), 64);
  assert_null(clause->source_digest);
  bool is_yes = strcmp(clause->representable, "yes") == 0;
  bool is_compilers = strcmp(clause->representable, "no:compiler-order") == 0;  // emitted, and bounded by its tolerance
  assert_true(is_yes || is_compilers || tally->profile->is_declared_only);      // what else can't be expressed isn't emitted
  assert_int_equal(is_yes || is_compilers, strcmp(clause->tolerance, "unstated") != 0);
  assert_false(is_yes && clause->association && strstr(clause->association, "opaque("));
  return iree_ok_status();
}

static void profiles_hold_legal_clauses_that_their_operations_find(void** state) {
  (void)state;
  for (size_t i = 0; mlxcel_profile_at(i); ++i) {
    tally_t tally = {.profile = mlxcel_profile_at(i)};
    test_require_ok(mlxcel_profile_visit(tally.profile, check_instance, &tally));
    print_message("%s: %zu clauses\n", tally.profile->name, tally.clause_count);
    assert_true(tally.clause_count > 0);
    assert_false(tally.classes[MLXCEL_OP_ACTIVATION_PROJECTION] || tally.classes[MLXCEL_OP_QKV_ROPE]);
  }
}

static void expect_classes(const char* name, size_t count, const mlxcel_op_class_t* classes) {
  tally_t tally = {.profile = profile_of(name)};
  test_require_ok(mlxcel_profile_visit(tally.profile, check_instance, &tally));
  for (int i = 0; i < MLXCEL_OP_COUNT; ++i) {
    bool expected = false;
    for (size_t j = 0; j < count; ++j) expected = expected || classes[j] == (mlxcel_op_class_t)i;
    if (tally.classes[i] != expected) fail_msg("%s: %s is %s", name, mlxcel_op_class_name((mlxcel_op_class_t)i), expected ? "missing" : "there");
  }
}

static void profiles_define_their_op_classes(void** state) {
  (void)state;
  static const mlxcel_op_class_t pinned[] = {MLXCEL_OP_EMBEDDING, MLXCEL_OP_DEQUANTIZE,   MLXCEL_OP_DENSE_MATMUL, MLXCEL_OP_QUANTIZED_MATMUL,
                                             MLXCEL_OP_RMS_NORM,  MLXCEL_OP_RESIDUAL_ADD, MLXCEL_OP_SILU_GATE,    MLXCEL_OP_ROPE,
                                             MLXCEL_OP_ATTENTION, MLXCEL_OP_KV_STORE};
  static const mlxcel_op_class_t all[] = {
      MLXCEL_OP_EMBEDDING,    MLXCEL_OP_DEQUANTIZE,  MLXCEL_OP_DENSE_MATMUL,    MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_OP_LAYER_NORM, MLXCEL_OP_RMS_NORM,
      MLXCEL_OP_RESIDUAL_ADD, MLXCEL_OP_ACTIVATION,  MLXCEL_OP_SILU_GATE,       MLXCEL_OP_SOFTMAX,          MLXCEL_OP_ATTENTION,  MLXCEL_OP_ROPE,
      MLXCEL_OP_KV_STORE,     MLXCEL_OP_PREFIX_SCAN, MLXCEL_OP_CUMULATIVE_NORM, MLXCEL_OP_CONVOLUTION,
  };
  static const mlxcel_op_class_t canonical[] = {
      MLXCEL_OP_DEQUANTIZE,   MLXCEL_OP_DENSE_MATMUL, MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_OP_LAYER_NORM,  MLXCEL_OP_RMS_NORM,
      MLXCEL_OP_RESIDUAL_ADD, MLXCEL_OP_ACTIVATION,   MLXCEL_OP_SILU_GATE,        MLXCEL_OP_SOFTMAX,     MLXCEL_OP_ATTENTION,
      MLXCEL_OP_ROPE,         MLXCEL_OP_PREFIX_SCAN,  MLXCEL_OP_CUMULATIVE_NORM,  MLXCEL_OP_CONVOLUTION,
  };
  static const mlxcel_op_class_t cuda[] = {
      MLXCEL_OP_DEQUANTIZE,   MLXCEL_OP_DENSE_MATMUL, MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_OP_LAYER_NORM, MLXCEL_OP_RMS_NORM,
      MLXCEL_OP_RESIDUAL_ADD, MLXCEL_OP_ACTIVATION,   MLXCEL_OP_SILU_GATE,        MLXCEL_OP_SOFTMAX,    MLXCEL_OP_ATTENTION,
      MLXCEL_OP_ROPE,         MLXCEL_OP_PREFIX_SCAN,  MLXCEL_OP_CONVOLUTION,
  };
  expect_classes(MLXCEL_PROFILE_PINNED_F32, IREE_ARRAYSIZE(pinned), pinned);
  expect_classes(MLXCEL_PROFILE_MLX_CPU, IREE_ARRAYSIZE(all), all);
  expect_classes(MLXCEL_PROFILE_IREE_CANONICAL, IREE_ARRAYSIZE(canonical), canonical);
  expect_classes(MLXCEL_PROFILE_MLX_CUDA_SM80, IREE_ARRAYSIZE(cuda), cuda);
  expect_classes(MLXCEL_PROFILE_MLX_CUDA_SM90A, IREE_ARRAYSIZE(cuda), cuda);
}

// What is written is read back field by field and written to the same bytes.
static void profiles_clauses_survive_the_text(void** state) {
  (void)state;
  for (size_t p = 0; mlxcel_profile_at(p); ++p) {
    mlxcel_sha256_hex_t fingerprint, again_fingerprint;
    char* text = test_profile_contract(mlxcel_profile_at(p), &fingerprint);
    mlxcel_parsed_contract_t parsed;
    test_require_ok(mlxcel_contract_parse(iree_make_cstring_view(text), "golden", &parsed));
    assert_string_equal(parsed.profile, mlxcel_profile_at(p)->name);
    mlxcel_contract_t contract;
    mlxcel_contract_initialize(parsed.profile, &contract);
    for (size_t i = parsed.clause_count; i > 0; --i) {  // backwards: the order is the text's own
      test_require_ok(mlxcel_clause_check(&parsed.clauses[i - 1]));
      test_require_ok(mlxcel_contract_add(&contract, &parsed.clauses[i - 1]));
    }
    char* again = NULL;
    test_require_ok(mlxcel_contract_finish(&contract, &again, &again_fingerprint));
    assert_string_equal(again, text);
    assert_string_equal(again_fingerprint.text, fingerprint.text);
    mlxcel_contract_deinitialize(&contract);
    mlxcel_parsed_contract_deinitialize(&parsed);
    free(again);
    free(text);
  }
}

//===- Golden fingerprints ----------------------------------------------------------------------------------------------------------------------------===//

static void write_fingerprints(char* buffer, size_t size) {
  size_t used = 0;
  for (size_t i = 0; mlxcel_profile_at(i); ++i) {
    mlxcel_sha256_hex_t fingerprint;
    free(test_profile_contract(mlxcel_profile_at(i), &fingerprint));
    used += (size_t)snprintf(buffer + used, size - used, "%s  %s\n", fingerprint.text, mlxcel_profile_at(i)->name);
  }
  assert_true(used < size);
}

static bool is_freezing(void) {
  const char* value = getenv("MLXCEL_FREEZE_GOLDENS");
  return value && strcmp(value, "1") == 0;
}

static void profiles_have_the_frozen_fingerprints(void** state) {
  (void)state;
  char text[GOLDEN_BYTES_MAX];
  write_fingerprints(text, sizeof(text));
  if (is_freezing()) test_require_ok(mlxcel_file_publish(GOLDEN_PATH, text, strlen(text)));
  char* golden = NULL;
  size_t size = 0;
  test_require_ok(mlxcel_file_read(GOLDEN_PATH, GOLDEN_BYTES_MAX, &golden, &size));
  if (strcmp(golden, text) != 0) fail_msg("frozen:\n%snow:\n%sif the change is meant, refresh with MLXCEL_FREEZE_GOLDENS=1", golden, text);
  free(golden);
}

static void profiles_fingerprints_ignore_the_locale(void** state) {
  (void)state;
  char point[GOLDEN_BYTES_MAX], comma[GOLDEN_BYTES_MAX];
  write_fingerprints(point, sizeof(point));
  if (!test_comma_locale_enter()) skip();
  write_fingerprints(comma, sizeof(comma));
  test_comma_locale_leave();
  assert_string_equal(point, comma);
}

// Another process, started anew, so with other addresses.
static void profiles_fingerprints_are_those_of_another_process(void** state) {
  (void)state;
  char here[GOLDEN_BYTES_MAX], there[GOLDEN_BYTES_MAX];
  write_fingerprints(here, sizeof(here));
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    execl("/proc/self/exe", "profiles_test", "--fingerprints", (char*)NULL);
    _exit(127);
  }
  close(ends[1]);
  size_t used = 0;
  for (ssize_t got = 1; got > 0 && used<sizeof(there) - 1; used += got> 0 ? (size_t)got : 0) got = read(ends[0], there + used, sizeof(there) - 1 - used);
  there[used] = 0;
  close(ends[0]);
  int wait_status = -1;
  assert_int_equal(waitpid(child, &wait_status, 0), child);
  assert_int_equal(wait_status, 0);
  assert_string_equal(here, there);
}

//===- Single clauses ---------------------------------------------------------------------------------------------------------------------------------===//

static void assert_clause(const char* profile, const mlxcel_operation_t* operation, const char* expected) {
  mlxcel_clause_storage_t storage;
  test_require_ok(mlxcel_profile_clause(profile_of(profile), operation, &storage));
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_clause_write(&storage.clause, &text);
  assert_string_equal(text.data, expected);
  mlxcel_strbuf_deinitialize(&text);
}

#define PINNED_END "algorithm_version=1\nsource_digest=none\ntolerance=exact\nderivation=every-operation-and-its-order-is-stated\nrepresentable=yes\n"

static void profiles_pinned_clauses_say_what_version_1_said(void** state) {
  (void)state;
  const mlxcel_operation_t matmul = {.op = MLXCEL_OP_QUANTIZED_MATMUL,
                                     .variant = MLXCEL_VARIANT_QMV,
                                     .weight_dtype = MLXCEL_DTYPE_F16,
                                     .bias_dtype = MLXCEL_DTYPE_BF16,
                                     .bits = 4,
                                     .group_size = 32,
                                     .has_bias = true,
                                     .has_residual = true,
                                     .within = MLXCEL_WITHIN_QKV_ROPE};
  assert_clause(MLXCEL_PROFILE_PINNED_F32, &matmul,
                "op=quantized-matmul\nvariant=none\nsource_dtype=affine-u4-g32-f16+bias-bf16\noperand_dtype=f32\naccumulator=f32\nresult_dtype=f32\n"
                "rounding=weight:fma-f32+product-sum:fma-f32+tree:f32+bias:f32\nassociation=lanes(16,tree)\ndequantization=fma-f32\nconstants=none\n"
                "functions=none\ndenormals=keep\nalgorithm=mlxcel_pinned_qkv_rope\n" PINNED_END);
  const mlxcel_operation_t attention = {.op = MLXCEL_OP_ATTENTION, .variant = MLXCEL_VARIANT_MASK_CAUSAL};
  assert_clause(MLXCEL_PROFILE_PINNED_F32, &attention,
                "op=attention\nvariant=mask-causal\nsource_dtype=f32\noperand_dtype=f32\naccumulator=f32\nresult_dtype=f32\n"
                "rounding=score:fma-f32+tree:f32+scale-after-dot:f32+difference:f32+exp:f32+sum:f32+tree:f32+value:fma-f32+combine:f32-fma+quotient:f32\n"
                "association=scores:lanes(16,tree)+blocks(64,absolute):lanes(16,tree)+values:sequential+combine:sequential\ndequantization=exact-widen\n"
                "constants=f32-nearest\nfunctions=mlxcel-exp-1+ieee-div\ndenormals=keep\nalgorithm=mlxcel_pinned_attention\n" PINNED_END);
  const mlxcel_operation_t norm = {.op = MLXCEL_OP_RMS_NORM, .variant = MLXCEL_VARIANT_PLAIN, .weight_dtype = MLXCEL_DTYPE_BF16};
  assert_clause(
      MLXCEL_PROFILE_PINNED_F32, &norm,
      "op=rms-norm\nvariant=plain\nsource_dtype=bf16\noperand_dtype=f32\naccumulator=f32\nresult_dtype=f32\n"
      "rounding=square-sum:fma-f32+tree:f32+mean:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32\nassociation=lanes(16,tree)\n"
      "dequantization=exact-widen\nconstants=f32-nearest\nfunctions=ieee-div+ieee-sqrt\ndenormals=keep\nalgorithm=mlxcel_pinned_rms_norm\n" PINNED_END);
  const mlxcel_operation_t store = {.op = MLXCEL_OP_KV_STORE};
  assert_clause(MLXCEL_PROFILE_PINNED_F32, &store,
                "op=kv-store\nvariant=none\nsource_dtype=f32\noperand_dtype=f32\naccumulator=none\nresult_dtype=f32\nrounding=none\nassociation=none\n"
                "dequantization=none\nconstants=none\nfunctions=none\ndenormals=keep\nalgorithm=mlxcel_pinned_qkv_rope\n" PINNED_END);
}

static void assert_undefined(const char* profile, const mlxcel_operation_t* operation, const char* what, const char* instead) {
  mlxcel_clause_storage_t storage;
  test_message_t message = test_message_of(mlxcel_profile_clause(profile_of(profile), operation, &storage), IREE_STATUS_UNIMPLEMENTED);
  if (!strstr(message.text, what) || !strstr(message.text, instead)) fail_msg("\"%s\" lacks \"%s\" or \"%s\"", message.text, what, instead);
}

// A cache is an f32 one unless the operation says that it is narrower; then each value is rounded once, on its way in.
static void profiles_narrow_caches_have_clauses_of_their_own(void** state) {
  (void)state;
  mlxcel_operation_t store = {.op = MLXCEL_OP_KV_STORE, .cache_dtype = MLXCEL_DTYPE_F16};
  assert_clause(MLXCEL_PROFILE_PINNED_F32, &store,
                "op=kv-store\nvariant=none\nsource_dtype=f16\noperand_dtype=f32\naccumulator=none\nresult_dtype=f16\nrounding=store:f16\nassociation=none\n"
                "dequantization=none\nconstants=none\nfunctions=none\ndenormals=keep\nalgorithm=mlxcel_pinned_qkv_rope\n" PINNED_END);
  mlxcel_operation_t attention = {.op = MLXCEL_OP_ATTENTION, .variant = MLXCEL_VARIANT_MASK_CAUSAL, .cache_dtype = MLXCEL_DTYPE_BF16};
  assert_clause(MLXCEL_PROFILE_PINNED_F32, &attention,
                "op=attention\nvariant=mask-causal\nsource_dtype=bf16\noperand_dtype=f32\naccumulator=f32\nresult_dtype=f32\n"
                "rounding=score:fma-f32+tree:f32+scale-after-dot:f32+difference:f32+exp:f32+sum:f32+tree:f32+value:fma-f32+combine:f32-fma+quotient:f32\n"
                "association=scores:lanes(16,tree)+blocks(64,absolute):lanes(16,tree)+values:sequential+combine:sequential\ndequantization=exact-widen\n"
                "constants=f32-nearest\nfunctions=mlxcel-exp-1+ieee-div\ndenormals=keep\nalgorithm=mlxcel_pinned_attention\n" PINNED_END);
  // Other profiles store what they compute, and so does everything that has no cache.
  assert_undefined(MLXCEL_PROFILE_MLX_CPU, &attention, "cache bf16", "mask-causal of f32|f16|bf16");
  mlxcel_operation_t add = {.op = MLXCEL_OP_RESIDUAL_ADD, .cache_dtype = MLXCEL_DTYPE_F16};
  assert_undefined(MLXCEL_PROFILE_PINNED_F32, &add, "cache f16", "none of f32");
}

static mlxcel_clause_t clause_of(const char* profile, const mlxcel_operation_t* operation, mlxcel_clause_storage_t* storage) {
  test_require_ok(mlxcel_profile_clause(profile_of(profile), operation, storage));
  return storage->clause;
}

// T, W and B of every field follow the operation.
static void profiles_templates_follow_the_operation(void** state) {
  (void)state;
  mlxcel_clause_storage_t storage;
  mlxcel_operation_t matmul = {.op = MLXCEL_OP_QUANTIZED_MATMUL, .dtype = MLXCEL_DTYPE_BF16, .weight_dtype = MLXCEL_DTYPE_BF16, .bits = 4, .group_size = 64};
  mlxcel_clause_t clause = clause_of(MLXCEL_PROFILE_MLX_CPU, &matmul, &storage);
  assert_string_equal(clause.rounding, "weight-product:bf16+weight-bias:bf16+product:bf16+sum:bf16");
  assert_string_equal(clause.accumulator, "bf16");
  assert_string_equal(clause.dequantization, "two-round-bf16");
  matmul.weight_dtype = MLXCEL_DTYPE_F16;  // bf16 and f16 meet in f32
  clause = clause_of(MLXCEL_PROFILE_MLX_CPU, &matmul, &storage);
  assert_string_equal(clause.source_dtype, "affine-u4-g64-f16");
  assert_string_equal(clause.result_dtype, "f32");
  assert_string_equal(clause.dequantization, "two-round-f32");
  matmul.has_bias = true;
  matmul.bias_dtype = MLXCEL_DTYPE_F16;
  clause = clause_of(MLXCEL_PROFILE_MLX_CPU, &matmul, &storage);
  assert_string_equal(clause.source_dtype, "affine-u4-g64-f16+bias-f16");
  assert_string_equal(clause.rounding, "weight-product:f32+weight-bias:f32+product:f32+sum:f32+bias:f32");
  const mlxcel_operation_t embedding = {.op = MLXCEL_OP_EMBEDDING, .dtype = MLXCEL_DTYPE_F32, .weight_dtype = MLXCEL_DTYPE_BF16};
  clause = clause_of(MLXCEL_PROFILE_MLX_CPU, &embedding, &storage);
  assert_string_equal(clause.result_dtype, "bf16");
}

static void profiles_cuda_dequantization_follows_the_architecture(void** state) {
  (void)state;
  mlxcel_clause_storage_t storage;
  mlxcel_operation_t operation = {.op = MLXCEL_OP_DEQUANTIZE, .weight_dtype = MLXCEL_DTYPE_BF16, .bits = 4, .group_size = 64};
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &operation, &storage).dequantization, "two-round-bf16");
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM90A, &operation, &storage).dequantization, "fma-bf16");
  operation.weight_dtype = MLXCEL_DTYPE_F16;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &operation, &storage).dequantization, "fma-f16");
}

static void profiles_cuda_kernels_follow_the_sizes(void** state) {
  (void)state;
  mlxcel_clause_storage_t storage;
  mlxcel_operation_t matmul = {.op = MLXCEL_OP_DENSE_MATMUL, .dtype = MLXCEL_DTYPE_BF16, .weight_dtype = MLXCEL_DTYPE_BF16, .rows = 1};
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &matmul, &storage).algorithm, "mlx-cuda:gemv");
  matmul.rows = 2;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &matmul, &storage).representable, "no:cublaslt-plan");
  mlxcel_operation_t attention = {
      .op = MLXCEL_OP_ATTENTION, .variant = MLXCEL_VARIANT_MASK_CAUSAL, .dtype = MLXCEL_DTYPE_F32, .rows = 1, .keys = 1024, .head_dim = 64};
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &attention, &storage).algorithm, "mlx-cuda:sdpa-vector");
  attention.keys = 1025;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &attention, &storage).algorithm, "mlx-cuda:sdpa-vector-2pass");
  attention.dtype = MLXCEL_DTYPE_BF16;  // cuDNN comes first wherever it can
  attention.keys = 255;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &attention, &storage).algorithm, "mlx-cuda:sdpa-vector");
  attention.keys = 256;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &attention, &storage).representable, "no:cudnn-plan");
  attention.rows = 4;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &attention, &storage).representable, "no:cudnn-plan");
  attention.head_dim = 256;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &attention, &storage).representable, "no:cublaslt-plan");
}

static void profiles_cuda_qmm_takes_tiles_only_if_they_are_whole(void** state) {
  (void)state;
  mlxcel_clause_storage_t storage;
  mlxcel_operation_t qmm = {.op = MLXCEL_OP_QUANTIZED_MATMUL,
                            .variant = MLXCEL_VARIANT_QMM,
                            .dtype = MLXCEL_DTYPE_BF16,
                            .weight_dtype = MLXCEL_DTYPE_BF16,
                            .bits = 4,
                            .group_size = 64,
                            .rows = 16,
                            .in_features = 576,
                            .out_features = 1536};
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &qmm, &storage).algorithm, "mlx-cuda:qmm-sm80");
  qmm.out_features = 192;
  assert_string_equal(clause_of(MLXCEL_PROFILE_MLX_CUDA_SM80, &qmm, &storage).algorithm, "mlx-cuda:qmm-naive");
}

static void profiles_refuse_what_they_do_not_define_and_say_what_they_do(void** state) {
  (void)state;
  const mlxcel_operation_t softmax = {.op = MLXCEL_OP_SOFTMAX, .variant = MLXCEL_VARIANT_PRECISE};
  assert_undefined(MLXCEL_PROFILE_PINNED_F32, &softmax, "softmax (precise) of f32", "it defines: embedding, dequantize, dense-matmul");
  const mlxcel_operation_t half = {.op = MLXCEL_OP_DENSE_MATMUL, .dtype = MLXCEL_DTYPE_BF16, .weight_dtype = MLXCEL_DTYPE_BF16};
  assert_undefined(MLXCEL_PROFILE_PINNED_F32, &half, "dense-matmul (none) of bf16", "of f32 with dense f32|f16|bf16");
  const mlxcel_operation_t gemma = {.op = MLXCEL_OP_RMS_NORM, .variant = MLXCEL_VARIANT_GEMMA};
  assert_undefined(MLXCEL_PROFILE_PINNED_F32, &gemma, "rms-norm (gemma)", "plain of f32");
  const mlxcel_operation_t wide_bias = {.op = MLXCEL_OP_DENSE_MATMUL, .dtype = MLXCEL_DTYPE_BF16, .weight_dtype = MLXCEL_DTYPE_BF16, .has_bias = true};
  assert_undefined(MLXCEL_PROFILE_MLX_CPU, &wide_bias, "bias f32", "bias allowed");
  const mlxcel_operation_t mixed = {.op = MLXCEL_OP_CONVOLUTION, .variant = MLXCEL_VARIANT_CONV1D, .weight_dtype = MLXCEL_DTYPE_F16};
  assert_undefined(MLXCEL_PROFILE_MLX_CPU, &mixed, "weights f16", "weights of the same dtype");
  const mlxcel_operation_t group = {.op = MLXCEL_OP_QUANTIZED_MATMUL, .bits = 4, .group_size = 16};
  assert_undefined(MLXCEL_PROFILE_MLX_CPU, &group, "groups of 16", "with affine");
  const mlxcel_operation_t composition = {.op = MLXCEL_OP_QKV_ROPE, .variant = MLXCEL_VARIANT_HALF};
  assert_undefined(MLXCEL_PROFILE_PINNED_F32, &composition, "qkv-rope", "rope");
  const mlxcel_operation_t nonsense = {.op = MLXCEL_OP_COUNT};
  assert_undefined(MLXCEL_PROFILE_MLX_CPU, &nonsense, "?", "softmax");
  const mlxcel_operation_t integers = {.op = MLXCEL_OP_RESIDUAL_ADD, .dtype = MLXCEL_DTYPE_I32};
  assert_undefined(MLXCEL_PROFILE_MLX_CPU, &integers, "i32", "f32|f16|bf16");
}

static void profiles_are_found_by_name(void** state) {
  (void)state;
  size_t count = 0;
  for (; mlxcel_profile_at(count); ++count) assert_ptr_equal(profile_of(mlxcel_profile_at(count)->name), mlxcel_profile_at(count));
  assert_int_equal(count, 5);
  assert_null(mlxcel_profile_find(iree_make_cstring_view("pinned-f16")));
  assert_null(mlxcel_profile_find(iree_make_cstring_view("")));
  assert_true(profile_of(MLXCEL_PROFILE_PINNED_F32)->rope_tables);
  assert_false(profile_of(MLXCEL_PROFILE_MLX_CPU)->rope_tables);
  assert_string_equal(profile_of(MLXCEL_PROFILE_MLX_CPU)->reference, "mlx-cpu-0.32.4");
  assert_true(profile_of(MLXCEL_PROFILE_MLX_CUDA_SM90A)->is_declared_only);
  const mlxcel_profile_t foreign = *mlxcel_profile_at(0);
  const mlxcel_operation_t operation = {.op = MLXCEL_OP_RESIDUAL_ADD};
  mlxcel_clause_storage_t storage;
  (void)test_message_of(mlxcel_profile_clause(&foreign, &operation, &storage), IREE_STATUS_INVALID_ARGUMENT);
  (void)test_message_of(mlxcel_profile_visit(&foreign, check_instance, NULL), IREE_STATUS_INVALID_ARGUMENT);
}

int main(int argument_count, char** arguments) {
  if (argument_count == 2 && strcmp(arguments[1], "--fingerprints") == 0) {
    char text[GOLDEN_BYTES_MAX];
    write_fingerprints(text, sizeof(text));
    return fputs(text, stdout) < 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(profiles_are_found_by_name),
      cmocka_unit_test(profiles_hold_legal_clauses_that_their_operations_find),
      cmocka_unit_test(profiles_define_their_op_classes),
      cmocka_unit_test(profiles_clauses_survive_the_text),
      cmocka_unit_test(profiles_have_the_frozen_fingerprints),
      cmocka_unit_test(profiles_fingerprints_ignore_the_locale),
      cmocka_unit_test(profiles_fingerprints_are_those_of_another_process),
      cmocka_unit_test(profiles_pinned_clauses_say_what_version_1_said),
      cmocka_unit_test(profiles_narrow_caches_have_clauses_of_their_own),
      cmocka_unit_test(profiles_templates_follow_the_operation),
      cmocka_unit_test(profiles_cuda_dequantization_follows_the_architecture),
      cmocka_unit_test(profiles_cuda_kernels_follow_the_sizes),
      cmocka_unit_test(profiles_cuda_qmm_takes_tiles_only_if_they_are_whole),
      cmocka_unit_test(profiles_refuse_what_they_do_not_define_and_say_what_they_do),
  };
  return cmocka_run_group_tests_name("profiles", tests, NULL, NULL);
}
