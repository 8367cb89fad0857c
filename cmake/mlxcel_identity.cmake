# What `mlxcel --version` and every manifest say about this build.
file(STRINGS "${CMAKE_SOURCE_DIR}/scripts/pins.env" pins REGEX "^[A-Z0-9_]+=")
foreach(pin IN LISTS pins)
  string(REGEX MATCH "^([A-Z0-9_]+)=(.*)$" _ "${pin}")
  set(MLXCEL_PIN_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()

# A content digest of the runtime's sources: the crate names no commit.
file(GLOB_RECURSE runtime_files "${MLXCEL_IREE_REAL_DIR}/runtime/src/iree/*.[ch]")
list(SORT runtime_files)
set(runtime_hashes "")
foreach(file IN LISTS runtime_files)
  file(SHA256 "${file}" hash)
  string(APPEND runtime_hashes "${hash}\n")
endforeach()
string(SHA256 MLXCEL_RUNTIME_DIGEST "${runtime_hashes}")

# The compiler's program inside the Python package (the one on PATH is a Python script, which must not run).
file(GLOB MLXCEL_COMPILER_CANDIDATES "${MLXCEL_TOOLCHAIN_DIR}/venv/lib/python3*/site-packages/iree/compiler/_mlir_libs/iree-compile")
list(LENGTH MLXCEL_COMPILER_CANDIDATES compiler_count)
if(compiler_count GREATER 0)
  list(GET MLXCEL_COMPILER_CANDIDATES 0 MLXCEL_DEFAULT_COMPILER)
else()
  set(MLXCEL_DEFAULT_COMPILER "")
endif()
configure_file("${CMAKE_SOURCE_DIR}/cmake/build_identity.h.in" "${CMAKE_BINARY_DIR}/generated/build_identity.h" @ONLY)
