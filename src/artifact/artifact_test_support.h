// artifact_test_support.h: what the tests of this module and of the runtime share: scratch folders, compilers made of a few lines of shell, a sample contract
// and request, and manifests signed anew after a change.
#ifndef MLXCEL_ARTIFACT_ARTIFACT_TEST_SUPPORT_H_
#define MLXCEL_ARTIFACT_ARTIFACT_TEST_SUPPORT_H_

#include "artifact/artifact_cache.h"
#include "artifact/manifest.h"
#include "contract/contract.h"

// A fresh scratch folder; exits the test program if there can't be one. Released with test_folder_remove.
char* test_folder_make(void);
void test_folder_remove(char* folder);

// "<folder>/<name>", in one of a few static buffers: good for one expression.
const char* test_path(const char* folder, const char* name);

void test_file_write(const char* path, const void* data, size_t size, unsigned mode);
char* test_file_read(const char* path, size_t* out_size);  // malloc'ed, NUL added; NULL if absent
void test_file_flip_bit(const char* path, size_t offset, unsigned bit);
size_t test_file_size(const char* path);
size_t test_folder_count(const char* folder);  // entries in a folder; 0 if it is missing

// Writes "<folder>/<name>", a shell script that answers --version, appends a line to "<folder>/<name>.log" for every compilation and then runs |body|
// in the compiler's folder, where model.mlir lies. Gives its path (static buffer as above).
const char* test_compiler_make(const char* folder, const char* name, const char* body);
size_t test_compiler_runs(const char* folder, const char* name);  // lines of the log

// A clause whose values are all legal: a dense matrix product of profile pinned-f32.
const mlxcel_clause_t* test_clause(void);
// The canonical text of a contract of |profile| with that one clause; malloc'ed. In it the line of |key| (of the clause or of the head) has
// |value| instead; NULL: no line does.
char* test_contract_make(const char* profile, const char* key, const char* value);

// A request with one kernel object, two flags, a small decoder's interface and the contract above. It points into itself: don't copy.
typedef struct test_request_t {
  mlxcel_artifact_request_t request;
  mlxcel_program_interface_t interface;
  char* contract;
  mlxcel_sha256_hex_t fingerprint;
  mlxcel_artifact_object_t object;
  const char* flags[2];
} test_request_t;
void test_request_initialize(const char* compiler_path, test_request_t* out_request);
void test_request_deinitialize(test_request_t* request);
// Takes |contract| (malloc'ed) over and computes its fingerprint.
void test_request_set_contract(test_request_t* request, char* contract);
// Makes the interface one of kind "operation", without parameters.
void test_request_set_operation(test_request_t* request);

// Recomputes what follows from other fields: fingerprint, compiler digest, keys. Writes the manifest into |folder|, with a self digest that fits.
void test_manifest_sign(const char* folder, mlxcel_manifest_t* manifest);
// Reads and checks the manifest in |folder|.
void test_manifest_read(const char* folder, mlxcel_manifest_t* out_manifest);

// Asserts that |status| has |code| and that its text contains each of |parts| (ends with NULL); frees it.
void test_assert_status(iree_status_t status, iree_status_code_t code, const char* const* parts);
#define TEST_ASSERT_STATUS(status, code, ...) test_assert_status(status, code, (const char* const[]){__VA_ARGS__, NULL})
#define TEST_ASSERT_OK(status) test_assert_status(status, IREE_STATUS_OK, (const char* const[]){NULL})

#endif  // MLXCEL_ARTIFACT_ARTIFACT_TEST_SUPPORT_H_
