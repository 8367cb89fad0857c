// huge_pages.h: mapped files on huge pages. A processor that reads weights page by page looks up an address every 4 KiB, in a virtual machine through two
// levels of tables; on 2 MiB pages it hardly ever does.
#ifndef MLXCEL_BASE_HUGE_PAGES_H_
#define MLXCEL_BASE_HUGE_PAGES_H_

#include <stdatomic.h>

#include "base/fs.h"

#define MLXCEL_HUGE_PAGE_BYTES (2u << 20)  // x86-64

// Whether the kernel gives huge pages to those who ask, and memory for |bytes| of them is free several times over: they aren't given up under pressure as a
// mapped file's pages are.
bool mlxcel_huge_pages_suit(uint64_t bytes);

// Copies the whole 2 MiB pieces of |file| into anonymous huge pages and puts each in its piece's place: same addresses, same bytes, so other threads may read
// the file all the time. The replaced pages stop counting for this process. Stops early when |*stop| becomes true, memory is refused or the file has become
// shorter; what was moved stays moved. Returns the bytes moved.
uint64_t mlxcel_mapped_file_move_to_huge_pages(const mlxcel_mapped_file_t* file, const atomic_bool* stop);

#endif  // MLXCEL_BASE_HUGE_PAGES_H_
