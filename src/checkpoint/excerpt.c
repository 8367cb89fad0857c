#include "checkpoint/excerpt.h"

#include <string.h>

#define EXCERPT_TAIL "..."
#define EXCERPT_ROOM (MLXCEL_EXCERPT_BYTES - sizeof(EXCERPT_TAIL))

typedef struct excerpt_writer_t {
  mlxcel_excerpt_t excerpt;
  size_t size;
  bool cut;
} excerpt_writer_t;

static void excerpt_put(excerpt_writer_t* writer, const char* bytes, size_t size) {
  if (writer->cut) return;
  if (size > EXCERPT_ROOM - writer->size) {
    memcpy(writer->excerpt.text + writer->size, EXCERPT_TAIL, sizeof(EXCERPT_TAIL));
    writer->cut = true;
    return;
  }
  memcpy(writer->excerpt.text + writer->size, bytes, size);
  writer->size += size;
}

static void excerpt_put_text(excerpt_writer_t* writer, const char* bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size && !writer->cut; ++i) {
    unsigned char c = (unsigned char)bytes[i];
    if (c >= 0x20 && c < 0x7f) {
      excerpt_put(writer, bytes + i, 1);
    } else {
      const char escaped[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
      excerpt_put(writer, escaped, sizeof(escaped));
    }
  }
}

mlxcel_excerpt_t mlxcel_excerpt(iree_string_view_t text) {
  excerpt_writer_t writer = {.size = 0};
  excerpt_put_text(&writer, text.data, text.size);
  return writer.excerpt;
}

static int excerpt_take_json(const char* bytes, size_t size, void* user_data) {
  excerpt_writer_t* writer = user_data;
  excerpt_put_text(writer, bytes, size);
  return writer->cut ? -1 : 0;
}

mlxcel_excerpt_t mlxcel_excerpt_json(const json_t* value) {
  excerpt_writer_t writer = {.size = 0};
  // A failure means that the excerpt is full: jansson stops there instead of printing megabytes.
  (void)json_dump_callback(value, excerpt_take_json, &writer, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
  return writer.excerpt;
}

void mlxcel_name_list_initialize(mlxcel_name_list_t* out_list) {
  mlxcel_strbuf_initialize(&out_list->text);
  out_list->count = 0;
}

void mlxcel_name_list_deinitialize(mlxcel_name_list_t* list) { mlxcel_strbuf_deinitialize(&list->text); }

void mlxcel_name_list_append(mlxcel_name_list_t* list, iree_string_view_t name) {
  if (list->count < MLXCEL_EXCERPT_LIST_MAX) {
    if (list->count > 0) mlxcel_strbuf_append_cstring(&list->text, ", ");
    mlxcel_strbuf_append_cstring(&list->text, mlxcel_excerpt(name).text);
  }
  ++list->count;
}

const char* mlxcel_name_list_finish(mlxcel_name_list_t* list) {
  if (list->count > MLXCEL_EXCERPT_LIST_MAX) mlxcel_strbuf_append_format(&list->text, ", ... and %zu more", list->count - MLXCEL_EXCERPT_LIST_MAX);
  return mlxcel_strbuf_view(&list->text).data;
}
