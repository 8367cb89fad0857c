#include "engine/stop.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

// A node stands for a prefix of some stop string; node 0 for the empty one.
typedef struct stop_node_t {
  uint32_t first_child, next_sibling;  // 0 = none; at most one child a stop string
  uint32_t fallback;                   // node of the longest proper suffix that is a prefix too
  uint32_t depth;                      // length of the prefix
  uint32_t match_size;                 // length of the longest stop string that ends here, 0 = none
  const char* text;                    // a stop string that starts with the prefix
  uint8_t byte;                        // last byte of the prefix
} stop_node_t;

struct mlxcel_stop_t {
  char* strings;  // copies, one after the other
  stop_node_t* nodes;
  uint32_t node_count;
  uint32_t state;
  bool matched;
};

// Length of the UTF-8 sequence at |text|, 0 if it isn't well-formed (overlong forms, surrogates and what lies beyond U+10FFFF aren't).
static size_t stop_utf8_length(const uint8_t* text, size_t size) {
  uint8_t lead = text[0];
  if (lead < 0x80) return 1;
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || size < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  bool bad_second =
      (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xed && text[1] > 0x9f) || (lead == 0xf0 && text[1] < 0x90) || (lead == 0xf4 && text[1] > 0x8f);
  return bad_second ? 0 : length;
}

static bool stop_is_utf8(const char* text, size_t size) {
  for (size_t i = 0; i < size;) {
    size_t length = stop_utf8_length((const uint8_t*)text + i, size - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

static iree_status_t stop_validate(size_t count, const char* const* stops, size_t* out_total_size) {
  *out_total_size = 0;
  if (count > MLXCEL_STOP_STRINGS_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%zu stop strings are given; at most %u are allowed", count, MLXCEL_STOP_STRINGS_MAX);
  }
  for (size_t i = 0; i < count; ++i) {
    size_t size = stops[i] ? strnlen(stops[i], MLXCEL_STOP_STRING_BYTES_MAX + 1) : 0;
    if (size == 0) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "stop string %zu is empty; leave it out", i);
    if (size > MLXCEL_STOP_STRING_BYTES_MAX) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "stop string %zu is longer than %u bytes; shorten it", i, MLXCEL_STOP_STRING_BYTES_MAX);
    }
    if (!stop_is_utf8(stops[i], size)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "stop string %zu isn't UTF-8; encode it as UTF-8", i);
    *out_total_size += size;
  }
  return iree_ok_status();
}

static uint32_t stop_find_child(const mlxcel_stop_t* stop, uint32_t node, uint8_t byte) {
  uint32_t child = stop->nodes[node].first_child;
  while (child != 0 && stop->nodes[child].byte != byte) child = stop->nodes[child].next_sibling;
  return child;
}

static void stop_insert(mlxcel_stop_t* stop, const char* text, size_t size) {
  uint32_t node = 0;
  for (size_t i = 0; i < size; ++i) {
    uint8_t byte = (uint8_t)text[i];
    uint32_t child = stop_find_child(stop, node, byte);
    if (child == 0) {
      child = stop->node_count++;
      stop->nodes[child] = (stop_node_t){.next_sibling = stop->nodes[node].first_child, .depth = (uint32_t)i + 1, .text = text, .byte = byte};
      stop->nodes[node].first_child = child;
    }
    node = child;
  }
  stop->nodes[node].match_size = (uint32_t)size;
}

static uint32_t stop_next_state(const mlxcel_stop_t* stop, uint32_t state, uint8_t byte) {
  for (;;) {
    uint32_t child = stop_find_child(stop, state, byte);
    if (child != 0 || state == 0) return child;
    state = stop->nodes[state].fallback;
  }
}

// Sets fallbacks and inherited matches in order of depth; |queue| holds node_count entries.
static void stop_link(mlxcel_stop_t* stop, uint32_t* queue) {
  uint32_t head = 0, tail = 0;
  queue[tail++] = 0;
  while (head < tail) {
    uint32_t node = queue[head++];
    for (uint32_t child = stop->nodes[node].first_child; child != 0; child = stop->nodes[child].next_sibling) {
      stop_node_t* entry = &stop->nodes[child];
      entry->fallback = node == 0 ? 0 : stop_next_state(stop, stop->nodes[node].fallback, entry->byte);
      if (entry->match_size == 0) entry->match_size = stop->nodes[entry->fallback].match_size;
      queue[tail++] = child;
    }
  }
}

static iree_status_t stop_build(mlxcel_stop_t* stop, size_t count, const char* const* stops, size_t total_size) {
  stop->strings = malloc(total_size + 1);
  stop->nodes = calloc(total_size + 1, sizeof(*stop->nodes));
  uint32_t* queue = malloc((total_size + 1) * sizeof(*queue));
  if (!stop->strings || !stop->nodes || !queue) {
    free(queue);
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of stop strings; free some memory", total_size);
  }
  stop->node_count = 1;
  char* copy = stop->strings;
  for (size_t i = 0; i < count; ++i) {
    size_t size = strlen(stops[i]);
    memcpy(copy, stops[i], size);
    stop_insert(stop, copy, size);
    copy += size;
  }
  stop_link(stop, queue);
  free(queue);
  return iree_ok_status();
}

iree_status_t mlxcel_stop_create(size_t count, const char* const* stops, mlxcel_stop_t** out_stop) {
  *out_stop = NULL;
  size_t total_size = 0;
  IREE_RETURN_IF_ERROR(stop_validate(count, stops, &total_size));
  mlxcel_stop_t* stop = calloc(1, sizeof(*stop));
  if (!stop) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for stop strings; free some memory");
  iree_status_t status = stop_build(stop, count, stops, total_size);
  if (iree_status_is_ok(status)) {
    *out_stop = stop;
  } else {
    mlxcel_stop_release(stop);
  }
  return status;
}

void mlxcel_stop_release(mlxcel_stop_t* stop) {
  if (!stop) return;
  free(stop->strings);
  free(stop->nodes);
  free(stop);
}

// Appends the first |size| bytes of what |state| holds back.
static void stop_let_go(const mlxcel_stop_t* stop, uint32_t state, uint32_t size, mlxcel_strbuf_t* out_text) {
  if (size > 0) mlxcel_strbuf_append(out_text, iree_make_string_view(stop->nodes[state].text, size));
}

// Moves from |stop->state| over |byte|: of the held bytes and this one, those that the new state doesn't cover are free.
static void stop_push_byte(mlxcel_stop_t* stop, uint8_t byte, mlxcel_strbuf_t* out_text) {
  uint32_t before = stop->state;
  uint32_t after = stop_next_state(stop, before, byte);
  const stop_node_t* entry = &stop->nodes[after];
  stop->matched = entry->match_size > 0;
  uint32_t kept = stop->matched ? entry->match_size : entry->depth;
  uint32_t free_count = stop->nodes[before].depth + 1 - kept;
  uint32_t held_free_count = free_count <= stop->nodes[before].depth ? free_count : stop->nodes[before].depth;
  stop_let_go(stop, before, held_free_count, out_text);
  if (free_count > held_free_count) mlxcel_strbuf_append(out_text, iree_make_string_view((const char*)&byte, 1));
  stop->state = after;
}

bool mlxcel_stop_push(mlxcel_stop_t* stop, iree_string_view_t text, mlxcel_strbuf_t* out_text) {
  if (stop->node_count == 1) {
    mlxcel_strbuf_append(out_text, text);
    return false;
  }
  for (size_t i = 0; i < text.size && !stop->matched; ++i) stop_push_byte(stop, (uint8_t)text.data[i], out_text);
  return stop->matched;
}

void mlxcel_stop_flush(mlxcel_stop_t* stop, mlxcel_strbuf_t* out_text) {
  if (!stop->matched) stop_let_go(stop, stop->state, stop->nodes[stop->state].depth, out_text);
  stop->state = 0;
}
