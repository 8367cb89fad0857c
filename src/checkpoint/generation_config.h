// generation_config.h: reading generation_config.json, the sampling that a model's makers suggest.
#ifndef MLXCEL_CHECKPOINT_GENERATION_CONFIG_H_
#define MLXCEL_CHECKPOINT_GENERATION_CONFIG_H_

#include "checkpoint/config_fields.h"
#include "checkpoint/model_config.h"

// Absent and null values leave their has_ flag false. Sampling that isn't implemented (beams, typical_p, ...) is UNIMPLEMENTED unless switched off.
iree_status_t mlxcel_generation_config_parse(const mlxcel_config_fields_t* fields, uint32_t vocab_size, mlxcel_generation_config_t* out_generation);

#endif  // MLXCEL_CHECKPOINT_GENERATION_CONFIG_H_
