// rope_config.h: the rotary embedding's settings, in each of the forms that configurations use.
//
// `rope_theta` beside `rope_scaling` (null, or an object with `rope_type` or the older `type`), or transformers 5's `rope_parameters`, which holds all.
// Where several are given they must agree.
#ifndef MLXCEL_CHECKPOINT_ROPE_CONFIG_H_
#define MLXCEL_CHECKPOINT_ROPE_CONFIG_H_

#include "checkpoint/config_fields.h"
#include "checkpoint/model_config.h"

// Reads from the top level of config.json. UNIMPLEMENTED names an unknown scaling type, or a setting that the type doesn't have.
iree_status_t mlxcel_rope_config_parse(const mlxcel_config_fields_t* fields, mlxcel_rope_config_t* out_rope);

#endif  // MLXCEL_CHECKPOINT_ROPE_CONFIG_H_
