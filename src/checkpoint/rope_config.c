#include "checkpoint/rope_config.h"

#include <string.h>

#define ROPE_THETA_DEFAULT 10000.0  // of the paper, and of every configuration that doesn't state it
#define ROPE_THETA_MAX 1e15         // the largest public one is 1e11
#define ROPE_FACTOR_MAX 1e6         // the largest public one is 128
#define ROPE_FREQUENCY_FACTOR_MIN 1e-6

static const char* const rope_kind_names[] = {[MLXCEL_ROPE_DEFAULT] = "default", [MLXCEL_ROPE_LINEAR] = "linear", [MLXCEL_ROPE_LLAMA3] = "llama3"};

static iree_status_t rope_read_theta(const mlxcel_config_fields_t* fields, double* inout_theta) {
  return mlxcel_config_fields_read_double(fields, "rope_theta", 1.0, ROPE_THETA_MAX, "a number from 1 to 1e15", inout_theta);
}

// The scaling type is under `rope_type`, `type` or both. |object| is `rope_scaling` or `rope_parameters`.
static iree_status_t rope_read_kind(const mlxcel_config_fields_t* object, bool type_is_required, mlxcel_rope_kind_t* out_kind) {
  const char* old_name = NULL;
  const char* name = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_string(object, "type", &old_name));
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_string(object, "rope_type", &name));
  if (name && old_name && strcmp(name, old_name) != 0) {
    return mlxcel_config_fields_mismatch(object, "type", mlxcel_config_fields_get(object, "type"), "the same as rope_type");
  }
  const char* key = name ? "rope_type" : "type";
  if (!name) name = old_name;
  if (!name && type_is_required) return mlxcel_config_fields_require(object, "rope_type");
  *out_kind = MLXCEL_ROPE_DEFAULT;
  if (!name) return iree_ok_status();
  for (size_t i = 0; i < IREE_ARRAYSIZE(rope_kind_names); ++i) {
    if (strcmp(name, rope_kind_names[i]) != 0) continue;
    *out_kind = (mlxcel_rope_kind_t)i;
    return iree_ok_status();
  }
  return mlxcel_config_fields_unsupported(object, key, mlxcel_config_fields_get(object, key), "supported are default, linear and llama3: use another model");
}

// Refuses settings that |kind| doesn't have: they'd be ignored.
static iree_status_t rope_check_keys(const mlxcel_config_fields_t* object, mlxcel_rope_kind_t kind) {
  static const struct {
    const char* key;
    mlxcel_rope_kind_t first_kind;  // kinds are ordered so that each has the settings of the one before
  } known[] = {{"type", MLXCEL_ROPE_DEFAULT},
               {"rope_type", MLXCEL_ROPE_DEFAULT},
               {"rope_theta", MLXCEL_ROPE_DEFAULT},
               {"partial_rotary_factor", MLXCEL_ROPE_DEFAULT},
               {"factor", MLXCEL_ROPE_LINEAR},
               {"low_freq_factor", MLXCEL_ROPE_LLAMA3},
               {"high_freq_factor", MLXCEL_ROPE_LLAMA3},
               {"original_max_position_embeddings", MLXCEL_ROPE_LLAMA3}};
  const char* key = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)object->object, key, value) {
    bool allowed = json_is_null(value);
    for (size_t i = 0; i < IREE_ARRAYSIZE(known) && !allowed; ++i) allowed = strcmp(key, known[i].key) == 0 && kind >= known[i].first_kind;
    if (!allowed) return mlxcel_config_fields_unsupported(object, key, value, "the rope type here has no such setting: use another model");
  }
  double rotated = 1.0;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_double(object, "partial_rotary_factor", 0.0, 1.0, "a number from 0 to 1", &rotated));
  if (rotated == 1.0) return iree_ok_status();
  return mlxcel_config_fields_unsupported(object, "partial_rotary_factor", mlxcel_config_fields_get(object, "partial_rotary_factor"),
                                          "only 1 is: use another model");
}

static iree_status_t rope_read_factor(const mlxcel_config_fields_t* object, mlxcel_rope_config_t* rope) {
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_require(object, "factor"));
  return mlxcel_config_fields_read_double(object, "factor", 1.0, ROPE_FACTOR_MAX, "a number from 1 to 1e6", &rope->factor);
}

static iree_status_t rope_read_llama3(const mlxcel_config_fields_t* object, mlxcel_rope_config_t* rope) {
  static const char* const required[] = {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(required); ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_config_fields_require(object, required[i]));
  }
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_double(object, "low_freq_factor", ROPE_FREQUENCY_FACTOR_MIN, ROPE_FACTOR_MAX, "a number from 1e-6 to 1e6",
                                                        &rope->low_freq_factor));
  // The band between the two is interpolated: its width divides.
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_double(object, "high_freq_factor", ROPE_FREQUENCY_FACTOR_MIN, ROPE_FACTOR_MAX, "a number from 1e-6 to 1e6",
                                                        &rope->high_freq_factor));
  if (!(rope->high_freq_factor > rope->low_freq_factor)) {
    return mlxcel_config_fields_mismatch(object, "high_freq_factor", mlxcel_config_fields_get(object, "high_freq_factor"), "a number above low_freq_factor");
  }
  int64_t original = 0;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_i64(object, "original_max_position_embeddings", 1, MLXCEL_CONTEXT_MAX, &original));
  rope->original_max_position_embeddings = (double)original;
  return iree_ok_status();
}

static iree_status_t rope_read_object(const mlxcel_config_fields_t* object, bool type_is_required, mlxcel_rope_config_t* rope) {
  IREE_RETURN_IF_ERROR(rope_read_kind(object, type_is_required, &rope->kind));
  IREE_RETURN_IF_ERROR(rope_check_keys(object, rope->kind));
  IREE_RETURN_IF_ERROR(rope_read_theta(object, &rope->theta));
  if (rope->kind >= MLXCEL_ROPE_LINEAR) {
    IREE_RETURN_IF_ERROR(rope_read_factor(object, rope));
  }
  if (rope->kind == MLXCEL_ROPE_LLAMA3) {
    IREE_RETURN_IF_ERROR(rope_read_llama3(object, rope));
  }
  return iree_ok_status();
}

static bool rope_equal(const mlxcel_rope_config_t* a, const mlxcel_rope_config_t* b) {
  return a->kind == b->kind && a->theta == b->theta && a->factor == b->factor && a->low_freq_factor == b->low_freq_factor &&
         a->high_freq_factor == b->high_freq_factor && a->original_max_position_embeddings == b->original_max_position_embeddings;
}

// Reads the object |key| over |inout_rope|. Absent, null and empty objects leave it alone and *out_present false.
static iree_status_t rope_read_key(const mlxcel_config_fields_t* fields, const char* key, const char* scope, bool type_is_required,
                                   mlxcel_rope_config_t* inout_rope, bool* out_present) {
  const json_t* value = mlxcel_config_fields_get(fields, key);
  *out_present = json_object_size(value) > 0;
  if (value && !json_is_object(value)) return mlxcel_config_fields_mismatch(fields, key, value, "an object or null");
  if (!*out_present) return iree_ok_status();
  const mlxcel_config_fields_t object = {.object = value, .origin = fields->origin, .scope = scope};
  return rope_read_object(&object, type_is_required, inout_rope);
}

iree_status_t mlxcel_rope_config_parse(const mlxcel_config_fields_t* fields, mlxcel_rope_config_t* out_rope) {
  memset(out_rope, 0, sizeof(*out_rope));
  mlxcel_rope_config_t rope = {.kind = MLXCEL_ROPE_DEFAULT, .theta = ROPE_THETA_DEFAULT};
  IREE_RETURN_IF_ERROR(rope_read_theta(fields, &rope.theta));
  mlxcel_rope_config_t scaling = rope, parameters = rope;
  bool has_scaling = false, has_parameters = false;
  IREE_RETURN_IF_ERROR(rope_read_key(fields, "rope_scaling", "rope_scaling.", true, &scaling, &has_scaling));
  IREE_RETURN_IF_ERROR(rope_read_key(fields, "rope_parameters", "rope_parameters.", false, &parameters, &has_parameters));
  // Two statements of one thing: a difference means that one of them is wrong, and nothing says which.
  bool theta_differs = has_parameters && mlxcel_config_fields_get(fields, "rope_theta") && parameters.theta != rope.theta;
  if (theta_differs || (has_scaling && has_parameters && !rope_equal(&scaling, &parameters))) {
    return mlxcel_config_fields_mismatch(fields, "rope_parameters", mlxcel_config_fields_get(fields, "rope_parameters"),
                                         "what rope_theta and rope_scaling say");
  }
  *out_rope = has_parameters ? parameters : scaling;
  return iree_ok_status();
}
