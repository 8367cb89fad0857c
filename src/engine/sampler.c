#include "engine/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/philox.h"
#include "engine/portable_exp.h"
#include "engine/selection.h"

// Mass of the best token. All masses together stay below 2^62.
#define SAMPLER_MASS_ONE (1ull << 40)
_Static_assert((uint64_t)MLXCEL_VOCAB_MAX << 40 <= 1ull << 62, "sums of masses must not overflow");
// Below this the mass is 0 (ln 2^-40 = -27.73).
#define SAMPLER_Z_MIN (-28.0)

struct mlxcel_sampler_t {
  mlxcel_sampling_t options;  // logit_bias points to |bias|
  mlxcel_logit_bias_t* bias;
  uint32_t vocab_size;
  uint64_t draw_count;
  // Tokens seen, only if a penalty is on.
  bool has_penalties;
  uint32_t* generated_counts;  // [vocab_size]
  uint8_t* is_seen;            // [vocab_size]
  int32_t* seen_ids;           // distinct, in order of appearance
  uint32_t seen_count;
  // Scratch, only if a row isn't simply its own argmax.
  double* values;           // [vocab_size]
  uint64_t* masses;         // [vocab_size], not for greedy
  mlxcel_entry_t* entries;  // [vocab_size], not for greedy
};

static bool sampler_is_greedy(const mlxcel_sampler_t* sampler) { return sampler->options.temperature == 0.0f; }

static iree_status_t sampler_allocate(size_t count, size_t element_size, void** out_memory) {
  *out_memory = calloc(count, element_size);
  if (*out_memory) return iree_ok_status();
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a sampler of %zu entries; free some memory", count);
}

static iree_status_t sampler_allocate_all(mlxcel_sampler_t* sampler, const mlxcel_sampling_t* sampling) {
  size_t vocab = sampler->vocab_size;
  if (sampling->logit_bias_count > 0) {
    IREE_RETURN_IF_ERROR(sampler_allocate(sampling->logit_bias_count, sizeof(*sampler->bias), (void**)&sampler->bias));
    memcpy(sampler->bias, sampling->logit_bias, sampling->logit_bias_count * sizeof(*sampler->bias));
  }
  sampler->options.logit_bias = sampler->bias;
  if (sampler->has_penalties) {
    IREE_RETURN_IF_ERROR(sampler_allocate(vocab, sizeof(*sampler->generated_counts), (void**)&sampler->generated_counts));
    IREE_RETURN_IF_ERROR(sampler_allocate(vocab, sizeof(*sampler->is_seen), (void**)&sampler->is_seen));
    IREE_RETURN_IF_ERROR(sampler_allocate(vocab, sizeof(*sampler->seen_ids), (void**)&sampler->seen_ids));
  }
  if (sampler_is_greedy(sampler) && !sampler->has_penalties && sampling->logit_bias_count == 0) return iree_ok_status();
  IREE_RETURN_IF_ERROR(sampler_allocate(vocab, sizeof(*sampler->values), (void**)&sampler->values));
  if (sampler_is_greedy(sampler)) return iree_ok_status();
  IREE_RETURN_IF_ERROR(sampler_allocate(vocab, sizeof(*sampler->masses), (void**)&sampler->masses));
  return sampler_allocate(vocab, sizeof(*sampler->entries), (void**)&sampler->entries);
}

iree_status_t mlxcel_sampler_create(const mlxcel_sampling_t* sampling, uint32_t vocab_size, mlxcel_sampler_t** out_sampler) {
  *out_sampler = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_sampling_validate(sampling, vocab_size));
  mlxcel_sampler_t* sampler = NULL;
  IREE_RETURN_IF_ERROR(sampler_allocate(1, sizeof(*sampler), (void**)&sampler));
  sampler->options = *sampling;
  sampler->vocab_size = vocab_size;
  sampler->has_penalties = sampling->repetition_penalty != 1.0f || sampling->presence_penalty != 0.0f || sampling->frequency_penalty != 0.0f;
  iree_status_t status = sampler_allocate_all(sampler, sampling);
  if (iree_status_is_ok(status)) {
    *out_sampler = sampler;
  } else {
    mlxcel_sampler_release(sampler);
  }
  return status;
}

void mlxcel_sampler_release(mlxcel_sampler_t* sampler) {
  if (!sampler) return;
  free(sampler->bias);
  free(sampler->generated_counts);
  free(sampler->is_seen);
  free(sampler->seen_ids);
  free(sampler->values);
  free(sampler->masses);
  free(sampler->entries);
  free(sampler);
}

static void sampler_mark_seen(mlxcel_sampler_t* sampler, int32_t id) {
  if (sampler->is_seen[id]) return;
  sampler->is_seen[id] = 1;
  sampler->seen_ids[sampler->seen_count++] = id;
}

void mlxcel_sampler_observe_prompt(mlxcel_sampler_t* sampler, const int32_t* ids, size_t count) {
  if (!sampler->has_penalties) return;
  for (size_t i = 0; i < count; ++i) sampler_mark_seen(sampler, ids[i]);
}

void mlxcel_sampler_observe_generated(mlxcel_sampler_t* sampler, int32_t id) {
  if (!sampler->has_penalties) return;
  sampler_mark_seen(sampler, id);
  ++sampler->generated_counts[id];
}

static iree_status_t sampler_bad_logit(float logit, uint32_t id, uint64_t row) {
  return iree_make_status(IREE_STATUS_DATA_LOSS,
                          "the logits of row %" PRIu64
                          " (position in the sequence) hold %s at token id %u; the weights are damaged or out of the range of f32: "
                          "check the checkpoint's files",
                          row, isnan(logit) ? "NaN" : "+infinity", id);
}

static iree_status_t sampler_none_left(uint64_t row) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "no token can be chosen from row %" PRIu64 ": every logit is -infinity; remove entries of the logit bias", row);
}

// The largest of the plain logits.
static iree_status_t sampler_choose_plain(const float* logits, uint32_t count, uint64_t row, int32_t* out_token) {
  float best = -INFINITY;
  int32_t token = -1;
  for (uint32_t i = 0; i < count; ++i) {
    if (!(logits[i] < INFINITY)) return sampler_bad_logit(logits[i], i, row);
    if (logits[i] > best) {
      best = logits[i];
      token = (int32_t)i;
    }
  }
  *out_token = token;
  return token >= 0 ? iree_ok_status() : sampler_none_left(row);
}

static iree_status_t sampler_load(mlxcel_sampler_t* sampler, const float* logits, uint64_t row) {
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) {
    if (!(logits[i] < INFINITY)) return sampler_bad_logit(logits[i], i, row);
    sampler->values[i] = (double)logits[i];
  }
  return iree_ok_status();
}

static void sampler_apply_bias(mlxcel_sampler_t* sampler) {
  for (size_t i = 0; i < sampler->options.logit_bias_count; ++i) sampler->values[sampler->bias[i].token] += (double)sampler->bias[i].bias;
}

static void sampler_apply_penalties(mlxcel_sampler_t* sampler) {
  double repetition = (double)sampler->options.repetition_penalty;
  double frequency = (double)sampler->options.frequency_penalty;
  double presence = (double)sampler->options.presence_penalty;
  for (uint32_t i = 0; i < sampler->seen_count; ++i) {
    int32_t id = sampler->seen_ids[i];
    double value = sampler->values[id];
    value = value > 0.0 ? value / repetition : value * repetition;
    if (sampler->generated_counts[id] > 0) {
      value = value - frequency * (double)sampler->generated_counts[id];
      value = value - presence;
    }
    sampler->values[id] = value;
  }
}

// Index of the largest value, lowest first; -1 if all are -infinity.
static int32_t sampler_find_largest(const mlxcel_sampler_t* sampler) {
  int32_t best = -1;
  double best_value = -INFINITY;
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) {
    if (sampler->values[i] > best_value) {
      best_value = sampler->values[i];
      best = (int32_t)i;
    }
  }
  return best;
}

static void sampler_apply_temperature(mlxcel_sampler_t* sampler, double largest) {
  double temperature = (double)sampler->options.temperature;
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) sampler->values[i] = (sampler->values[i] - largest) / temperature;
}

// The last entry that top-k keeps.
static mlxcel_entry_t sampler_cut_top_k(mlxcel_sampler_t* sampler) {
  uint32_t k = (uint32_t)sampler->options.top_k;
  if (k == 0 || k >= sampler->vocab_size) return mlxcel_entry_last();
  uint32_t count = 0;
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) {
    if (sampler->values[i] >= SAMPLER_Z_MIN) sampler->entries[count++] = (mlxcel_entry_t){.value = sampler->values[i], .id = (int32_t)i};
  }
  return mlxcel_selection_find(sampler->entries, count, NULL, k);
}

static bool sampler_is_kept(const mlxcel_sampler_t* sampler, uint32_t id, mlxcel_entry_t last) {
  return !mlxcel_entry_precedes(last, (mlxcel_entry_t){.value = sampler->values[id], .id = (int32_t)id});
}

// Masses of what comes no later than |last|, 0 elsewhere; returns their sum.
static uint64_t sampler_weigh(mlxcel_sampler_t* sampler, mlxcel_entry_t last) {
  uint64_t total = 0;
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) {
    double z = sampler->values[i];
    bool has_mass = z >= SAMPLER_Z_MIN && sampler_is_kept(sampler, i, last);
    sampler->masses[i] = has_mass ? (uint64_t)(mlxcel_portable_exp(z) * (double)SAMPLER_MASS_ONE) : 0;
    total += sampler->masses[i];
  }
  return total;
}

// The last entry that top-p keeps of those with mass.
static mlxcel_entry_t sampler_cut_top_p(mlxcel_sampler_t* sampler, uint64_t total) {
  uint64_t share = (uint64_t)((double)sampler->options.top_p * (double)total);
  uint64_t goal = share > 0 ? share : 1;
  uint32_t count = 0;
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) {
    if (sampler->masses[i] > 0) sampler->entries[count++] = (mlxcel_entry_t){.value = sampler->values[i], .id = (int32_t)i};
  }
  return mlxcel_selection_find(sampler->entries, count, sampler->masses, goal);
}

// Clears what top-p and min-p drop; returns the mass that is left.
static uint64_t sampler_filter(mlxcel_sampler_t* sampler, mlxcel_entry_t last) {
  double least = (double)sampler->options.min_p * (double)SAMPLER_MASS_ONE;
  uint64_t total = 0;
  for (uint32_t i = 0; i < sampler->vocab_size; ++i) {
    if (!sampler_is_kept(sampler, i, last) || (double)sampler->masses[i] < least) sampler->masses[i] = 0;
    total += sampler->masses[i];
  }
  return total;
}

static int32_t sampler_draw(mlxcel_sampler_t* sampler, uint64_t total) {
  uint64_t bits = mlxcel_philox_bits(sampler->options.seed, sampler->options.choice, sampler->draw_count++);
  uint64_t target = (uint64_t)((unsigned __int128)bits * total >> 64);  // below |total|
  return mlxcel_selection_draw(sampler->masses, sampler->vocab_size, target);
}

iree_status_t mlxcel_sampler_sample(mlxcel_sampler_t* sampler, const float* logits, uint64_t row, int32_t* out_token) {
  *out_token = -1;
  if (!sampler->values) return sampler_choose_plain(logits, sampler->vocab_size, row, out_token);
  IREE_RETURN_IF_ERROR(sampler_load(sampler, logits, row));
  sampler_apply_bias(sampler);
  sampler_apply_penalties(sampler);
  int32_t largest = sampler_find_largest(sampler);
  if (largest < 0) return sampler_none_left(row);
  if (sampler_is_greedy(sampler)) {
    *out_token = largest;
    return iree_ok_status();
  }
  sampler_apply_temperature(sampler, sampler->values[largest]);
  mlxcel_entry_t last = sampler_cut_top_k(sampler);
  uint64_t total = sampler_weigh(sampler, last);
  if (sampler->options.top_p < 1.0f) last = sampler_cut_top_p(sampler, total);
  if (sampler->options.top_p < 1.0f || sampler->options.min_p > 0.0f) total = sampler_filter(sampler, last);
  *out_token = sampler_draw(sampler, total);
  return iree_ok_status();
}
