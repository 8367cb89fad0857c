// api_capability.h: the gate between a compiled module and everything that runs it.
//
// Every model that the public API runs passes it. `mlxcel taps` (src/oracle/taps.h) and `mlxcel oracle` don't: they are developers' measuring tools outside of
// the gate, which make what evidence is made of and serve no answers.
#ifndef MLXCEL_API_API_CAPABILITY_H_
#define MLXCEL_API_API_CAPABILITY_H_

#include "api/api_build.h"

// Whether what |build| has emitted could run if the present compiler made it, so that a closed profile is refused before seconds of compilation. OK without a
// compiler: a module that is there already has its own. Called between mlxcel_api_build_emit and mlxcel_api_build_obtain.
iree_status_t mlxcel_api_capability_foresee(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build);

// Whether the module that |build| has obtained may run on the device of |settings|: its contract's clauses have valid evidence here (qualify/capability.h), for
// the compiler that its manifest names. FAILED_PRECONDITION: closed. Called after mlxcel_api_build_obtain and before anything of the module is loaded; there is
// no way round it.
iree_status_t mlxcel_api_capability_check(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build);

#endif  // MLXCEL_API_API_CAPABILITY_H_
