// module_builder.h: the text of one module: parameters, kernel executables, functions in SSA form, and the contract that the helpers' clauses add up to.
//
// The builder knows MLIR's syntax and nothing of mathematics or models. Text is deterministic: symbols in order of first use, floats as bit patterns, nothing
// from the locale, the clock or addresses. Errors stick to the builder and come out of mlxcel_module_finish. One thread at a time.
#ifndef MLXCEL_EMIT_MODULE_BUILDER_H_
#define MLXCEL_EMIT_MODULE_BUILDER_H_

#include "base/base.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "contract/contract.h"
#include "contract/profiles.h"
#include "kernels/kernel_table.h"

#define MLXCEL_VALUE_RANK_MAX 5
#define MLXCEL_DIM_DYNAMIC (-1)

typedef enum mlxcel_element_e {
  MLXCEL_ELEMENT_F32,
  MLXCEL_ELEMENT_F16,
  MLXCEL_ELEMENT_BF16,
  MLXCEL_ELEMENT_I32,
  MLXCEL_ELEMENT_BYTE,
  MLXCEL_ELEMENT_INDEX,
} mlxcel_element_t;
mlxcel_element_t mlxcel_element_of(mlxcel_dtype_t dtype);       // u8 is MLXCEL_ELEMENT_BYTE
mlxcel_dtype_t mlxcel_element_dtype(mlxcel_element_t element);  // not for MLXCEL_ELEMENT_INDEX

// An SSA value. rank 0 with is_scalar: a scalar; else a tensor whose dynamic sizes are index values.
typedef struct mlxcel_value_t {
  uint32_t id;  // %<id>
  mlxcel_element_t element;
  bool is_scalar;
  uint32_t rank;
  int64_t dims[MLXCEL_VALUE_RANK_MAX];         // MLXCEL_DIM_DYNAMIC: see dim_values
  uint32_t dim_values[MLXCEL_VALUE_RANK_MAX];  // SSA ids of dynamic sizes
} mlxcel_value_t;

typedef struct mlxcel_parameter_ref_t {  // a checkpoint tensor that the module uses, as raw bytes
  char* key;
  char dtype[8];
  uint64_t byte_count;
} mlxcel_parameter_ref_t;

typedef struct mlxcel_module_tap_t {
  char name[64];          // "layers.3.attention"
  mlxcel_operand_t type;  // its name is "tap"
} mlxcel_module_tap_t;

#define MLXCEL_FUNCTION_ARGUMENTS_MAX 64  // several times what any function of a model or an operation takes
typedef struct mlxcel_function_argument_t {
  mlxcel_value_t value;
  int output;  // the function result that takes its storage; -1 = none
} mlxcel_function_argument_t;

typedef struct mlxcel_module_builder_t {
  const char* module_name;          // also the parameter scope
  const mlxcel_profile_t* profile;  // never NULL; pinned-f32's if the name was unknown (then the builder has failed)
  mlxcel_contract_t contract;
  mlxcel_strbuf_t functions, current;
  iree_status_t status;
  size_t parameter_count, parameter_capacity;
  mlxcel_parameter_ref_t* parameters;
  bool kernel_used[MLXCEL_KERNEL_COUNT];
  uint32_t workers;  // of the device that the module is for; 0 = unknown. Only the number of workgroups depends on it
  uint32_t next_id;
  uint32_t output_count;  // results of the function being built
  mlxcel_strbuf_t results, result_types;
  uint32_t argument_count;
  mlxcel_function_argument_t arguments[MLXCEL_FUNCTION_ARGUMENTS_MAX];
  // Taps: if on, mlxcel_module_tap makes the value one more result of the function and notes its name and type.
  bool taps;
  uint32_t function_tap_count;  // of the function being built
  size_t tap_count, tap_capacity;
  mlxcel_module_tap_t* tap_list;
} mlxcel_module_builder_t;

// |profile| is looked up in the table of profiles: unknown (NOT_FOUND) and declared-only names (UNIMPLEMENTED) are failures of the builder. Both strings are
// borrowed.
void mlxcel_module_builder_initialize(const char* module_name, const char* profile, mlxcel_module_builder_t* out_builder);
void mlxcel_module_builder_deinitialize(mlxcel_module_builder_t* builder);
// Records a failure; the first one is kept.
void mlxcel_module_fail(mlxcel_module_builder_t* builder, iree_status_t status);

// --- functions -----------------------------------------------------------------------------------------------------------------------------
void mlxcel_function_begin(mlxcel_module_builder_t* builder);
// Adds an argument. |output| >= 0: the argument is consumed and its storage is that of the |output|'th mlxcel_function_result (taps not counted). Dynamic sizes
// are read from the argument itself.
mlxcel_value_t mlxcel_function_argument(mlxcel_module_builder_t* builder, mlxcel_element_t element, uint32_t rank, const int64_t* dims, int output);
void mlxcel_function_result(mlxcel_module_builder_t* builder, mlxcel_value_t value);
void mlxcel_function_end(mlxcel_module_builder_t* builder, const char* name);

// --- values --------------------------------------------------------------------------------------------------------------------------------
mlxcel_value_t mlxcel_constant_i32(mlxcel_module_builder_t* builder, int32_t value);
mlxcel_value_t mlxcel_constant_f32(mlxcel_module_builder_t* builder, float value);
// The size of dimension |dim| as an i32 scalar.
mlxcel_value_t mlxcel_dim_i32(mlxcel_module_builder_t* builder, mlxcel_value_t tensor, uint32_t dim);
// All bytes of checkpoint tensor |key|, loaded in the current function.
mlxcel_value_t mlxcel_parameter_bytes(mlxcel_module_builder_t* builder, iree_string_view_t key, const char* dtype, uint64_t byte_count);

// --- kernels -------------------------------------------------------------------------------------------------------------------------------
#define MLXCEL_DISPATCH_OPERANDS_MAX 40
typedef struct mlxcel_dispatch_t {
  mlxcel_kernel_id_t kernel;
  int64_t units;   // that the work can be cut into: it becomes workgroups by the number of workers; the bits don't depend on it
  bool is_uneven;  // units differ much in their cost
  uint32_t operand_count;
  mlxcel_value_t operands[MLXCEL_DISPATCH_OPERANDS_MAX];  // everything but 'o' and 'B' arguments, in the kernel's order
  mlxcel_value_t result;                                  // shape of the 'o' or 'B' argument, static; unused if the kernel has none
} mlxcel_dispatch_t;
void mlxcel_dispatch_add(mlxcel_dispatch_t* dispatch, mlxcel_value_t operand);
// Emits the call. |out_tied| gets the new values of the 't' and 'T' operands in order (NULL if the kernel has none). Returns the 'o' or 'B' result, if any.
mlxcel_value_t mlxcel_dispatch_emit(mlxcel_module_builder_t* builder, const mlxcel_dispatch_t* dispatch, mlxcel_value_t* out_tied);

mlxcel_value_t mlxcel_value_f32(uint32_t rank, int64_t dim0, int64_t dim1);  // a static f32 shape, for dispatch results

// A static shape of any element, for dispatch results.
mlxcel_value_t mlxcel_value_of(mlxcel_element_t element, uint32_t rank, const int64_t* dims);

// With builder->taps, makes |value| (static shape) one more result of the current function, in the order of the calls and before mlxcel_function_result's.
// Without, nothing.
void mlxcel_module_tap(mlxcel_module_builder_t* builder, const char* name, mlxcel_value_t value);

// Appends one line of text (indented, ended by a newline) to the current function, for helpers that write operations of their own; SSA ids come from
// mlxcel_value_new.
void mlxcel_module_text(mlxcel_module_builder_t* builder, const char* format, ...) __attribute__((format(printf, 2, 3)));
// A new tensor value; rank 0 is "tensor<f32>".
mlxcel_value_t mlxcel_value_new(mlxcel_module_builder_t* builder, mlxcel_element_t element, uint32_t rank, const int64_t* dims);
// "tensor<2x?xbf16>" or "f32"; the buffer belongs to the caller.
typedef struct mlxcel_type_text_t {
  char text[128];
} mlxcel_type_text_t;
mlxcel_type_text_t mlxcel_value_type(mlxcel_value_t value);

// Adds a clause to the module's contract.
void mlxcel_module_clause(mlxcel_module_builder_t* builder, const mlxcel_clause_t* clause);

// Assembles the module: every function carries the contract's fingerprint as reflection attribute "mlxcel.contract" (and its version). Texts are freed by the
// caller.
iree_status_t mlxcel_module_finish(mlxcel_module_builder_t* builder, char** out_mlir, size_t* out_mlir_size, char** out_contract,
                                   mlxcel_sha256_hex_t* out_fingerprint);

#endif  // MLXCEL_EMIT_MODULE_BUILDER_H_
