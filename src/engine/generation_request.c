// Values of a generation request: defaults, validation, and what a result holds.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/philox.h"
#include "engine/sampler.h"

void mlxcel_sampling_initialize(mlxcel_sampling_t* out_sampling) {
  *out_sampling = (mlxcel_sampling_t){.size = sizeof(*out_sampling), .top_p = 1.0f, .repetition_penalty = 1.0f};
}

const char* mlxcel_sampling_generator_name(void) { return MLXCEL_PHILOX_NAME; }

void mlxcel_request_initialize(mlxcel_request_t* out_request) {
  *out_request = (mlxcel_request_t){.size = sizeof(*out_request), .max_tokens = -1};
  mlxcel_sampling_initialize(&out_request->sampling);
}

const char* mlxcel_finish_reason_name(mlxcel_finish_reason_t reason) {
  static const char* const names[] = {"stop", "length", "cancelled"};
  return (unsigned)reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}

void mlxcel_result_release(mlxcel_result_t* result) {
  if (!result) return;
  free(result->ids);
  free(result->text);
  memset(result, 0, sizeof(*result));
}

// INVALID_ARGUMENT unless lowest <= value <= highest (NaN is outside every range).
static iree_status_t sampling_check_range(const char* name, float value, float lowest, float highest, const char* range) {
  if (value >= lowest && value <= highest) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s is %g; it must be %s", name, (double)value, range);
}

static iree_status_t sampling_check_bias(const mlxcel_sampling_t* sampling, uint32_t vocab_size) {
  if (sampling->logit_bias_count > vocab_size) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "logit_bias has %zu entries; it may have one for each of the %u token ids",
                            sampling->logit_bias_count, vocab_size);
  }
  for (size_t i = 0; i < sampling->logit_bias_count; ++i) {
    mlxcel_logit_bias_t entry = sampling->logit_bias[i];
    if (entry.token < 0 || (uint32_t)entry.token >= vocab_size) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "logit_bias names token id %d; ids of this model are 0 to %u", entry.token, vocab_size - 1);
    }
    if (!(entry.bias < INFINITY)) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "logit_bias of token id %d is %s; it must be a number or -infinity", entry.token,
                              isnan(entry.bias) ? "NaN" : "+infinity");
    }
  }
  return iree_ok_status();
}

// A bound far above every use and far from overflow in the sampler's double arithmetic.
#define SAMPLING_NUMBER_MAX 1e9f

iree_status_t mlxcel_sampling_validate(const mlxcel_sampling_t* sampling, uint32_t vocab_size) {
  if (sampling->size != sizeof(*sampling)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "the sampling options have size %zu, this library's have %zu; start from mlxcel_sampling_initialize and rebuild against its header",
                            sampling->size, sizeof(*sampling));
  }
  const float most = SAMPLING_NUMBER_MAX;
  IREE_RETURN_IF_ERROR(sampling_check_range("temperature", sampling->temperature, 0.0f, most, "0 (greedy) or more, at most 1e9"));
  if (sampling->top_k < 0) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "top_k is %d; it must be 0 (off) or more", sampling->top_k);
  IREE_RETURN_IF_ERROR(sampling_check_range("top_p", sampling->top_p, 0.0f, 1.0f, "from 0 to 1 (off)"));
  IREE_RETURN_IF_ERROR(sampling_check_range("min_p", sampling->min_p, 0.0f, 1.0f, "from 0 (off) to 1"));
  IREE_RETURN_IF_ERROR(sampling_check_range("repetition_penalty", sampling->repetition_penalty, 1e-9f, most, "over 0 (1 is off), from 1e-9 to 1e9"));
  IREE_RETURN_IF_ERROR(sampling_check_range("presence_penalty", sampling->presence_penalty, -most, most, "a number from -1e9 to 1e9 (0 is off)"));
  IREE_RETURN_IF_ERROR(sampling_check_range("frequency_penalty", sampling->frequency_penalty, -most, most, "a number from -1e9 to 1e9 (0 is off)"));
  return sampling_check_bias(sampling, vocab_size);
}
