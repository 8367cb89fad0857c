#include "base/huge_pages.h"

#include <string.h>
#include <sys/mman.h>

#include "base/free_memory.h"

// Free memory that must be there for each byte moved: the copy, as much for whoever else wants memory meanwhile, and the file's pages, which go only when they
// must.
#define FREE_MEMORY_FACTOR 3

bool mlxcel_huge_pages_suit(uint64_t bytes) {
  char line[128];
  if (!mlxcel_system_line_read("", "/sys/kernel/mm/transparent_hugepage/enabled", "", sizeof(line), line) || strstr(line, "[never]")) return false;
  return mlxcel_free_memory_bytes("") / FREE_MEMORY_FACTOR >= bytes;
}

// Fills the huge page at |fresh| with |piece|'s bytes and moves it there: one step for whoever reads the piece.
static bool replace_piece(uint8_t* piece, uint8_t* fresh) {
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
  // Addresses only: memory comes with the copies. Writable as a whole from the beginning: what was one mapping when its first page came is one again in its
  // place. A mapping for each piece would use up those that a process may have (65530, so 128 GiB).
  uint8_t* reservation = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
