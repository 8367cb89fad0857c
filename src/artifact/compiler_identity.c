#include "artifact/compiler_identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/artifact_cache.h"
#include "artifact/compile_process.h"
#include "artifact/json_fields.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/limits.h"

#define COMPILERS_FILE_NAME "compilers.json"
#define COMPILERS_FILE_VERSION 1
#define LIBRARY_NAME "libIREECompiler.so"
#define LINKER_NAME "iree-lld"
#define RACY_SECONDS 2  // a file changed this recently may change again within one tick of its time stamp

bool mlxcel_compiler_is_present(const char* compiler_path) {
  struct stat info;
  return compiler_path && compiler_path[0] && stat(compiler_path, &info) == 0 && S_ISREG(info.st_mode) && access(compiler_path, X_OK) == 0;
}

const char* mlxcel_compiler_choose(const char* requested, const char* built_in) {
  if (requested && requested[0]) return requested;
  return mlxcel_compiler_is_present(built_in) ? built_in : NULL;
}

bool mlxcel_compiler_is_of_version(const mlxcel_compiler_identity_t* identity, const char* version, const char* revision) {
  const char* word = strstr(identity->version, "version ");
  const char* place = strstr(identity->version, "@ ");
  if (!word || strncmp(word + 8, version, strlen(version)) != 0) return false;
  char next = word[8 + strlen(version)];
  if (next == '.' || (next >= '0' && next <= '9')) return false;  // 3.13.01 isn't 3.13.0; 3.13.0rc1 is, as far as its revision is the one
  return !revision || !revision[0] || (place && strncmp(place + 2, revision, strlen(revision)) == 0);
}

iree_status_t mlxcel_compiler_identity_combine(mlxcel_compiler_identity_t* identity) {
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  mlxcel_sha256_update_field(&hash, IREE_SV("mlxcel compiler"));
  mlxcel_sha256_update_field(&hash, iree_make_cstring_view(identity->program_digest.text));
  mlxcel_sha256_update_field(&hash, iree_make_cstring_view(identity->library_digest.text));
  mlxcel_sha256_update_field(&hash, iree_make_cstring_view(identity->linker_digest.text));
  mlxcel_sha256_finish(&hash, &identity->digest);
  return iree_ok_status();
}

// --- the memory of digests ---------------------------------------------------------------------------------------------------------------

typedef struct compilers_t {
  char* path;     // of compilers.json
  json_t* files;  // path -> {bytes, inode, device, mtime_ns, ctime_ns, sha256}; NULL only if compilers_open failed
  bool is_changed;
} compilers_t;

// Whatever is wrong with the file only means that digests are computed again.
static json_t* compilers_read(const char* path) {
  json_t* value = NULL;
  iree_status_ignore(mlxcel_json_read_file(path, MLXCEL_COMPILERS_FILE_BYTES_MAX, &value));
  json_t* files = json_object_get(value, "files");
  bool good = json_integer_value(json_object_get(value, "version")) == COMPILERS_FILE_VERSION && json_is_object(files) &&
              json_object_size(files) <= MLXCEL_COMPILERS_REMEMBERED_MAX;
  if (good) json_incref(files);
  json_decref(value);
  return good ? files : json_object();
}

// compilers_close is due even on failure.
static iree_status_t compilers_open(const char* cache_root, compilers_t* out_compilers) {
  memset(out_compilers, 0, sizeof(*out_compilers));
  IREE_RETURN_IF_ERROR(mlxcel_path_join(cache_root, IREE_SV(COMPILERS_FILE_NAME), &out_compilers->path));
  out_compilers->files = compilers_read(out_compilers->path);
  if (out_compilers->files) return iree_ok_status();
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %s", COMPILERS_FILE_NAME);
}

// Writes what was learnt; a cache that can't be written only costs the time of hashing again.
static void compilers_close(const char* cache_root, compilers_t* compilers) {
  json_t* value = compilers->is_changed ? json_pack("{s:i, s:O}", "version", COMPILERS_FILE_VERSION, "files", compilers->files) : NULL;
  char* text = NULL;
  if (value) {
    iree_status_ignore(mlxcel_json_write(value, /*compact=*/false, &text));
    iree_status_ignore(mlxcel_directory_create(cache_root));
  }
  if (text) iree_status_ignore(mlxcel_file_publish(compilers->path, text, strlen(text)));
  free(text);
  json_decref(value);
  json_decref(compilers->files);
  free(compilers->path);
}

static json_int_t compilers_nanoseconds(const struct timespec* time) { return (json_int_t)time->tv_sec * 1000000000 + (json_int_t)time->tv_nsec; }

static json_t* compilers_describe(const struct stat* info, const char* digest) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "bytes", (json_int_t)info->st_size, "inode", (json_int_t)info->st_ino, "device", (json_int_t)info->st_dev,
                   "mtime_ns", compilers_nanoseconds(&info->st_mtim), "ctime_ns", compilers_nanoseconds(&info->st_ctim), "sha256", digest);
}

// The remembered digest, if the file is still the one that was hashed.
static bool compilers_recall(const compilers_t* compilers, const char* path, const struct stat* info, mlxcel_sha256_hex_t* out_digest) {
  const json_t* entry = json_object_get(compilers->files, path);
  const char* digest = json_string_value(json_object_get(entry, "sha256"));
  if (!digest || !mlxcel_artifact_is_digest(iree_make_cstring_view(digest))) return false;
  json_t* expected = compilers_describe(info, digest);
  bool equal = expected && json_equal(entry, expected);
  json_decref(expected);
  if (equal) memcpy(out_digest->text, digest, sizeof(out_digest->text));
  return equal;
}

static void compilers_remember(compilers_t* compilers, const char* path, const struct stat* info, const mlxcel_sha256_hex_t* digest) {
  if (info->st_mtim.tv_sec + RACY_SECONDS >= time(NULL)) return;
  if (json_object_size(compilers->files) >= MLXCEL_COMPILERS_REMEMBERED_MAX) json_object_clear(compilers->files);
  if (json_object_set_new(compilers->files, path, compilers_describe(info, digest->text)) == 0) compilers->is_changed = true;
}

static iree_status_t compilers_digest_file(compilers_t* compilers, const char* path, mlxcel_sha256_hex_t* out_digest) {
  struct stat info;
  if (stat(path, &info) != 0) return mlxcel_fs_errno_status(errno, "examine", path);
  if (compilers_recall(compilers, path, &info, out_digest)) return iree_ok_status();
  IREE_RETURN_IF_ERROR(mlxcel_sha256_of_file(path, out_digest));
  compilers_remember(compilers, path, &info, out_digest);
  return iree_ok_status();
}

// --- the compiler's files ----------------------------------------------------------------------------------------------------------------

// Refuses the Python script that pip puts on PATH: mlxcel starts no Python, and the script's digest says nothing about the compiler.
static iree_status_t compiler_check_program(const char* path) {
  char head[512] = {0};
  FILE* file = fopen(path, "re");
  if (!file) return mlxcel_fs_errno_status(errno, "open the compiler", path);
  size_t size = fread(head, 1, sizeof(head) - 1, file);
  fclose(file);
  if (size < 2 || head[0] != '#' || head[1] != '!' || !strstr(head, "python")) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "the compiler %s is a Python script; set MLXCEL_XLA_IREE_COMPILE to the program inside the package: "
                          "<site-packages>/iree/compiler/_mlir_libs/iree-compile",
                          path);
}

// The digest of |name| in the program's folder or in ../lib; "" if it is in neither.
static iree_status_t compiler_digest_beside(compilers_t* compilers, const char* program, const char* name, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  int folder_size = (int)(strrchr(program, '/') - program);
  static const char* const places[] = {"/", "/../lib/"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(places); ++i) {
    char path[MLXCEL_PATH_BYTES_MAX + 64];
    snprintf(path, sizeof(path), "%.*s%s%s", folder_size, program, places[i], name);
    if (mlxcel_path_exists(path)) return compilers_digest_file(compilers, path, out_digest);
  }
  return iree_ok_status();
}

static iree_status_t compiler_digest_all(compilers_t* compilers, const char* program, mlxcel_compiler_identity_t* identity) {
  IREE_RETURN_IF_ERROR(compilers_digest_file(compilers, program, &identity->program_digest));
  IREE_RETURN_IF_ERROR(compiler_digest_beside(compilers, program, LIBRARY_NAME, &identity->library_digest));
  IREE_RETURN_IF_ERROR(compiler_digest_beside(compilers, program, LINKER_NAME, &identity->linker_digest));
  return mlxcel_compiler_identity_combine(identity);
}

// A link is followed: the library lies beside the program itself.
static iree_status_t compiler_resolve(const char* compiler_path, char** out_program) {
  *out_program = realpath(compiler_path, NULL);
  if (!*out_program) return mlxcel_fs_errno_status(errno, "find the compiler", compiler_path);
  iree_status_t status = compiler_check_program(*out_program);
  if (iree_status_is_ok(status)) return status;
  free(*out_program);
  *out_program = NULL;
  return status;
}

iree_status_t mlxcel_compiler_identity_query(const char* cache_root, const char* compiler_path, mlxcel_compiler_identity_t* out_identity) {
  memset(out_identity, 0, sizeof(*out_identity));
  char* program = NULL;
  compilers_t compilers;
  IREE_RETURN_IF_ERROR(compiler_resolve(compiler_path, &program));
  iree_status_t status = compilers_open(cache_root, &compilers);
  if (iree_status_is_ok(status)) status = compiler_digest_all(&compilers, program, out_identity);
  compilers_close(cache_root, &compilers);
  free(program);
  return status;
}

iree_status_t mlxcel_compiler_digest(const char* cache_root, const char* compiler_path, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  mlxcel_compiler_identity_t identity;
  IREE_RETURN_IF_ERROR(mlxcel_compiler_identity_query(cache_root, compiler_path, &identity));
  *out_digest = identity.digest;
  return iree_ok_status();
}

// --- what it calls itself ----------------------------------------------------------------------------------------------------------------

// The line that names the version, else the first one that isn't empty; trimmed and made printable.
static void compiler_pick_version(const char* output, char out_version[MLXCEL_COMPILER_VERSION_BYTES_MAX + 1]) {
  const char* line = strstr(output, "compiler version");
  while (line && line > output && line[-1] != '\n') --line;
  if (!line) line = output;
  line += strspn(line, " \t\r\n");
  size_t size = strcspn(line, "\r\n");
  if (size > MLXCEL_COMPILER_VERSION_BYTES_MAX) size = MLXCEL_COMPILER_VERSION_BYTES_MAX;
  for (size_t i = 0; i < size; ++i) out_version[i] = line[i] >= 0x20 && line[i] < 0x7f ? line[i] : '?';
  out_version[size] = 0;
  if (size == 0) memcpy(out_version, "unknown", sizeof("unknown"));
}

static iree_status_t compiler_take_version(const char* program, const mlxcel_compile_process_result_t* result, mlxcel_compiler_identity_t* identity) {
  compiler_pick_version(result->output, identity->version);
  if (result->exit_code == 0 && result->signal_number == 0 && !result->was_timed_out) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                          "the compiler %s doesn't run: `--version` ended with exit code %d, signal %d%s: %s; set MLXCEL_XLA_IREE_COMPILE to a working "
                          "iree-compile, or run scripts/setup.sh",
                          program, result->exit_code, result->signal_number, result->was_timed_out ? " (timed out)" : "", identity->version);
}

iree_status_t mlxcel_compiler_version_query(const char* compiler_path, mlxcel_compiler_identity_t* identity) {
  char* program = NULL;
  IREE_RETURN_IF_ERROR(compiler_resolve(compiler_path, &program));
  static const char* const arguments[] = {"--version"};
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = program;
  options.folder = "/";
  options.argument_count = IREE_ARRAYSIZE(arguments);
  options.arguments = arguments;
  options.time_limit_milliseconds = MLXCEL_COMPILER_VERSION_SECONDS_MAX * UINT64_C(1000);
  mlxcel_compile_process_result_t result;
  iree_status_t status = mlxcel_compile_process_run(&options, &result);
  if (iree_status_is_ok(status)) status = compiler_take_version(program, &result, identity);
  mlxcel_compile_process_result_deinitialize(&result);
  free(program);
  return status;
}
