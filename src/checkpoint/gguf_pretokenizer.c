// tokenizer.ggml.pre names how text is cut before byte-level BPE; this table turns the names into tokenizer.json's pre_tokenizer.
//
// A name stands for a list of regular expressions that are applied one after the other, each cutting the pieces that the one before left. The
// expressions are those of the models' own tokenizer.json files. Only names whose expressions are known exactly are listed.
// A file says nothing about Unicode normalization, so none is done.
#include <string.h>

#include "base/strbuf.h"
#include "checkpoint/gguf_model.h"
#include "checkpoint/gguf_value.h"

#define GGUF_GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define GGUF_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define GGUF_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define GGUF_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define GGUF_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

#define GGUF_PATTERNS_MAX 5u

typedef enum gguf_pre_kind_e {
  GGUF_PRE_DEFAULT,
  GGUF_PRE_GPT2,
  GGUF_PRE_DIGITS_GPT2,
  GGUF_PRE_LLAMA3,
  GGUF_PRE_QWEN2,
  GGUF_PRE_SEED_CODER,
  GGUF_PRE_DEEPSEEK_CODER,
  GGUF_PRE_TEKKEN,
  GGUF_PRE_GPT4O,
} gguf_pre_kind_t;

static const char* const gguf_pre_patterns[][GGUF_PATTERNS_MAX] = {
    [GGUF_PRE_DEFAULT] = {"[\\p{P}\\$\\+<=>\\^~\\|]+", GGUF_GPT2_PATTERN, "\\p{N}+", "[0-9][0-9][0-9]"},
    [GGUF_PRE_GPT2] = {GGUF_GPT2_PATTERN},
    [GGUF_PRE_DIGITS_GPT2] = {"\\p{N}", GGUF_GPT2_PATTERN},
    [GGUF_PRE_LLAMA3] = {GGUF_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" GGUF_SPACES},
    [GGUF_PRE_QWEN2] = {GGUF_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" GGUF_SPACES},
    [GGUF_PRE_SEED_CODER] = {GGUF_CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" GGUF_SPACES},
    // The third range spans U+0800 to U+4E00 and the fourth U+AC00 to U+D7FF.
    [GGUF_PRE_DEEPSEEK_CODER] = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", "\\p{N}"},
    [GGUF_PRE_TEKKEN] = {"[^\\r\\n\\p{L}\\p{N}]?" GGUF_UPPER "*" GGUF_LOWER "+|[^\\r\\n\\p{L}\\p{N}]?" GGUF_UPPER "+" GGUF_LOWER
                         "*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" GGUF_SPACES},
    [GGUF_PRE_GPT4O] = {"[^\\r\\n\\p{L}\\p{N}]?" GGUF_UPPER "*" GGUF_LOWER "+" GGUF_CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?" GGUF_UPPER "+" GGUF_LOWER
                        "*" GGUF_CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" GGUF_SPACES},
};

typedef struct gguf_pre_entry_t {
  const char* name;
  gguf_pre_kind_t kind;
  bool ignore_merges;
  bool adds_bos;
} gguf_pre_entry_t;

static const gguf_pre_entry_t gguf_pre_entries[] = {
    {"a.x-4.0", GGUF_PRE_GPT2, false, false},
    {"codeshell", GGUF_PRE_DIGITS_GPT2, false, false},
    {"command-r", GGUF_PRE_DIGITS_GPT2, false, false},
    {"dbrx", GGUF_PRE_LLAMA3, false, false},
    {"deepseek-coder", GGUF_PRE_DEEPSEEK_CODER, false, false},
    {"deepseek-r1-qwen", GGUF_PRE_QWEN2, false, false},
    {"default", GGUF_PRE_DEFAULT, false, false},
    {"exaone", GGUF_PRE_DIGITS_GPT2, false, false},
    {"exaone4", GGUF_PRE_GPT2, false, false},
    {"falcon3", GGUF_PRE_LLAMA3, true, true},
    {"gigachat", GGUF_PRE_GPT2, false, false},
    {"gpt-2", GGUF_PRE_GPT2, false, false},
    {"gpt-4o", GGUF_PRE_GPT4O, false, false},
    {"granite-docling", GGUF_PRE_GPT2, false, false},
    {"hunyuan", GGUF_PRE_QWEN2, false, false},
    {"jais", GGUF_PRE_GPT2, false, false},
    {"kormo", GGUF_PRE_QWEN2, false, false},
    {"lfm2", GGUF_PRE_LLAMA3, true, true},
    {"llama-bpe", GGUF_PRE_LLAMA3, true, true},
    {"llama-v3", GGUF_PRE_LLAMA3, true, true},
    {"llama3", GGUF_PRE_LLAMA3, true, true},
    {"megrez", GGUF_PRE_QWEN2, false, false},
    {"mellum", GGUF_PRE_GPT2, false, false},
    {"midm-2.0", GGUF_PRE_LLAMA3, true, true},
    {"minerva-7b", GGUF_PRE_DIGITS_GPT2, false, false},
    {"mpt", GGUF_PRE_GPT2, false, false},
    {"olmo", GGUF_PRE_GPT2, false, false},
    {"phi-2", GGUF_PRE_GPT2, false, false},
    {"pixtral", GGUF_PRE_LLAMA3, true, true},
    {"qwen2", GGUF_PRE_QWEN2, false, false},
    {"refact", GGUF_PRE_DIGITS_GPT2, false, false},
    {"seed-coder", GGUF_PRE_SEED_CODER, false, false},
    {"smaug-bpe", GGUF_PRE_LLAMA3, false, false},
    {"smollm", GGUF_PRE_DIGITS_GPT2, false, false},
    {"stablelm2", GGUF_PRE_QWEN2, false, false},
    {"starcoder", GGUF_PRE_DIGITS_GPT2, false, false},
    {"tekken", GGUF_PRE_TEKKEN, true, true},
    {"trillion", GGUF_PRE_GPT2, false, false},
};

static iree_status_t gguf_refuse_pre(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value) {
  mlxcel_strbuf_t names;
  mlxcel_strbuf_initialize(&names);
  mlxcel_strbuf_append_cstring(&names, "known are");
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_pre_entries); ++i) mlxcel_strbuf_append_format(&names, " %s", gguf_pre_entries[i].name);
  mlxcel_strbuf_append_cstring(&names, "; take the model's Hugging Face folder");
  iree_status_t status = mlxcel_strbuf_take_status(&names);
  if (iree_status_is_ok(status)) status = mlxcel_gguf_value_refuse(file, value, names.data);
  mlxcel_strbuf_deinitialize(&names);
  return status;
}

static json_t* gguf_split_json(const char* pattern) {
  return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", pattern, "behavior", "Isolated", "invert", 0);
}

// Splits, then the mapping of bytes to characters. GPT-2's own pattern is what ByteLevel has built in.
static json_t* gguf_pre_json(gguf_pre_kind_t kind) {
  json_t* steps = json_array();
  bool uses_regex = false, is_ok = steps != NULL;
  for (size_t i = 0; i < GGUF_PATTERNS_MAX && gguf_pre_patterns[kind][i]; ++i) {
    const char* pattern = gguf_pre_patterns[kind][i];
    bool is_last = i + 1 == GGUF_PATTERNS_MAX || !gguf_pre_patterns[kind][i + 1];
    uses_regex = is_last && strcmp(pattern, GGUF_GPT2_PATTERN) == 0;
    if (!uses_regex) is_ok = is_ok && json_array_append_new(steps, gguf_split_json(pattern)) == 0;
  }
  json_t* bytes = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1, "use_regex", (int)uses_regex);
  is_ok = json_array_append_new(steps, bytes) == 0 && is_ok;  // takes |bytes| even when it fails
  json_t* sequence = is_ok ? json_pack("{s:s, s:O}", "type", "Sequence", "pretokenizers", steps) : NULL;
  json_decref(steps);
  return sequence;
}

iree_status_t mlxcel_gguf_pretokenizer_create(const mlxcel_gguf_t* file, iree_string_view_t name, mlxcel_gguf_pretokenizer_t* out_pretokenizer) {
  memset(out_pretokenizer, 0, sizeof(*out_pretokenizer));
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_pre_entries); ++i) {
    const gguf_pre_entry_t* entry = &gguf_pre_entries[i];
    if (!iree_string_view_equal(name, iree_make_cstring_view(entry->name))) continue;
    out_pretokenizer->json = gguf_pre_json(entry->kind);
    out_pretokenizer->ignore_merges = entry->ignore_merges;
    out_pretokenizer->adds_bos = entry->adds_bos;
    return out_pretokenizer->json ? iree_ok_status()
                                  : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for a pre-tokenizer", mlxcel_gguf_origin(file));
  }
  return gguf_refuse_pre(file, mlxcel_gguf_find_value(file, IREE_SV("tokenizer.ggml.pre")));
}
