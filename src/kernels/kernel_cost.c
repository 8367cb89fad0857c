#include "kernels/kernel_cost.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/kernel_abi.h"
#include "kernels/mlx_abi.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// --- names and places of arguments -----------------------------------------------------------------------------------------------------------

static const char* const value_names[MLXCEL_KERNEL_VALUE_COUNT] = {
    [MLXCEL_KERNEL_VALUE_ROWS] = "rows",
    [MLXCEL_KERNEL_VALUE_WIDTH] = "width",
    [MLXCEL_KERNEL_VALUE_IN_FEATURES] = "in_features",
    [MLXCEL_KERNEL_VALUE_OUT_FEATURES] = "out_features",
    [MLXCEL_KERNEL_VALUE_HEADS] = "heads",
    [MLXCEL_KERNEL_VALUE_KV_HEADS] = "kv_heads",
    [MLXCEL_KERNEL_VALUE_HEAD_DIM] = "head_dim",
    [MLXCEL_KERNEL_VALUE_ROPE_HALF] = "rope_half",
    [MLXCEL_KERNEL_VALUE_KV_TYPE] = "kv_type",
    [MLXCEL_KERNEL_VALUE_WEIGHT_TYPE] = "weight_type",
    [MLXCEL_KERNEL_VALUE_FORMAT] = "format",
    [MLXCEL_KERNEL_VALUE_Q_FORMAT] = "q_format",
    [MLXCEL_KERNEL_VALUE_K_FORMAT] = "k_format",
    [MLXCEL_KERNEL_VALUE_V_FORMAT] = "v_format",
    [MLXCEL_KERNEL_VALUE_G_FORMAT] = "g_format",
    [MLXCEL_KERNEL_VALUE_U_FORMAT] = "u_format",
    [MLXCEL_KERNEL_VALUE_FLAGS] = "flags",
    [MLXCEL_KERNEL_VALUE_Q_FLAGS] = "q_flags",
    [MLXCEL_KERNEL_VALUE_K_FLAGS] = "k_flags",
    [MLXCEL_KERNEL_VALUE_V_FLAGS] = "v_flags",
    [MLXCEL_KERNEL_VALUE_G_FLAGS] = "g_flags",
    [MLXCEL_KERNEL_VALUE_U_FLAGS] = "u_flags",
};

// The declarations as text, by the preprocessor: "const int32_t *tokens_base, size_t tokens_offset, ..., int32_t rows, ...".
#define TEXT_OF(...) #__VA_ARGS__
#define EXPANDED_TEXT_OF(...) TEXT_OF(__VA_ARGS__)
typedef struct declared_kernel_t {
  const char *symbol, *parameters;
} declared_kernel_t;
#define DECLARED_KERNEL(name, arguments) {#name, EXPANDED_TEXT_OF(arguments)},
static const declared_kernel_t declared_kernels[] = {MLXCEL_KERNELS(DECLARED_KERNEL) MLXCEL_MLX_KERNELS(DECLARED_KERNEL) MLXCEL_HOST_KERNELS(DECLARED_KERNEL)};

static const char* declared_parameters(mlxcel_kernel_id_t id) {
  for (size_t i = 0; i < COUNT_OF(declared_kernels); ++i) {
    if (strcmp(declared_kernels[i].symbol, mlxcel_kernel_info(id)->symbol) == 0) return declared_kernels[i].parameters;
  }
  return "";
}

// Takes the next integer argument off |*text|; false at its end.
#define INTEGER "int32_t "
static bool next_integer(const char** text, iree_string_view_t* out_name) {
  for (const char* at = *text; *at;) {
    at += strspn(at, ", ");
    const char* end = at + strcspn(at, ",");
    const size_t prefix = sizeof(INTEGER) - 1;
    bool is_integer = strncmp(at, INTEGER, prefix) == 0 && at[prefix] != '*';
    *out_name = iree_make_string_view(at + prefix, is_integer ? (size_t)(end - at) - prefix : 0);
    *text = at = end;
    if (is_integer) return true;
  }
  return false;
}

static void store_value(iree_string_view_t name, int32_t value, mlxcel_kernel_shape_t* shape) {
  for (uint32_t v = 0; v < MLXCEL_KERNEL_VALUE_COUNT; ++v) {
    if (!iree_string_view_equal(name, iree_make_cstring_view(value_names[v]))) continue;
    shape->present |= 1u << v;
    shape->values[v] = value;
  }
}

bool mlxcel_kernel_shape_read(mlxcel_kernel_id_t id, size_t count, const int32_t* values, const bool* is_known, mlxcel_kernel_shape_t* out_shape) {
  memset(out_shape, 0, sizeof(*out_shape));
  out_shape->id = id;
  const char* text = declared_parameters(id);
  iree_string_view_t name;
  size_t used = 0;
  while (next_integer(&text, &name)) {
    if (used < count && (!is_known || is_known[used])) store_value(name, values[used], out_shape);
    ++used;
  }
  if (used == count) return true;
  memset(out_shape, 0, sizeof(*out_shape));
  out_shape->id = id;
  return false;
}

// --- pieces of formulas ------------------------------------------------------------------------------------------------------------------------

#define V(name) MLXCEL_KERNEL_VALUE_##name
#define BIT(name) (1u << MLXCEL_KERNEL_VALUE_##name)

static uint64_t value(const mlxcel_kernel_shape_t* shape, mlxcel_kernel_value_t name) { return (uint64_t)(shape->values[name] < 0 ? 0 : shape->values[name]); }
static bool has_all(const mlxcel_kernel_shape_t* shape, uint32_t bits) { return (shape->present & bits) == bits; }
static uint64_t type_bytes(int32_t type) { return type == MLXCEL_FORMAT_F32 ? 4 : 2; }

// Codes, scales and offsets, or dense values, of |rows| rows of |width| elements.
static uint64_t matrix_bytes(int32_t format, uint64_t rows, uint64_t width) {
  uint64_t element = type_bytes(MLXCEL_FORMAT_TYPE(format)), bits = (uint64_t)MLXCEL_FORMAT_BITS(format);
  if (bits == 0) return rows * width * element;
  return rows * (width * bits / 8 + (width >> MLXCEL_FORMAT_GROUP_LOG2(format)) * 2 * element);
}

// A matrix of |rows| rows by its format and flags: with its bias vector.
static uint64_t weight_bytes(const mlxcel_kernel_shape_t* shape, mlxcel_kernel_value_t format, mlxcel_kernel_value_t flags, uint64_t rows, uint64_t width) {
  int32_t flag_bits = shape->values[flags];
  uint64_t bias = flag_bits & MLXCEL_MATRIX_HAS_BIAS ? rows * type_bytes(MLXCEL_MATRIX_BIAS_TYPE(flag_bits)) : 0;
  return matrix_bytes(shape->values[format], rows, width) + bias;
}

// Bytes of an element of the KV cache; 0 if the arguments don't say.
static uint64_t cache_element_bytes(const mlxcel_kernel_shape_t* shape) {
  if (has_all(shape, BIT(KV_TYPE))) return type_bytes(shape->values[V(KV_TYPE)]);
  return strstr(declared_parameters(shape->id), "float *k_cache_base") ? sizeof(float) : 0;
}

// --- formulas --------------------------------------------------------------------------------------------------------------------------------

typedef void (*cost_fn_t)(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost);

static void set_cost(mlxcel_kernel_cost_t* cost, uint64_t bytes, uint64_t flops) { *cost = (mlxcel_kernel_cost_t){true, bytes, flops}; }

static void embed_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost) {
  uint64_t width = value(shape, V(WIDTH));
  set_cost(cost, matrix_bytes(shape->values[V(FORMAT)], rows->active, width) + rows->active * width * sizeof(float), 0);
}

static void rms_norm_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost) {
  uint64_t width = value(shape, V(WIDTH)), weight = rows->active ? width * type_bytes(shape->values[V(WEIGHT_TYPE)]) : 0;
  set_cost(cost, rows->active * width * 2 * sizeof(float) + weight, rows->active * width * 4);
}

static void matmul_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost) {
  uint64_t in = value(shape, V(IN_FEATURES)), out = value(shape, V(OUT_FEATURES));
  uint64_t weights = rows->active ? weight_bytes(shape, V(FORMAT), V(FLAGS), out, in) : 0;
  uint64_t residual = shape->values[V(FLAGS)] & MLXCEL_MATRIX_HAS_RESIDUAL ? out : 0;
  set_cost(cost, weights + rows->active * (in + out + residual) * sizeof(float), rows->active * in * out * 2);
}

static void gate_up_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost) {
  uint64_t in = value(shape, V(IN_FEATURES)), out = value(shape, V(OUT_FEATURES)), weights = 0;
  if (rows->active) weights = weight_bytes(shape, V(G_FORMAT), V(G_FLAGS), out, in) + weight_bytes(shape, V(U_FORMAT), V(U_FLAGS), out, in);
  set_cost(cost, weights + rows->active * (in + out) * sizeof(float), rows->active * in * out * 4);
}

static void qkv_rope_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost) {
  uint64_t width = value(shape, V(WIDTH)), half = value(shape, V(ROPE_HALF)), heads = value(shape, V(HEADS)), kv_heads = value(shape, V(KV_HEADS));
  uint64_t q = heads * value(shape, V(HEAD_DIM)), kv = kv_heads * value(shape, V(HEAD_DIM)), element = cache_element_bytes(shape), weights = 0;
  if (element == 0) return;
  if (rows->active) {
    weights = weight_bytes(shape, V(Q_FORMAT), V(Q_FLAGS), q, width) + weight_bytes(shape, V(K_FORMAT), V(K_FLAGS), kv, width) +
              weight_bytes(shape, V(V_FORMAT), V(V_FLAGS), kv, width);
  }
  set_cost(cost, weights + rows->active * ((width + q + 2 * half) * sizeof(float) + 2 * kv * element),
           rows->active * (width * (q + 2 * kv) * 2 + (heads + kv_heads) * half * 6));
}

static void attention_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* cost) {
  uint64_t q = value(shape, V(HEADS)) * value(shape, V(HEAD_DIM)), kv = value(shape, V(KV_HEADS)) * value(shape, V(HEAD_DIM));
  uint64_t element = cache_element_bytes(shape);
  if (element == 0 || (rows->active && (!rows->keys_seen || !rows->keys_read))) return;
  set_cost(cost, rows->active * q * 2 * sizeof(float) + rows->keys_read * kv * 2 * element, rows->keys_seen * q * 4);
}

static const struct {
  cost_fn_t cost;
  uint32_t needed;
} formulas[MLXCEL_KERNEL_COUNT] = {
    [MLXCEL_KERNEL_EMBED] = {embed_cost, BIT(ROWS) | BIT(WIDTH) | BIT(FORMAT)},
    [MLXCEL_KERNEL_RMS_NORM] = {rms_norm_cost, BIT(ROWS) | BIT(WIDTH) | BIT(WEIGHT_TYPE)},
    [MLXCEL_KERNEL_QKV_ROPE] = {qkv_rope_cost, BIT(ROWS) | BIT(WIDTH) | BIT(HEADS) | BIT(KV_HEADS) | BIT(HEAD_DIM) | BIT(ROPE_HALF) | BIT(Q_FORMAT) |
                                                   BIT(K_FORMAT) | BIT(V_FORMAT) | BIT(Q_FLAGS) | BIT(K_FLAGS) | BIT(V_FLAGS)},
    [MLXCEL_KERNEL_ATTENTION] = {attention_cost, BIT(ROWS) | BIT(HEADS) | BIT(KV_HEADS) | BIT(HEAD_DIM)},
    [MLXCEL_KERNEL_MATMUL] = {matmul_cost, BIT(ROWS) | BIT(IN_FEATURES) | BIT(OUT_FEATURES) | BIT(FORMAT) | BIT(FLAGS)},
    [MLXCEL_KERNEL_GATE_UP] = {gate_up_cost, BIT(ROWS) | BIT(IN_FEATURES) | BIT(OUT_FEATURES) | BIT(G_FORMAT) | BIT(U_FORMAT) | BIT(G_FLAGS) | BIT(U_FLAGS)},
};

void mlxcel_kernel_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* out_cost) {
  memset(out_cost, 0, sizeof(*out_cost));
  if (!formulas[shape->id].cost || !has_all(shape, formulas[shape->id].needed)) return;
  const mlxcel_kernel_rows_t all = {.active = (uint32_t)value(shape, V(ROWS))};
  formulas[shape->id].cost(shape, rows ? rows : &all, out_cost);
}

// --- labels ----------------------------------------------------------------------------------------------------------------------------------

typedef struct label_t {
  char* text;
  size_t capacity, used;
} label_t;

__attribute__((format(printf, 2, 3))) static void append(label_t* label, const char* format, ...) {
  if (label->used + 1 >= label->capacity) return;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(label->text + label->used, label->capacity - label->used, format, arguments);
  va_end(arguments);
  if (length > 0) label->used += (size_t)length;
}

static const char* type_name(int32_t type) {
  static const char* const names[] = {[MLXCEL_FORMAT_F32] = "f32", [MLXCEL_FORMAT_F16] = "f16", [MLXCEL_FORMAT_BF16] = "bf16"};
  return type >= 0 && (size_t)type < COUNT_OF(names) ? names[type] : "other";
}

static void append_format(label_t* label, int32_t format) {
  if (MLXCEL_FORMAT_BITS(format)) {
    append(label, " q%d g%d", MLXCEL_FORMAT_BITS(format), 1 << MLXCEL_FORMAT_GROUP_LOG2(format));
  } else {
    append(label, " %s", type_name(MLXCEL_FORMAT_TYPE(format)));
  }
}

// Each storage once where neighbours share it: "q4 g32" for q, k and v alike.
static void append_formats(label_t* label, const mlxcel_kernel_shape_t* shape) {
  int32_t last = -1;
  for (uint32_t v = V(FORMAT); v <= V(U_FORMAT); ++v) {
    if (!(shape->present & (1u << v)) || shape->values[v] == last) continue;
    append_format(label, shape->values[v]);
    last = shape->values[v];
  }
}

static const char* short_name(mlxcel_kernel_id_t id) {
  const char* family = strchr(mlxcel_kernel_info(id)->symbol, '_');
  const char* name = family ? strchr(family + 1, '_') : NULL;
  return name ? name + 1 : mlxcel_kernel_info(id)->symbol;
}

void mlxcel_kernel_label(const mlxcel_kernel_shape_t* shape, size_t capacity, char* out_label) {
  label_t label = {out_label, capacity, 0};
  if (capacity) out_label[0] = 0;
  append(&label, "%s", short_name(shape->id));
  if (has_all(shape, BIT(IN_FEATURES) | BIT(OUT_FEATURES))) append(&label, " %dx%d", shape->values[V(IN_FEATURES)], shape->values[V(OUT_FEATURES)]);
  if (has_all(shape, BIT(WIDTH))) append(&label, " %d", shape->values[V(WIDTH)]);
  if (has_all(shape, BIT(HEADS) | BIT(KV_HEADS) | BIT(HEAD_DIM))) {
    append(&label, " heads=%d/%dx%d", shape->values[V(HEADS)], shape->values[V(KV_HEADS)], shape->values[V(HEAD_DIM)]);
  }
  append_formats(&label, shape);
  if (shape->values[V(FLAGS)] & MLXCEL_MATRIX_HAS_RESIDUAL) append(&label, " +residual");
  if (has_all(shape, BIT(KV_TYPE)) && shape->values[V(KV_TYPE)] != MLXCEL_FORMAT_F32) append(&label, " kv=%s", type_name(shape->values[V(KV_TYPE)]));
  if (has_all(shape, BIT(ROWS))) append(&label, " rows=%d", shape->values[V(ROWS)]);
}
