#include "kernels/kernel_table.h"

#include <assert.h>

#include "kernel_digest.h"

static const mlxcel_kernel_info_t kernel_infos[] = {
    [MLXCEL_KERNEL_EMBED] = {"mlxcel_pinned_embed", "iibbbbonnn"},
    [MLXCEL_KERNEL_RMS_NORM] = {"mlxcel_pinned_rms_norm", "fibonnnne"},
    [MLXCEL_KERNEL_QKV_ROPE] = {"mlxcel_pinned_qkv_rope", "fbbbbbbbbbbbbffiittonnnnnnnnnnnnnnn"},
    [MLXCEL_KERNEL_ATTENTION] = {"mlxcel_pinned_attention", "fffiionnnnnnne"},
    [MLXCEL_KERNEL_MATMUL] = {"mlxcel_pinned_matmul", "fbbbbfionnnnn"},
    [MLXCEL_KERNEL_GATE_UP] = {"mlxcel_pinned_gate_up", "fbbbbbbbbionnnnnnn"},
};
_Static_assert(sizeof(kernel_infos) / sizeof(kernel_infos[0]) == MLXCEL_KERNEL_COUNT, "every kernel has a row");

const mlxcel_kernel_info_t* mlxcel_kernel_info(mlxcel_kernel_id_t id) {
  assert(id < MLXCEL_KERNEL_COUNT);
  return &kernel_infos[id];
}

const char* mlxcel_kernel_source_digest(void) { return MLXCEL_KERNEL_SOURCE_DIGEST; }
