#include "artifact/artifact_test_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_key.h"
#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"

char* test_folder_make(void) {
  char* folder = NULL;
  const char* parent = getenv("TMPDIR");
  iree_status_t status = mlxcel_directory_create_temporary(parent && parent[0] ? parent : "/tmp", "mlxcel-test-", &folder);
  if (!iree_status_is_ok(status)) {
    fprintf(stderr, "no scratch folder\n");
    exit(1);
  }
  return folder;
}

void test_folder_remove(char* folder) {
  TEST_ASSERT_OK(mlxcel_directory_remove(folder));
  free(folder);
}

const char* test_path(const char* folder, const char* name) {
  static char buffers[8][MLXCEL_PATH_BYTES_MAX];
  static unsigned next = 0;
  char* buffer = buffers[next++ % 8];
  snprintf(buffer, MLXCEL_PATH_BYTES_MAX, "%s/%s", folder, name);
  return buffer;
}

void test_file_write(const char* path, const void* data, size_t size, unsigned mode) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  assert_true(descriptor >= 0);
  assert_int_equal(write(descriptor, data, size), (ssize_t)size);
  assert_int_equal(close(descriptor), 0);
}

char* test_file_read(const char* path, size_t* out_size) {
  char* data = NULL;
  iree_status_ignore(mlxcel_file_read(path, UINT64_C(1) << 30, &data, out_size));
  return data;
}

void test_file_flip_bit(const char* path, size_t offset, unsigned bit) {
  int descriptor = open(path, O_RDWR | O_CLOEXEC);
  assert_true(descriptor >= 0);
  unsigned char byte = 0;
  assert_int_equal(pread(descriptor, &byte, 1, (off_t)offset), 1);
  byte = (unsigned char)(byte ^ (1u << bit));
  assert_int_equal(pwrite(descriptor, &byte, 1, (off_t)offset), 1);
  assert_int_equal(close(descriptor), 0);
}

size_t test_file_size(const char* path) {
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  return (size_t)info.st_size;
}

size_t test_folder_count(const char* folder) {
  DIR* directory = opendir(folder);
  if (!directory) return 0;
  size_t count = 0;
  for (struct dirent* item = readdir(directory); item; item = readdir(directory)) {
    if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) ++count;
  }
  closedir(directory);
  return count;
}

const char* test_compiler_make(const char* folder, const char* name, const char* body) {
  char script[4096];
  int size =
      snprintf(script, sizeof(script),
               "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Sample compiler version 1.2'; exit 0; fi\necho run >> '%s/%s.log'\n%s\n", folder, name, body);
  assert_true(size > 0 && (size_t)size < sizeof(script));
  const char* path = test_path(folder, name);
  test_file_write(path, script, (size_t)size, 0755);
  return path;
}

size_t test_compiler_runs(const char* folder, const char* name) {
  char log[512];
  snprintf(log, sizeof(log), "%s.log", name);
  size_t size = 0, lines = 0;
  char* text = test_file_read(test_path(folder, log), &size);
  for (size_t i = 0; i < size; ++i) lines += text[i] == '\n';
  free(text);
  return lines;
}

static void test_interface_initialize(mlxcel_program_interface_t* out_interface) {
  memset(out_interface, 0, sizeof(*out_interface));
  strcpy(out_interface->kind, "decoder");
  strcpy(out_interface->module_name, "model");
  strcpy(out_interface->parameter_scope, "model");
  strcpy(out_interface->kv_dtype, "F32");
  out_interface->layer_count = 2;
  out_interface->kv_head_count = 1;
  out_interface->head_dim = 8;
  out_interface->hidden_size = 16;
  out_interface->vocab_size = 32;
  out_interface->rope_width = 4;
  out_interface->prefill_chunks = (mlxcel_program_sizes_t){.count = 2, .values = {16, 64}};
  out_interface->decode_batches = (mlxcel_program_sizes_t){.count = 1, .values = {1}};
  out_interface->head_rows = (mlxcel_program_sizes_t){.count = 1, .values = {1}};
  TEST_ASSERT_OK(mlxcel_program_interface_add_parameter(out_interface, IREE_SV("model.norm.weight"), "F32", 64));
  TEST_ASSERT_OK(mlxcel_program_interface_add_parameter(out_interface, IREE_SV("model.embed_tokens.weight"), "BF16", 1024));
}

// --- contracts -----------------------------------------------------------------------------------------------------------------------------

static const mlxcel_clause_t sample_clause = {
    .op = MLXCEL_OP_DENSE_MATMUL,
    .source_dtype = "f16",
    .operand_dtype = "f32",
    .accumulator = "f32",
    .result_dtype = "f32",
    .rounding = "product-sum:fma-f32+tree:f32",
    .association = "lanes(16,tree)",
    .dequantization = "exact-widen",
    .denormals = "keep",
    .algorithm = "mlxcel_pinned_matmul",
    .algorithm_version = 1,
    .source_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    .tolerance = "exact",
    .derivation = "every-operation-and-its-order-is-stated",
    .representable = "yes",
};

const mlxcel_clause_t* test_clause(void) { return &sample_clause; }

static char* replace_line(char* text, const char* key, const char* value) {
  char start[64];
  snprintf(start, sizeof(start), "%s=", key);
  char* line = text;
  while (line && strncmp(line, start, strlen(start)) != 0) {
    line = strchr(line, '\n');
    if (line) ++line;
  }
  assert_true(line && line[0]);
  char* rest = strchr(line, '\n');
  char* changed = malloc(strlen(text) + strlen(value) + 1);
  int size = sprintf(changed, "%.*s%s%s%s", (int)(line - text), text, start, value, rest);
  assert_true(size > 0);
  free(text);
  return changed;
}

char* test_contract_make(const char* profile, const char* key, const char* value) {
  mlxcel_contract_t contract;
  char* text = NULL;
  mlxcel_sha256_hex_t fingerprint;
  mlxcel_contract_initialize(profile, &contract);
  TEST_ASSERT_OK(mlxcel_contract_add(&contract, &sample_clause));
  TEST_ASSERT_OK(mlxcel_contract_finish(&contract, &text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
  return key ? replace_line(text, key, value) : text;
}

void test_request_set_contract(test_request_t* request, char* contract) {
  free(request->contract);
  request->contract = contract;
  TEST_ASSERT_OK(mlxcel_sha256_of(contract, strlen(contract), &request->fingerprint));
  request->request.contract_text = iree_make_cstring_view(contract);
  request->request.contract_fingerprint = iree_make_cstring_view(request->fingerprint.text);
}

// --- requests ------------------------------------------------------------------------------------------------------------------------------

void test_request_set_operation(test_request_t* request) {
  mlxcel_program_interface_deinitialize(&request->interface);
  strcpy(request->interface.kind, "operation");
  strcpy(request->interface.module_name, "operation");
  strcpy(request->interface.parameter_scope, "operation");
}

void test_request_initialize(const char* compiler_path, test_request_t* out_request) {
  static const char object[] =
      "\x7f"
      "ELF sample object";
  memset(out_request, 0, sizeof(*out_request));
  test_interface_initialize(&out_request->interface);
  test_request_set_contract(out_request, test_contract_make("pinned-f32", NULL, NULL));
  out_request->object = (mlxcel_artifact_object_t){.file_name = "kernels.o", .data = object, .size = sizeof(object)};
  out_request->flags[0] = "--first-flag=1";
  out_request->flags[1] = "--second-flag=it's 2";
  mlxcel_artifact_request_t* request = &out_request->request;
  request->mlir_text = IREE_SV("module {\n  // a sample that only the shell compiles\n}\n");
  request->contract_version = MLXCEL_CONTRACT_VERSION;
  request->profile = IREE_SV("pinned-f32");
  request->target = IREE_SV("llvm-cpu x86-64-v3");
  request->flag_count = 2;
  request->flags = out_request->flags;
  request->object_count = 1;
  request->objects = &out_request->object;
  request->interface = &out_request->interface;
  request->compiler_path = compiler_path;
}

void test_request_deinitialize(test_request_t* request) {
  mlxcel_program_interface_deinitialize(&request->interface);
  free(request->contract);
}

// --- manifests -----------------------------------------------------------------------------------------------------------------------------

void test_manifest_sign(const char* folder, mlxcel_manifest_t* manifest) {
  char* text = NULL;
  TEST_ASSERT_OK(mlxcel_sha256_of(manifest->contract_text, strlen(manifest->contract_text), &manifest->contract_fingerprint));
  TEST_ASSERT_OK(mlxcel_compiler_identity_combine(&manifest->compiler));
  TEST_ASSERT_OK(mlxcel_artifact_request_key_compute(manifest, &manifest->request_key));
  TEST_ASSERT_OK(mlxcel_artifact_key_compute(&manifest->request_key, &manifest->compiler.digest, &manifest->key));
  TEST_ASSERT_OK(mlxcel_manifest_to_text(manifest, &text));
  test_file_write(test_path(folder, MLXCEL_MANIFEST_FILE_NAME), text, strlen(text), 0644);
  free(text);
}

void test_manifest_read(const char* folder, mlxcel_manifest_t* out_manifest) {
  size_t size = 0;
  char* text = test_file_read(test_path(folder, MLXCEL_MANIFEST_FILE_NAME), &size);
  TEST_ASSERT_OK(mlxcel_manifest_parse(iree_make_cstring_view(text), "manifest", out_manifest));
  free(text);
}

void test_assert_status(iree_status_t status, iree_status_code_t code, const char* const* parts) {
  char text[4096];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_code_t actual = iree_status_code(status);
  iree_status_free(status);
  if (actual != code) fail_msg("status %s, not %s: %s", iree_status_code_string(actual), iree_status_code_string(code), text);
  for (; *parts; ++parts) {
    if (!strstr(text, *parts)) fail_msg("'%s' isn't in the message: %s", *parts, text);
  }
}
