#include "emit/module_builder.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit/kernel_wrapper.h"

// Stands in function texts for the fingerprint, which is known only when all clauses are.
#define FINGERPRINT_MARK "@FINGERPRINT@"

_Static_assert((int)MLXCEL_ELEMENT_F32 == (int)MLXCEL_DTYPE_F32 && (int)MLXCEL_ELEMENT_F16 == (int)MLXCEL_DTYPE_F16 &&
                   (int)MLXCEL_ELEMENT_BF16 == (int)MLXCEL_DTYPE_BF16 && (int)MLXCEL_ELEMENT_I32 == (int)MLXCEL_DTYPE_I32 &&
                   (int)MLXCEL_ELEMENT_BYTE == (int)MLXCEL_DTYPE_U8,
               "elements begin with the dtypes, in their order");

mlxcel_element_t mlxcel_element_of(mlxcel_dtype_t dtype) { return (mlxcel_element_t)dtype; }

mlxcel_dtype_t mlxcel_element_dtype(mlxcel_element_t element) {
  assert(element != MLXCEL_ELEMENT_INDEX);
  return (mlxcel_dtype_t)element;
}

static iree_status_t profile_check(const mlxcel_profile_t* profile, const char* name) {
  if (!profile) {
    return iree_make_status(IREE_STATUS_NOT_FOUND, "unknown numeric profile '%s'; `mlxcel contract show` lists the known ones", name);
  }
  if (!profile->is_declared_only) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "profile '%s' is declared only: its clauses can be read, but nothing is emitted for it; use %s or %s",
                          name, MLXCEL_PROFILE_PINNED_F32, MLXCEL_PROFILE_MLX_CPU);
}

void mlxcel_module_builder_initialize(const char* module_name, const char* profile, mlxcel_module_builder_t* out_builder) {
  memset(out_builder, 0, sizeof(*out_builder));
  out_builder->module_name = module_name;
  out_builder->profile = mlxcel_profile_find(iree_make_cstring_view(profile));
  out_builder->status = profile_check(out_builder->profile, profile);
  if (!out_builder->profile) out_builder->profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_PINNED_F32));
  mlxcel_contract_initialize(profile, &out_builder->contract);
}

void mlxcel_module_builder_deinitialize(mlxcel_module_builder_t* builder) {
  mlxcel_contract_deinitialize(&builder->contract);
  mlxcel_strbuf_t* texts[] = {&builder->functions, &builder->current, &builder->results, &builder->result_types};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) mlxcel_strbuf_deinitialize(texts[i]);
  for (size_t i = 0; i < builder->parameter_count; ++i) free(builder->parameters[i].key);
  free(builder->parameters);
  free(builder->tap_list);
  iree_status_ignore(builder->status);
  memset(builder, 0, sizeof(*builder));
}

void mlxcel_module_fail(mlxcel_module_builder_t* builder, iree_status_t status) {
  if (iree_status_is_ok(builder->status)) {
    builder->status = status;
  } else {
    iree_status_ignore(status);
  }
}

void mlxcel_module_clause(mlxcel_module_builder_t* builder, const mlxcel_clause_t* clause) {
  iree_status_t status = mlxcel_contract_add(&builder->contract, clause);
  if (!iree_status_is_ok(status)) mlxcel_module_fail(builder, status);
}

static const char* element_name(mlxcel_element_t element) {
  static const char* const names[] = {"f32", "f16", "bf16", "i32", "i8", "index"};
  return names[element];
}

mlxcel_type_text_t mlxcel_value_type(mlxcel_value_t value) {
  mlxcel_type_text_t type;
  if (value.is_scalar) {
    snprintf(type.text, sizeof(type.text), "%s", element_name(value.element));
    return type;
  }
  size_t size = (size_t)snprintf(type.text, sizeof(type.text), "tensor<");
  for (uint32_t i = 0; i < value.rank; ++i) {
    char* end = type.text + size;
    size_t left = sizeof(type.text) - size;
    size += (size_t)(value.dims[i] == MLXCEL_DIM_DYNAMIC ? snprintf(end, left, "?x") : snprintf(end, left, "%" PRId64 "x", value.dims[i]));
    assert(size < sizeof(type.text));
  }
  snprintf(type.text + size, sizeof(type.text) - size, "%s>", element_name(value.element));
  return type;
}

static void append_type(mlxcel_strbuf_t* text, const mlxcel_value_t* value) { mlxcel_strbuf_append_cstring(text, mlxcel_value_type(*value).text); }

// "{%3, %4}" for a tensor with dynamic sizes, nothing for a static one.
static void append_dynamic_sizes(mlxcel_strbuf_t* text, const mlxcel_value_t* value) {
  const char* separator = "{";
  for (uint32_t i = 0; i < value->rank; ++i) {
    if (value->dims[i] != MLXCEL_DIM_DYNAMIC) continue;
    mlxcel_strbuf_append_format(text, "%s%%%" PRIu32, separator, value->dim_values[i]);
    separator = ", ";
  }
  if (separator[0] == ',') mlxcel_strbuf_append_cstring(text, "}");
}

static mlxcel_value_t new_scalar(mlxcel_module_builder_t* builder, mlxcel_element_t element) {
  mlxcel_value_t value = {.id = builder->next_id++, .element = element, .is_scalar = true};
  return value;
}

// --- functions -----------------------------------------------------------------------------------------------------------------------------

void mlxcel_function_begin(mlxcel_module_builder_t* builder) {
  builder->next_id = 0;
  builder->output_count = 0;
  mlxcel_strbuf_clear(&builder->current);
  mlxcel_strbuf_clear(&builder->results);
  mlxcel_strbuf_clear(&builder->result_types);
  builder->argument_count = 0;
  builder->function_tap_count = 0;
}

static void read_dynamic_sizes(mlxcel_module_builder_t* builder, mlxcel_value_t* value) {
  for (uint32_t i = 0; i < value->rank; ++i) {
    if (value->dims[i] != MLXCEL_DIM_DYNAMIC) continue;
    uint32_t index = builder->next_id++, size = builder->next_id++;
    mlxcel_strbuf_append_format(&builder->current, "    %%%" PRIu32 " = arith.constant %" PRIu32 " : index\n", index, i);
    mlxcel_strbuf_append_format(&builder->current, "    %%%" PRIu32 " = tensor.dim %%%" PRIu32 ", %%%" PRIu32 " : ", size, value->id, index);
    append_type(&builder->current, value);
    mlxcel_strbuf_append_cstring(&builder->current, "\n");
    value->dim_values[i] = size;
  }
}

mlxcel_value_t mlxcel_function_argument(mlxcel_module_builder_t* builder, mlxcel_element_t element, uint32_t rank, const int64_t* dims, int output) {
  assert(rank >= 1 && rank <= MLXCEL_VALUE_RANK_MAX);
  mlxcel_value_t value = {.id = builder->next_id++, .element = element, .rank = rank};
  memcpy(value.dims, dims, rank * sizeof(*dims));
  read_dynamic_sizes(builder, &value);
  assert(builder->argument_count < MLXCEL_FUNCTION_ARGUMENTS_MAX);
  builder->arguments[builder->argument_count++] = (mlxcel_function_argument_t){value, output};
  return value;
}

void mlxcel_function_result(mlxcel_module_builder_t* builder, mlxcel_value_t value) {
  const char* separator = builder->output_count++ ? ", " : "";
  mlxcel_strbuf_append_format(&builder->results, "%s%%%" PRIu32, separator, value.id);
  mlxcel_strbuf_append_cstring(&builder->result_types, separator);
  append_type(&builder->result_types, &value);
}

void mlxcel_function_end(mlxcel_module_builder_t* builder, const char* name) {
  mlxcel_strbuf_t* text = &builder->functions;
  mlxcel_strbuf_append_format(text, "  func.func @%s(", name);
  for (uint32_t i = 0; i < builder->argument_count; ++i) {
    const mlxcel_function_argument_t* argument = &builder->arguments[i];
    mlxcel_strbuf_append_format(text, "%s%%%" PRIu32 ": %s", i ? ", " : "", argument->value.id, mlxcel_value_type(argument->value).text);
    // Taps come before the function's own results.
    if (argument->output >= 0) mlxcel_strbuf_append_format(text, " {iree.abi.output = %d : index}", argument->output + (int)builder->function_tap_count);
  }
  mlxcel_strbuf_append_format(
      text, ") -> (%s) attributes {iree.reflection = {\"mlxcel.contract\" = \"" FINGERPRINT_MARK "\", \"mlxcel.contract.version\" = \"%d\"}} {\n",
      builder->result_types.data, MLXCEL_CONTRACT_VERSION);
  mlxcel_strbuf_append(text, mlxcel_strbuf_view(&builder->current));
  mlxcel_strbuf_append_format(text, "    return %s : %s\n  }\n", builder->results.data, builder->result_types.data);
}

// Room for one more tap.
static bool tap_reserve(mlxcel_module_builder_t* builder) {
  if (builder->tap_count < builder->tap_capacity) return true;
  size_t capacity = builder->tap_capacity ? builder->tap_capacity * 2 : 64;
  mlxcel_module_tap_t* taps = realloc(builder->tap_list, capacity * sizeof(*taps));
  if (!taps) return false;
  builder->tap_list = taps;
  builder->tap_capacity = capacity;
  return true;
}

void mlxcel_module_tap(mlxcel_module_builder_t* builder, const char* name, mlxcel_value_t value) {
  if (!builder->taps) return;
  assert(!value.is_scalar && builder->output_count == builder->function_tap_count);  // before the function's results
  if (!tap_reserve(builder)) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the list of taps; free some memory"));
    return;
  }
  mlxcel_module_tap_t* tap = &builder->tap_list[builder->tap_count++];
  memset(tap, 0, sizeof(*tap));
  snprintf(tap->name, sizeof(tap->name), "%s", name);
  tap->type = (mlxcel_operand_t){.name = "tap", .dtype = mlxcel_element_dtype(value.element), .rank = value.rank};
  for (uint32_t i = 0; i < value.rank; ++i) {
    assert(value.dims[i] != MLXCEL_DIM_DYNAMIC);
    tap->type.dims[i] = value.dims[i];
  }
  ++builder->function_tap_count;
  mlxcel_function_result(builder, value);
}

void mlxcel_module_text(mlxcel_module_builder_t* builder, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char* line = NULL;
  int size = vasprintf(&line, format, arguments);
  va_end(arguments);
  if (size < 0) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a line of the module; free some memory"));
    return;
  }
  mlxcel_strbuf_append_format(&builder->current, "    %s\n", line);
  free(line);
}

// --- values --------------------------------------------------------------------------------------------------------------------------------

mlxcel_value_t mlxcel_constant_i32(mlxcel_module_builder_t* builder, int32_t constant) {
  mlxcel_value_t value = new_scalar(builder, MLXCEL_ELEMENT_I32);
  mlxcel_strbuf_append_format(&builder->current, "    %%%" PRIu32 " = arith.constant %" PRId32 " : i32\n", value.id, constant);
  return value;
}

mlxcel_value_t mlxcel_constant_f32(mlxcel_module_builder_t* builder, float constant) {
  mlxcel_value_t value = new_scalar(builder, MLXCEL_ELEMENT_F32);
  uint32_t bits;
  memcpy(&bits, &constant, sizeof(bits));
  mlxcel_strbuf_append_format(&builder->current, "    %%%" PRIu32 " = arith.constant 0x%08" PRIX32 " : f32\n", value.id, bits);
  return value;
}

mlxcel_value_t mlxcel_dim_i32(mlxcel_module_builder_t* builder, mlxcel_value_t tensor, uint32_t dim) {
  assert(dim < tensor.rank);
  if (tensor.dims[dim] != MLXCEL_DIM_DYNAMIC) return mlxcel_constant_i32(builder, (int32_t)tensor.dims[dim]);
  mlxcel_value_t value = new_scalar(builder, MLXCEL_ELEMENT_I32);
  mlxcel_strbuf_append_format(&builder->current, "    %%%" PRIu32 " = arith.index_cast %%%" PRIu32 " : index to i32\n", value.id, tensor.dim_values[dim]);
  return value;
}

mlxcel_value_t mlxcel_value_of(mlxcel_element_t element, uint32_t rank, const int64_t* dims) {
  assert(rank <= MLXCEL_VALUE_RANK_MAX);
  mlxcel_value_t value = {.element = element, .rank = rank};
  if (rank) memcpy(value.dims, dims, rank * sizeof(*dims));
  return value;
}

mlxcel_value_t mlxcel_value_new(mlxcel_module_builder_t* builder, mlxcel_element_t element, uint32_t rank, const int64_t* dims) {
  mlxcel_value_t value = mlxcel_value_of(element, rank, dims);
  value.id = builder->next_id++;
  return value;
}

mlxcel_value_t mlxcel_value_f32(uint32_t rank, int64_t dim0, int64_t dim1) {
  mlxcel_value_t value = {.element = MLXCEL_ELEMENT_F32, .rank = rank, .dims = {dim0, dim1}};
  return value;
}

// Index of |key| among the parameters, added if new; -1 after a failure.
static int64_t parameter_index(mlxcel_module_builder_t* builder, iree_string_view_t key, const char* dtype, uint64_t byte_count) {
  for (size_t i = 0; i < builder->parameter_count; ++i) {
    if (iree_string_view_equal(key, iree_make_cstring_view(builder->parameters[i].key))) return (int64_t)i;
  }
  if (builder->parameter_count == builder->parameter_capacity) {
    size_t capacity = builder->parameter_capacity ? builder->parameter_capacity * 2 : 64;
    mlxcel_parameter_ref_t* parameters = realloc(builder->parameters, capacity * sizeof(*parameters));
    if (!parameters) return -1;
    builder->parameters = parameters;
    builder->parameter_capacity = capacity;
  }
  mlxcel_parameter_ref_t* parameter = &builder->parameters[builder->parameter_count];
  memset(parameter, 0, sizeof(*parameter));
  parameter->key = strndup(key.data, key.size);
  if (!parameter->key) return -1;
  memcpy(parameter->dtype, dtype, strnlen(dtype, sizeof(parameter->dtype) - 1));
  parameter->byte_count = byte_count;
  return (int64_t)builder->parameter_count++;
}

mlxcel_value_t mlxcel_parameter_bytes(mlxcel_module_builder_t* builder, iree_string_view_t key, const char* dtype, uint64_t byte_count) {
  mlxcel_value_t value = {.id = builder->next_id++, .element = MLXCEL_ELEMENT_BYTE, .rank = 1, .dims = {(int64_t)byte_count}};
  int64_t index = parameter_index(builder, key, dtype, byte_count);
  if (index < 0) mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the parameter table; free some memory"));
  mlxcel_strbuf_append_format(&builder->current, "    %%%" PRIu32 " = util.global.load immutable @w%" PRId64 " : ", value.id, index);
  append_type(&builder->current, &value);
  mlxcel_strbuf_append_cstring(&builder->current, "\n");
  return value;
}

// --- kernels -------------------------------------------------------------------------------------------------------------------------------

void mlxcel_dispatch_add(mlxcel_dispatch_t* dispatch, mlxcel_value_t operand) {
  assert(dispatch->operand_count < MLXCEL_DISPATCH_OPERANDS_MAX);
  dispatch->operands[dispatch->operand_count++] = operand;
}

// A kernel's argument kind fits an operand.
static bool operand_fits(char kind, const mlxcel_value_t* operand) {
  switch (kind) {
    case 'n':
      return operand->is_scalar && operand->element == MLXCEL_ELEMENT_I32;
    case 'e':
      return operand->is_scalar && operand->element == MLXCEL_ELEMENT_F32;
    case 'i':
      return !operand->is_scalar && operand->element == MLXCEL_ELEMENT_I32;
    case 'b':
    case 'T':
      return !operand->is_scalar && operand->element != MLXCEL_ELEMENT_INDEX;
    default:
      return !operand->is_scalar && operand->element == MLXCEL_ELEMENT_F32;
  }
}
static bool kind_is_result(char kind) { return kind == 'o' || kind == 'B'; }
static bool kind_is_tied(char kind) { return kind == 't' || kind == 'T'; }

// Gives tied operands new SSA names; returns how many the kernel has.
static uint32_t rename_tied(mlxcel_module_builder_t* builder, const mlxcel_dispatch_t* dispatch, mlxcel_value_t* out_tied) {
  uint32_t count = 0, operand = 0;
  for (const char* kind = mlxcel_kernel_info(dispatch->kernel)->arguments; *kind; ++kind) {
    if (kind_is_result(*kind)) continue;
    assert(operand < dispatch->operand_count && operand_fits(*kind, &dispatch->operands[operand]));
    if (kind_is_tied(*kind)) {
      out_tied[count] = dispatch->operands[operand];
      out_tied[count++].id = builder->next_id++;
    }
    ++operand;
  }
  assert(operand == dispatch->operand_count);
  return count;
}

// The dispatch's result types: tied operands, then the result if |has_result|.
static void append_result_types(mlxcel_strbuf_t* text, const mlxcel_dispatch_t* dispatch, uint32_t tied_count, bool has_result) {
  bool is_list = tied_count + (has_result ? 1u : 0u) > 1;
  mlxcel_strbuf_append_cstring(text, is_list ? " -> (" : " -> ");
  const char* separator = "";
  uint32_t operand = 0;
  for (const char* kind = mlxcel_kernel_info(dispatch->kernel)->arguments; *kind; ++kind) {
    if (kind_is_tied(*kind)) {
      const mlxcel_value_t* value = &dispatch->operands[operand];
      mlxcel_strbuf_append_format(text, "%s%%%" PRIu32 " as ", separator, value->id);
      append_type(text, value);
      append_dynamic_sizes(text, value);
      separator = ", ";
    }
    if (!kind_is_result(*kind)) ++operand;
  }
  if (has_result) {
    mlxcel_strbuf_append_cstring(text, separator);
    append_type(text, &dispatch->result);
  }
  mlxcel_strbuf_append_cstring(text, is_list ? ")\n" : "\n");
}

static void append_operands(mlxcel_strbuf_t* text, const mlxcel_dispatch_t* dispatch) {
  for (uint32_t i = 0; i < dispatch->operand_count; ++i) mlxcel_strbuf_append_format(text, "%s%%%" PRIu32, i ? ", " : "", dispatch->operands[i].id);
  mlxcel_strbuf_append_cstring(text, ") : (");
  for (uint32_t i = 0; i < dispatch->operand_count; ++i) {
    if (i) mlxcel_strbuf_append_cstring(text, ", ");
    append_type(text, &dispatch->operands[i]);
    if (!dispatch->operands[i].is_scalar) append_dynamic_sizes(text, &dispatch->operands[i]);
  }
  mlxcel_strbuf_append_cstring(text, ")");
}

// Workers take workgroups in order as they become free, and a workgroup begins with what it hasn't got in its caches: two for each worker, which the kernels'
// shrinking shares let finish together, and one for a lone worker. IREE hands out eight workgroups at a time as soon as there are eight for each worker: work
// of uneven units gets one less. For an unknown number of workers there are as many as that for two, and the most for work of so many units.
#define WORKGROUPS_A_WORKER 2
#define WORKGROUPS_A_CLAIM 8
#define WORKERS_SUPPOSED 2
#define WORKGROUPS_MAX 128  // beyond, a share is too small for its costs
static uint32_t workgroups_for(const mlxcel_module_builder_t* builder, const mlxcel_dispatch_t* dispatch) {
  int64_t workers = builder->workers ? builder->workers : WORKERS_SUPPOSED;
  bool is_fine = dispatch->is_uneven || builder->workers == 0;
  int64_t most = workers == 1 ? 1 : is_fine ? workers * WORKGROUPS_A_CLAIM - 1 : workers * WORKGROUPS_A_WORKER;
  if (builder->workers == 0 && dispatch->units >= WORKGROUPS_MAX) most = WORKGROUPS_MAX;
  if (most > WORKGROUPS_MAX) most = WORKGROUPS_MAX;
  return dispatch->units < 1 ? 1 : (uint32_t)(dispatch->units < most ? dispatch->units : most);
}

mlxcel_value_t mlxcel_dispatch_emit(mlxcel_module_builder_t* builder, const mlxcel_dispatch_t* dispatch, mlxcel_value_t* out_tied) {
  mlxcel_strbuf_t* text = &builder->current;
  const mlxcel_kernel_info_t* kernel = mlxcel_kernel_info(dispatch->kernel);
  builder->kernel_used[dispatch->kernel] = true;
  uint32_t groups = builder->next_id++;
  mlxcel_strbuf_append_format(text, "    %%%" PRIu32 " = arith.constant %" PRIu32 " : index\n", groups, workgroups_for(builder, dispatch));
  uint32_t tied_count = rename_tied(builder, dispatch, out_tied);
  bool has_result = strpbrk(kernel->arguments, "oB") != NULL;
  mlxcel_value_t result = dispatch->result;
  mlxcel_strbuf_append_cstring(text, "    ");
  for (uint32_t i = 0; i < tied_count; ++i) mlxcel_strbuf_append_format(text, "%s%%%" PRIu32, i ? ", " : "", out_tied[i].id);
  if (has_result) {
    result.id = builder->next_id++;
    mlxcel_strbuf_append_format(text, "%s%%%" PRIu32, tied_count ? ", " : "", result.id);
  }
  mlxcel_strbuf_append_format(text, " = flow.dispatch @%s::@%s[%%%" PRIu32 "](", mlxcel_kernel_executable(kernel->object), mlxcel_kernel_export_name(kernel),
                              groups);
  append_operands(text, dispatch);
  append_result_types(text, dispatch, tied_count, has_result);
  return result;
}

// --- assembly ------------------------------------------------------------------------------------------------------------------------------

// A quoted MLIR string; keys come from files, so quotes, backslashes and control bytes are escaped as \XX.
static void append_quoted(mlxcel_strbuf_t* text, const char* value) {
  mlxcel_strbuf_append_cstring(text, "\"");
  for (const unsigned char* c = (const unsigned char*)value; *c; ++c) {
    if (*c < 0x20 || *c >= 0x7f || *c == '"' || *c == '\\') {
      mlxcel_strbuf_append_format(text, "\\%02X", *c);
    } else {
      mlxcel_strbuf_append_format(text, "%c", *c);
    }
  }
  mlxcel_strbuf_append_cstring(text, "\"");
}

static void append_parameters(const mlxcel_module_builder_t* builder, mlxcel_strbuf_t* text) {
  for (size_t i = 0; i < builder->parameter_count; ++i) {
    mlxcel_strbuf_append_format(text, "  util.global private @w%zu = #flow.parameter.named<\"%s\"::", i, builder->module_name);
    append_quoted(text, builder->parameters[i].key);
    mlxcel_strbuf_append_format(text, "> : tensor<%" PRIu64 "xi8>\n", builder->parameters[i].byte_count);
  }
}

// The functions with every mark replaced by the fingerprint.
static void append_functions(const mlxcel_module_builder_t* builder, const char* fingerprint, mlxcel_strbuf_t* text) {
  const char* rest = builder->functions.data ? builder->functions.data : "";
  for (const char* mark; (mark = strstr(rest, FINGERPRINT_MARK)) != NULL; rest = mark + strlen(FINGERPRINT_MARK)) {
    mlxcel_strbuf_append(text, iree_make_string_view(rest, (size_t)(mark - rest)));
    mlxcel_strbuf_append_cstring(text, fingerprint);
  }
  mlxcel_strbuf_append_cstring(text, rest);
}

iree_status_t mlxcel_module_finish(mlxcel_module_builder_t* builder, char** out_mlir, size_t* out_mlir_size, char** out_contract,
                                   mlxcel_sha256_hex_t* out_fingerprint) {
  *out_mlir = NULL;
  *out_contract = NULL;
  mlxcel_strbuf_t* parts[] = {&builder->functions, &builder->current, &builder->results, &builder->result_types};
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); ++i) mlxcel_module_fail(builder, mlxcel_strbuf_take_status(parts[i]));
  iree_status_t status = builder->status;
  builder->status = iree_ok_status();
  char* contract_text = NULL;
  if (iree_status_is_ok(status)) status = mlxcel_contract_finish(&builder->contract, &contract_text, out_fingerprint);
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  if (iree_status_is_ok(status)) {
    mlxcel_strbuf_append_format(&text, "module @%s {\n", builder->module_name);
    append_parameters(builder, &text);
    mlxcel_kernel_wrappers_write(builder->kernel_used, &text);
    append_functions(builder, out_fingerprint->text, &text);
    mlxcel_strbuf_append_cstring(&text, "}\n");
    status = mlxcel_strbuf_take_status(&text);
  }
  if (iree_status_is_ok(status)) {
    *out_mlir_size = text.size;
    *out_mlir = mlxcel_strbuf_release(&text);
    *out_contract = contract_text;
  } else {
    free(contract_text);
  }
  mlxcel_strbuf_deinitialize(&text);
  return status;
}
