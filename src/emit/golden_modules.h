// golden_modules.h: small modules, one for each use of a helper and for operations of every class, as their texts are frozen in tests/golden. For tests.
#ifndef MLXCEL_EMIT_GOLDEN_MODULES_H_
#define MLXCEL_EMIT_GOLDEN_MODULES_H_

#include "emit/module_builder.h"

typedef struct golden_module_t {
  const char* name;  // file: tests/golden/<name>.mlir
  const char* profile;
  void (*build)(mlxcel_module_builder_t* builder);  // NULL: |operation| by mlxcel_emit_operation_module
  const mlxcel_operation_t* operation;
} golden_module_t;

// NULL behind the last.
const golden_module_t* golden_module_at(size_t index);

typedef struct golden_text_t {
  char *mlir, *contract;  // owned
  mlxcel_sha256_hex_t fingerprint;
} golden_text_t;
// Fails the test if the module can't be emitted.
golden_text_t golden_module_emit(const golden_module_t* module);
void golden_text_deinitialize(golden_text_t* text);

// What the file holds: the contract as comments, then the module; the fingerprint and the digest of the kernels' sources are replaced by words, so that an edit
// of a kernel changes no golden text. malloc'ed.
char* golden_module_file_text(const golden_module_t* module);

// Names that a checkpoint may hold and MLIR's syntax or this project's own marks could trip over.
#define GOLDEN_HOSTILE_NAMES \
  { "a \"quoted\" name", "back\\slash\\22", "new\nline\ttab", "caf\xc3\xa9 \xe5\xb1\x82", "@FINGERPRINT@", "%s%n > : tensor<4xi8>", "" }
#define GOLDEN_HOSTILE_COUNT 7

#endif  // MLXCEL_EMIT_GOLDEN_MODULES_H_
