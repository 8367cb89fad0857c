// artifact_build_check.c: an artifact's build identity against the one that a request asks for.
#include <string.h>

#include "artifact/artifact_internal.h"
#include "base/strbuf.h"

// What differs, as text; |count| of them.
typedef struct build_differences_t {
  mlxcel_strbuf_t text;
  size_t count;
} build_differences_t;

static void differences_add(build_differences_t* differences, const char* what, const char* name, const char* found, const char* expected) {
  if (found && expected && strcmp(found, expected) == 0) return;
  mlxcel_strbuf_append_format(&differences->text, "%s%s%s is %s, asked for was %s", differences->count ? "; " : "", what, name, found ? found : "absent",
                              expected ? expected : "none");
  ++differences->count;
}

static const char* object_digest_find(const mlxcel_manifest_t* manifest, const char* name) {
  for (size_t i = 0; i < manifest->object_count; ++i) {
    if (strcmp(manifest->objects[i].name, name) == 0) return manifest->objects[i].digest.text;
  }
  return NULL;
}

static void compare_objects(const mlxcel_manifest_t* found, const mlxcel_manifest_t* expected, build_differences_t* differences) {
  for (size_t i = 0; i < expected->object_count; ++i) {
    const mlxcel_manifest_object_t* object = &expected->objects[i];
    differences_add(differences, "kernel object ", object->name, object_digest_find(found, object->name), object->digest.text);
  }
  for (size_t i = 0; i < found->object_count; ++i) {
    const mlxcel_manifest_object_t* object = &found->objects[i];
    if (!object_digest_find(expected, object->name)) differences_add(differences, "kernel object ", object->name, object->digest.text, NULL);
  }
}

static void compare_flags(const mlxcel_manifest_t* found, const mlxcel_manifest_t* expected, build_differences_t* differences) {
  size_t count = found->flag_count > expected->flag_count ? found->flag_count : expected->flag_count;
  for (size_t i = 0; i < count; ++i) {
    differences_add(differences, "compile flag", "", i < found->flag_count ? found->flags[i] : NULL, i < expected->flag_count ? expected->flags[i] : NULL);
  }
}

static void compare_compilers(const mlxcel_manifest_t* found, const mlxcel_artifact_request_t* request, const mlxcel_sha256_hex_t* compiler_digest,
                              build_differences_t* differences) {
  if (compiler_digest) {
    differences_add(differences, "the compiler's digest", "", found->compiler.digest.text, compiler_digest->text);
  } else if (request->compiler_version && !mlxcel_compiler_is_of_version(&found->compiler, request->compiler_version, request->compiler_revision)) {
    differences_add(differences, "the compiler", "", found->compiler.version, request->compiler_version);
  }
}

static void compare_builds(const mlxcel_manifest_t* found, const mlxcel_manifest_t* expected, build_differences_t* differences) {
  differences_add(differences, "the digest of ", MLXCEL_MLIR_FILE_NAME, found->mlir_digest.text, expected->mlir_digest.text);
  differences_add(differences, "the target", "", found->target, expected->target);
  compare_flags(found, expected, differences);
  compare_objects(found, expected, differences);
}

static iree_status_t differences_status(const build_differences_t* differences, const char* folder) {
  if (differences->count == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s is another build: %s; compile it again with the build that is asked for",
                          folder[0] ? folder : "the module", differences->text.data);
}

iree_status_t mlxcel_artifact_check_build(const mlxcel_artifact_t* artifact, const mlxcel_artifact_request_t* request,
                                          const mlxcel_sha256_hex_t* compiler_digest) {
  mlxcel_manifest_t found, expected;
  memset(&expected, 0, sizeof(expected));
  build_differences_t differences = {.count = 0};
  mlxcel_strbuf_initialize(&differences.text);
  iree_status_t status = mlxcel_manifest_parse(iree_make_cstring_view(artifact->manifest_text), artifact->folder, &found);
  if (iree_status_is_ok(status)) status = mlxcel_artifact_draft_manifest(request, &expected);
  if (iree_status_is_ok(status)) {
    compare_builds(&found, &expected, &differences);
    compare_compilers(&found, request, compiler_digest, &differences);
    status = mlxcel_strbuf_take_status(&differences.text);
  }
  if (iree_status_is_ok(status)) status = differences_status(&differences, artifact->folder);
  mlxcel_strbuf_deinitialize(&differences.text);
  mlxcel_manifest_deinitialize(&expected);
  mlxcel_manifest_deinitialize(&found);
  return status;
}
