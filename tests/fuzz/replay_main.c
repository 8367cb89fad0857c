// replay_main.c: runs a fuzz target over every file of the given folders, without a fuzzer: the committed corpora as ordinary tests. Prints the number
// of inputs; fails if a folder can't be read or holds none, so that a lost corpus can't pass.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_BYTES_MAX (16u << 20)  // corpora are minimized: kilobytes

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Reads |path| into memory of its exact size, so that a sanitizer sees a read behind the input.
static uint8_t* replay_read(const char* path, size_t size) {
  uint8_t* data = malloc(size ? size : 1);
  FILE* file = fopen(path, "rb");
  size_t count = file && data ? fread(data, 1, size, file) : 0;
  if (file) fclose(file);
  if (count == size && file && data) return data;
  fprintf(stderr, "cannot read %s\n", path);
  free(data);
  return NULL;
}

// Runs one directory entry; -1 on failure, else the number of inputs (0 for what isn't a file).
static int replay_file(const char* folder, const char* name) {
  char path[4096];
  struct stat info;
  int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
  if (length < 0 || (size_t)length >= sizeof(path) || stat(path, &info) != 0) return -1;
  if (!S_ISREG(info.st_mode)) return 0;
  if (info.st_size > INPUT_BYTES_MAX) return -1;
  uint8_t* data = replay_read(path, (size_t)info.st_size);
  if (!data) return -1;
  int result = LLVMFuzzerTestOneInput(data, (size_t)info.st_size);
  free(data);
  return result == 0 ? 1 : -1;
}

static int replay_folder(const char* folder) {
  DIR* directory = opendir(folder);
  if (!directory) return -1;
  int count = 0;
  for (struct dirent* entry = readdir(directory); entry && count >= 0; entry = readdir(directory)) {
    int result = replay_file(folder, entry->d_name);
    count = result < 0 ? -1 : count + result;
  }
  closedir(directory);
  return count;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    int count = replay_folder(argv[i]);
    if (count <= 0) {
      fprintf(stderr, "%s: %s\n", argv[i], count == 0 ? "no inputs" : "cannot be replayed");
      return 1;
    }
    printf("%s: %d inputs\n", argv[i], count);
  }
  return 0;
}
