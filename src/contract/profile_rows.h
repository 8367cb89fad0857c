// profile_rows.h: the rows of the op table, as the files profile_*.c write them. Only profiles.c and those files include this.
//
// A row holds for every operation that matches its left half; its right half is the clause. Texts are templates: T is the operation's dtype, W that of the
// weights, P the one in which T and W meet, B that of the layer's bias, C that of the KV cache; a part in [brackets] is there only if the layer has a bias.
// Words of the vocabulary have no capitals. A text that is left out is "none", a tolerance that is left out "exact" with the derivation
// MLXCEL_DERIVATION_STATED.
#ifndef MLXCEL_CONTRACT_PROFILE_ROWS_H_
#define MLXCEL_CONTRACT_PROFILE_ROWS_H_

#include "contract/profiles.h"

#define MLXCEL_DERIVATION_STATED "every-operation-and-its-order-is-stated"

// Sets of variants, dtypes, code widths.
#define MLXCEL_V(name) (1u << MLXCEL_VARIANT_##name)
#define MLXCEL_D(name) (1u << MLXCEL_DTYPE_##name)
#define MLXCEL_D_HALVES (MLXCEL_D(F16) | MLXCEL_D(BF16))
#define MLXCEL_D_ALL (MLXCEL_D(F32) | MLXCEL_D_HALVES)
#define MLXCEL_B(bits) (1u << (bits))
#define MLXCEL_B_ALL (MLXCEL_B(2) | MLXCEL_B(3) | MLXCEL_B(4) | MLXCEL_B(5) | MLXCEL_B(6) | MLXCEL_B(8))

typedef enum mlxcel_row_source_e {
  MLXCEL_SOURCE_NONE,    // no weights
  MLXCEL_SOURCE_DENSE,   // W
  MLXCEL_SOURCE_AFFINE,  // codes of |bits|, scales and biases W
  MLXCEL_SOURCE_CACHE,   // C, which may be narrower than T; under any other source it is T
} mlxcel_row_source_t;

// Sizes that decide which kernel a backend takes.
typedef enum mlxcel_row_when_e {
  MLXCEL_WHEN_ALWAYS,
  MLXCEL_WHEN_ONE_ROW,
  MLXCEL_WHEN_QMM_TILES,             // whole tiles: out a multiple of 128, in of the larger of 64 and the group
  MLXCEL_WHEN_QMM_RESIDUE,           // anything else
  MLXCEL_WHEN_ATTENTION_SHORT,       // no plan; up to 3 rows, head_dim 64, 96 or 128, up to 1024 keys
  MLXCEL_WHEN_ATTENTION_LONG,        // the same with more keys
  MLXCEL_WHEN_ATTENTION_PLAN,        // 16 bits, head_dim a multiple of 8 up to 128, more than one row or at least 256 keys
  MLXCEL_WHEN_ATTENTION_DECOMPOSED,  // anything else
} mlxcel_row_when_t;

typedef struct mlxcel_profile_row_t {
  mlxcel_op_class_t op;
  uint32_t variants;    // MLXCEL_V of operations; 0 = NONE
  bool joins_variants;  // the clause's variant is `none` for all of them
  uint32_t dtypes;      // MLXCEL_D of T; 0 = T isn't looked at
  mlxcel_row_source_t source;
  uint32_t weights;  // MLXCEL_D of W, 0 = W is T; of C with MLXCEL_SOURCE_CACHE
  uint32_t bits;     // MLXCEL_B of affine codes; 0 = all
  bool has_no_bias;  // matmuls: not with a bias of the layer
  bool frequencies;  // rope: the row for has_frequencies
  mlxcel_composition_t within;
  mlxcel_row_when_t when;

  const char *operand_dtype, *accumulator, *result_dtype, *rounding, *association, *dequantization, *constants, *functions, *denormals, *algorithm;
  uint32_t algorithm_version;  // 0 = 1
  const char *tolerance, *derivation, *representable;
} mlxcel_profile_row_t;

typedef struct mlxcel_row_table_t {
  size_t count;
  const mlxcel_profile_row_t* rows;
} mlxcel_row_table_t;

extern const mlxcel_row_table_t mlxcel_rows_pinned, mlxcel_rows_mlx_cpu, mlxcel_rows_canonical;
// Both CUDA profiles have the first; the others differ by architecture.
extern const mlxcel_row_table_t mlxcel_rows_mlx_cuda, mlxcel_rows_mlx_cuda_sm80, mlxcel_rows_mlx_cuda_sm90a;

#endif  // MLXCEL_CONTRACT_PROFILE_ROWS_H_
