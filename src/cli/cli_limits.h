// cli_limits.h: bounds of the command line, each with its reason.
#ifndef MLXCEL_CLI_CLI_LIMITS_H_
#define MLXCEL_CLI_CLI_LIMITS_H_

#define MLXCEL_CLI_OPTIONS_MAX 64u               // of one subcommand; the widest has about 35
#define MLXCEL_CLI_POSITIONALS_MAX 32u           // `oracle run` takes every class by name
#define MLXCEL_CLI_LIST_ITEMS_MAX 64u            // uses of one repeatable option; equals the engine's limit of stop strings
#define MLXCEL_CLI_LOGIT_BIAS_MAX 4096u          // pairs; larger lists are a file's job, and each pair costs work in every step
#define MLXCEL_CLI_LOGIT_BIAS_VALUE_MAX 1e9      // finite and far above any logit, so that sums stay finite
#define MLXCEL_CLI_PROMPT_BYTES_MAX (64u << 20)  // four bytes for each token of the longest context
#define MLXCEL_CLI_MESSAGE_BYTES 1024u           // a usage error; longer user text is cut
#define MLXCEL_CLI_TABLE_COLUMNS_MAX 8u          // columns of a printed table
#define MLXCEL_CLI_NEAREST_BYTES_MAX 48u         // names longer than this get no spelling suggestion

#endif  // MLXCEL_CLI_CLI_LIMITS_H_
