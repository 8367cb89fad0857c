// mlxcel-mlx-reference: reads requests from standard input and answers them on standard output (oracle/reference_protocol.h) until the input ends.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>

#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitBroken = 2;  // the conversation can't go on
// A payload's memory grows with what really came: a header alone costs nothing.
constexpr size_t kPayloadStep = size_t{64} << 20;

// Reads up to |size| bytes; less only at the end of the input.
size_t read_fully(uint8_t* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = read(STDIN_FILENO, data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

class output {
 public:
  explicit output(int descriptor) : descriptor_(descriptor) {}

  // False once nobody listens.
  bool frame(mlxcel_reference_frame_kind_t kind, const mlxcel_strbuf_t& head, const void* data = nullptr, size_t size = 0) {
    const mlxcel_reference_frame_t frame = {kind, head.size + size};
    uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
    mlxcel_reference_frame_encode(&frame, header);
    return write_fully(header, sizeof(header)) && write_fully(head.data, head.size) && write_fully(data, size);
  }

  bool error(iree_status_code_t code, const std::string& message) {
    const std::string text = message.substr(0, MLXCEL_REFERENCE_MESSAGE_BYTES_MAX / 2);  // leaves room for what formatting adds
    iree_status_t status = iree_make_status(code, "%s", text.c_str());
    const bool sent = error(status);
    iree_status_ignore(status);
    return sent;
  }

  bool error(iree_status_t status) {
    mlxcel_strbuf_t head;
    mlxcel_strbuf_initialize(&head);
    mlxcel_reference_error_encode(status, &head);
    const bool sent = iree_status_is_ok(head.status) && frame(MLXCEL_REFERENCE_FRAME_ERROR, head);
    mlxcel_strbuf_deinitialize(&head);
    return sent;
  }

 private:
  bool write_fully(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    while (size > 0) {
      const ssize_t count = write(descriptor_, bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      bytes += count;
      size -= static_cast<size_t>(count);
    }
    return true;
  }

  int descriptor_;
};

bool send_result(output& out, const mlxcel_reference_request_t& decoded) {
  mlxcel_operand_t type;
  mx::array result = compute(request(decoded), &type);
  mlxcel_strbuf_t head;
  mlxcel_strbuf_initialize(&head);
  mlxcel_reference_result_encode(&type, &head);
  const bool sent = iree_status_is_ok(head.status) && out.frame(MLXCEL_REFERENCE_FRAME_RESULT, head, result.data<uint8_t>(), result.nbytes());
  mlxcel_strbuf_deinitialize(&head);
  return sent;
}

// One request, answered whatever happens. False if the answer couldn't be written.
bool answer(output& out, const std::vector<uint8_t>& payload) {
  mlxcel_reference_request_t decoded;
  iree_status_t status = mlxcel_reference_request_decode(payload.data(), payload.size(), &decoded);
  if (!iree_status_is_ok(status)) {
    const bool sent = out.error(status);
    iree_status_ignore(status);
    return sent;
  }
  try {
    return send_result(out, decoded);
  } catch (const failure& error) {
    return out.error(error.code(), error.what());
  } catch (const std::invalid_argument& error) {
    return out.error(IREE_STATUS_UNIMPLEMENTED, std::string("MLX refuses the operation: ") + error.what());
  } catch (const std::bad_alloc&) {
    return out.error(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory; use a smaller shape");
  } catch (const std::exception& error) {
    return out.error(IREE_STATUS_INTERNAL, std::string("MLX failed: ") + error.what());
  }
}

// Reads what the header announces; false if the input ends before.
bool read_payload(uint64_t size, std::vector<uint8_t>& payload) {
  while (payload.size() < size) {
    const size_t begin = payload.size();
    const size_t count = static_cast<size_t>(std::min<uint64_t>(size - begin, std::max(kPayloadStep, begin)));
    payload.resize(begin + count);
    if (read_fully(payload.data() + begin, count) != count) return false;
  }
  return true;
}

enum class next { request, end, broken };

// The next payload. A stream that can't be trusted any more is told so.
next read_request(output& out, std::vector<uint8_t>& payload) {
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  const size_t count = read_fully(header, sizeof(header));
  if (count == 0) return next::end;
  mlxcel_reference_frame_t frame;
  iree_status_t status = count == sizeof(header) ? mlxcel_reference_frame_decode(header, MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX, &frame)
                                                 : iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the input ended inside a frame");
  if (!iree_status_is_ok(status)) {
    out.error(status);
    iree_status_ignore(status);
    return next::broken;
  }
  if (frame.kind != MLXCEL_REFERENCE_FRAME_COMPUTE) {
    out.error(IREE_STATUS_INVALID_ARGUMENT, "only compute frames are taken here");
    return next::broken;
  }
  if (!read_payload(frame.payload_size, payload)) {
    out.error(IREE_STATUS_INVALID_ARGUMENT, "the input ended inside a frame");
    return next::broken;
  }
  return next::request;
}

int serve(output& out) {
  for (;;) {
    std::vector<uint8_t> payload;
    const next state = read_request(out, payload);
    if (state != next::request) return state == next::end ? kExitOk : kExitBroken;
    if (!answer(out, payload)) return kExitBroken;
  }
}

bool send_identity(output& out) {
  const mlxcel_reference_identity_t value = identity();
  mlxcel_strbuf_t head;
  mlxcel_strbuf_initialize(&head);
  mlxcel_reference_identity_encode(&value, &head);
  const bool sent = iree_status_is_ok(head.status) && out.frame(MLXCEL_REFERENCE_FRAME_IDENTITY, head);
  mlxcel_strbuf_deinitialize(&head);
  return sent;
}

// The answers get a descriptor of their own, so that nothing that prints (MLX, the compiler that it runs) can get between them.
int take_output() {
  const int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (descriptor < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return -1;
  return descriptor;
}

int run_program() {
  const int descriptor = take_output();
  if (descriptor < 0) return kExitBroken;
  output out(descriptor);
  try {
    mx::set_default_device(mx::Device(kCpu));
    if (!send_identity(out)) return kExitBroken;
    return serve(out);
  } catch (const failure& error) {
    out.error(error.code(), error.what());
  } catch (const std::exception& error) {
    out.error(IREE_STATUS_INTERNAL, error.what());
  }
  return kExitBroken;
}

}  // namespace
}  // namespace mlxcel

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  return mlxcel::run_program();
}
