// artifact_limits.h: the bounds of the artifact module, each with its reason.
#ifndef MLXCEL_ARTIFACT_ARTIFACT_LIMITS_H_
#define MLXCEL_ARTIFACT_ARTIFACT_LIMITS_H_

// --- requests and manifests --------------------------------------------------------------------------------------------------------------
#define MLXCEL_ARTIFACT_FLAGS_MAX 256u                   // a compilation uses about ten
#define MLXCEL_ARTIFACT_FLAG_BYTES_MAX 4096u             // the longest flags carry a path
#define MLXCEL_ARTIFACT_OBJECTS_MAX 1024u                // one object a kernel and processor level: a few dozen
#define MLXCEL_ARTIFACT_NAME_BYTES_MAX 255u              // NAME_MAX of Linux file systems; also profile and target
#define MLXCEL_ARTIFACT_CONTRACT_BYTES_MAX (256u << 10)  // a few hundred bytes a clause, below a hundred distinct clauses
#define MLXCEL_ARTIFACT_OBJECT_BYTES_MAX (64u << 20)     // kernel objects are kilobytes
#define MLXCEL_COMPILER_VERSION_BYTES_MAX 200u           // one line of `iree-compile --version`
#define MLXCEL_COMPILERS_FILE_BYTES_MAX (1u << 20)       // a few hundred bytes a compiler
#define MLXCEL_COMPILERS_REMEMBERED_MAX 64u              // files in compilers.json; beyond that it starts afresh

// --- the compiler's process --------------------------------------------------------------------------------------------------------------
#define MLXCEL_COMPILE_SECONDS_MAX 1800u                   // a model takes 5 to 60 s on one thread; a hung compiler must not hang us
#define MLXCEL_COMPILE_MEMORY_BYTES_MAX (16ull << 30)      // private writable memory: a small model takes 200 MB, the largest known some gigabytes
#define MLXCEL_COMPILE_POLL_MILLISECONDS 100u              // progress and cancellation
#define MLXCEL_COMPILE_GRACE_MILLISECONDS 2000u            // between SIGTERM and SIGKILL
#define MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES (16u << 10)  // the first error explains; what follows is mostly the module's text
#define MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES (48u << 10)  // a crash explains itself at the end
#define MLXCEL_COMPILE_ERROR_LINE_BYTES_MAX 600u           // of a diagnostic, in our own error message
#define MLXCEL_COMPILER_VERSION_SECONDS_MAX 60u            // `--version` only loads the library; cold disks are slow
#define MLXCEL_ARTIFACT_LOCK_EXTRA_SECONDS 120u            // how long a waiter outwaits the compile limit of the process that it waits for

#endif  // MLXCEL_ARTIFACT_ARTIFACT_LIMITS_H_
