// chat_template.h: turns a conversation into the text that a model was trained on, byte for byte as Hugging Face's Jinja environment does.
//
// A checkpoint has no template, one, or several by name ("default", "tool_use", ...). chat_template.jinja wins over tokenizer_config.json.
// Immutable after loading; any number of threads may render. Rendering is bounded in steps, memory and output by the limits in shim/text/src/limits.rs.
#ifndef MLXCEL_TOKENIZER_CHAT_TEMPLATE_H_
#define MLXCEL_TOKENIZER_CHAT_TEMPLATE_H_

#include "base/base.h"
#include "base/json.h"

#define MLXCEL_CHAT_TEMPLATE_BYTES_MAX (1u << 20)  // published templates are below 32 KiB
#define MLXCEL_CHAT_TEMPLATE_COUNT_MAX 64u         // published lists hold up to 3

typedef struct mlxcel_chat_template_t mlxcel_chat_template_t;

typedef struct mlxcel_chat_options_t {
  // [{"role": ..., "content": ...}, ...]; members that a template doesn't know are passed on.
  iree_string_view_t messages_json;
  // Array of tool descriptions; empty = none.
  iree_string_view_t tools_json;
  // Object whose members become variables of the template (enable_thinking, ...); empty = none.
  iree_string_view_t variables_json;
  // Template to use; empty = "tool_use" if there are tools and it exists, else "default".
  iree_string_view_t template_name;
  // Ends the text where the assistant's answer begins.
  bool adds_generation_prompt;
} mlxcel_chat_options_t;
// No messages, adds_generation_prompt on.
void mlxcel_chat_options_initialize(mlxcel_chat_options_t* out_options);

// Loads and compiles the templates in |folder|; |config| is the parsed tokenizer_config.json or NULL. *out_template is NULL (and the status ok) when the
// checkpoint has none. |special_tokens| (an object of strings, or NULL) become variables of every rendering. The caller owns *out_template.
iree_status_t mlxcel_chat_template_load(const char* folder, const json_t* config, const json_t* special_tokens, iree_allocator_t allocator,
                                        mlxcel_chat_template_t** out_template);
// NULL is fine.
void mlxcel_chat_template_release(mlxcel_chat_template_t* chat_template);

// Renders; *out_text is NUL-terminated, comes from the allocator given to load and is never NULL on success. INVALID_ARGUMENT with the template's own words
// when it calls raise_exception (roles that don't alternate, ...), RESOURCE_EXHAUSTED at a limit.
iree_status_t mlxcel_chat_template_render(const mlxcel_chat_template_t* chat_template, const mlxcel_chat_options_t* options, char** out_text, size_t* out_size);

#endif  // MLXCEL_TOKENIZER_CHAT_TEMPLATE_H_
