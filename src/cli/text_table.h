// text_table.h: aligned columns on stdout, each as wide as its widest cell.
#ifndef MLXCEL_CLI_TEXT_TABLE_H_
#define MLXCEL_CLI_TEXT_TABLE_H_

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli_limits.h"

typedef struct mlxcel_cli_table_t {
  size_t column_count;
  bool right_aligned[MLXCEL_CLI_TABLE_COLUMNS_MAX];
  char** cells;  // row by row; owned
  size_t cell_count, cell_capacity;
  bool failed;  // out of memory: printing says so
} mlxcel_cli_table_t;

// |headers| has one text a column; one that begins with '>' (not printed) aligns its column to the right.
void mlxcel_cli_table_initialize(size_t column_count, const char* const* headers, mlxcel_cli_table_t* out_table);
void mlxcel_cli_table_deinitialize(mlxcel_cli_table_t* table);
// Adds the next cell, from left to right, row by row.
void mlxcel_cli_table_add(mlxcel_cli_table_t* table, const char* format, ...) __attribute__((format(printf, 2, 3)));
// false after printing that memory ran out.
bool mlxcel_cli_table_print(const mlxcel_cli_table_t* table);

#endif  // MLXCEL_CLI_TEXT_TABLE_H_
