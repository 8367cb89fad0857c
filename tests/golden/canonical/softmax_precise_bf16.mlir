// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=softmax
// variant=precise
// source_dtype=none
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=difference:f32+exp:f32+sum:f32+reciprocal:f32+product:f32+result:bf16
// association=sequential
// dequantization=none
// constants=none
// functions=iree-exp+ieee-div
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(16)
// derivation=iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xbf16>) -> (tensor<3x33xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = arith.constant 0xFF800000 : f32
    %2 = tensor.empty() : tensor<3xf32>
    %3 = linalg.fill ins(%1 : f32) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xbf16>) outs(%3 : tensor<3xf32>) {
    ^bb0(%5: bf16, %6: f32):
    %7 = arith.extf %5 : bf16 to f32
    %8 = arith.maximumf %6, %7 : f32
    linalg.yield %8 : f32
    } -> tensor<3xf32>
    %9 = arith.constant 0x00000000 : f32
    %10 = tensor.empty() : tensor<3xf32>
    %11 = linalg.fill ins(%9 : f32) outs(%10 : tensor<3xf32>) -> tensor<3xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0, %4 : tensor<3x33xbf16>, tensor<3xf32>) outs(%11 : tensor<3xf32>) {
    ^bb0(%13: bf16, %14: f32, %15: f32):
    %16 = arith.extf %13 : bf16 to f32
    %17 = arith.subf %16, %14 : f32
    %18 = math.exp %17 : f32
    %19 = arith.addf %15, %18 : f32
    linalg.yield %19 : f32
    } -> tensor<3xf32>
    %20 = tensor.empty() : tensor<3xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<3xf32>) outs(%20 : tensor<3xf32>) {
    ^bb0(%22: f32, %23: f32):
    %24 = arith.constant 0x3F800000 : f32
    %25 = arith.divf %24, %22 : f32
    linalg.yield %25 : f32
    } -> tensor<3xf32>
    %26 = tensor.empty() : tensor<3x33xbf16>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %4, %21 : tensor<3x33xbf16>, tensor<3xf32>, tensor<3xf32>) outs(%26 : tensor<3x33xbf16>) {
    ^bb0(%28: bf16, %29: f32, %30: f32, %31: bf16):
    %32 = arith.extf %28 : bf16 to f32
    %33 = arith.subf %32, %29 : f32
    %34 = math.exp %33 : f32
    %35 = arith.constant 0x80000000 : f32
    %36 = math.fma %34, %30, %35 : f32
    %37 = arith.bitcast %36 : f32 to i32
    %38 = arith.constant 16 : i32
    %39 = arith.shrui %37, %38 : i32
    %40 = arith.constant 1 : i32
    %41 = arith.andi %39, %40 : i32
    %42 = arith.constant 32767 : i32
    %43 = arith.addi %41, %42 : i32
    %44 = arith.addi %37, %43 : i32
    %45 = arith.constant -65536 : i32
    %46 = arith.andi %44, %45 : i32
    %47 = arith.bitcast %46 : i32 to f32
    %48 = arith.constant 0x7FC00000 : f32
    %49 = arith.cmpf uno, %36, %36 : f32
    %50 = arith.select %49, %48, %47 : f32
    %51 = arith.truncf %50 : f32 to bf16
    linalg.yield %51 : bf16
    } -> tensor<3x33xbf16>
    return %27 : tensor<3x33xbf16>
  }
}
