// base.h: what every module of mlxcel includes first.
//
// IREE's status, allocator and string view are our base layer: one status system, no adapters. This is the only IREE header that modules
// other than `runtime` may see. A status carries code and message; the message names what failed (file, tensor, key), the cause and, after
// "; ", the remedy. Stages (checkpoint, compile, ...) are added where a module's public function returns.
#ifndef MLXCEL_BASE_BASE_H_
#define MLXCEL_BASE_BASE_H_

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iree/base/api.h"

// Arguments for "%.*s" from a string view.
#define MLXCEL_SV(view) (int)(view).size, (view).data

// Checked size arithmetic: false on overflow, |*out| is then unspecified.
static inline bool mlxcel_checked_mul_u64(uint64_t a, uint64_t b, uint64_t* out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool mlxcel_checked_add_u64(uint64_t a, uint64_t b, uint64_t* out) { return !__builtin_add_overflow(a, b, out); }

#endif  // MLXCEL_BASE_BASE_H_
