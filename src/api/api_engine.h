// api_engine.h: what the files of src/api share of an engine.
//
// Threads: |device_mutex| is held while the program runs (a whole generate call), |slot_mutex| for the moment in which a session takes or returns a slot.
// The tokenizer and everything in |info| are immutable after opening and need neither.
#ifndef MLXCEL_API_API_ENGINE_H_
#define MLXCEL_API_API_ENGINE_H_

#include <pthread.h>

#include "api/api_build.h"
#include "api/api_pages.h"
#include "engine/backend.h"
#include "engine/generation_defaults.h"
#include "runtime/runtime.h"
#include "tokenizer/tokenizer.h"

struct mlxcel_engine_t {
  mlxcel_engine_info_t info;
  char *model_name, *device_name, *profile_name;  // owned texts of |info|
  mlxcel_api_build_t build;                       // checkpoint and artifact; the emitted text is gone after opening
  mlxcel_api_pages_t pages;                       // works on the checkpoint's files
  mlxcel_tokenizer_t* tokenizer;
  mlxcel_device_t* device;
  mlxcel_program_t* program;
  mlxcel_backend_t backend;
  mlxcel_eos_set_t eos;
  uint32_t prefill_chunk;
  pthread_mutex_t device_mutex;
  pthread_mutex_t slot_mutex;
  uint32_t slot_count;
  bool* slot_is_used;  // [slot_count], under slot_mutex
};

#endif  // MLXCEL_API_API_ENGINE_H_
