#include "oracle/mlx_reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "oracle/reference_process.h"
#include "oracle/reference_protocol.h"

#define DEFAULT_TIMEOUT_SECONDS 300u
// An identity is below 1 KB; an error is a code and a message.
#define SMALL_PAYLOAD_BYTES_MAX (MLXCEL_REFERENCE_MESSAGE_BYTES_MAX + 64u)

struct mlxcel_reference_t {
  char* program;
  bool disable_compile;
  uint64_t timeout_milliseconds;
  mlxcel_reference_process_t process;
  mlxcel_reference_identity_t identity;
};

// --- frames ------------------------------------------------------------------------------------------------------------------------------

typedef struct reply_t {
  mlxcel_reference_frame_t frame;
  uint8_t* payload;
} reply_t;

static iree_status_t receive_frame(mlxcel_reference_t* reference, uint64_t deadline, uint64_t payload_size_max, reply_t* reply) {
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  IREE_RETURN_IF_ERROR(mlxcel_reference_process_receive(&reference->process, deadline, header, sizeof(header)));
  IREE_RETURN_IF_ERROR(mlxcel_reference_frame_decode(header, payload_size_max, &reply->frame));
  size_t size = (size_t)reply->frame.payload_size;
  reply->payload = malloc(size ? size : 1);
  if (!reply->payload) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of the MLX reference's answer", size);
  return mlxcel_reference_process_receive(&reference->process, deadline, reply->payload, size);
}

// --- opening -----------------------------------------------------------------------------------------------------------------------------

// The version that profiles and claims name; a dev build of the same number carries a suffix and is not it.
static iree_status_t check_version(const mlxcel_reference_identity_t* identity) {
  if (strcmp(identity->version, MLXCEL_MLX_VERSION) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "the MLX reference runs MLX %s, the profile is of %s; run scripts/setup.sh and build again",
                          identity->version, MLXCEL_MLX_VERSION);
}

static iree_status_t read_identity(mlxcel_reference_t* reference, mlxcel_reference_identity_t* out_identity) {
  reply_t reply = {.payload = NULL};
  uint64_t deadline = mlxcel_reference_process_now() + reference->timeout_milliseconds;
  iree_status_t status = receive_frame(reference, deadline, SMALL_PAYLOAD_BYTES_MAX, &reply);
  if (iree_status_is_ok(status) && reply.frame.kind == MLXCEL_REFERENCE_FRAME_ERROR) {
    status = mlxcel_reference_error_decode(reply.payload, (size_t)reply.frame.payload_size);
  } else if (iree_status_is_ok(status) && reply.frame.kind != MLXCEL_REFERENCE_FRAME_IDENTITY) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the MLX reference doesn't begin with its identity; build it and this program from one tree");
  } else if (iree_status_is_ok(status)) {
    status = mlxcel_reference_identity_decode(reply.payload, (size_t)reply.frame.payload_size, out_identity);
  }
  free(reply.payload);
  return iree_status_is_ok(status) ? check_version(out_identity) : status;
}

static iree_status_t start(mlxcel_reference_t* reference, mlxcel_reference_identity_t* out_identity) {
  memset(out_identity, 0, sizeof(*out_identity));
  IREE_RETURN_IF_ERROR(mlxcel_reference_process_start(reference->program, reference->disable_compile, &reference->process));
  iree_status_t status = read_identity(reference, out_identity);
  return iree_status_is_ok(status) ? status : mlxcel_reference_process_fail(&reference->process, status);
}

static iree_status_t choose_program(const char* asked, char** out_program) {
  *out_program = NULL;
  const char* named = getenv("MLXCEL_MLX_REFERENCE");
  const char* program = asked ? asked : named && named[0] ? named : MLXCEL_MLX_REFERENCE_PROGRAM;
  if (!program[0]) {
    return iree_make_status(IREE_STATUS_UNAVAILABLE,
                            "this build has no MLX reference; run scripts/setup.sh (it installs mlx and mlx-cpu " MLXCEL_MLX_VERSION ") and configure again");
  }
  if (!mlxcel_path_exists(program)) {
    return iree_make_status(IREE_STATUS_UNAVAILABLE, "there is no MLX reference at %s; build the target mlxcel-mlx-reference, or set MLXCEL_MLX_REFERENCE",
                            program);
  }
  *out_program = realpath(program, NULL);  // the program starts in its own folder
  if (*out_program) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNAVAILABLE, "the path of the MLX reference %s cannot be resolved; set MLXCEL_MLX_REFERENCE", program);
}

iree_status_t mlxcel_reference_open(const mlxcel_reference_options_t* options, mlxcel_reference_t** out_reference) {
  *out_reference = NULL;
  mlxcel_reference_t* reference = calloc(1, sizeof(*reference));
  if (!reference) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the MLX reference's handle");
  reference->process.channel = reference->process.diagnostics = -1;
  reference->disable_compile = options->disable_compile;
  reference->timeout_milliseconds = UINT64_C(1000) * (options->timeout_seconds ? options->timeout_seconds : DEFAULT_TIMEOUT_SECONDS);
  iree_status_t status = choose_program(options->program, &reference->program);
  if (iree_status_is_ok(status)) status = start(reference, &reference->identity);
  if (!iree_status_is_ok(status)) {
    mlxcel_reference_close(reference);
    return status;
  }
  *out_reference = reference;
  return iree_ok_status();
}

void mlxcel_reference_close(mlxcel_reference_t* reference) {
  if (!reference) return;
  mlxcel_reference_process_stop(&reference->process);
  free(reference->program);
  free(reference);
}

const mlxcel_reference_identity_t* mlxcel_reference_identity(const mlxcel_reference_t* reference) { return &reference->identity; }

// After a crash or a time-out the next request gets a new process, which must be the same MLX.
static iree_status_t ensure_running(mlxcel_reference_t* reference) {
  if (mlxcel_reference_process_is_running(&reference->process)) return iree_ok_status();
  mlxcel_reference_identity_t identity;
  IREE_RETURN_IF_ERROR(start(reference, &identity));
  if (memcmp(&identity, &reference->identity, sizeof(identity)) == 0) return iree_ok_status();
  mlxcel_reference_process_stop(&reference->process);
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "the MLX reference or a library of it changed while it was in use; start the oracle again");
}

// --- requests ----------------------------------------------------------------------------------------------------------------------------

static bool types_equal(const mlxcel_operand_t* left, const mlxcel_operand_t* right) {
  return left->dtype == right->dtype && left->rank == right->rank && memcmp(left->dims, right->dims, left->rank * sizeof(left->dims[0])) == 0;
}

typedef struct request_t {
  const mlxcel_operation_t* operation;
  size_t operand_count;
  const mlxcel_host_tensor_t* operands;
  mlxcel_operand_t types[MLXCEL_OPERANDS_MAX], result;
} request_t;

static iree_status_t check_request(request_t* request) {
  size_t count = 0;
  uint64_t total = 0;
  IREE_RETURN_IF_ERROR(mlxcel_reference_operands(request->operation, request->types, &count));
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(request->operation, &request->result));
  const char* name = mlxcel_op_class_name(request->operation->op);
  if (count != request->operand_count) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the MLX reference of %s takes %zu operands, not %zu", name, count, request->operand_count);
  }
  for (size_t i = 0; i < count; ++i) {
    const mlxcel_host_tensor_t* operand = &request->operands[i];
    uint64_t size = mlxcel_operand_element_count(&request->types[i]) * mlxcel_dtype_size(request->types[i].dtype);
    if (!types_equal(&request->types[i], &operand->type) || size != operand->size) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "operand %zu (%s) of %s has not the type that the operation says", i, request->types[i].name, name);
    }
    total += size;
  }
  if (total <= MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX - MLXCEL_REFERENCE_DESCRIPTION_BYTES_MAX) return iree_ok_status();
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the operands of %s have %" PRIu64 " bytes; the MLX reference takes %" PRIu64 ", use a smaller shape",
                          name, total, MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX);
}

static iree_status_t send_request(mlxcel_reference_t* reference, const request_t* request, uint64_t deadline, const mlxcel_strbuf_t* head) {
  mlxcel_reference_frame_t frame = {.kind = MLXCEL_REFERENCE_FRAME_COMPUTE, .payload_size = head->size};
  for (size_t i = 0; i < request->operand_count; ++i) frame.payload_size += request->operands[i].size;
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  mlxcel_reference_frame_encode(&frame, header);
  IREE_RETURN_IF_ERROR(mlxcel_reference_process_send(&reference->process, deadline, header, sizeof(header)));
  IREE_RETURN_IF_ERROR(mlxcel_reference_process_send(&reference->process, deadline, head->data, head->size));
  for (size_t i = 0; i < request->operand_count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_reference_process_send(&reference->process, deadline, request->operands[i].data, request->operands[i].size));
  }
  return iree_ok_status();
}

static iree_status_t exchange(mlxcel_reference_t* reference, const request_t* request, reply_t* reply) {
  uint64_t deadline = mlxcel_reference_process_now() + reference->timeout_milliseconds;
  mlxcel_strbuf_t head;
  mlxcel_strbuf_initialize(&head);
  mlxcel_reference_request_encode(request->operation, request->operand_count, request->types, &head);
  iree_status_t status = mlxcel_strbuf_take_status(&head);
  if (iree_status_is_ok(status)) status = send_request(reference, request, deadline, &head);
  mlxcel_strbuf_deinitialize(&head);
  if (!iree_status_is_ok(status)) return status;
  uint64_t result_size = mlxcel_operand_element_count(&request->result) * mlxcel_dtype_size(request->result.dtype);
  uint64_t largest = result_size + MLXCEL_REFERENCE_DESCRIPTION_BYTES_MAX;
  return receive_frame(reference, deadline, largest < SMALL_PAYLOAD_BYTES_MAX ? SMALL_PAYLOAD_BYTES_MAX : largest, reply);
}

static iree_status_t take_result(const request_t* request, const reply_t* reply, mlxcel_host_tensor_t* out_result) {
  mlxcel_reference_tensor_t tensor;
  IREE_RETURN_IF_ERROR(mlxcel_reference_result_decode(reply->payload, (size_t)reply->frame.payload_size, &tensor));
  if (!types_equal(&tensor.type, &request->result)) {
    return iree_make_status(IREE_STATUS_INTERNAL, "the MLX reference answered %s with a %s of rank %u and %" PRIu64 " elements, expected was %s",
                            mlxcel_op_class_name(request->operation->op), mlxcel_dtype_name(tensor.type.dtype), tensor.type.rank,
                            mlxcel_operand_element_count(&tensor.type), mlxcel_dtype_name(request->result.dtype));
  }
  IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&request->result, out_result));
  memcpy(out_result->data, tensor.data, tensor.size);
  return iree_ok_status();
}

// The program said something. An error frame leaves the conversation intact.
static iree_status_t take_reply(const request_t* request, const reply_t* reply, bool* out_intact, mlxcel_host_tensor_t* out_result) {
  *out_intact = reply->frame.kind == MLXCEL_REFERENCE_FRAME_ERROR;
  if (*out_intact) return mlxcel_reference_error_decode(reply->payload, (size_t)reply->frame.payload_size);
  if (reply->frame.kind == MLXCEL_REFERENCE_FRAME_RESULT) return take_result(request, reply, out_result);
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the MLX reference answered with a frame of the wrong kind; build it and this program from one tree");
}

iree_status_t mlxcel_reference_compute(mlxcel_reference_t* reference, const mlxcel_operation_t* operation, size_t operand_count,
                                       const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* out_result) {
  memset(out_result, 0, sizeof(*out_result));
  request_t request = {.operation = operation, .operand_count = operand_count, .operands = operands};
  IREE_RETURN_IF_ERROR(check_request(&request));
  if (operation->cache_dtype != MLXCEL_DTYPE_F32) {  // the wire has no field for it
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "MLX keeps keys and values in their own dtype: it has no %s with a cache of %s",
                            mlxcel_op_class_name(operation->op), mlxcel_dtype_name(operation->cache_dtype));
  }
  IREE_RETURN_IF_ERROR(ensure_running(reference));
  reply_t reply = {.payload = NULL};
  bool is_intact = false;
  iree_status_t status = exchange(reference, &request, &reply);
  if (iree_status_is_ok(status)) status = take_reply(&request, &reply, &is_intact, out_result);
  free(reply.payload);
  return iree_status_is_ok(status) || is_intact ? status : mlxcel_reference_process_fail(&reference->process, status);
}
