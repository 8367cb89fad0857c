// reference.h: the scalar reference of the pinned CPU kernels, profile `pinned-f32` version 1: kernel_abi.h's rules as plain loops.
//
// It is the arbiter: an optimized kernel is right when every result that is not a NaN has the reference's bits (and a NaN is a NaN). It therefore shares no
// code with kernels/cpu, widens numbers and reads codes in its own way, one element at a time, and is as slow as that sounds.
//
// Arguments are exactly those of the kernels (kernel_abi.h). Workgroup 0 does the whole work and every other workgroup nothing, so calling the reference for
// all groups of any number of groups is right as well. Inactive rows write nothing at all.
// Needs the default floating-point environment (round to nearest, no flush to zero). No state, no allocation; safe from any thread.
#ifndef MLXCEL_KERNELS_REFERENCE_REFERENCE_H_
#define MLXCEL_KERNELS_REFERENCE_REFERENCE_H_

#include "kernels/kernel_abi.h"

void mlxcel_reference_embed(MLXCEL_KERNEL_EMBED_ARGS);
void mlxcel_reference_rms_norm(MLXCEL_KERNEL_RMS_NORM_ARGS);
void mlxcel_reference_qkv_rope(MLXCEL_KERNEL_QKV_ROPE_ARGS);
void mlxcel_reference_attention(MLXCEL_KERNEL_ATTENTION_ARGS);
void mlxcel_reference_matmul(MLXCEL_KERNEL_MATMUL_ARGS);
void mlxcel_reference_gate_up(MLXCEL_KERNEL_GATE_UP_ARGS);

// The elementary function mlxcel-exp-1.
float mlxcel_reference_exp(float x);
// Element |index| of an array of |type| (MLXCEL_FORMAT_F32, _F16, _BF16), widened exactly; |data| needs no alignment.
float mlxcel_reference_widen(const uint8_t* data, int32_t type, size_t index);
// Stores |value| as element |index| of an array of |type|, rounded to nearest even; a NaN becomes some NaN; |data| needs no alignment.
void mlxcel_reference_narrow(uint8_t* data, int32_t type, size_t index, float value);
// Code |index| of a row of |bits|-bit codes: bit b of code i is bit (i * bits + b) of the row, bit n of the row is bit (n mod 8) of byte n / 8.
uint32_t mlxcel_reference_code(const uint8_t* row, int32_t bits, size_t index);

#endif  // MLXCEL_KERNELS_REFERENCE_REFERENCE_H_
