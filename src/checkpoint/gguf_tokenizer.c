// tokenizer.json and tokenizer_config.json of an imported model.
//
// Only byte-level BPE (tokenizer.ggml.model = gpt2) is imported. A sentencepiece vocabulary with scores ("llama") is refused: tokenizer.json ranks
// pairs, sentencepiece ranks the pieces that pairs make, and where two pairs make one piece ("a" + "aa", "aa" + "a") the two cut text differently.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "checkpoint/gguf_model.h"
#include "checkpoint/gguf_value.h"

// The format's own numbers of tokenizer.ggml.token_type.
enum {
  GGUF_TOKEN_NORMAL = 1,
  GGUF_TOKEN_UNKNOWN = 2,
  GGUF_TOKEN_CONTROL = 3,
  GGUF_TOKEN_USER_DEFINED = 4,
  GGUF_TOKEN_UNUSED = 5,
};

// Control tokens that end an answer wherever they exist, whether or not a key says so.
static const char* const gguf_end_of_turn_names[] = {"<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>"};

// Keys of tokenizer.* that are read, or that say nothing about how this engine cuts text and stops.
static const char* const gguf_tokenizer_keys[] = {
    "tokenizer.chat_template",
    "tokenizer.chat_templates",
    "tokenizer.ggml.add_bos_token",
    "tokenizer.ggml.add_eos_token",
    "tokenizer.ggml.add_sep_token",
    "tokenizer.ggml.add_space_prefix",
    "tokenizer.ggml.bos_token_id",
    "tokenizer.ggml.cls_token_id",
    "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.fim_mid_token_id",
    "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_pre_token_id",
    "tokenizer.ggml.fim_rep_token_id",
    "tokenizer.ggml.fim_sep_token_id",
    "tokenizer.ggml.fim_suf_token_id",
    "tokenizer.ggml.mask_token_id",
    "tokenizer.ggml.merges",
    "tokenizer.ggml.middle_token_id",
    "tokenizer.ggml.model",
    "tokenizer.ggml.padding_token_id",
    "tokenizer.ggml.pre",
    "tokenizer.ggml.prefix_token_id",
    "tokenizer.ggml.remove_extra_whitespaces",
    "tokenizer.ggml.scores",
    "tokenizer.ggml.seperator_token_id",
    "tokenizer.ggml.suffix_token_id",
    "tokenizer.ggml.token_type",
    "tokenizer.ggml.tokens",
    "tokenizer.ggml.unknown_token_id",
    "tokenizer.huggingface.json",
};

typedef struct gguf_vocabulary_t {
  const mlxcel_gguf_t* file;
  uint64_t count;
  iree_string_view_t* texts;
  const uint8_t* types;  // i32 each, unaligned; NULL = all normal
  json_t* vocab;         // text -> id
  json_t* added;         // tokenizer.json's added_tokens
  json_t* decoder;       // tokenizer_config.json's added_tokens_decoder
} gguf_vocabulary_t;

static iree_status_t gguf_out_of_memory(const mlxcel_gguf_t* file) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for the tokenizer", mlxcel_gguf_origin(file));
}

static int32_t gguf_token_type(const gguf_vocabulary_t* vocabulary, uint64_t id) {
  int32_t type = GGUF_TOKEN_NORMAL;
  if (vocabulary->types) memcpy(&type, vocabulary->types + 4 * id, sizeof(type));
  return type;
}

// Matched in the text itself, before BPE.
static bool gguf_token_is_added(int32_t type) { return type == GGUF_TOKEN_UNKNOWN || type == GGUF_TOKEN_CONTROL || type == GGUF_TOKEN_USER_DEFINED; }

// --- metadata ----------------------------------------------------------------------------------------------------------------------------

static iree_status_t gguf_check_tokenizer_keys(const mlxcel_gguf_t* file) {
  for (size_t i = 0; i < mlxcel_gguf_value_count(file); ++i) {
    const mlxcel_gguf_value_t* value = mlxcel_gguf_value_at(file, i);
    if (!iree_string_view_starts_with(value->key, IREE_SV("tokenizer."))) continue;
    bool is_known = iree_string_view_starts_with(value->key, IREE_SV("tokenizer.chat_template."));
    for (size_t j = 0; !is_known && j < IREE_ARRAYSIZE(gguf_tokenizer_keys); ++j) {
      is_known = iree_string_view_equal(value->key, iree_make_cstring_view(gguf_tokenizer_keys[j]));
    }
    if (!is_known) return mlxcel_gguf_value_refuse(file, value, "take the model's Hugging Face folder");
  }
  return iree_ok_status();
}

static iree_status_t gguf_require_false(const mlxcel_gguf_t* file, const char* key) {
  bool value = false;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_bool(file, key, &value));
  if (!value) return iree_ok_status();
  return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, iree_make_cstring_view(key)), "take the model's Hugging Face folder");
}

// The kind of tokenizer must be byte-level BPE without whitespace rules of its own.
static iree_status_t gguf_check_tokenizer_kind(const mlxcel_gguf_t* file, iree_string_view_t* out_pre) {
  iree_string_view_t model = iree_string_view_empty();
  *out_pre = iree_string_view_empty();
  IREE_RETURN_IF_ERROR(gguf_check_tokenizer_keys(file));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_string(file, "tokenizer.ggml.model", 256, &model));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_string(file, "tokenizer.ggml.pre", 256, out_pre));
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, IREE_SV("tokenizer.ggml.model"));
  if (!value || (iree_string_view_equal(model, IREE_SV("gpt2")) && iree_string_view_is_empty(*out_pre))) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s has no %s; take a newer conversion of the model", mlxcel_gguf_origin(file),
                            value ? "tokenizer.ggml.pre" : "tokenizer.ggml.model");
  }
  if (iree_string_view_equal(model, IREE_SV("llama"))) {
    return mlxcel_gguf_value_refuse(file, value, "a sentencepiece vocabulary has no exact tokenizer.json; take the model's Hugging Face folder");
  }
  if (!iree_string_view_equal(model, IREE_SV("gpt2")))
    return mlxcel_gguf_value_refuse(file, value, "only gpt2 is imported; take the model's Hugging Face folder");
  IREE_RETURN_IF_ERROR(gguf_require_false(file, "tokenizer.ggml.add_space_prefix"));
  IREE_RETURN_IF_ERROR(gguf_require_false(file, "tokenizer.ggml.add_sep_token"));
  return gguf_require_false(file, "tokenizer.ggml.remove_extra_whitespaces");
}

// --- vocabulary --------------------------------------------------------------------------------------------------------------------------

static iree_status_t gguf_bad_token(const gguf_vocabulary_t* vocabulary, uint64_t id, const char* cause) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tokenizer.ggml.tokens: token %" PRIu64 " %s; the file is damaged, fetch it again",
                          mlxcel_gguf_origin(vocabulary->file), id, cause);
}

static json_t* gguf_added_token(iree_string_view_t text, bool is_special) {
  return json_pack("{s:s%, s:b, s:b, s:b, s:b, s:b}", "content", text.data, text.size, "lstrip", 0, "normalized", 0, "rstrip", 0, "single_word", 0, "special",
                   (int)is_special);
}

static iree_status_t gguf_add_added_token(gguf_vocabulary_t* vocabulary, uint64_t id, bool is_special) {
  json_t* token = gguf_added_token(vocabulary->texts[id], is_special);
  json_t* with_id = token ? json_copy(token) : NULL;
  char key[32];
  snprintf(key, sizeof(key), "%" PRIu64, id);
  bool is_ok = json_object_set_new(vocabulary->decoder, key, token) == 0;
  is_ok = is_ok && json_object_set_new(with_id, "id", json_integer((json_int_t)id)) == 0;
  is_ok = is_ok && json_array_append(vocabulary->added, with_id) == 0;
  json_decref(with_id);
  return is_ok ? iree_ok_status() : gguf_out_of_memory(vocabulary->file);
}

static iree_status_t gguf_add_token(gguf_vocabulary_t* vocabulary, uint64_t id) {
  iree_string_view_t text = vocabulary->texts[id];
  int32_t type = gguf_token_type(vocabulary, id);
  if (text.size == 0 || text.size > MLXCEL_GGUF_TOKEN_BYTES_MAX) return gguf_bad_token(vocabulary, id, "is empty or too long");
  if (memchr(text.data, 0, text.size)) return gguf_bad_token(vocabulary, id, "contains a NUL byte");
  if (type < GGUF_TOKEN_NORMAL || type > GGUF_TOKEN_UNUSED)
    return gguf_bad_token(vocabulary, id, "has a type other than normal, unknown, control, user-defined or unused");
  json_t* checked = json_stringn(text.data, text.size);  // refuses invalid UTF-8
  if (!checked) return gguf_bad_token(vocabulary, id, "isn't valid UTF-8");
  json_decref(checked);
  if (json_object_getn(vocabulary->vocab, text.data, text.size)) return gguf_bad_token(vocabulary, id, "occurs a second time");
  if (json_object_setn_new(vocabulary->vocab, text.data, text.size, json_integer((json_int_t)id)) != 0) return gguf_out_of_memory(vocabulary->file);
  return gguf_token_is_added(type) ? gguf_add_added_token(vocabulary, id, type != GGUF_TOKEN_USER_DEFINED) : iree_ok_status();
}

static iree_status_t gguf_read_tokens(gguf_vocabulary_t* vocabulary, uint64_t vocab_size) {
  const mlxcel_gguf_value_t *tokens = NULL, *types = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_array(vocabulary->file, "tokenizer.ggml.tokens", MLXCEL_GGUF_VALUE_STRING, MLXCEL_VOCAB_MAX, &tokens));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_array(vocabulary->file, "tokenizer.ggml.token_type", MLXCEL_GGUF_VALUE_I32, MLXCEL_VOCAB_MAX, &types));
  if (!tokens || tokens->count != vocab_size || (types && types->count != vocab_size)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tokenizer.ggml.tokens or token_type doesn't have one entry for each of the %" PRIu64
                            " rows of token_embd.weight; the file is damaged",
                            mlxcel_gguf_origin(vocabulary->file), vocab_size);
  }
  vocabulary->count = vocab_size;
  vocabulary->types = types ? types->data : NULL;
  vocabulary->texts = calloc((size_t)vocab_size, sizeof(*vocabulary->texts));
  vocabulary->vocab = json_object();
  vocabulary->added = json_array();
  vocabulary->decoder = json_object();
  if (!vocabulary->texts || !vocabulary->vocab || !vocabulary->added || !vocabulary->decoder) return gguf_out_of_memory(vocabulary->file);
  uint64_t cursor = 0;
  for (uint64_t i = 0; i < vocab_size; ++i) {
    vocabulary->texts[i] = mlxcel_gguf_array_next_string(tokens, &cursor);
    IREE_RETURN_IF_ERROR(gguf_add_token(vocabulary, i));
  }
  return iree_ok_status();
}

static void gguf_vocabulary_deinitialize(gguf_vocabulary_t* vocabulary) {
  free(vocabulary->texts);
  json_decref(vocabulary->vocab);
  json_decref(vocabulary->added);
  json_decref(vocabulary->decoder);
}

// --- merges ------------------------------------------------------------------------------------------------------------------------------

// "left right", where both sides and their union are tokens. Tokens of a byte-level vocabulary hold no space of their own.
static bool gguf_merge_is_legal(const gguf_vocabulary_t* vocabulary, iree_string_view_t text) {
  const char* space = text.size <= 2 * MLXCEL_GGUF_TOKEN_BYTES_MAX ? memchr(text.data, ' ', text.size) : NULL;
  size_t left = space ? (size_t)(space - text.data) : 0;
  size_t right = space ? text.size - left - 1 : 0;
  if (left == 0 || right == 0 || memchr(space + 1, ' ', right)) return false;
  char joined[2 * MLXCEL_GGUF_TOKEN_BYTES_MAX];
  memcpy(joined, text.data, left);
  memcpy(joined + left, space + 1, right);
  return json_object_getn(vocabulary->vocab, text.data, left) && json_object_getn(vocabulary->vocab, space + 1, right) &&
         json_object_getn(vocabulary->vocab, joined, left + right);
}

static iree_status_t gguf_add_merge(const gguf_vocabulary_t* vocabulary, uint64_t index, iree_string_view_t text, json_t* seen, json_t* merges) {
  bool is_legal = gguf_merge_is_legal(vocabulary, text);
  if (!is_legal || json_object_getn(seen, text.data, text.size)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tokenizer.ggml.merges: merge %" PRIu64 " %s; the file is damaged, fetch it again",
                            mlxcel_gguf_origin(vocabulary->file), index, is_legal ? "occurs a second time" : "isn't two tokens that join to a token");
  }
  bool is_ok = json_array_append_new(merges, json_stringn(text.data, text.size)) == 0 && json_object_setn_new(seen, text.data, text.size, json_true()) == 0;
  return is_ok ? iree_ok_status() : gguf_out_of_memory(vocabulary->file);
}

static iree_status_t gguf_read_merges(const gguf_vocabulary_t* vocabulary, json_t* merges) {
  const mlxcel_gguf_value_t* value = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_array(vocabulary->file, "tokenizer.ggml.merges", MLXCEL_GGUF_VALUE_STRING, MLXCEL_GGUF_MERGE_COUNT_MAX, &value));
  if (!value) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s has no tokenizer.ggml.merges; take a newer conversion of the model",
                            mlxcel_gguf_origin(vocabulary->file));
  }
  json_t* seen = json_object();
  iree_status_t status = seen ? iree_ok_status() : gguf_out_of_memory(vocabulary->file);
  uint64_t cursor = 0;
  for (uint64_t i = 0; iree_status_is_ok(status) && i < value->count; ++i) {
    status = gguf_add_merge(vocabulary, i, mlxcel_gguf_array_next_string(value, &cursor), seen, merges);
  }
  json_decref(seen);
  return status;
}

// --- special ids -------------------------------------------------------------------------------------------------------------------------

// -1 if the key is absent.
static iree_status_t gguf_read_id(const gguf_vocabulary_t* vocabulary, const char* key, int64_t* out_id) {
  uint64_t id = UINT64_MAX;
  *out_id = -1;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(vocabulary->file, key, vocabulary->count - 1, &id));
  if (id != UINT64_MAX) *out_id = (int64_t)id;
  return iree_ok_status();
}

static void gguf_add_eos(mlxcel_gguf_tokenizer_t* tokenizer, int64_t id) {
  if (id < 0) return;
  size_t at = 0;
  while (at < tokenizer->eos_count && tokenizer->eos_ids[at] < (uint32_t)id) ++at;
  if (at < tokenizer->eos_count && tokenizer->eos_ids[at] == (uint32_t)id) return;
  memmove(&tokenizer->eos_ids[at + 1], &tokenizer->eos_ids[at], (tokenizer->eos_count - at) * sizeof(tokenizer->eos_ids[0]));
  tokenizer->eos_ids[at] = (uint32_t)id;
  ++tokenizer->eos_count;
}

static iree_status_t gguf_read_special_ids(const gguf_vocabulary_t* vocabulary, mlxcel_gguf_tokenizer_t* tokenizer) {
  int64_t eot = -1, eom = -1;
  IREE_RETURN_IF_ERROR(gguf_read_id(vocabulary, "tokenizer.ggml.bos_token_id", &tokenizer->bos_id));
  IREE_RETURN_IF_ERROR(gguf_read_id(vocabulary, "tokenizer.ggml.eos_token_id", &tokenizer->eos_id));
  IREE_RETURN_IF_ERROR(gguf_read_id(vocabulary, "tokenizer.ggml.padding_token_id", &tokenizer->pad_id));
  IREE_RETURN_IF_ERROR(gguf_read_id(vocabulary, "tokenizer.ggml.eot_token_id", &eot));
  IREE_RETURN_IF_ERROR(gguf_read_id(vocabulary, "tokenizer.ggml.eom_token_id", &eom));
  gguf_add_eos(tokenizer, tokenizer->eos_id);
  gguf_add_eos(tokenizer, eot);
  gguf_add_eos(tokenizer, eom);
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_end_of_turn_names); ++i) {
    const json_t* id = json_object_get(vocabulary->vocab, gguf_end_of_turn_names[i]);
    if (id && gguf_token_type(vocabulary, (uint64_t)json_integer_value(id)) == GGUF_TOKEN_CONTROL) gguf_add_eos(tokenizer, json_integer_value(id));
  }
  return iree_ok_status();
}

// --- tokenizer.json ----------------------------------------------------------------------------------------------------------------------

static json_t* gguf_template_token(iree_string_view_t text) { return json_pack("{s:{s:s%, s:i}}", "SpecialToken", "id", text.data, text.size, "type_id", 0); }

// One text with the token before or after it. Pairs of texts keep their own form without it: a language model gets one text.
static json_t* gguf_template_json(const gguf_vocabulary_t* vocabulary, int64_t first, int64_t last) {
  json_t *single = json_array(), *tokens = json_object();
  const int64_t ids[] = {first, -1, last};
  bool is_ok = single && tokens;
  for (size_t i = 0; is_ok && i < IREE_ARRAYSIZE(ids); ++i) {
    if (i == 1) is_ok = json_array_append_new(single, json_pack("{s:{s:s, s:i}}", "Sequence", "id", "A", "type_id", 0)) == 0;
    if (ids[i] < 0) continue;
    iree_string_view_t text = vocabulary->texts[ids[i]];
    json_t* entry = json_pack("{s:s%, s:[I], s:[s%]}", "id", text.data, text.size, "ids", (json_int_t)ids[i], "tokens", text.data, text.size);
    is_ok = json_array_append_new(single, gguf_template_token(text)) == 0;
    is_ok = json_object_setn_new(tokens, text.data, text.size, entry) == 0 && is_ok;
  }
  json_t* pair = is_ok ? json_pack("[{s:{s:s, s:i}}, {s:{s:s, s:i}}]", "Sequence", "id", "A", "type_id", 0, "Sequence", "id", "B", "type_id", 1) : NULL;
  json_t* result = pair ? json_pack("{s:s, s:O, s:O, s:O}", "type", "TemplateProcessing", "single", single, "pair", pair, "special_tokens", tokens) : NULL;
  json_decref(single);
  json_decref(tokens);
  json_decref(pair);
  return result;
}

// Which of BOS and EOS are put around a text; -1 = not.
static iree_status_t gguf_read_added_ids(const mlxcel_gguf_t* file, const mlxcel_gguf_tokenizer_t* tokenizer, bool adds_bos, int64_t* out_first,
                                         int64_t* out_last) {
  bool adds_eos = false;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_bool(file, "tokenizer.ggml.add_bos_token", &adds_bos));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_bool(file, "tokenizer.ggml.add_eos_token", &adds_eos));
  *out_first = adds_bos ? tokenizer->bos_id : -1;
  *out_last = adds_eos ? tokenizer->eos_id : -1;
  if ((!adds_bos || *out_first >= 0) && (!adds_eos || *out_last >= 0)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s asks for a BOS or EOS token around texts, but tokenizer.ggml.%s_token_id is missing; take another conversion of the model",
                          mlxcel_gguf_origin(file), adds_bos && *out_first < 0 ? "bos" : "eos");
}

static json_t* gguf_tokenizer_json(const gguf_vocabulary_t* vocabulary, const mlxcel_gguf_pretokenizer_t* pre, json_t* merges, int64_t first, int64_t last) {
  json_t* post = first >= 0 || last >= 0 ? gguf_template_json(vocabulary, first, last) : json_null();
  json_t* decoder = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1);
  json_t* model =
      json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:O, s:O}", "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", (int)pre->ignore_merges, "vocab", vocabulary->vocab, "merges", merges);
  bool is_ok = post && decoder && model;
  json_t* result = is_ok ? json_pack("{s:s, s:n, s:n, s:O, s:n, s:O, s:O, s:O, s:O}", "version", "1.0", "truncation", "padding", "added_tokens",
                                     vocabulary->added, "normalizer", "pre_tokenizer", pre->json, "post_processor", post, "decoder", decoder, "model", model)
                         : NULL;
  json_decref(post);
  json_decref(decoder);
  json_decref(model);
  return result;
}

// --- tokenizer_config.json ---------------------------------------------------------------------------------------------------------------

static iree_status_t gguf_read_template(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value, json_t** out_template) {
  *out_template = NULL;
  if (value->type != MLXCEL_GGUF_VALUE_STRING || value->size > MLXCEL_GGUF_CHAT_TEMPLATE_BYTES_MAX) {
    return mlxcel_gguf_value_refuse(file, value, "a chat template is a string of at most a mebibyte");
  }
  *out_template = json_stringn((const char*)value->data, (size_t)value->size);  // refuses invalid UTF-8
  if (*out_template) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %.*s isn't valid UTF-8; the file is damaged, fetch it again", mlxcel_gguf_origin(file),
                          MLXCEL_SV(value->key));
}

// Appends {name, template}; the plain key is the one named "default".
static iree_status_t gguf_append_template(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value, iree_string_view_t prefix, json_t* templates) {
  json_t* text = NULL;
  IREE_RETURN_IF_ERROR(gguf_read_template(file, value, &text));
  iree_string_view_t name = iree_string_view_remove_prefix(value->key, prefix.size);
  if (name.size == 0) name = IREE_SV("default");
  if (name.data[0] == '.') name = iree_string_view_remove_prefix(name, 1);
  json_t* entry = json_pack("{s:s%, s:o}", "name", name.data, name.size, "template", text);
  return json_array_append_new(templates, entry) == 0 ? iree_ok_status() : gguf_out_of_memory(file);
}

// One template is a string, several are a list.
static iree_status_t gguf_set_templates(const mlxcel_gguf_t* file, json_t* config) {
  const iree_string_view_t prefix = IREE_SV("tokenizer.chat_template");
  json_t* templates = json_array();
  iree_status_t status = templates ? iree_ok_status() : gguf_out_of_memory(file);
  for (size_t i = 0; iree_status_is_ok(status) && i < mlxcel_gguf_value_count(file); ++i) {
    const mlxcel_gguf_value_t* value = mlxcel_gguf_value_at(file, i);
    bool is_template = iree_string_view_equal(value->key, prefix) || iree_string_view_starts_with(value->key, IREE_SV("tokenizer.chat_template."));
    if (is_template) status = gguf_append_template(file, value, prefix, templates);
  }
  json_t* first = json_array_get(templates, 0);
  bool is_plain = json_array_size(templates) == 1 && mlxcel_gguf_find_value(file, prefix);
  json_t* result = is_plain ? json_object_get(first, "template") : templates;
  if (iree_status_is_ok(status) && first && json_object_set(config, "chat_template", result) != 0) status = gguf_out_of_memory(file);
  json_decref(templates);
  return status;
}

static bool gguf_set_token(const gguf_vocabulary_t* vocabulary, json_t* config, const char* key, int64_t id) {
  if (id < 0) return true;
  iree_string_view_t text = vocabulary->texts[id];
  return json_object_set_new(config, key, json_stringn(text.data, text.size)) == 0;
}

static iree_status_t gguf_tokenizer_config_create(const gguf_vocabulary_t* vocabulary, const mlxcel_gguf_llama_t* llama,
                                                  const mlxcel_gguf_tokenizer_t* tokenizer, bool adds_bos, bool adds_eos, json_t** out_config) {
  int64_t unk_id = -1;
  *out_config = NULL;
  IREE_RETURN_IF_ERROR(gguf_read_id(vocabulary, "tokenizer.ggml.unknown_token_id", &unk_id));
  json_t* config = json_pack("{s:s, s:b, s:b, s:b, s:I, s:O}", "tokenizer_class", "PreTrainedTokenizerFast", "clean_up_tokenization_spaces", 0, "add_bos_token",
                             (int)adds_bos, "add_eos_token", (int)adds_eos, "model_max_length", (json_int_t)llama->context_length, "added_tokens_decoder",
                             vocabulary->decoder);
  bool is_ok = config && gguf_set_token(vocabulary, config, "bos_token", tokenizer->bos_id) &&
               gguf_set_token(vocabulary, config, "eos_token", tokenizer->eos_id) && gguf_set_token(vocabulary, config, "pad_token", tokenizer->pad_id) &&
               gguf_set_token(vocabulary, config, "unk_token", unk_id);
  iree_status_t status = is_ok ? gguf_set_templates(vocabulary->file, config) : gguf_out_of_memory(vocabulary->file);
  if (iree_status_is_ok(status)) {
    *out_config = config;
  } else {
    json_decref(config);
  }
  return status;
}

// --- all of it ---------------------------------------------------------------------------------------------------------------------------

static iree_status_t gguf_tokenizer_fill(gguf_vocabulary_t* vocabulary, const mlxcel_gguf_llama_t* llama, const mlxcel_gguf_pretokenizer_t* pre, json_t* merges,
                                         mlxcel_gguf_tokenizer_t* tokenizer) {
  int64_t first = -1, last = -1;
  IREE_RETURN_IF_ERROR(gguf_read_tokens(vocabulary, llama->vocab_size));
  IREE_RETURN_IF_ERROR(gguf_read_merges(vocabulary, merges));
  IREE_RETURN_IF_ERROR(gguf_read_special_ids(vocabulary, tokenizer));
  IREE_RETURN_IF_ERROR(gguf_read_added_ids(vocabulary->file, tokenizer, pre->adds_bos, &first, &last));
  IREE_RETURN_IF_ERROR(gguf_tokenizer_config_create(vocabulary, llama, tokenizer, first >= 0, last >= 0, &tokenizer->tokenizer_config));
  tokenizer->tokenizer = gguf_tokenizer_json(vocabulary, pre, merges, first, last);
  return tokenizer->tokenizer ? iree_ok_status() : gguf_out_of_memory(vocabulary->file);
}

iree_status_t mlxcel_gguf_tokenizer_initialize(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama, mlxcel_gguf_tokenizer_t* out_tokenizer) {
  memset(out_tokenizer, 0, sizeof(*out_tokenizer));
  iree_string_view_t name;
  mlxcel_gguf_pretokenizer_t pre;
  IREE_RETURN_IF_ERROR(gguf_check_tokenizer_kind(file, &name));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_pretokenizer_create(file, name, &pre));
  gguf_vocabulary_t vocabulary = {.file = file};
  json_t* merges = json_array();
  iree_status_t status = merges ? gguf_tokenizer_fill(&vocabulary, llama, &pre, merges, out_tokenizer) : gguf_out_of_memory(file);
  gguf_vocabulary_deinitialize(&vocabulary);
  json_decref(merges);
  json_decref(pre.json);
  if (!iree_status_is_ok(status)) mlxcel_gguf_tokenizer_deinitialize(out_tokenizer);
  return status;
}

void mlxcel_gguf_tokenizer_deinitialize(mlxcel_gguf_tokenizer_t* tokenizer) {
  json_decref(tokenizer->tokenizer);
  json_decref(tokenizer->tokenizer_config);
  memset(tokenizer, 0, sizeof(*tokenizer));
}
