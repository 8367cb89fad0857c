// npy.h: writes a float32 matrix of NumPy's .npy format (version 1.0), row by row, without knowing the number of rows.
//
// The rows go to a temporary file beside the target, which takes the target's place when the matrix is complete; until then, and after any failure, the
// target is as it was. While a writer is open its temporary file is also removed when the user interrupts the program twice. One writer at a time.
#ifndef MLXCEL_CLI_NPY_H_
#define MLXCEL_CLI_NPY_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mlxcel_cli_npy_t {
  char* path;            // the target; owned
  char* temporary_path;  // owned; NULL: nothing open
  int descriptor;
  size_t columns;  // of the first row; 0 before it
  uint64_t rows;
  char message[512];  // why the last call failed: path, cause, remedy
} mlxcel_cli_npy_t;

// Opens a writer for |path|, which may exist as a regular file (it is replaced on success). false: see |out_writer->message|; nothing is open then.
bool mlxcel_cli_npy_open(const char* path, mlxcel_cli_npy_t* out_writer);
// Appends |columns| values; every row has as many as the first.
bool mlxcel_cli_npy_append(mlxcel_cli_npy_t* writer, const float* row, size_t columns);
// Writes the header and publishes the file. |columns| is the width of a matrix without rows.
bool mlxcel_cli_npy_finish(mlxcel_cli_npy_t* writer, size_t columns);
// Removes the temporary file if it wasn't published. Fine on a zeroed or finished writer.
void mlxcel_cli_npy_close(mlxcel_cli_npy_t* writer);

#endif  // MLXCEL_CLI_NPY_H_
