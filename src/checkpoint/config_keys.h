// config_keys.h: which keys of config.json and generation_config.json may be there, and with which values, beyond those that are read.
//
// Fail closed: a key is (a) read by the parser, (b) known to have no effect on what the model computes, (c) known to change it, with the one value
// that we implement, or (d) unknown, and then only null, false or empty.
#ifndef MLXCEL_CHECKPOINT_CONFIG_KEYS_H_
#define MLXCEL_CHECKPOINT_CONFIG_KEYS_H_

#include "base/base.h"
#include "checkpoint/config_fields.h"

// UNIMPLEMENTED, by key and value, for the first key of config.json that isn't allowed.
iree_status_t mlxcel_config_keys_check_model(const mlxcel_config_fields_t* fields);
// The same for generation_config.json.
iree_status_t mlxcel_config_keys_check_generation(const mlxcel_config_fields_t* fields);

#endif  // MLXCEL_CHECKPOINT_CONFIG_KEYS_H_
