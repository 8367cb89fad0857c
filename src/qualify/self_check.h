// self_check.h: what the parts of the self-check share: a build of the kernels as a set of functions, and one comparison of one kernel with the scalar
// reference.
#ifndef MLXCEL_QUALIFY_SELF_CHECK_H_
#define MLXCEL_QUALIFY_SELF_CHECK_H_

#include "base/base.h"
#include "kernels/kernel_abi.h"
#include "kernels/kernel_objects.h"
#include "kernels/kernel_table.h"

#define MLXCEL_SELF_CHECK_POINTER(name, arguments) void (*name)(arguments);
typedef struct mlxcel_kernel_set_t {
  const char* name;  // "v3", "reference"
  MLXCEL_KERNELS(MLXCEL_SELF_CHECK_POINTER)
} mlxcel_kernel_set_t;
const mlxcel_kernel_set_t* mlxcel_kernel_set_reference(void);
// The objects that modules carry, under other symbols. Calling one of a level that this processor doesn't run is fatal.
const mlxcel_kernel_set_t* mlxcel_kernel_set_of_level(mlxcel_kernel_level_t level);

typedef struct mlxcel_self_check_case_t {
  mlxcel_kernel_id_t kernel;  // a pinned one
  int32_t format;             // MLXCEL_FORMAT: of every matrix, or of a norm's weight
  int32_t bias_type;          // of the layers' bias vectors; MLXCEL_SELF_CHECK_NO_BIAS without
  int32_t cache_type;         // of the KV cache: MLXCEL_FORMAT_F32, _F16, _BF16
} mlxcel_self_check_case_t;
#define MLXCEL_SELF_CHECK_NO_BIAS (-1)

// "f16", "affine-u4-g32-f16", "bf16+bias-f32", "none" (then f32) as clauses name storage. false: anything else.
bool mlxcel_self_check_source_parse(const char* source, int32_t* out_format, int32_t* out_bias_type);

// Compares on small operands from a seed, with one row and with several (an inactive one and one of subnormal magnitude among them), in two workgroups, under
// the flush-to-zero mode of IREE's workers. INTERNAL names kernel, level, storage and the first element that differs.
iree_status_t mlxcel_self_check_case_run(const mlxcel_self_check_case_t* check, const mlxcel_kernel_set_t* set);

// All cases of a contract, each once, for |set|.
iree_status_t mlxcel_self_check_run_set(iree_string_view_t contract_text, const mlxcel_kernel_set_t* set);

#endif  // MLXCEL_QUALIFY_SELF_CHECK_H_
