#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "emit/operation_emitter.h"

// Digests of every set of kernel objects, joined by '+' in the objects' order: a clause's strings outlive it.
#define OBJECT_SETS (1 << MLXCEL_KERNEL_OBJECT_COUNT)
#define JOINED_DIGESTS_SIZE (MLXCEL_KERNEL_OBJECT_COUNT * (sizeof(mlxcel_sha256_hex_t) + 1))
static char joined_digests[OBJECT_SETS][JOINED_DIGESTS_SIZE];
static pthread_once_t joined_digests_once = PTHREAD_ONCE_INIT;

static void join_digests(void) {
  for (int set = 0; set < OBJECT_SETS; ++set) {
    size_t size = 0;
    for (int object = 0; object < MLXCEL_KERNEL_OBJECT_COUNT; ++object) {
      if (!(set & (1 << object))) continue;
      const char* digest = mlxcel_kernel_object_source_digest((mlxcel_kernel_object_t)object);
      int added = snprintf(joined_digests[set] + size, JOINED_DIGESTS_SIZE - size, "%s%s", size ? "+" : "", digest);
      size += (size_t)added;
    }
  }
}

// The kernel whose symbol is the |size| bytes at |name|; NULL if there is none.
static const mlxcel_kernel_info_t* kernel_named(const char* name, size_t size) {
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    const mlxcel_kernel_info_t* kernel = mlxcel_kernel_info((mlxcel_kernel_id_t)i);
    if (strlen(kernel->symbol) == size && memcmp(kernel->symbol, name, size) == 0) return kernel;
  }
  return NULL;
}

// An algorithm is the name of a kernel, several joined by '+', or one of a compiler's, which has no sources of ours: NULL.
static const char* algorithm_digest(const char* algorithm) {
  int set = 0;
  for (const char* name = algorithm; name && *name;) {
    size_t size = strcspn(name, "+");
    const mlxcel_kernel_info_t* kernel = kernel_named(name, size);
    if (kernel) set |= 1 << kernel->object;
    name += size + (name[size] == '+');
  }
  if (set == 0) return NULL;
  pthread_once(&joined_digests_once, join_digests);
  return joined_digests[set];
}

iree_status_t mlxcel_emit_clause_of(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_clause_storage_t* out_storage) {
  IREE_RETURN_IF_ERROR(mlxcel_profile_clause(profile, operation, out_storage));
  out_storage->clause.source_digest = algorithm_digest(out_storage->clause.algorithm);
  return iree_ok_status();
}

void mlxcel_emit_clause(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation) {
  mlxcel_clause_storage_t storage;
  iree_status_t status = mlxcel_emit_clause_of(builder->profile, operation, &storage);
  if (iree_status_is_ok(status)) {
    mlxcel_module_clause(builder, &storage.clause);
  } else {
    mlxcel_module_fail(builder, status);
  }
}
