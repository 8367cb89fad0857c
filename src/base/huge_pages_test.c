// Mapped files moved onto huge pages: the bytes stay, for readers in the middle of it too.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/huge_pages.h"

#define PIECES 6
#define FILE_BYTES ((size_t)PIECES * MLXCEL_HUGE_PAGE_BYTES + 12345)

static uint8_t byte_at(size_t i) { return (uint8_t)(i * 2654435761u >> 13); }

static void open_sample(size_t size, char path[64], mlxcel_mapped_file_t* out_file) {
  snprintf(path, 64, "/tmp/mlxcel-huge-XXXXXX");
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  uint8_t* bytes = malloc(size);
  assert_non_null(bytes);
  for (size_t i = 0; i < size; ++i) bytes[i] = byte_at(i);
  assert_int_equal(write(descriptor, bytes, size), (ssize_t)size);
  close(descriptor);
  free(bytes);
  assert_true(iree_status_is_ok(mlxcel_mapped_file_open(path, size, out_file)));
}

static size_t wrong_bytes(const mlxcel_mapped_file_t* file) {
  size_t wrong = 0;
  for (size_t i = 0; i < file->size; ++i) wrong += file->data[i] != byte_at(i);
  return wrong;
}

// Bytes of the range that smaps counts as anonymous huge pages.
static uint64_t huge_bytes(const mlxcel_mapped_file_t* file) {
  FILE* smaps = fopen("/proc/self/smaps", "r");
  assert_non_null(smaps);
  char line[512];
  uint64_t total = 0;
  bool inside = false;
  while (fgets(line, sizeof(line), smaps)) {
    unsigned long begin = 0, end = 0;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) inside = begin >= (uintptr_t)file->data && end <= (uintptr_t)file->data + file->size;
    if (inside && strncmp(line, "AnonHugePages:", 14) == 0) total += strtoull(line + 14, NULL, 10) * 1024;
  }
  fclose(smaps);
  return total;
}

static void whole_pieces_move_and_keep_their_bytes(void** state) {
  (void)state;
  char path[64];
  mlxcel_mapped_file_t file;
  open_sample(FILE_BYTES, path, &file);
  assert_int_equal((uintptr_t)file.data % MLXCEL_HUGE_PAGE_BYTES, 0);
  const atomic_bool stop = false;
  assert_int_equal(mlxcel_mapped_file_move_to_huge_pages(&file, &stop), (uint64_t)PIECES * MLXCEL_HUGE_PAGE_BYTES);
  assert_int_equal(wrong_bytes(&file), 0);
  if (mlxcel_huge_pages_suit(FILE_BYTES)) {
    assert_true(huge_bytes(&file) > 0);
  } else {
    print_message("not checked whether the pages are huge: this machine has none, or too little free memory\n");
  }
  // The file may go, or change, without the moved pieces knowing.
  assert_int_equal(truncate(path, (off_t)(FILE_BYTES - 12345)), 0);
  for (size_t i = 0; i < (size_t)PIECES * MLXCEL_HUGE_PAGE_BYTES; i += 4096) assert_int_equal(file.data[i], byte_at(i));
  mlxcel_mapped_file_close(&file);
  unlink(path);
}

typedef struct reader_t {
  const mlxcel_mapped_file_t* file;
  atomic_bool done;
  size_t wrong;
} reader_t;
static void* read_over_and_over(void* argument) {
  reader_t* reader = argument;
  do {
    reader->wrong += wrong_bytes(reader->file);
  } while (!atomic_load(&reader->done));
  return NULL;
}

static void a_reader_sees_the_same_bytes_all_the_time(void** state) {
  (void)state;
  char path[64];
  mlxcel_mapped_file_t file;
  open_sample(FILE_BYTES, path, &file);
  reader_t reader = {.file = &file};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, read_over_and_over, &reader), 0);
  const atomic_bool stop = false;
  // The second time the pieces are anonymous already.
  for (int i = 0; i < 2; ++i) assert_int_equal(mlxcel_mapped_file_move_to_huge_pages(&file, &stop), (uint64_t)PIECES * MLXCEL_HUGE_PAGE_BYTES);
  atomic_store(&reader.done, true);
  pthread_join(thread, NULL);
  assert_int_equal(reader.wrong, 0);
  mlxcel_mapped_file_close(&file);
  unlink(path);
}

static void a_small_file_and_a_stopped_move_change_nothing(void** state) {
  (void)state;
  char path[64];
  mlxcel_mapped_file_t file;
  open_sample(5000, path, &file);
  atomic_bool stop = false;
  assert_int_equal(mlxcel_mapped_file_move_to_huge_pages(&file, &stop), 0);
  assert_int_equal(wrong_bytes(&file), 0);
  mlxcel_mapped_file_close(&file);
  unlink(path);
  open_sample(FILE_BYTES, path, &file);
  atomic_store(&stop, true);
  assert_int_equal(mlxcel_mapped_file_move_to_huge_pages(&file, &stop), 0);
  assert_int_equal(wrong_bytes(&file), 0);
  mlxcel_mapped_file_close(&file);
  unlink(path);
  const mlxcel_mapped_file_t empty = {0};
  assert_int_equal(mlxcel_mapped_file_move_to_huge_pages(&empty, &stop), 0);
}

// Closing gives back every address that opening took: otherwise so many files wouldn't fit.
static void closing_leaves_no_mapping(void** state) {
  (void)state;
  char path[64];
  mlxcel_mapped_file_t file;
  open_sample(FILE_BYTES, path, &file);
  mlxcel_mapped_file_close(&file);
  const atomic_bool stop = false;
  char line[512];
  long counts[2] = {0};
  for (int round = 0; round < 2; ++round) {
    FILE* maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) ++counts[round];
    fclose(maps);
    for (int i = 0; round == 0 && i < 20; ++i) {
      assert_true(iree_status_is_ok(mlxcel_mapped_file_open(path, FILE_BYTES, &file)));
      mlxcel_mapped_file_move_to_huge_pages(&file, &stop);
      mlxcel_mapped_file_close(&file);
    }
  }
  assert_in_range(counts[1], 1, counts[0] + 4);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_pieces_move_and_keep_their_bytes),
      cmocka_unit_test(a_reader_sees_the_same_bytes_all_the_time),
      cmocka_unit_test(a_small_file_and_a_stopped_move_change_nothing),
      cmocka_unit_test(closing_leaves_no_mapping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
