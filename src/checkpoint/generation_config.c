#include "checkpoint/generation_config.h"

#include <string.h>

#include "checkpoint/config_keys.h"
#include "checkpoint/token_set.h"

#define TEMPERATURE_MAX 1000.0       // beyond it every distribution is uniform
#define REPETITION_PENALTY_MIN 1e-3  // it divides
#define REPETITION_PENALTY_MAX 1000.0

static iree_status_t generation_read_number(const mlxcel_config_fields_t* fields, const char* key, double min, double max, const char* expected, bool* out_has,
                                            double* out_value) {
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_double(fields, key, min, max, expected, out_value));
  *out_has = mlxcel_config_fields_get(fields, key) != NULL;
  return iree_ok_status();
}

iree_status_t mlxcel_generation_config_parse(const mlxcel_config_fields_t* fields, uint32_t vocab_size, mlxcel_generation_config_t* out_generation) {
  mlxcel_generation_config_t* generation = out_generation;
  memset(generation, 0, sizeof(*generation));
  IREE_RETURN_IF_ERROR(mlxcel_config_keys_check_generation(fields));
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_bool(fields, "do_sample", &generation->do_sample));
  IREE_RETURN_IF_ERROR(
      generation_read_number(fields, "temperature", 0.0, TEMPERATURE_MAX, "a number from 0 to 1000", &generation->has_temperature, &generation->temperature));
  IREE_RETURN_IF_ERROR(generation_read_number(fields, "top_p", 0.0, 1.0, "a number from 0 to 1", &generation->has_top_p, &generation->top_p));
  IREE_RETURN_IF_ERROR(generation_read_number(fields, "min_p", 0.0, 1.0, "a number from 0 to 1", &generation->has_min_p, &generation->min_p));
  IREE_RETURN_IF_ERROR(generation_read_number(fields, "repetition_penalty", REPETITION_PENALTY_MIN, REPETITION_PENALTY_MAX, "a number from 0.001 to 1000",
                                              &generation->has_repetition_penalty, &generation->repetition_penalty));
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_i64(fields, "top_k", 0, INT32_MAX, &generation->top_k));
  generation->has_top_k = mlxcel_config_fields_get(fields, "top_k") != NULL;
  return mlxcel_token_set_read(fields, "eos_token_id", vocab_size, &generation->eos_ids);
}
