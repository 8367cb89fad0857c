#include "oracle/reference_protocol.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

// --- writing -----------------------------------------------------------------------------------------------------------------------------

static void store_u64(uint8_t* bytes, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = (uint8_t)(value >> (8 * i));
}

static void put_number(mlxcel_strbuf_t* buffer, uint64_t value, size_t byte_count) {
  uint8_t bytes[8];
  store_u64(bytes, value, byte_count);
  mlxcel_strbuf_append(buffer, iree_make_string_view((const char*)bytes, byte_count));
}

static void put_u32(mlxcel_strbuf_t* buffer, uint32_t value) { put_number(buffer, value, 4); }
static void put_i64(mlxcel_strbuf_t* buffer, int64_t value) { put_number(buffer, (uint64_t)value, 8); }

static void put_f32(mlxcel_strbuf_t* buffer, float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  put_u32(buffer, bits);
}

static void put_string(mlxcel_strbuf_t* buffer, const char* text, size_t size) {
  put_u32(buffer, (uint32_t)size);
  mlxcel_strbuf_append(buffer, iree_make_string_view(text, size));
}

static void put_text(mlxcel_strbuf_t* buffer, const char* text) { put_string(buffer, text, strlen(text)); }

// --- reading: after a failure everything reads as 0 ---------------------------------------------------------------------------------------

typedef struct reader_t {
  const uint8_t* data;
  size_t size, offset;
  bool failed;
} reader_t;

static const uint8_t* get_bytes(reader_t* reader, size_t count) {
  if (reader->failed || count > reader->size - reader->offset) {
    reader->failed = true;
    return NULL;
  }
  const uint8_t* bytes = reader->data + reader->offset;
  reader->offset += count;
  return bytes;
}

static uint64_t get_number(reader_t* reader, size_t byte_count) {
  const uint8_t* bytes = get_bytes(reader, byte_count);
  uint64_t value = 0;
  for (size_t i = 0; bytes && i < byte_count; ++i) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

static uint32_t get_u32(reader_t* reader) { return (uint32_t)get_number(reader, 4); }
static int64_t get_i64(reader_t* reader) { return (int64_t)get_number(reader, 8); }

static float get_f32(reader_t* reader) {
  uint32_t bits = get_u32(reader);
  float value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static bool get_flag(reader_t* reader) {
  uint32_t value = get_u32(reader);
  if (value > 1) reader->failed = true;
  return value == 1;
}

static iree_string_view_t get_string(reader_t* reader, size_t size_max) {
  size_t size = get_u32(reader);
  if (size > size_max) reader->failed = true;
  const uint8_t* bytes = get_bytes(reader, size);
  return bytes ? iree_make_string_view((const char*)bytes, size) : iree_string_view_empty();
}

static mlxcel_dtype_t get_dtype(reader_t* reader) {
  mlxcel_dtype_t dtype = MLXCEL_DTYPE_F32;
  if (!mlxcel_dtype_parse(get_string(reader, MLXCEL_REFERENCE_NAME_BYTES_MAX), &dtype)) reader->failed = true;
  return dtype;
}

// --- frames ------------------------------------------------------------------------------------------------------------------------------

void mlxcel_reference_frame_encode(const mlxcel_reference_frame_t* frame, uint8_t out_bytes[MLXCEL_REFERENCE_HEADER_BYTES]) {
  store_u64(out_bytes, MLXCEL_REFERENCE_MAGIC, 4);
  store_u64(out_bytes + 4, MLXCEL_REFERENCE_PROTOCOL_VERSION, 4);
  store_u64(out_bytes + 8, frame->kind, 4);
  store_u64(out_bytes + 12, 0, 4);
  store_u64(out_bytes + 16, frame->payload_size, 8);
}

iree_status_t mlxcel_reference_frame_decode(const uint8_t bytes[MLXCEL_REFERENCE_HEADER_BYTES], uint64_t payload_size_max,
                                            mlxcel_reference_frame_t* out_frame) {
  memset(out_frame, 0, sizeof(*out_frame));
  reader_t reader = {.data = bytes, .size = MLXCEL_REFERENCE_HEADER_BYTES};
  uint32_t magic = get_u32(&reader), version = get_u32(&reader), kind = get_u32(&reader), zero = get_u32(&reader);
  uint64_t payload_size = get_number(&reader, 8);
  if (magic != MLXCEL_REFERENCE_MAGIC) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "not a frame of the MLX reference (it begins with %08x); is the program mlxcel-mlx-reference?",
                            magic);
  }
  if (version != MLXCEL_REFERENCE_PROTOCOL_VERSION) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "version %u of the MLX reference's protocol, this build speaks %u; build both from one tree", version,
                            MLXCEL_REFERENCE_PROTOCOL_VERSION);
  }
  if (kind < MLXCEL_REFERENCE_FRAME_IDENTITY || kind > MLXCEL_REFERENCE_FRAME_ERROR || zero != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a frame of an unknown kind (%u, %u) of the MLX reference's protocol", kind, zero);
  }
  if (payload_size > payload_size_max) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "a frame of %" PRIu64 " bytes; at most %" PRIu64 " are taken here, use a smaller shape",
                            payload_size, payload_size_max);
  }
  out_frame->kind = (mlxcel_reference_frame_kind_t)kind;
  out_frame->payload_size = payload_size;
  return iree_ok_status();
}

// --- operations and types ----------------------------------------------------------------------------------------------------------------

iree_status_t mlxcel_reference_operands(const mlxcel_operation_t* operation, mlxcel_operand_t out_operands[MLXCEL_OPERANDS_MAX], size_t* out_count) {
  return mlxcel_operation_operands(operation, operation->op == MLXCEL_OP_QKV_ROPE, out_operands, out_count);
}

#define OPERATION_SIZE_COUNT 19u

// The sizes in the order in which they travel.
static void operation_sizes(mlxcel_operation_t* operation, int64_t* sizes[OPERATION_SIZE_COUNT]) {
  mlxcel_operation_t* o = operation;
  int64_t* const list[OPERATION_SIZE_COUNT] = {&o->rows,      &o->in_features, &o->out_features, &o->heads,     &o->kv_heads,  &o->head_dim, &o->keys,
                                               &o->rope_dims, &o->batch,       &o->in_h,         &o->in_w,      &o->kernel_h,  &o->kernel_w, &o->stride_h,
                                               &o->stride_w,  &o->pad_h_low,   &o->pad_h_high,   &o->pad_w_low, &o->pad_w_high};
  memcpy(sizes, list, sizeof(list));
}

static void put_operation(mlxcel_strbuf_t* buffer, const mlxcel_operation_t* operation) {
  mlxcel_operation_t copy = *operation;
  put_text(buffer, mlxcel_op_class_name(copy.op));
  put_text(buffer, mlxcel_op_variant_name(copy.variant));
  put_text(buffer, mlxcel_dtype_name(copy.dtype));
  put_text(buffer, mlxcel_dtype_name(copy.weight_dtype));
  put_text(buffer, mlxcel_dtype_name(copy.bias_dtype));
  put_u32(buffer, copy.bits);
  put_u32(buffer, copy.group_size);
  put_u32(buffer, copy.has_bias ? 1 : 0);
  put_u32(buffer, copy.has_residual ? 1 : 0);
  put_u32(buffer, copy.has_frequencies ? 1 : 0);
  int64_t* sizes[OPERATION_SIZE_COUNT];
  operation_sizes(&copy, sizes);
  for (size_t i = 0; i < OPERATION_SIZE_COUNT; ++i) put_i64(buffer, *sizes[i]);
  put_f32(buffer, copy.epsilon);
  put_f32(buffer, copy.scale);
  put_f32(buffer, copy.rope_base);
}

static void get_operation(reader_t* reader, mlxcel_operation_t* operation) {
  if (!mlxcel_op_class_parse(get_string(reader, MLXCEL_REFERENCE_NAME_BYTES_MAX), &operation->op)) reader->failed = true;
  if (!mlxcel_op_variant_parse(get_string(reader, MLXCEL_REFERENCE_NAME_BYTES_MAX), &operation->variant)) reader->failed = true;
  operation->dtype = get_dtype(reader);
  operation->weight_dtype = get_dtype(reader);
  operation->bias_dtype = get_dtype(reader);
  operation->bits = get_u32(reader);
  operation->group_size = get_u32(reader);
  operation->has_bias = get_flag(reader);
  operation->has_residual = get_flag(reader);
  operation->has_frequencies = get_flag(reader);
  int64_t* sizes[OPERATION_SIZE_COUNT];
  operation_sizes(operation, sizes);
  for (size_t i = 0; i < OPERATION_SIZE_COUNT; ++i) *sizes[i] = get_i64(reader);
  operation->epsilon = get_f32(reader);
  operation->scale = get_f32(reader);
  operation->rope_base = get_f32(reader);
}

static void put_type(mlxcel_strbuf_t* buffer, const mlxcel_operand_t* type) {
  put_text(buffer, mlxcel_dtype_name(type->dtype));
  put_u32(buffer, type->rank);
  for (uint32_t i = 0; i < type->rank; ++i) put_i64(buffer, type->dims[i]);
}

static void get_type(reader_t* reader, mlxcel_operand_t* type) {
  type->name = "";
  type->dtype = get_dtype(reader);
  type->rank = get_u32(reader);
  if (type->rank > MLXCEL_OPERAND_RANK_MAX) {
    reader->failed = true;
    type->rank = 0;
  }
  for (uint32_t i = 0; i < type->rank; ++i) {
    type->dims[i] = get_i64(reader);
    if (type->dims[i] <= 0) reader->failed = true;
  }
}

// Bytes of a tensor of |type|; false beyond what a payload may hold.
static bool type_size(const mlxcel_operand_t* type, size_t* out_size) {
  uint64_t size = mlxcel_dtype_size(type->dtype);
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (!mlxcel_checked_mul_u64(size, (uint64_t)type->dims[i], &size) || size > MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX) return false;
  }
  *out_size = (size_t)size;
  return true;
}

static bool types_equal(const mlxcel_operand_t* left, const mlxcel_operand_t* right) {
  return left->dtype == right->dtype && left->rank == right->rank && memcmp(left->dims, right->dims, left->rank * sizeof(left->dims[0])) == 0;
}

// --- descriptions ------------------------------------------------------------------------------------------------------------------------

static void put_description(mlxcel_strbuf_t* buffer, mlxcel_strbuf_t* description) {
  put_u32(buffer, (uint32_t)description->size);
  mlxcel_strbuf_append(buffer, mlxcel_strbuf_view(description));
  iree_status_t status = mlxcel_strbuf_take_status(description);
  if (!iree_status_is_ok(status)) {
    if (iree_status_is_ok(buffer->status)) {
      buffer->status = status;
    } else {
      iree_status_ignore(status);
    }
  }
  mlxcel_strbuf_deinitialize(description);
}

// Splits a payload into the description and the bytes behind it.
static iree_status_t split_payload(const uint8_t* payload, size_t size, reader_t* out_description, reader_t* out_data) {
  reader_t reader = {.data = payload, .size = size};
  uint32_t description_size = get_u32(&reader);
  const uint8_t* description = description_size <= MLXCEL_REFERENCE_DESCRIPTION_BYTES_MAX ? get_bytes(&reader, description_size) : NULL;
  if (!description) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a message of the MLX reference's protocol has no valid description");
  *out_description = (reader_t){.data = description, .size = description_size};
  *out_data = (reader_t){.data = payload + reader.offset, .size = size - reader.offset};
  return iree_ok_status();
}

static iree_status_t check_description(const reader_t* description) {
  if (!description->failed && description->offset == description->size) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "a message of the MLX reference's protocol is malformed or uses names that this build doesn't know; build both from one tree");
}

static iree_status_t take_data(reader_t* data, mlxcel_reference_tensor_t* tensor) {
  if (!type_size(&tensor->type, &tensor->size))
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "a tensor has more than %" PRIu64 " bytes; use a smaller shape",
                            MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX);
  tensor->data = get_bytes(data, tensor->size);
  return tensor->data ? iree_ok_status() : iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a message of the MLX reference's protocol lacks tensor bytes");
}

static iree_status_t check_data_end(const reader_t* data) {
  if (data->offset == data->size) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a message of the MLX reference's protocol has %zu bytes after its tensors", data->size - data->offset);
}

void mlxcel_reference_request_encode(const mlxcel_operation_t* operation, size_t operand_count, const mlxcel_operand_t* operands, mlxcel_strbuf_t* buffer) {
  mlxcel_strbuf_t description;
  mlxcel_strbuf_initialize(&description);
  put_operation(&description, operation);
  put_u32(&description, (uint32_t)operand_count);
  for (size_t i = 0; i < operand_count; ++i) put_type(&description, &operands[i]);
  put_description(buffer, &description);
}

static iree_status_t check_operands(mlxcel_reference_request_t* request) {
  mlxcel_operand_t expected[MLXCEL_OPERANDS_MAX];
  size_t expected_count = 0;
  IREE_RETURN_IF_ERROR(mlxcel_reference_operands(&request->operation, expected, &expected_count));
  if (request->operand_count != expected_count) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s takes %zu operands, %zu came", mlxcel_op_class_name(request->operation.op), expected_count,
                            request->operand_count);
  }
  for (size_t i = 0; i < expected_count; ++i) {
    if (!types_equal(&expected[i], &request->operands[i].type)) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: operand %zu (%s) has another type than the operation says",
                              mlxcel_op_class_name(request->operation.op), i, expected[i].name);
    }
    request->operands[i].type.name = expected[i].name;
  }
  return iree_ok_status();
}

static iree_status_t decode_request(const uint8_t* payload, size_t size, mlxcel_reference_request_t* request) {
  reader_t description, data;
  IREE_RETURN_IF_ERROR(split_payload(payload, size, &description, &data));
  get_operation(&description, &request->operation);
  uint32_t operand_count = get_u32(&description);
  if (operand_count > MLXCEL_OPERANDS_MAX) description.failed = true;
  request->operand_count = description.failed ? 0 : operand_count;
  for (size_t i = 0; i < request->operand_count; ++i) get_type(&description, &request->operands[i].type);
  IREE_RETURN_IF_ERROR(check_description(&description));
  IREE_RETURN_IF_ERROR(check_operands(request));
  for (size_t i = 0; i < request->operand_count; ++i) {
    IREE_RETURN_IF_ERROR(take_data(&data, &request->operands[i]));
  }
  return check_data_end(&data);
}

iree_status_t mlxcel_reference_request_decode(const uint8_t* payload, size_t size, mlxcel_reference_request_t* out_request) {
  memset(out_request, 0, sizeof(*out_request));
  iree_status_t status = decode_request(payload, size, out_request);
  if (!iree_status_is_ok(status)) memset(out_request, 0, sizeof(*out_request));
  return status;
}

void mlxcel_reference_result_encode(const mlxcel_operand_t* type, mlxcel_strbuf_t* buffer) {
  mlxcel_strbuf_t description;
  mlxcel_strbuf_initialize(&description);
  put_type(&description, type);
  put_description(buffer, &description);
}

static iree_status_t decode_result(const uint8_t* payload, size_t size, mlxcel_reference_tensor_t* result) {
  reader_t description, data;
  IREE_RETURN_IF_ERROR(split_payload(payload, size, &description, &data));
  get_type(&description, &result->type);
  IREE_RETURN_IF_ERROR(check_description(&description));
  IREE_RETURN_IF_ERROR(take_data(&data, result));
  return check_data_end(&data);
}

iree_status_t mlxcel_reference_result_decode(const uint8_t* payload, size_t size, mlxcel_reference_tensor_t* out_result) {
  memset(out_result, 0, sizeof(*out_result));
  iree_status_t status = decode_result(payload, size, out_result);
  if (!iree_status_is_ok(status)) memset(out_result, 0, sizeof(*out_result));
  return status;
}

// --- errors and identity -----------------------------------------------------------------------------------------------------------------

void mlxcel_reference_error_encode(iree_status_t status, mlxcel_strbuf_t* buffer) {
  char text[MLXCEL_REFERENCE_MESSAGE_BYTES_MAX];
  mlxcel_status_text(status, text, sizeof(text));
  put_u32(buffer, (uint32_t)iree_status_code(status));
  put_string(buffer, text, strlen(text));
}

iree_status_t mlxcel_reference_error_decode(const uint8_t* payload, size_t size) {
  reader_t reader = {.data = payload, .size = size};
  uint32_t code = get_u32(&reader);
  iree_string_view_t text = get_string(&reader, MLXCEL_REFERENCE_MESSAGE_BYTES_MAX);
  if (reader.failed || reader.offset != size || code == IREE_STATUS_OK || code > IREE_STATUS_UNAUTHENTICATED) {
    return iree_make_status(IREE_STATUS_INTERNAL, "the MLX reference reported an error in a form that this build doesn't know");
  }
  return iree_make_status((iree_status_code_t)code, "MLX reference: %.*s", MLXCEL_SV(text));
}

void mlxcel_reference_identity_encode(const mlxcel_reference_identity_t* identity, mlxcel_strbuf_t* buffer) {
  put_text(buffer, identity->version);
  put_text(buffer, identity->build);
  put_text(buffer, identity->libmlx_build_id);
  put_text(buffer, identity->libmlx.text);
  put_text(buffer, identity->blas.text);
  put_text(buffer, identity->libm.text);
  put_text(buffer, identity->revision);
  put_text(buffer, identity->patch);
  put_text(buffer, identity->architecture);
}

// Printable ASCII into a zeroed array of |capacity| bytes.
static void get_text(reader_t* reader, char* text, size_t capacity) {
  iree_string_view_t view = get_string(reader, capacity - 1);
  for (size_t i = 0; i < view.size; ++i) {
    if (view.data[i] < 0x20 || view.data[i] > 0x7e) reader->failed = true;
  }
  if (!reader->failed && view.size > 0) memcpy(text, view.data, view.size);
}

static void get_digest(reader_t* reader, mlxcel_sha256_hex_t* digest) {
  get_text(reader, digest->text, sizeof(digest->text));
  for (size_t i = 0; i + 1 < sizeof(digest->text); ++i) {
    if (!isdigit((unsigned char)digest->text[i]) && (digest->text[i] < 'a' || digest->text[i] > 'f')) reader->failed = true;
  }
}

iree_status_t mlxcel_reference_identity_decode(const uint8_t* payload, size_t size, mlxcel_reference_identity_t* out_identity) {
  memset(out_identity, 0, sizeof(*out_identity));
  reader_t reader = {.data = payload, .size = size};
  get_text(&reader, out_identity->version, sizeof(out_identity->version));
  get_text(&reader, out_identity->build, sizeof(out_identity->build));
  get_text(&reader, out_identity->libmlx_build_id, sizeof(out_identity->libmlx_build_id));
  get_digest(&reader, &out_identity->libmlx);
  get_digest(&reader, &out_identity->blas);
  get_digest(&reader, &out_identity->libm);
  get_text(&reader, out_identity->revision, sizeof(out_identity->revision));
  get_text(&reader, out_identity->patch, sizeof(out_identity->patch));
  get_text(&reader, out_identity->architecture, sizeof(out_identity->architecture));
  if (!reader.failed && reader.offset == size && out_identity->version[0] && out_identity->build[0]) return iree_ok_status();
  memset(out_identity, 0, sizeof(*out_identity));
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the MLX reference's identity is malformed; build it and this program from one tree");
}
