#include "kernels/kernel_objects.h"

#include <cpuid.h>
#include <string.h>

// From kernel_objects.S.
extern const unsigned char mlxcel_kernel_object_v3[], mlxcel_kernel_object_v3_end[];
extern const unsigned char mlxcel_kernel_object_v4[], mlxcel_kernel_object_v4_end[];
extern const unsigned char mlxcel_kernel_object_mlx[], mlxcel_kernel_object_mlx_end[];

const char* mlxcel_kernel_level_name(mlxcel_kernel_level_t level) { return level == MLXCEL_KERNEL_LEVEL_V4 ? "v4" : "v3"; }
const char* mlxcel_kernel_target(mlxcel_kernel_level_t level) { return level == MLXCEL_KERNEL_LEVEL_V4 ? "llvm-cpu x86-64-v4" : "llvm-cpu x86-64-v3"; }

// clang 14's __builtin_cpu_supports doesn't know f16c.
static bool processor_has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

bool mlxcel_kernel_level_runs_here(mlxcel_kernel_level_t level) {
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") && processor_has_f16c();
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return level == MLXCEL_KERNEL_LEVEL_V4 ? v4 : v3;
}

static iree_status_t kernel_level_check(mlxcel_kernel_level_t level) {
  if (mlxcel_kernel_level_runs_here(level)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "this processor doesn't run x86-64-%s; %s", mlxcel_kernel_level_name(level),
                          level == MLXCEL_KERNEL_LEVEL_V4 ? "use MLXCEL_CPU_LEVEL=v3 or leave it unset" : "mlxcel needs AVX2, FMA, F16C and BMI2");
}

iree_status_t mlxcel_kernel_level_select(iree_string_view_t requested, mlxcel_kernel_level_t* out_level) {
  *out_level = MLXCEL_KERNEL_LEVEL_V3;
  if (iree_string_view_is_empty(requested)) {
    if (mlxcel_kernel_level_runs_here(MLXCEL_KERNEL_LEVEL_V4)) *out_level = MLXCEL_KERNEL_LEVEL_V4;
    return kernel_level_check(*out_level);
  }
  for (int i = 0; i < MLXCEL_KERNEL_LEVEL_COUNT; ++i) {
    *out_level = (mlxcel_kernel_level_t)i;
    if (iree_string_view_equal(requested, iree_make_cstring_view(mlxcel_kernel_level_name(*out_level)))) return kernel_level_check(*out_level);
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown CPU level '%.*s'; valid are v3 and v4", MLXCEL_SV(requested));
}

iree_const_byte_span_t mlxcel_kernel_object_bytes(mlxcel_kernel_level_t level) {
  if (level == MLXCEL_KERNEL_LEVEL_V4) {
    return iree_make_const_byte_span(mlxcel_kernel_object_v4, (iree_host_size_t)(mlxcel_kernel_object_v4_end - mlxcel_kernel_object_v4));
  }
  return iree_make_const_byte_span(mlxcel_kernel_object_v3, (iree_host_size_t)(mlxcel_kernel_object_v3_end - mlxcel_kernel_object_v3));
}

iree_const_byte_span_t mlxcel_kernel_mlx_object_bytes(void) {
  return iree_make_const_byte_span(mlxcel_kernel_object_mlx, (iree_host_size_t)(mlxcel_kernel_object_mlx_end - mlxcel_kernel_object_mlx));
}

// The arithmetic is all in the kernels; what IREE itself generates are copies and fills. Reassociation is off all the same, so that nothing that a later helper
// leaves to the compiler can change with the instruction set.
#define MLXCEL_COMPILE_FLAGS(cpu)                                                                                                                  \
  {                                                                                                                                                \
    "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=" cpu, "--iree-opt-level=O2", \
        "--iree-llvmcpu-reassociate-fp-reductions=false", "--iree-vm-bytecode-module-strip-source-map=true", "--iree-llvmcpu-debug-symbols=false"  \
  }
static const char* const compile_flags[MLXCEL_KERNEL_LEVEL_COUNT][7] = {MLXCEL_COMPILE_FLAGS("x86-64-v3"), MLXCEL_COMPILE_FLAGS("x86-64-v4")};

const char* const* mlxcel_kernel_compile_flags(mlxcel_kernel_level_t level, size_t* out_count) {
  *out_count = sizeof(compile_flags[0]) / sizeof(compile_flags[0][0]);
  return compile_flags[level];
}
