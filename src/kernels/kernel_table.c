#include "kernels/kernel_table.h"

#include <assert.h>
#include <string.h>

#include "kernel_digest.h"

static const mlxcel_kernel_info_t kernel_infos[] = {
    [MLXCEL_KERNEL_EMBED] = {"mlxcel_pinned_embed", "iibbbbonnn", MLXCEL_KERNEL_OBJECT_PINNED},
    [MLXCEL_KERNEL_RMS_NORM] = {"mlxcel_pinned_rms_norm", "fibonnnne", MLXCEL_KERNEL_OBJECT_PINNED},
    [MLXCEL_KERNEL_QKV_ROPE] = {"mlxcel_pinned_qkv_rope", "fbbbbbbbbbbbbffiiTTonnnnnnnnnnnnnnnn", MLXCEL_KERNEL_OBJECT_PINNED},
    [MLXCEL_KERNEL_ATTENTION] = {"mlxcel_pinned_attention", "fbbiionnnnnnnne", MLXCEL_KERNEL_OBJECT_PINNED},
    [MLXCEL_KERNEL_MATMUL] = {"mlxcel_pinned_matmul", "fbbbbfionnnnn", MLXCEL_KERNEL_OBJECT_PINNED},
    [MLXCEL_KERNEL_GATE_UP] = {"mlxcel_pinned_gate_up", "fbbbbbbbbionnnnnnn", MLXCEL_KERNEL_OBJECT_PINNED},
    [MLXCEL_KERNEL_MLX_EMBED] = {"mlxcel_mlx_embed", "iibbbBnnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_MATMUL] = {"mlxcel_mlx_matmul", "bbbbbiBnnnnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_RMS_NORM] = {"mlxcel_mlx_rms_norm", "bibBnnnnnne", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_LAYER_NORM] = {"mlxcel_mlx_layer_norm", "bbbBnnnne", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_ELEMENTWISE] = {"mlxcel_mlx_elementwise", "bbBnnnnnnne", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_SOFTMAX] = {"mlxcel_mlx_softmax", "bBnnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_ROPE] = {"mlxcel_mlx_rope", "bibBnnnnnnnee", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_KV_STORE] = {"mlxcel_mlx_kv_store", "bbiiTTnnnnnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_ATTENTION] = {"mlxcel_mlx_attention", "bbbiibBnnnnnnnnne", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_SCAN] = {"mlxcel_mlx_scan", "bBnnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_ROW_SUM] = {"mlxcel_mlx_row_sum", "bBnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_MLX_CONVOLUTION] = {"mlxcel_mlx_convolution", "bbBnnnnnnnnnnnnnn", MLXCEL_KERNEL_OBJECT_MLX},
    [MLXCEL_KERNEL_HOST_UNARY] = {"mlxcel_host_unary", "bBnnne", MLXCEL_KERNEL_OBJECT_HOST},
};
_Static_assert(sizeof(kernel_infos) / sizeof(kernel_infos[0]) == MLXCEL_KERNEL_COUNT, "every kernel has a row");

const mlxcel_kernel_info_t* mlxcel_kernel_info(mlxcel_kernel_id_t id) {
  assert(id < MLXCEL_KERNEL_COUNT);
  return &kernel_infos[id];
}

const mlxcel_kernel_info_t* mlxcel_kernel_find(const char* symbol) {
  for (size_t i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    if (strcmp(kernel_infos[i].symbol, symbol) == 0) return &kernel_infos[i];
  }
  return NULL;
}

typedef struct kernel_object_info_t {
  const char *file, *executable, *source_digest;
} kernel_object_info_t;
static const kernel_object_info_t object_infos[MLXCEL_KERNEL_OBJECT_COUNT] = {
    [MLXCEL_KERNEL_OBJECT_PINNED] = {MLXCEL_KERNEL_OBJECT_FILE, "kernels", MLXCEL_KERNEL_SOURCE_DIGEST},
    [MLXCEL_KERNEL_OBJECT_MLX] = {MLXCEL_KERNEL_MLX_OBJECT_FILE, "mlx_kernels", MLXCEL_KERNEL_MLX_SOURCE_DIGEST},
    [MLXCEL_KERNEL_OBJECT_HOST] = {NULL, "host_kernels", MLXCEL_KERNEL_HOST_SOURCE_DIGEST},
};
static const kernel_object_info_t* object_info(mlxcel_kernel_object_t object) {
  assert(object < MLXCEL_KERNEL_OBJECT_COUNT);
  return &object_infos[object];
}

const char* mlxcel_kernel_object_file(mlxcel_kernel_object_t object) { return object_info(object)->file; }
const char* mlxcel_kernel_executable(mlxcel_kernel_object_t object) { return object_info(object)->executable; }
const char* mlxcel_kernel_object_source_digest(mlxcel_kernel_object_t object) { return object_info(object)->source_digest; }
const char* mlxcel_kernel_source_digest(void) { return MLXCEL_KERNEL_SOURCE_DIGEST; }
