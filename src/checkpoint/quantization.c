#include "checkpoint/quantization.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "checkpoint/config_fields.h"
#include "checkpoint/excerpt.h"

#define REQUANTIZE "quantize the model with MLX's affine mode, or take it unquantized"

static bool quantization_is_setting(const char* key) { return strcmp(key, "bits") == 0 || strcmp(key, "group_size") == 0 || strcmp(key, "mode") == 0; }

static iree_status_t quantization_read_number(const mlxcel_config_fields_t* fields, const char* key, const uint32_t* accepted, size_t accepted_count,
                                              const char* expected, uint32_t* out_number) {
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_require(fields, key));
  const json_t* value = mlxcel_config_fields_get(fields, key);
  for (size_t i = 0; i < accepted_count; ++i) {
    if (!json_is_integer(value) || json_integer_value(value) != accepted[i]) continue;
    *out_number = accepted[i];
    return iree_ok_status();
  }
  return mlxcel_config_fields_mismatch(fields, key, value, expected);
}

// Reads bits, group_size and mode. Each object must be complete: what a missing number means differs between the default table and an override in
// mlx-lm, so guessing would decode some models wrongly.
static iree_status_t quantization_read_settings(const mlxcel_config_fields_t* fields, mlxcel_quantization_t* out_value) {
  static const uint32_t bits[] = {2, 3, 4, 5, 6, 8};
  static const uint32_t group_sizes[] = {32, 64, 128};
  const char* mode = "affine";
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_string(fields, "mode", &mode));
  if (strcmp(mode, "affine") != 0) {
    return mlxcel_config_fields_unsupported(fields, "mode", mlxcel_config_fields_get(fields, "mode"), "only affine is: " REQUANTIZE);
  }
  IREE_RETURN_IF_ERROR(quantization_read_number(fields, "bits", bits, IREE_ARRAYSIZE(bits), "2, 3, 4, 5, 6 or 8", &out_value->bits));
  return quantization_read_number(fields, "group_size", group_sizes, IREE_ARRAYSIZE(group_sizes), "32, 64 or 128", &out_value->group_size);
}

static iree_status_t quantization_read_override(const mlxcel_config_fields_t* table_fields, const char* path, const json_t* value, mlxcel_quantization_t base,
                                                mlxcel_quantization_t* out_value) {
  memset(out_value, 0, sizeof(*out_value));
  // MLX's switches for quantized activations stand beside the paths; as overrides they would be silently ignored.
  if (strncmp(path, "quantize", strlen("quantize")) == 0 || strncmp(path, "quant_", strlen("quant_")) == 0) {
    if (json_is_false(value) || json_is_null(value)) return iree_ok_status();
    return mlxcel_config_fields_unsupported(table_fields, path, value, REQUANTIZE);
  }
  if (json_is_true(value)) *out_value = base;
  if (json_is_boolean(value)) return iree_ok_status();
  if (!json_is_object(value)) {
    return mlxcel_config_fields_mismatch(table_fields, path, value, "true, false, or an object with bits and group_size");
  }
  char scope[MLXCEL_EXCERPT_BYTES + 32];
  snprintf(scope, sizeof(scope), "%s%s.", table_fields->scope, mlxcel_excerpt(iree_make_cstring_view(path)).text);
  const mlxcel_config_fields_t fields = {.object = value, .origin = table_fields->origin, .scope = scope};
  const char* key = NULL;
  json_t* setting = NULL;
  json_object_foreach((json_t*)(uintptr_t)value, key, setting) {
    if (!quantization_is_setting(key)) return mlxcel_config_fields_unsupported(&fields, key, setting, "only bits, group_size and mode are: " REQUANTIZE);
  }
  return quantization_read_settings(&fields, out_value);
}

static int quantization_compare_paths(const void* left, const void* right) {
  return strcmp(((const mlxcel_quantization_override_t*)left)->path, ((const mlxcel_quantization_override_t*)right)->path);
}

static iree_status_t quantization_read_overrides(const mlxcel_config_fields_t* fields, mlxcel_quantization_table_t* table) {
  size_t key_count = json_object_size(fields->object);
  if (key_count > MLXCEL_TENSOR_COUNT_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu overrides in %s* are over the limit of %u; correct the file", fields->origin, key_count,
                            fields->scope, MLXCEL_TENSOR_COUNT_MAX);
  }
  table->overrides = calloc(key_count, sizeof(*table->overrides));
  if (!table->overrides) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for its quantization table", fields->origin);
  const char* path = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)fields->object, path, value) {
    if (quantization_is_setting(path)) continue;
    mlxcel_quantization_override_t* entry = &table->overrides[table->override_count];
    IREE_RETURN_IF_ERROR(quantization_read_override(fields, path, value, table->base, &entry->value));
    entry->path = strdup(path);
    if (!entry->path) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for its quantization table", fields->origin);
    ++table->override_count;
  }
  qsort(table->overrides, table->override_count, sizeof(*table->overrides), quantization_compare_paths);
  return iree_ok_status();
}

iree_status_t mlxcel_quantization_table_parse(const json_t* config, const char* origin, mlxcel_quantization_table_t* out_table) {
  memset(out_table, 0, sizeof(*out_table));
  const mlxcel_config_fields_t top = {.object = config, .origin = origin, .scope = ""};
  const json_t* own = mlxcel_config_fields_get(&top, "quantization");
  const json_t* shared = mlxcel_config_fields_get(&top, "quantization_config");
  if (own && !json_is_object(own)) return mlxcel_config_fields_mismatch(&top, "quantization", own, "an object or null");
  if (shared && !json_is_object(shared)) return mlxcel_config_fields_mismatch(&top, "quantization_config", shared, "an object or null");
  const json_t* method = json_object_get(shared, "quant_method");
  if (method) {
    const mlxcel_config_fields_t fields = {.object = shared, .origin = origin, .scope = "quantization_config."};
    return mlxcel_config_fields_unsupported(&fields, "quant_method", method, REQUANTIZE);
  }
  if (own && shared && json_object_size(shared) > 0 && !json_equal(own, shared)) {
    return mlxcel_config_fields_mismatch(&top, "quantization_config", shared, "the same table as in 'quantization'");
  }
  const mlxcel_config_fields_t fields = {.object = own ? own : shared, .origin = origin, .scope = own ? "quantization." : "quantization_config."};
  if (json_object_size(fields.object) == 0) return iree_ok_status();
  IREE_RETURN_IF_ERROR(quantization_read_settings(&fields, &out_table->base));
  out_table->present = true;
  return quantization_read_overrides(&fields, out_table);
}

const mlxcel_quantization_override_t* mlxcel_quantization_table_find(const mlxcel_quantization_table_t* table, iree_string_view_t path) {
  size_t low = 0, high = table->override_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = iree_string_view_compare(iree_make_cstring_view(table->overrides[middle].path), path);
    if (order == 0) return &table->overrides[middle];
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

mlxcel_quantization_t mlxcel_quantization_table_lookup(const mlxcel_quantization_table_t* table, iree_string_view_t path) {
  const mlxcel_quantization_override_t* entry = mlxcel_quantization_table_find(table, path);
  return entry ? entry->value : table->base;
}

void mlxcel_quantization_table_deinitialize(mlxcel_quantization_table_t* table) {
  for (size_t i = 0; i < table->override_count; ++i) free(table->overrides[i].path);
  free(table->overrides);
  memset(table, 0, sizeof(*table));
}
