// free_memory.h: how much memory this process can still take for itself.
#ifndef MLXCEL_BASE_FREE_MEMORY_H_
#define MLXCEL_BASE_FREE_MEMORY_H_

#include "base/base.h"

// What is free on the machine, or can be made free by dropping files' pages, and no more than each control group that this process is in (a container's, a
// service's) leaves it: beyond that the kernel ends processes, however much the machine has. 0 if the kernel doesn't say.
// |root|: folder that holds proc and sys; "" is the running system's.
uint64_t mlxcel_free_memory_bytes(const char* root);

// The first line of |root||path| that begins with |start|, behind it; false if there is none. For the small text files of proc and sys.
bool mlxcel_system_line_read(const char* root, const char* path, const char* start, size_t capacity, char* out_line);

#endif  // MLXCEL_BASE_FREE_MEMORY_H_
