// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=softmax
// variant=same-dtype
// source_dtype=none
// operand_dtype=f16
// accumulator=f16
// result_dtype=f16
// rounding=difference:f16+exp:f16+sum:f16+reciprocal:f16+product:f32+result:f16
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
  func.func @operation(%0: tensor<3x33xf16>) -> (tensor<3x33xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = arith.constant 0xFF800000 : f32
    %2 = tensor.empty() : tensor<3xf32>
    %3 = linalg.fill ins(%1 : f32) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xf16>) outs(%3 : tensor<3xf32>) {
    ^bb0(%5: f16, %6: f32):
    %7 = arith.extf %5 : f16 to f32
    %8 = arith.maximumf %6, %7 : f32
    linalg.yield %8 : f32
    } -> tensor<3xf32>
    %9 = arith.constant 0x00000000 : f32
    %10 = tensor.empty() : tensor<3xf32>
    %11 = linalg.fill ins(%9 : f32) outs(%10 : tensor<3xf32>) -> tensor<3xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0, %4 : tensor<3x33xf16>, tensor<3xf32>) outs(%11 : tensor<3xf32>) {
    ^bb0(%13: f16, %14: f32, %15: f32):
    %16 = arith.extf %13 : f16 to f32
    %17 = arith.subf %16, %14 : f32
    %18 = arith.truncf %17 : f32 to f16
    %19 = arith.extf %18 : f16 to f32
    %20 = math.exp %19 : f32
    %21 = arith.truncf %20 : f32 to f16
    %22 = arith.extf %21 : f16 to f32
    %23 = arith.addf %15, %22 : f32
    %24 = arith.truncf %23 : f32 to f16
    %25 = arith.extf %24 : f16 to f32
    linalg.yield %25 : f32
    } -> tensor<3xf32>
    %26 = tensor.empty() : tensor<3xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<3xf32>) outs(%26 : tensor<3xf32>) {
    ^bb0(%28: f32, %29: f32):
    %30 = arith.constant 0x3F800000 : f32
    %31 = arith.divf %30, %28 : f32
    %32 = arith.truncf %31 : f32 to f16
    %33 = arith.extf %32 : f16 to f32
    linalg.yield %33 : f32
    } -> tensor<3xf32>
    %34 = tensor.empty() : tensor<3x33xf16>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %4, %27 : tensor<3x33xf16>, tensor<3xf32>, tensor<3xf32>) outs(%34 : tensor<3x33xf16>) {
    ^bb0(%36: f16, %37: f32, %38: f32, %39: f16):
    %40 = arith.extf %36 : f16 to f32
    %41 = arith.subf %40, %37 : f32
    %42 = arith.truncf %41 : f32 to f16
    %43 = arith.extf %42 : f16 to f32
    %44 = math.exp %43 : f32
    %45 = arith.truncf %44 : f32 to f16
    %46 = arith.extf %45 : f16 to f32
    %47 = arith.constant 0x80000000 : f32
    %48 = math.fma %46, %38, %47 : f32
    %49 = arith.truncf %48 : f32 to f16
    %50 = arith.extf %49 : f16 to f32
    %51 = arith.truncf %50 : f32 to f16
    linalg.yield %51 : f16
    } -> tensor<3x33xf16>
    return %35 : tensor<3x33xf16>
  }
}
