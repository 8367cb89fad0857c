// portable_exp.h: e^x for x <= 0 from IEEE double additions and multiplications alone.
//
// The C library's exp may round differently from version to version, and a sampled text would then depend on the machine. This one gives the same bits
// wherever doubles are IEEE binary64 and nothing is contracted (-ffp-contract=off). Any thread.
#ifndef MLXCEL_ENGINE_PORTABLE_EXP_H_
#define MLXCEL_ENGINE_PORTABLE_EXP_H_

// Below this e^x is 0 here: subnormals stay out.
#define MLXCEL_PORTABLE_EXP_MIN (-700.0)

// Within 2 units in the last place of e^x for MLXCEL_PORTABLE_EXP_MIN <= x <= 0; exactly 1 for 0; 0 below, for -infinity too. |x| > 0 or NaN: a bug.
double mlxcel_portable_exp(double x);

#endif  // MLXCEL_ENGINE_PORTABLE_EXP_H_
