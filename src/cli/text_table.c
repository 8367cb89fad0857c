#include "cli/text_table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/console.h"

// Takes |text|; NULL means that memory ran out.
static void add_cell(mlxcel_cli_table_t* table, char* text) {
  if (text && table->cell_count == table->cell_capacity) {
    size_t capacity = 2 * table->cell_capacity + 64;
    char** grown = realloc(table->cells, capacity * sizeof(*grown));
    if (grown) {
      table->cells = grown;
      table->cell_capacity = capacity;
    }
  }
  if (text && table->cell_count < table->cell_capacity) {
    table->cells[table->cell_count++] = text;
    return;
  }
  free(text);
  table->failed = true;
}

void mlxcel_cli_table_initialize(size_t column_count, const char* const* headers, mlxcel_cli_table_t* out_table) {
  assert(column_count > 0 && column_count <= MLXCEL_CLI_TABLE_COLUMNS_MAX);
  memset(out_table, 0, sizeof(*out_table));
  out_table->column_count = column_count;
  for (size_t i = 0; i < column_count; ++i) {
    out_table->right_aligned[i] = headers[i][0] == '>';
    add_cell(out_table, strdup(headers[i] + out_table->right_aligned[i]));
  }
}

void mlxcel_cli_table_deinitialize(mlxcel_cli_table_t* table) {
  for (size_t i = 0; i < table->cell_count; ++i) free(table->cells[i]);
  free(table->cells);
  memset(table, 0, sizeof(*table));
}

// Cells may quote files: nothing that a terminal obeys, and one line.
static char* make_printable(char* text) {
  size_t capacity = 4 * strlen(text) + 1;
  char* printable = malloc(capacity);
  if (printable) mlxcel_text_printable(text, printable, capacity);
  for (char* c = printable; c && *c; ++c) {
    if (*c == '\n' || *c == '\t') *c = ' ';
  }
  free(text);
  return printable;
}

void mlxcel_cli_table_add(mlxcel_cli_table_t* table, const char* format, ...) {
  char* text = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&text, format, args) < 0) text = NULL;
  va_end(args);
  add_cell(table, text ? make_printable(text) : NULL);
}

// Columns of a terminal, for text whose characters are all one column wide: continuation bytes of UTF-8 don't count.
static size_t text_width(const char* text) {
  size_t width = 0;
  for (; *text; ++text) width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}

static void print_cell(const mlxcel_cli_table_t* table, size_t index, size_t width) {
  size_t column = index % table->column_count;
  bool is_last = column + 1 == table->column_count;
  int padding = (int)(width - text_width(table->cells[index]));
  if (table->right_aligned[column]) {
    mlxcel_cli_output_format("%*s%s%s", padding, "", table->cells[index], is_last ? "\n" : "  ");
  } else {
    mlxcel_cli_output_format("%s%*s%s", table->cells[index], is_last ? 0 : padding, "", is_last ? "\n" : "  ");
  }
}

bool mlxcel_cli_table_print(const mlxcel_cli_table_t* table) {
  if (table->failed) {
    mlxcel_cli_error("out of memory for the table");
    return false;
  }
  size_t widths[MLXCEL_CLI_TABLE_COLUMNS_MAX] = {0};
  for (size_t i = 0; i < table->cell_count; ++i) {
    size_t width = text_width(table->cells[i]);
    size_t* widest = &widths[i % table->column_count];
    if (width > *widest) *widest = width;
  }
  for (size_t i = 0; i < table->cell_count; ++i) print_cell(table, i, widths[i % table->column_count]);
  return true;
}
