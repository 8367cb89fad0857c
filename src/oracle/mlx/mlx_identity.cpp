// Which MLX this is: the files that were really loaded, not those that were meant.
#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstring>

#include "oracle/mlx/mlx_reference.hpp"

#if MLX_VERSION_NUMERIC != MLXCEL_MLX_VERSION_NUMERIC
#error "these MLX headers are of another version than scripts/pins.env names; run scripts/setup.sh and configure again"
#endif

namespace mlxcel {

namespace {

struct loaded_libraries {
  std::string libmlx, blas, libm;  // paths
  std::string libmlx_build_id;     // hex
};

std::string hex_of(const unsigned char* bytes, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

// The GNU build id among the notes of one segment.
std::string build_id_of(const char* notes, size_t size) {
  const auto padded = [](size_t count) { return (count + 3) & ~size_t{3}; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const size_t total = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
    if (total > size) break;
    const char* name = notes + sizeof(header);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      return hex_of(reinterpret_cast<const unsigned char*>(name) + padded(header.n_namesz), header.n_descsz);
    }
    notes += total;
    size -= total;
  }
  return "";
}

std::string build_id_of(const dl_phdr_info& info) {
  std::string id;
  for (int i = 0; i < info.dlpi_phnum && id.empty(); ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_NOTE) id = build_id_of(reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr), header.p_filesz);
  }
  return id;
}

int note_library(dl_phdr_info* info, size_t, void* user_data) {
  auto* libraries = static_cast<loaded_libraries*>(user_data);
  const std::string path = info->dlpi_name ? info->dlpi_name : "";
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const auto begins = [&](const char* prefix) { return name.rfind(prefix, 0) == 0; };
  if (begins("libmlx.so")) {
    libraries->libmlx = path;
    libraries->libmlx_build_id = build_id_of(*info);
  } else if (begins("libblas") || begins("libopenblas") || begins("libmkl_rt")) {
    libraries->blas = path;
  } else if (begins("libm.so") || begins("libm-")) {
    libraries->libm = path;
  }
  return 0;
}

mlxcel_sha256_hex_t digest_of(const std::string& path, const char* what) {
  if (path.empty()) throw failure(IREE_STATUS_FAILED_PRECONDITION, std::string("no ") + what + " is loaded; this MLX was built in an unknown way");
  mlxcel_sha256_hex_t digest;
  iree_status_t status = mlxcel_sha256_of_file(path.c_str(), &digest);
  if (iree_status_is_ok(status)) return digest;
  iree_status_ignore(status);
  throw failure(IREE_STATUS_FAILED_PRECONDITION, std::string(what) + " cannot be read for its digest: " + path);
}

template <size_t N>
void assign(char (&field)[N], const std::string& text) {
  std::snprintf(field, N, "%s", text.c_str());
}

std::string architecture() {
  const auto& info = mx::device_info(mx::Device(kCpu));
  const auto entry = info.find("architecture");
  const std::string* text = entry == info.end() ? nullptr : std::get_if<std::string>(&entry->second);
  return text ? *text : "unknown";
}

}  // namespace

mlxcel_reference_identity_t identity() {
  mlxcel_reference_identity_t identity;
  std::memset(&identity, 0, sizeof(identity));
  loaded_libraries libraries;
  dl_iterate_phdr(note_library, &libraries);
  identity.libmlx = digest_of(libraries.libmlx, "libmlx");
  identity.blas = digest_of(libraries.blas, "BLAS");
  identity.libm = digest_of(libraries.libm, "libm");
  assign(identity.libmlx_build_id, libraries.libmlx_build_id);
  const std::string version = mx::version();
  const bool is_pinned = std::strcmp(identity.libmlx.text, MLXCEL_MLX_LIBMLX_SHA256) == 0 && std::strcmp(identity.blas.text, MLXCEL_MLX_BLAS_SHA256) == 0;
  assign(identity.version, version);
  // Another build of the same version may have other bits: a claim must not carry the published build's name then.
  assign(identity.build, (is_pinned ? "mlx-cpu-" : "unknown-mlx-cpu-") + version);
  const size_t plus = version.find('+');
  assign(identity.revision, plus == std::string::npos ? "release" : version.substr(plus + 1));
  assign(identity.patch, is_pinned ? "none" : "unknown");
  assign(identity.architecture, architecture());
  return identity;
}

}  // namespace mlxcel
