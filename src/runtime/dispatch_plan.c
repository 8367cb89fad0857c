#include "runtime/dispatch_plan.h"

#include <stdlib.h>
#include <string.h>

// Values of a function that are remembered: far above what the largest function has (a few numbers a kernel's argument); a value above it isn't known.
#define VALUES_MAX (4u << 20)
#define OPERANDS_MAX 64u  // of a kernel call; the largest has 33

typedef struct reader_t {
  mlxcel_dispatch_plan_t* plan;
  mlxcel_planned_function_t* function;  // NULL before the first one
  iree_string_view_t function_name;
  size_t value_capacity;
  struct {
    int64_t value;
    uint32_t function;  // number of the function that defines it, from 1
  } * values;           // by number of the SSA value
  uint32_t function_number;
} reader_t;

static iree_status_t out_of_memory(void) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the list of a module's dispatches; free some memory");
}

// Makes room for one more element of |*array|.
static iree_status_t reserve(size_t count, size_t element_size, size_t* capacity, void** array) {
  if (count < *capacity) return iree_ok_status();
  size_t larger = *capacity ? *capacity * 2 : 16;
  void* moved = realloc(*array, larger * element_size);
  if (!moved) return out_of_memory();
  *array = moved;
  *capacity = larger;
  return iree_ok_status();
}

// --- text --------------------------------------------------------------------------------------------------------------------------------------

static bool take(iree_string_view_t* text, const char* prefix) { return iree_string_view_consume_prefix(text, iree_make_cstring_view(prefix)); }

static bool take_number(iree_string_view_t* text, int64_t* out_value) {
  bool is_negative = take(text, "-");
  int64_t value = 0;
  size_t digits = 0;
  for (; digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9' && digits < 18; ++digits)
    value = value * 10 + (text->data[digits] - '0');
  *out_value = is_negative ? -value : value;
  *text = iree_string_view_substr(*text, digits, IREE_HOST_SIZE_MAX);
  return digits > 0;
}

static bool take_value(iree_string_view_t* text, int64_t* out_id) { return take(text, "%") && take_number(text, out_id); }

static bool is_name_char(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static iree_string_view_t take_name(iree_string_view_t* text) {
  size_t size = 0;
  while (size < text->size && is_name_char(text->data[size])) ++size;
  iree_string_view_t name = iree_string_view_substr(*text, 0, size);
  *text = iree_string_view_substr(*text, size, IREE_HOST_SIZE_MAX);
  return name;
}

// --- constants -----------------------------------------------------------------------------------------------------------------------------------

static iree_status_t remember(reader_t* reader, int64_t id, int64_t value) {
  if (id < 0 || (uint64_t)id >= VALUES_MAX) return iree_ok_status();
  if ((size_t)id >= reader->value_capacity) {
    size_t larger = reader->value_capacity ? reader->value_capacity : 1024;
    while (larger <= (size_t)id) larger *= 2;
    void* moved = realloc(reader->values, larger * sizeof(*reader->values));
    if (!moved) return out_of_memory();
    reader->values = moved;
    memset(reader->values + reader->value_capacity, 0, (larger - reader->value_capacity) * sizeof(*reader->values));
    reader->value_capacity = larger;
  }
  reader->values[id].value = value;
  reader->values[id].function = reader->function_number;
  return iree_ok_status();
}

static bool recall(const reader_t* reader, int64_t id, int64_t* out_value) {
  if (id < 0 || (size_t)id >= reader->value_capacity || reader->values[id].function != reader->function_number) return false;
  *out_value = reader->values[id].value;
  return true;
}

// --- calls ---------------------------------------------------------------------------------------------------------------------------------------

// "matmul" of "mlxcel_pinned_matmul".
static const char* export_name(const mlxcel_kernel_info_t* kernel) {
  const char* family = strchr(kernel->symbol, '_');
  const char* name = family ? strchr(family + 1, '_') : NULL;
  return name ? name + 1 : kernel->symbol;
}

static bool find_kernel(iree_string_view_t executable, iree_string_view_t name, mlxcel_kernel_id_t* out_id) {
  for (int id = 0; id < MLXCEL_KERNEL_COUNT; ++id) {
    const mlxcel_kernel_info_t* kernel = mlxcel_kernel_info((mlxcel_kernel_id_t)id);
    *out_id = (mlxcel_kernel_id_t)id;
    if (iree_string_view_equal(executable, iree_make_cstring_view(mlxcel_kernel_executable(kernel->object))) &&
        iree_string_view_equal(name, iree_make_cstring_view(export_name(kernel)))) {
      return true;
    }
  }
  return false;
}

// Operands "%a, %b, ...)": results of a kernel are no operands, everything else is one.
static bool read_shape(const reader_t* reader, mlxcel_kernel_id_t id, iree_string_view_t operands, mlxcel_kernel_shape_t* out_shape) {
  int32_t values[OPERANDS_MAX];
  bool is_known[OPERANDS_MAX];
  size_t count = 0;
  for (const char* kind = mlxcel_kernel_info(id)->arguments; *kind; ++kind) {
    if (*kind == 'o' || *kind == 'B') continue;
    int64_t operand = 0, value = 0;
    take(&operands, ", ");
    if (!take_value(&operands, &operand)) return false;
    if (*kind != 'n') continue;
    if (count == OPERANDS_MAX) return false;
    is_known[count] = recall(reader, operand, &value) && value >= INT32_MIN && value <= INT32_MAX;
    values[count] = is_known[count] ? (int32_t)value : 0;
    ++count;
  }
  return take(&operands, ")") && mlxcel_kernel_shape_read(id, count, values, is_known, out_shape);
}

static iree_status_t add_function(reader_t* reader) {
  mlxcel_dispatch_plan_t* plan = reader->plan;
  IREE_RETURN_IF_ERROR(reserve(plan->count, sizeof(plan->functions[0]), &plan->capacity, (void**)&plan->functions));
  mlxcel_planned_function_t* function = &plan->functions[plan->count];
  memset(function, 0, sizeof(*function));
  function->name = strndup(reader->function_name.data, reader->function_name.size);
  if (!function->name) return out_of_memory();
  reader->function = function;
  ++plan->count;
  return iree_ok_status();
}

// "@kernels::@matmul[%81](%72, ...) : ..."
static iree_status_t read_dispatch(reader_t* reader, iree_string_view_t text) {
  int64_t groups_value = 0, groups = 0;
  mlxcel_kernel_id_t id;
  if (!take(&text, "@")) return iree_ok_status();
  iree_string_view_t executable = take_name(&text);
  if (!take(&text, "::@")) return iree_ok_status();
  iree_string_view_t name = take_name(&text);
  if (!find_kernel(executable, name, &id) || !take(&text, "[") || !take_value(&text, &groups_value) || !take(&text, "](")) return iree_ok_status();
  if (!reader->function) {
    IREE_RETURN_IF_ERROR(add_function(reader));
  }
  mlxcel_planned_function_t* function = reader->function;
  IREE_RETURN_IF_ERROR(reserve(function->count, sizeof(function->dispatches[0]), &function->capacity, (void**)&function->dispatches));
  mlxcel_planned_dispatch_t* dispatch = &function->dispatches[function->count++];
  memset(dispatch, 0, sizeof(*dispatch));
  dispatch->export_name = export_name(mlxcel_kernel_info(id));
  dispatch->has_shape = read_shape(reader, id, text, &dispatch->shape) && recall(reader, groups_value, &groups) && groups > 0 && groups <= UINT32_MAX;
  dispatch->workgroups = dispatch->has_shape ? (uint32_t)groups : 0;
  return iree_ok_status();
}

// A line without its indentation: the start of a function, a constant or a call; anything else says nothing.
static iree_status_t read_line(reader_t* reader, iree_string_view_t line) {
  if (take(&line, "func.func ")) {
    take(&line, "private ");
    if (!take(&line, "@")) return iree_ok_status();
    reader->function = NULL;
    reader->function_name = take_name(&line);
    ++reader->function_number;
    return iree_ok_status();
  }
  iree_string_view_t rest = line;
  int64_t id = 0, value = 0;
  if (take_value(&rest, &id) && take(&rest, " = arith.constant ") && take_number(&rest, &value)) {
    return take(&rest, " : i32") || take(&rest, " : index") ? remember(reader, id, value) : iree_ok_status();
  }
  static const char call[] = "flow.dispatch ";
  iree_host_size_t at = iree_string_view_find_first_of(line, IREE_SV("="), 0);
  if (at == IREE_STRING_VIEW_NPOS) return iree_ok_status();
  rest = iree_string_view_trim(iree_string_view_substr(line, at + 1, IREE_HOST_SIZE_MAX));
  return take(&rest, call) ? read_dispatch(reader, rest) : iree_ok_status();
}

iree_status_t mlxcel_dispatch_plan_read(iree_string_view_t text, mlxcel_dispatch_plan_t* out_plan) {
  memset(out_plan, 0, sizeof(*out_plan));
  reader_t reader = {.plan = out_plan};
  iree_status_t status = iree_ok_status();
  while (!iree_string_view_is_empty(text) && iree_status_is_ok(status)) {
    iree_string_view_t line;
    iree_string_view_split(text, '\n', &line, &text);
    status = read_line(&reader, iree_string_view_trim(line));
  }
  free(reader.values);
  if (!iree_status_is_ok(status)) mlxcel_dispatch_plan_deinitialize(out_plan);
  return status;
}

void mlxcel_dispatch_plan_deinitialize(mlxcel_dispatch_plan_t* plan) {
  for (size_t i = 0; i < plan->count; ++i) {
    free(plan->functions[i].name);
    free(plan->functions[i].dispatches);
  }
  free(plan->functions);
  memset(plan, 0, sizeof(*plan));
}

const mlxcel_planned_function_t* mlxcel_dispatch_plan_find(const mlxcel_dispatch_plan_t* plan, iree_string_view_t name) {
  for (size_t i = 0; i < plan->count; ++i) {
    if (iree_string_view_equal(name, iree_make_cstring_view(plan->functions[i].name))) return &plan->functions[i];
  }
  return NULL;
}
