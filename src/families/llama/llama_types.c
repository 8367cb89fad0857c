#include "families/llama/llama_types.h"

#include <string.h>

// MLX reduces the angles of larger positions with the host's libm, which no kernel of the profile does.
#define LLAMA_MLX_POSITIONS_MAX (1u << 23)

static mlxcel_dtype_t through(mlxcel_dtype_t x, const mlxcel_weight_t* weight) {
  mlxcel_dtype_t type = mlxcel_dtype_promote(x, (mlxcel_dtype_t)weight->type);
  return iree_string_view_is_empty(weight->vector.key) ? type : mlxcel_dtype_promote(type, (mlxcel_dtype_t)weight->vector_type);
}

static iree_status_t check_equal(uint32_t layer, const char* what, mlxcel_dtype_t left, mlxcel_dtype_t right) {
  if (left == right) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                          "layer %u: %s would have dtypes %s and %s; this profile needs one dtype: convert the checkpoint to one, or use profile pinned-f32",
                          layer, what, mlxcel_dtype_name(left), mlxcel_dtype_name(right));
}

// From the layer's input dtype to its output's.
static iree_status_t follow_layer(const mlxcel_llama_layer_t* layer, uint32_t index, mlxcel_dtype_t* x, mlxcel_dtype_t* out_kv) {
  mlxcel_dtype_t normed = mlxcel_dtype_promote(*x, (mlxcel_dtype_t)layer->input_norm.type);
  *out_kv = through(normed, &layer->k);
  IREE_RETURN_IF_ERROR(check_equal(index, "queries and keys", through(normed, &layer->q), *out_kv));
  IREE_RETURN_IF_ERROR(check_equal(index, "values and keys", through(normed, &layer->v), *out_kv));
  *x = mlxcel_dtype_promote(*x, through(*out_kv, &layer->o));
  normed = mlxcel_dtype_promote(*x, (mlxcel_dtype_t)layer->post_norm.type);
  mlxcel_dtype_t gated = through(normed, &layer->gate);
  IREE_RETURN_IF_ERROR(check_equal(index, "gate and up projections", gated, through(normed, &layer->up)));
  *x = mlxcel_dtype_promote(*x, through(gated, &layer->down));
  return iree_ok_status();
}

static iree_status_t check_rope(const mlxcel_model_config_t* config, const mlxcel_profile_t* profile) {
  if (config->rope.kind == MLXCEL_ROPE_LLAMA3) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                            "profile %s doesn't define rope_type llama3 (MLX takes its frequencies from the host's powf); use pinned-f32", profile->name);
  }
  if (config->max_position_embeddings > LLAMA_MLX_POSITIONS_MAX) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "profile %s defines rotary angles of up to %u positions, not %u; use pinned-f32", profile->name,
                            LLAMA_MLX_POSITIONS_MAX, config->max_position_embeddings);
  }
  return iree_ok_status();
}

iree_status_t mlxcel_llama_check_types(mlxcel_llama_model_t* model, const mlxcel_profile_t* profile, mlxcel_dtype_t kv_dtype) {
  model->kv_dtype = kv_dtype;
  model->hidden_dtype = MLXCEL_DTYPE_F32;
  if (strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0) return iree_ok_status();
  if (kv_dtype != MLXCEL_DTYPE_F32) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a KV cache of %s isn't part of profile %s, where the checkpoint decides; leave it out, or use %s",
                            mlxcel_dtype_name(kv_dtype), profile->name, MLXCEL_PROFILE_PINNED_F32);
  }
  IREE_RETURN_IF_ERROR(check_rope(model->config, profile));
  mlxcel_dtype_t x = (mlxcel_dtype_t)model->embedding.type;
  for (uint32_t i = 0; i < model->config->layer_count; ++i) {
    mlxcel_dtype_t kv = MLXCEL_DTYPE_F32;
    IREE_RETURN_IF_ERROR(follow_layer(&model->layers[i], i, &x, &kv));
    if (i == 0) model->kv_dtype = kv;
    IREE_RETURN_IF_ERROR(check_equal(i, "the KV cache of the first and of this layer", model->kv_dtype, kv));
  }
  model->hidden_dtype = x;
  return iree_ok_status();
}
