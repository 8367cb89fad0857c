#include "tokenizer/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "tokenizer/text_status.h"

typedef struct mlxcel_named_template_t {
  char* name;
  mlxcel_text_template_t* text;
} mlxcel_named_template_t;

struct mlxcel_chat_template_t {
  iree_allocator_t allocator;
  char* special_tokens_json;  // an object
  size_t count;
  mlxcel_named_template_t items[];
};

void mlxcel_chat_options_initialize(mlxcel_chat_options_t* out_options) {
  memset(out_options, 0, sizeof(*out_options));
  out_options->adds_generation_prompt = true;
}

// --- loading -------------------------------------------------------------------------------------------------------------------------------

static iree_status_t mlxcel_chat_template_create(size_t count, const json_t* special_tokens, iree_allocator_t allocator,
                                                 mlxcel_chat_template_t** out_template) {
  mlxcel_chat_template_t* set = NULL;
  IREE_RETURN_IF_ERROR(iree_allocator_malloc(allocator, sizeof(*set) + count * sizeof(set->items[0]), (void**)&set));
  set->allocator = allocator;
  set->special_tokens_json = special_tokens ? json_dumps(special_tokens, JSON_COMPACT) : strdup("{}");
  if (!set->special_tokens_json) {
    iree_allocator_free(allocator, set);
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the special tokens");
  }
  *out_template = set;
  return iree_ok_status();
}

// Compiles |source| as the next template of |set|; |origin| names it in errors.
static iree_status_t mlxcel_chat_template_add(mlxcel_chat_template_t* set, const char* name, iree_string_view_t source, const char* origin) {
  if (source.size > MLXCEL_CHAT_TEMPLATE_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "chat template '%s' of %s has %zu bytes; the limit is %u", name, origin, source.size,
                            MLXCEL_CHAT_TEMPLATE_BYTES_MAX);
  }
  mlxcel_named_template_t item = {.name = strdup(name)};
  if (!item.name) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a template's name");
  char* error = NULL;
  int32_t code = mlxcel_text_template_create((const uint8_t*)source.data, source.size, &item.text, &error);
  if (code == MLXCEL_TEXT_OK) {
    set->items[set->count++] = item;
    return iree_ok_status();
  }
  iree_status_t status = mlxcel_text_status(code, origin, error, "correct the template, or remove it and use plain completion");
  status = iree_status_annotate_f(status, "chat template '%s'", name);
  free(item.name);
  return status;
}

static iree_status_t mlxcel_chat_template_add_file(mlxcel_chat_template_t* set, const char* path) {
  char* source = NULL;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(mlxcel_file_read(path, MLXCEL_CHAT_TEMPLATE_BYTES_MAX, &source, &size));
  iree_status_t status = mlxcel_chat_template_add(set, "default", iree_make_string_view(source, size), path);
  free(source);
  return status;
}

static iree_status_t mlxcel_chat_template_add_string(mlxcel_chat_template_t* set, const char* name, const json_t* source, const char* origin) {
  return mlxcel_chat_template_add(set, name, iree_make_string_view(json_string_value(source), json_string_length(source)), origin);
}

// "chat_template": a string, or a list of {"name", "template"}.
static iree_status_t mlxcel_chat_template_add_config(mlxcel_chat_template_t* set, const json_t* value, const char* origin) {
  if (json_is_string(value)) return mlxcel_chat_template_add_string(set, "default", value, origin);
  for (size_t i = 0; i < json_array_size(value); ++i) {
    const json_t* name = json_object_get(json_array_get(value, i), "name");
    const json_t* source = json_object_get(json_array_get(value, i), "template");
    if (!json_is_string(name) || !json_is_string(source)) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: chat_template[%zu] is no object of the strings \"name\" and \"template\"; correct it", origin,
                              i);
    }
    IREE_RETURN_IF_ERROR(mlxcel_chat_template_add_string(set, json_string_value(name), source, origin));
  }
  return iree_ok_status();
}

// How many templates |value| holds; an error for what is neither a string nor a short list.
static iree_status_t mlxcel_chat_template_count(const json_t* value, const char* origin, size_t* out_count) {
  *out_count = 0;
  if (!value || json_is_null(value)) return iree_ok_status();
  if (json_is_string(value)) {
    *out_count = 1;
    return iree_ok_status();
  }
  if (!json_is_array(value) || json_array_size(value) > MLXCEL_CHAT_TEMPLATE_COUNT_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: chat_template is neither a string nor a list of at most %u templates; correct it", origin,
                            MLXCEL_CHAT_TEMPLATE_COUNT_MAX);
  }
  *out_count = json_array_size(value);
  return iree_ok_status();
}

static iree_status_t mlxcel_chat_template_load_from(const char* file_path, const char* config_path, const json_t* config, const json_t* special_tokens,
                                                    iree_allocator_t allocator, mlxcel_chat_template_t** out_template) {
  bool has_file = mlxcel_path_exists(file_path);
  const json_t* value = json_object_get(config, "chat_template");
  size_t count = 1;
  if (!has_file) {
    IREE_RETURN_IF_ERROR(mlxcel_chat_template_count(value, config_path, &count));
  }
  if (count == 0) return iree_ok_status();
  mlxcel_chat_template_t* set = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_chat_template_create(count, special_tokens, allocator, &set));
  iree_status_t status = has_file ? mlxcel_chat_template_add_file(set, file_path) : mlxcel_chat_template_add_config(set, value, config_path);
  if (iree_status_is_ok(status)) {
    *out_template = set;
  } else {
    mlxcel_chat_template_release(set);
  }
  return status;
}

iree_status_t mlxcel_chat_template_load(const char* folder, const json_t* config, const json_t* special_tokens, iree_allocator_t allocator,
                                        mlxcel_chat_template_t** out_template) {
  *out_template = NULL;
  char* file_path = NULL;
  char* config_path = NULL;
  iree_status_t status = mlxcel_path_join(folder, IREE_SV("chat_template.jinja"), &file_path);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(folder, IREE_SV("tokenizer_config.json"), &config_path);
  if (iree_status_is_ok(status)) status = mlxcel_chat_template_load_from(file_path, config_path, config, special_tokens, allocator, out_template);
  free(config_path);
  free(file_path);
  return status;
}

void mlxcel_chat_template_release(mlxcel_chat_template_t* chat_template) {
  if (!chat_template) return;
  for (size_t i = 0; i < chat_template->count; ++i) {
    mlxcel_text_template_free(chat_template->items[i].text);
    free(chat_template->items[i].name);
  }
  free(chat_template->special_tokens_json);
  iree_allocator_free(chat_template->allocator, chat_template);
}

// --- rendering -----------------------------------------------------------------------------------------------------------------------------

static const mlxcel_named_template_t* mlxcel_chat_template_find(const mlxcel_chat_template_t* set, iree_string_view_t name) {
  for (size_t i = 0; i < set->count; ++i) {
    if (iree_string_view_equal(iree_make_cstring_view(set->items[i].name), name)) return &set->items[i];
  }
  return NULL;
}

static iree_status_t mlxcel_chat_template_missing(const mlxcel_chat_template_t* set, iree_string_view_t name) {
  char names[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < set->count && used < sizeof(names) - 1; ++i) {
    int written = snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", set->items[i].name);
    used += written > 0 ? (size_t)written : 0;
  }
  return iree_make_status(IREE_STATUS_NOT_FOUND, "the checkpoint has no chat template named '%.*s'; it has: %s", MLXCEL_SV(name), names);
}

static iree_status_t mlxcel_chat_template_choose(const mlxcel_chat_template_t* set, const mlxcel_chat_options_t* options,
                                                 const mlxcel_named_template_t** out_item) {
  iree_string_view_t name = options->template_name;
  const mlxcel_named_template_t* item = NULL;
  if (iree_string_view_is_empty(name)) {
    if (!iree_string_view_is_empty(options->tools_json)) item = mlxcel_chat_template_find(set, IREE_SV("tool_use"));
    name = IREE_SV("default");
  }
  if (!item) item = mlxcel_chat_template_find(set, name);
  *out_item = item;
  return item ? iree_ok_status() : mlxcel_chat_template_missing(set, name);
}

static mlxcel_text_variable_t mlxcel_chat_variable(const char* name, iree_string_view_t json, const char* fallback) {
  if (iree_string_view_is_empty(json)) json = iree_make_cstring_view(fallback);
  return (mlxcel_text_variable_t){.name = name, .name_size = strlen(name), .json = json.data, .json_size = json.size};
}

iree_status_t mlxcel_chat_template_render(const mlxcel_chat_template_t* chat_template, const mlxcel_chat_options_t* options, char** out_text,
                                          size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  const mlxcel_named_template_t* item = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_chat_template_choose(chat_template, options, &item));
  const mlxcel_text_variable_t variables[] = {
      mlxcel_chat_variable("", iree_make_cstring_view(chat_template->special_tokens_json), "{}"),
      mlxcel_chat_variable("messages", options->messages_json, "[]"),
      mlxcel_chat_variable("tools", options->tools_json, "null"),
      mlxcel_chat_variable("documents", iree_string_view_empty(), "null"),
      mlxcel_chat_variable("add_generation_prompt", options->adds_generation_prompt ? IREE_SV("true") : IREE_SV("false"), "false"),
      mlxcel_chat_variable("", options->variables_json, "{}"),
  };
  uint8_t* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  int32_t code = mlxcel_text_template_render(item->text, variables, IREE_ARRAYSIZE(variables), &bytes, &size, &error);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, "chat template", error, NULL));
  iree_status_t status = iree_allocator_malloc_uninitialized(chat_template->allocator, size + 1, (void**)out_text);
  if (iree_status_is_ok(status)) {
    if (size > 0) memcpy(*out_text, bytes, size);
    (*out_text)[size] = 0;
    *out_size = size;
  }
  mlxcel_text_bytes_free(bytes, size);
  return status;
}
