#include "qualify/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/json_fields.h"
#include "base/fs.h"
#include "base/log.h"
#include "qualify/evidence_internal.h"

#define EVIDENCE_SUFFIX ".json"
#define EVIDENCE_NAME_BYTES (64 + sizeof(EVIDENCE_SUFFIX))  // a digest, the suffix, a NUL

// From builtin_evidence.S.
extern const char mlxcel_builtin_evidence[], mlxcel_builtin_evidence_end[];

iree_status_t mlxcel_evidence_default_folder(char** out_folder) {
  *out_folder = NULL;
  const char* own = getenv("MLXCEL_EVIDENCE_DIR");
  if (own && own[0]) return mlxcel_artifact_text_copy(iree_make_cstring_view(own), out_folder);
  const char* shared = getenv("XDG_DATA_HOME");
  if (shared && shared[0] == '/') return mlxcel_path_join(shared, IREE_SV("mlxcel/evidence"), out_folder);  // the XDG rules void a relative path
  const char* home = getenv("HOME");
  if (home && home[0]) return mlxcel_path_join(home, IREE_SV(".local/share/mlxcel/evidence"), out_folder);
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "no place for evidence: HOME isn't set; set MLXCEL_EVIDENCE_DIR to a folder");
}

// --- names ---------------------------------------------------------------------------------------------------------------------------------

// "<digest of the key fields>.json": the same key, the same file.
static iree_status_t evidence_file_name(const mlxcel_evidence_t* evidence, char out_name[EVIDENCE_NAME_BYTES]) {
  const char* const fields[] = {evidence->profile, evidence->op, evidence->variant, evidence->clause_digest.text, evidence->device, evidence->cpu_level};
  mlxcel_sha256_t hash;
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i) mlxcel_sha256_update_field(&hash, iree_make_cstring_view(fields[i]));
  mlxcel_sha256_finish(&hash, &digest);
  snprintf(out_name, EVIDENCE_NAME_BYTES, "%s%s", digest.text, EVIDENCE_SUFFIX);
  return iree_ok_status();
}

// Names of the form that evidence_file_name makes; what a killed writer left has another one.
static bool is_evidence_file_name(const char* name) {
  return strlen(name) == EVIDENCE_NAME_BYTES - 1 && mlxcel_artifact_is_digest(iree_make_string_view(name, 64)) && strcmp(name + 64, EVIDENCE_SUFFIX) == 0;
}

// --- writing -------------------------------------------------------------------------------------------------------------------------------

iree_status_t mlxcel_evidence_write(const char* folder, const mlxcel_evidence_t* evidence) {
  IREE_RETURN_IF_ERROR(mlxcel_evidence_check(evidence));
  char name[EVIDENCE_NAME_BYTES];
  IREE_RETURN_IF_ERROR(evidence_file_name(evidence, name));
  IREE_RETURN_IF_ERROR(mlxcel_directory_create(folder));
  mlxcel_evidence_t copy = *evidence;
  const mlxcel_evidence_list_t list = {.count = 1, .items = &copy};
  char *text = NULL, *path = NULL;
  iree_status_t status = mlxcel_evidence_list_to_text(&list, &text);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(folder, iree_make_cstring_view(name), &path);
  if (iree_status_is_ok(status)) status = mlxcel_file_publish(path, text, strlen(text));
  free(path);
  free(text);
  return status;
}

// The name is free in any store: it isn't that of a record.
#define PROBE_NAME "mlxcel-probe"

iree_status_t mlxcel_evidence_folder_prepare(const char* folder) {
  IREE_RETURN_IF_ERROR(mlxcel_directory_create(folder));
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(PROBE_NAME), &path));
  iree_status_t status = mlxcel_file_publish(path, "", 0);
  if (iree_status_is_ok(status)) unlink(path);
  free(path);
  return status;
}

// --- reading -------------------------------------------------------------------------------------------------------------------------------

// The one record of the file |path|, whose name must be the one that its record gets.
static iree_status_t evidence_file_read(const char* path, const char* name, mlxcel_evidence_t* out_evidence) {
  char* text = NULL;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(mlxcel_file_read(path, MLXCEL_EVIDENCE_FILE_BYTES_MAX, &text, &size));
  mlxcel_evidence_list_t list;
  iree_status_t status = mlxcel_evidence_list_parse(iree_make_string_view(text, size), path, &list);
  free(text);
  IREE_RETURN_IF_ERROR(status);
  char expected[EVIDENCE_NAME_BYTES] = {0};
  if (list.count == 1) {
    *out_evidence = list.items[0];
    status = evidence_file_name(out_evidence, expected);
  }
  mlxcel_evidence_list_deinitialize(&list);
  if (iree_status_is_ok(status) && strcmp(expected, name) != 0) {
    status = iree_make_status(IREE_STATUS_DATA_LOSS, "%s doesn't hold the one record that its name stands for; remove it", path);
  }
  return status;
}

// Adds the record of |name|; a file that isn't a record is told and passed over: it earns nothing, and must not take the others' worth away.
static iree_status_t evidence_file_add(const char* folder, const char* name, mlxcel_evidence_list_t* list) {
  char* path = NULL;
  mlxcel_evidence_t evidence;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  iree_status_t status = evidence_file_read(path, name, &evidence);
  free(path);
  if (iree_status_is_ok(status)) return mlxcel_evidence_list_add(list, &evidence);
  if (iree_status_is_resource_exhausted(status)) return status;
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  mlxcel_log(MLXCEL_LOG_WARNING, "%s; the record is passed over", text);
  return iree_ok_status();
}

iree_status_t mlxcel_evidence_read(const char* folder, mlxcel_evidence_list_t* out_list) {
  memset(out_list, 0, sizeof(*out_list));
  DIR* directory = opendir(folder);
  if (!directory) return errno == ENOENT ? iree_ok_status() : mlxcel_fs_errno_status(errno, "read folder", folder);
  iree_status_t status = iree_ok_status();
  for (struct dirent* item = readdir(directory); item && iree_status_is_ok(status); item = readdir(directory)) {
    if (is_evidence_file_name(item->d_name)) status = evidence_file_add(folder, item->d_name, out_list);
  }
  closedir(directory);
  if (iree_status_is_ok(status)) {
    mlxcel_evidence_list_sort(out_list);
  } else {
    mlxcel_evidence_list_deinitialize(out_list);
  }
  return status;
}

iree_status_t mlxcel_evidence_read_key(const char* folder, const mlxcel_evidence_t* key, mlxcel_evidence_list_t* list) {
  char name[EVIDENCE_NAME_BYTES];
  char* path = NULL;
  IREE_RETURN_IF_ERROR(evidence_file_name(key, name));
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  bool exists = mlxcel_path_exists(path);
  free(path);
  return exists ? evidence_file_add(folder, name, list) : iree_ok_status();
}

iree_status_t mlxcel_evidence_built_in(mlxcel_evidence_list_t* out_list) {
  size_t size = (size_t)(mlxcel_builtin_evidence_end - mlxcel_builtin_evidence);
  return mlxcel_evidence_list_parse_own(iree_make_string_view(mlxcel_builtin_evidence, size), "the evidence inside this program", out_list);
}
