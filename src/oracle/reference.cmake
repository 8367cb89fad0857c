# The client of the MLX reference, and the program behind it where MLX was found.
include("${CMAKE_SOURCE_DIR}/cmake/mlxcel_mlx.cmake")
add_subdirectory(mlx)

mlxcel_library(mlxcel_reference SOURCES reference_client.c reference_process.c reference_protocol.c DEPS mlxcel_contract)
set(mlxcel_reference_program "")
if(MLXCEL_MLX_FOUND)
  set(mlxcel_reference_program "$<TARGET_FILE:mlxcel-mlx-reference>")
endif()

add_library(mlxcel_reference_test_support STATIC reference_test_support.c)
target_compile_options(mlxcel_reference_test_support PRIVATE ${MLXCEL_WARNINGS})
target_link_libraries(mlxcel_reference_test_support PUBLIC mlxcel_reference cmocka)

mlxcel_test(mlxcel_reference_protocol_test SOURCES reference_protocol_test.c DEPS mlxcel_reference TIER fast)
mlxcel_test(mlxcel_reference_program_test SOURCES reference_program_test.c DEPS mlxcel_reference_test_support TIER full)
mlxcel_test(mlxcel_reference_test SOURCES reference_test.c DEPS mlxcel_reference_test_support m TIER full)
foreach(target mlxcel_reference mlxcel_reference_program_test mlxcel_reference_test)
  target_compile_definitions(${target} PRIVATE MLXCEL_MLX_VERSION="${MLXCEL_PIN_MLX_VERSION}"
    MLXCEL_MLX_REFERENCE_PROGRAM="${mlxcel_reference_program}")
endforeach()
if(MLXCEL_MLX_FOUND)
  add_dependencies(mlxcel_reference_test mlxcel-mlx-reference)
endif()
