// tokenizer_test_support.h: checkpoint folders for the tests of src/tokenizer.
#ifndef MLXCEL_TOKENIZER_TOKENIZER_TEST_SUPPORT_H_
#define MLXCEL_TOKENIZER_TOKENIZER_TEST_SUPPORT_H_

#include "tokenizer/tokenizer.h"

// Opens tests/data/tokenizer/|kind|; fails the test if that doesn't work. Closed by the test.
mlxcel_tokenizer_t* test_tokenizer_open(const char* kind);

// A fresh folder with |count| files of the names and contents in |files|, which alternate; freed by test_folder_remove.
char* test_folder_create(const char* const* files, size_t count);
void test_folder_remove(char* folder);

// Opens the tokenizer of a folder with the tokenizer.json of |kind| and |count| more files, as above.
iree_status_t test_tokenizer_open_with(const char* kind, const char* const* files, size_t count, mlxcel_tokenizer_t** out_tokenizer);

// Fails unless |status| has |code| and all |words| (separated by '|') in its message. Consumes the status.
void test_expect_status(iree_status_t status, iree_status_code_t code, const char* words);
// Fails with the message unless |status| is ok.
void test_expect_ok(iree_status_t status);

#endif  // MLXCEL_TOKENIZER_TOKENIZER_TEST_SUPPORT_H_
