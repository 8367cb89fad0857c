#include "base/huge_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FREE_MEMORY_FACTOR 3  // free memory that must be there for each byte moved

// First line of a small file of the kernel's; false if there is none.
static bool read_line(const char* path, const char* start, char* line, size_t size) {
  FILE* file = fopen(path, "re");
  bool found = false;
  while (file && !found && fgets(line, (int)size, file)) found = strncmp(line, start, strlen(start)) == 0;
  if (file) fclose(file);
  return found;
}

bool mlxcel_huge_pages_suit(uint64_t bytes) {
  char line[128];
  if (!read_line("/sys/kernel/mm/transparent_hugepage/enabled", "", line, sizeof(line)) || strstr(line, "[never]")) return false;
  if (!read_line("/proc/meminfo", "MemAvailable:", line, sizeof(line))) return false;
  uint64_t available = strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024;
  return available / FREE_MEMORY_FACTOR >= bytes;
}

// Fills the huge page at |fresh| with |piece|'s bytes and moves it there: one step for whoever reads the piece.
static bool replace_piece(uint8_t* piece, uint8_t* fresh) {
  if (mprotect(fresh, MLXCEL_HUGE_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0) return false;
#ifdef MADV_POPULATE_READ
  madvise(piece, MLXCEL_HUGE_PAGE_BYTES, MADV_POPULATE_READ);  // one call instead of a fault every few pages; a kernel before 5.14 refuses
#endif
  memcpy(fresh, piece, MLXCEL_HUGE_PAGE_BYTES);
  if (mprotect(fresh, MLXCEL_HUGE_PAGE_BYTES, PROT_READ) != 0) return false;
  return mremap(fresh, MLXCEL_HUGE_PAGE_BYTES, MLXCEL_HUGE_PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, piece) != MAP_FAILED;
}

static uintptr_t round_up(uintptr_t address) { return (address + MLXCEL_HUGE_PAGE_BYTES - 1) / MLXCEL_HUGE_PAGE_BYTES * MLXCEL_HUGE_PAGE_BYTES; }

uint64_t mlxcel_mapped_file_move_to_huge_pages(const mlxcel_mapped_file_t* file, const atomic_bool* stop) {
  uintptr_t begin = round_up((uintptr_t)file->data), end = ((uintptr_t)file->data + file->size) / MLXCEL_HUGE_PAGE_BYTES * MLXCEL_HUGE_PAGE_BYTES;
  if (!file->data || begin >= end) return 0;
  size_t bytes = end - begin, reserved = bytes + MLXCEL_HUGE_PAGE_BYTES;
  // Addresses only: memory comes with the copies.
  uint8_t* reservation = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) return 0;
  uint8_t* fresh = (uint8_t*)round_up((uintptr_t)reservation);
  madvise(fresh, bytes, MADV_HUGEPAGE);
  size_t done = 0;
  while (done < bytes && !atomic_load_explicit(stop, memory_order_relaxed) && replace_piece((uint8_t*)begin + done, fresh + done))
    done += MLXCEL_HUGE_PAGE_BYTES;
  // The moved pieces left holes, which another thread may have mapped meanwhile: only what is still ours goes.
  munmap(reservation, (size_t)(fresh - reservation));
  munmap(fresh + done, reserved - (size_t)(fresh - reservation) - done);
  return done;
}
