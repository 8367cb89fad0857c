// reference_protocol.h: the bytes between the oracle and mlxcel-mlx-reference. Shared by both sides (C here, C++ there); nothing else crosses.
//
// A stream of frames: 24 bytes of header (magic, version, kind, 0, payload size; little-endian like every number below), then the payload. The program sends
// one identity frame, then answers every compute frame with one result or error frame, until its input ends. Classes, variants and dtypes travel by name, so
// that two builds whose enums differ refuse each other's words instead of misreading them. A frame that can't be trusted (magic, version, size, early end) is
// answered by an error frame and ends the stream; a bad payload only fails its request.
//   identity: strings and digests of mlxcel_reference_identity_t in order
//   compute:  u32 size of the description, description (operation, operand types), then every operand's bytes without gaps
//   result:   u32 size of the description, description (the type), then its bytes
//   error:    u32 status code, string
// A string is a u32 length and its bytes. Where an operation stands in a composition (its |within|) doesn't travel: MLX computes the same.
#ifndef MLXCEL_ORACLE_REFERENCE_PROTOCOL_H_
#define MLXCEL_ORACLE_REFERENCE_PROTOCOL_H_

#include "base/strbuf.h"
#include "oracle/mlx_reference.h"

#define MLXCEL_REFERENCE_MAGIC 0x46524d58u  // "XMRF"
#define MLXCEL_REFERENCE_PROTOCOL_VERSION 1u
#define MLXCEL_REFERENCE_HEADER_BYTES 24u
// Operands of the largest single operation of a public model (a vocabulary of 262,144 by 2,304 bf16, 1.2 GB) fit; MLX's copy comes on top.
#define MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX (UINT64_C(2) << 30)
// Twelve operand types and an operation are below 1.5 KB.
#define MLXCEL_REFERENCE_DESCRIPTION_BYTES_MAX 4096u
#define MLXCEL_REFERENCE_MESSAGE_BYTES_MAX 4096u  // MLX's messages are a line or two
#define MLXCEL_REFERENCE_NAME_BYTES_MAX 63u       // names of classes, variants, dtypes; fields of the identity

typedef enum mlxcel_reference_frame_kind_e {
  MLXCEL_REFERENCE_FRAME_IDENTITY = 1,
  MLXCEL_REFERENCE_FRAME_COMPUTE = 2,
  MLXCEL_REFERENCE_FRAME_RESULT = 3,
  MLXCEL_REFERENCE_FRAME_ERROR = 4,
} mlxcel_reference_frame_kind_t;

typedef struct mlxcel_reference_frame_t {
  mlxcel_reference_frame_kind_t kind;
  uint64_t payload_size;
} mlxcel_reference_frame_t;

void mlxcel_reference_frame_encode(const mlxcel_reference_frame_t* frame, uint8_t out_bytes[MLXCEL_REFERENCE_HEADER_BYTES]);
// INVALID_ARGUMENT: another magic, version or kind; RESOURCE_EXHAUSTED: a payload over |payload_size_max|.
iree_status_t mlxcel_reference_frame_decode(const uint8_t bytes[MLXCEL_REFERENCE_HEADER_BYTES], uint64_t payload_size_max, mlxcel_reference_frame_t* out_frame);

// A typed tensor inside a payload; |data| is borrowed and may be misaligned.
typedef struct mlxcel_reference_tensor_t {
  mlxcel_operand_t type;
  const uint8_t* data;
  size_t size;
} mlxcel_reference_tensor_t;

typedef struct mlxcel_reference_request_t {
  mlxcel_operation_t operation;
  size_t operand_count;
  mlxcel_reference_tensor_t operands[MLXCEL_OPERANDS_MAX];
} mlxcel_reference_request_t;

// The operands that the reference takes for |operation|: those of contract/operation.h, tables only where the class always has them.
iree_status_t mlxcel_reference_operands(const mlxcel_operation_t* operation, mlxcel_operand_t out_operands[MLXCEL_OPERANDS_MAX], size_t* out_count);

// Appends the head of a compute payload (everything before the operands' bytes).
void mlxcel_reference_request_encode(const mlxcel_operation_t* operation, size_t operand_count, const mlxcel_operand_t* operands, mlxcel_strbuf_t* buffer);
// Checks everything: names, flags, that the operands are those of the operation and that their bytes are exactly what follows. Borrows |payload|.
iree_status_t mlxcel_reference_request_decode(const uint8_t* payload, size_t size, mlxcel_reference_request_t* out_request);

// Appends the head of a result payload.
void mlxcel_reference_result_encode(const mlxcel_operand_t* type, mlxcel_strbuf_t* buffer);
iree_status_t mlxcel_reference_result_decode(const uint8_t* payload, size_t size, mlxcel_reference_tensor_t* out_result);

// Appends a whole error payload for |status|, which is not consumed; long messages are cut.
void mlxcel_reference_error_encode(iree_status_t status, mlxcel_strbuf_t* buffer);
// Returns the error that the payload tells, after "MLX reference: "; a malformed payload is an error too. Never OK.
iree_status_t mlxcel_reference_error_decode(const uint8_t* payload, size_t size);

void mlxcel_reference_identity_encode(const mlxcel_reference_identity_t* identity, mlxcel_strbuf_t* buffer);
iree_status_t mlxcel_reference_identity_decode(const uint8_t* payload, size_t size, mlxcel_reference_identity_t* out_identity);

#endif  // MLXCEL_ORACLE_REFERENCE_PROTOCOL_H_
