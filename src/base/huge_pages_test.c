// Mapped files moved onto huge pages: the bytes stay, for readers in the middle of it too.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

// Mappings that lie in the file's range.
static size_t mapping_count(const mlxcel_mapped_file_t* file) {
  FILE* maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  char line[512];
  size_t count = 0;
  while (fgets(line, sizeof(line), maps)) {
    unsigned long begin = 0, end = 0;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) count += begin < (uintptr_t)file->data + file->size && end > (uintptr_t)file->data;
  }
  fclose(maps);
  return count;
}

// A process may have some 65,000 mappings: a large checkpoint mustn't take them all.
static void moved_pieces_are_one_mapping(void** state) {
  (void)state;
  char path[64];
  mlxcel_mapped_file_t file;
  open_sample(FILE_BYTES, path, &file);
  const atomic_bool stop = false;
  assert_int_equal(mlxcel_mapped_file_move_to_huge_pages(&file, &stop), (uint64_t)PIECES * MLXCEL_HUGE_PAGE_BYTES);
  assert_in_range(mapping_count(&file), 1, 2);  // with the file's rest
  mlxcel_mapped_file_close(&file);
  unlink(path);
}

// In a process of its own, which may have |size| and half a piece more addresses than it has.
static int open_within(const char* path, size_t size) {
  FILE* statm = fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (!statm || fscanf(statm, "%lu", &pages) != 1) return 2;
  fclose(statm);
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + size + MLXCEL_HUGE_PAGE_BYTES / 2;
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 3;
  mlxcel_mapped_file_t file;
  iree_status_t status = mlxcel_mapped_file_open(path, size, &file);
  const atomic_bool stop = false;
  bool is_open = iree_status_is_ok(status) && mlxcel_mapped_file_move_to_huge_pages(&file, &stop) == 0 && wrong_bytes(&file) == 0;
  iree_status_ignore(status);
  return is_open ? 0 : 1;
}

static void a_limit_of_addresses_leaves_the_file_as_it_is(void** state) {
  (void)state;
  char path[64];
  mlxcel_mapped_file_t file;
  open_sample(FILE_BYTES, path, &file);
  mlxcel_mapped_file_close(&file);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(open_within(path, FILE_BYTES));
  int result = 0;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_true(WIFEXITED(result));
  assert_int_equal(WEXITSTATUS(result), 0);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_pieces_move_and_keep_their_bytes),         cmocka_unit_test(a_reader_sees_the_same_bytes_all_the_time),
      cmocka_unit_test(a_small_file_and_a_stopped_move_change_nothing), cmocka_unit_test(moved_pieces_are_one_mapping),
      cmocka_unit_test(a_limit_of_addresses_leaves_the_file_as_it_is),  cmocka_unit_test(closing_leaves_no_mapping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
