// api_test_checkpoint.h: a tiny random Llama checkpoint with a byte-level tokenizer and a chat template, for tests of the whole engine.
//
// Vocabulary: ids 0 to 255 are the byte values, 256 <s>, 257 </s>, 258 <|end|>, 259 unused. config.json names </s> as EOS, generation_config.json <|end|>.
#ifndef MLXCEL_API_API_TEST_CHECKPOINT_H_
#define MLXCEL_API_API_TEST_CHECKPOINT_H_

#define TEST_VOCAB 260
#define TEST_PACKED_VOCAB (1u << 20)
#define TEST_CONTEXT 64
#define TEST_BOS 256
#define TEST_EOS 257
#define TEST_END 258

// Writes the checkpoint as "<parent>/tiny" and returns its path (malloc'ed). Fails the test if it can't.
char* test_checkpoint_write(const char* parent);
// The same with a vocabulary of TEST_PACKED_VOCAB in four bits, all zeros, as embedding and head: "<parent>/packed". Its file of 40 MiB is mostly holes.
char* test_checkpoint_write_packed(const char* parent);
// Replaces one of its text files.
void test_checkpoint_write_text(const char* folder, const char* name, const char* text);
// config.json with "model_type" |model_type|.
void test_checkpoint_write_config(const char* folder, const char* model_type);

#endif  // MLXCEL_API_API_TEST_CHECKPOINT_H_
