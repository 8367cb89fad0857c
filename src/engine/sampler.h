// sampler.h: from a row of logits to a token.
//
// Steps, in this order; each starts from what the one before left:
//   1. logit bias         v = logit + bias, in the order of the list (a bias of -infinity bans a token)
//   2. repetition         tokens of prompt and generated text: v = v / penalty if v > 0, else v * penalty
//      frequency          generated tokens: v = v - frequency * count
//      presence           generated tokens: v = v - presence
//   3. temperature 0      the largest v, lowest id first; nothing is drawn and the rest is skipped
//      otherwise          z = (v - max v) / temperature
//   4. top-k              the k largest z
//   5. top-p              the shortest run of the largest z whose mass reaches floor(p * mass of step 4); at least one
//   6. min-p              those whose mass is at least min_p times the largest one's
//   7. draw               the first token, by rising id, at which the running mass of what is left exceeds floor(bits * mass / 2^64)
// Equal values go to the lowest id in every step. Mass is the integer floor(2^40 * mlxcel_portable_exp(z)): sums are exact in any order, and what is 10^12
// times less likely than the best isn't drawn. Everything else is IEEE double without contraction. So a seed gives the same tokens on every machine
// whose logits are the same. Bits come from Philox4x32-10: key = seed, stream = choice, number = draws so far. Greedy draws nothing.
//
// A sampler belongs to one request and one thread.
#ifndef MLXCEL_ENGINE_SAMPLER_H_
#define MLXCEL_ENGINE_SAMPLER_H_

#include "base/base.h"
#include "mlxcel/mlxcel.h"

typedef struct mlxcel_sampler_t mlxcel_sampler_t;

// INVALID_ARGUMENT names the parameter, its value and the range: NaN, negative or infinite numbers, shares outside [0, 1], bias of an id
// outside [0, vocab_size) or of NaN or +infinity, a struct of another version.
iree_status_t mlxcel_sampling_validate(const mlxcel_sampling_t* sampling, uint32_t vocab_size);

// Validates and copies |sampling|.
iree_status_t mlxcel_sampler_create(const mlxcel_sampling_t* sampling, uint32_t vocab_size, mlxcel_sampler_t** out_sampler);
void mlxcel_sampler_release(mlxcel_sampler_t* sampler);

// Tells of prompt tokens and of a generated one, for the penalties. Ids are in [0, vocab_size).
void mlxcel_sampler_observe_prompt(mlxcel_sampler_t* sampler, const int32_t* ids, size_t count);
void mlxcel_sampler_observe_generated(mlxcel_sampler_t* sampler, int32_t id);

// Chooses a token from |logits| f32[vocab_size]. |row| is the position that the row belongs to, for errors: DATA_LOSS if the row holds NaN or +infinity,
// INVALID_ARGUMENT if no token is left (every value is -infinity).
iree_status_t mlxcel_sampler_sample(mlxcel_sampler_t* sampler, const float* logits, uint64_t row, int32_t* out_token);

#endif  // MLXCEL_ENGINE_SAMPLER_H_
