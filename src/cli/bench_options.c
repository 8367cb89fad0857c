#include "cli/bench_options.h"

#include <string.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"

#define TESTS(field) .offset = offsetof(mlxcel_cli_bench_tests_t, field)
const mlxcel_cli_option_t mlxcel_cli_bench_test_options[MLXCEL_CLI_BENCH_TEST_OPTION_COUNT] = {
    {.name = "model",
     .short_name = 'm',
     .type = MLXCEL_CLI_LIST,
     .metavar = "FOLDER",
     TESTS(models),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "checkpoint folder (config.json, *.safetensors, tokenizer.json)"},
    {.name = "n-prompt",
     .short_name = 'p',
     .type = MLXCEL_CLI_LIST,
     .metavar = "N",
     TESTS(prompts),
     .help = "tokens of a prompt; 0 = no such test (default 512)"},
    {.name = "n-gen", .short_name = 'n', .type = MLXCEL_CLI_LIST, .metavar = "N", TESTS(gens), .help = "tokens to generate; 0 = no such test (default 128)"},
    {.name = "pg",
     .word = "pg",
     .type = MLXCEL_CLI_LIST,
     .metavar = "PP,TG",
     TESTS(pairs),
     .help = "a prompt of PP tokens, then TG generated ones, in one test"},
    {.name = "n-depth",
     .short_name = 'd',
     .type = MLXCEL_CLI_LIST,
     .metavar = "N",
     TESTS(depths),
     .help = "tokens that lie in the KV cache before a test begins (default 0)"},
    {.name = "threads",
     .short_name = 't',
     .type = MLXCEL_CLI_LIST,
     .metavar = "N",
     TESTS(threads),
     .help = "workers; 0 = one for each processor that this process may use (default 0)"},
    {.name = "batch-size",
     .short_name = 'b',
     .type = MLXCEL_CLI_LIST,
     .metavar = "N",
     TESTS(batches),
     .help = "tokens of a prompt computed in one call, at most; 0 = as many as the module takes (default 0)"},
    {.name = "parallel",
     .word = "np",
     .type = MLXCEL_CLI_LIST,
     .metavar = "N",
     TESTS(parallels),
     .help = "sequences side by side: their prompts one after the other, their tokens generated together (default 1)"},
    {.name = "repetitions",
     .short_name = 'r',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     TESTS(repetitions),
     .minimum = 1,
     .maximum = MLXCEL_BENCH_REPETITIONS_MAX,
     .help = "samples of each test (default 5; of --roofline 40)"},
    {.name = "delay",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "SECONDS",
     TESTS(delay),
     .minimum = 0,
     .maximum = MLXCEL_BENCH_DELAY_MAX_S,
     .help = "pause between tests (default 0)"},
    {.name = "no-warmup", .type = MLXCEL_CLI_FLAG, TESTS(no_warmup), .help = "measure from the first run on"},
};

void mlxcel_cli_bench_tests_initialize(mlxcel_cli_bench_tests_t* out_tests) {
  memset(out_tests, 0, sizeof(*out_tests));
  out_tests->repetitions = 5;
}

// Prints what |status| says about the value of |flag|, if it is an error.
static int report_value(const char* flag, iree_status_t status) {
  if (iree_status_is_ok(status)) return MLXCEL_CLI_EXIT_OK;
  char text[MLXCEL_CLI_MESSAGE_BYTES];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  mlxcel_cli_error("option %s: %s", flag, text);
  return MLXCEL_CLI_EXIT_USAGE;
}

static int parse_list(const char* flag, const mlxcel_cli_list_t* texts, uint32_t minimum, uint32_t maximum, mlxcel_bench_list_t* out_list) {
  int exit_code = MLXCEL_CLI_EXIT_OK;
  for (size_t i = 0; i < texts->count && !exit_code; ++i) {
    exit_code = report_value(flag, mlxcel_bench_list_append(iree_make_cstring_view(texts->items[i]), minimum, maximum, out_list));
  }
  return exit_code;
}

static int parse_pairs(const mlxcel_cli_list_t* texts, mlxcel_bench_lists_t* lists) {
  _Static_assert(MLXCEL_CLI_LIST_ITEMS_MAX <= MLXCEL_BENCH_VALUES_MAX, "every use of -pg has a place");
  int exit_code = MLXCEL_CLI_EXIT_OK;
  for (size_t i = 0; i < texts->count && !exit_code; ++i) {
    mlxcel_bench_pair_t* pair = &lists->pairs[lists->pair_count++];
    exit_code = report_value("-pg", mlxcel_bench_pair_parse(iree_make_cstring_view(texts->items[i]), MLXCEL_CONTEXT_MAX, &pair->prompt, &pair->gen));
  }
  return exit_code;
}

int mlxcel_cli_bench_lists_parse(const mlxcel_cli_bench_tests_t* tests, mlxcel_bench_lists_t* out_lists) {
  memset(out_lists, 0, sizeof(*out_lists));
  const struct {
    const char* flag;
    const mlxcel_cli_list_t* texts;
    uint32_t minimum, maximum;
    mlxcel_bench_list_t* list;
  } rows[] = {
      {"-p", &tests->prompts, 0, MLXCEL_CONTEXT_MAX, &out_lists->prompts}, {"-n", &tests->gens, 0, MLXCEL_CONTEXT_MAX, &out_lists->gens},
      {"-d", &tests->depths, 0, MLXCEL_CONTEXT_MAX, &out_lists->depths},   {"-t", &tests->threads, 0, MLXCEL_THREADS_MAX, &out_lists->threads},
      {"-b", &tests->batches, 0, MLXCEL_CONTEXT_MAX, &out_lists->batches}, {"-np", &tests->parallels, 1, MLXCEL_BENCH_PARALLEL_MAX, &out_lists->parallels},
  };
  int exit_code = MLXCEL_CLI_EXIT_OK;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !exit_code; ++i) {
    exit_code = parse_list(rows[i].flag, rows[i].texts, rows[i].minimum, rows[i].maximum, rows[i].list);
  }
  return exit_code ? exit_code : parse_pairs(&tests->pairs, out_lists);
}

static int read_model(iree_string_view_t path, mlxcel_bench_model_t* out_models, size_t* count) {
  char folder[MLXCEL_PATH_BYTES_MAX];
  if (*count == MLXCEL_BENCH_MODELS_MAX) {
    mlxcel_cli_error("option -m: more than %u models; give fewer", MLXCEL_BENCH_MODELS_MAX);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (path.size == 0 || path.size >= sizeof(folder)) {
    mlxcel_cli_error("option -m: a folder's path has 1 to %u bytes, not %zu", MLXCEL_PATH_BYTES_MAX - 1, path.size);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  iree_string_view_to_cstring(path, folder, sizeof(folder));
  return mlxcel_cli_status_report(mlxcel_bench_model_read(folder, &out_models[(*count)++]));
}

int mlxcel_cli_bench_models_read(const mlxcel_cli_list_t* list, mlxcel_bench_model_t* out_models, size_t* out_count) {
  *out_count = 0;
  int exit_code = MLXCEL_CLI_EXIT_OK;
  for (size_t i = 0; i < list->count && !exit_code; ++i) {
    iree_string_view_t rest = iree_make_cstring_view(list->items[i]), path;
    bool has_more = !mlxcel_path_exists(list->items[i]);
    if (!has_more) exit_code = read_model(rest, out_models, out_count);
    while (has_more && !exit_code) {
      has_more = iree_string_view_split(rest, ',', &path, &rest) >= 0;
      exit_code = read_model(path, out_models, out_count);
    }
  }
  return exit_code;
}
