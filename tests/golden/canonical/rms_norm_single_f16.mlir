// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=rms-norm
// variant=single-rounding
// source_dtype=f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f16
// rounding=square:f32+square-sum:f32+mean:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32+result:f16
// association=sequential
// dequantization=exact-widen
// constants=f32-nearest
// functions=ieee-div+ieee-sqrt
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xf16>, %1: tensor<33xf16>) -> (tensor<3x33xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = arith.constant 0x00000000 : f32
    %3 = tensor.empty() : tensor<3xf32>
    %4 = linalg.fill ins(%2 : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xf16>) outs(%4 : tensor<3xf32>) {
    ^bb0(%6: f16, %7: f32):
    %8 = arith.extf %6 : f16 to f32
    %9 = arith.constant 0x80000000 : f32
    %10 = math.fma %8, %8, %9 : f32
    %11 = arith.addf %7, %10 : f32
    linalg.yield %11 : f32
    } -> tensor<3xf32>
    %12 = tensor.empty() : tensor<3xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%5 : tensor<3xf32>) outs(%12 : tensor<3xf32>) {
    ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 0x3CF83E10 : f32
    %17 = arith.constant 0x80000000 : f32
    %18 = math.fma %14, %16, %17 : f32
    %19 = arith.constant 0x3727C5AC : f32
    %20 = arith.addf %18, %19 : f32
    %21 = math.sqrt %20 : f32
    %22 = arith.constant 0x3F800000 : f32
    %23 = arith.divf %22, %21 : f32
    linalg.yield %23 : f32
    } -> tensor<3xf32>
    %24 = tensor.empty() : tensor<3x33xf16>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %13, %1 : tensor<3x33xf16>, tensor<3xf32>, tensor<33xf16>) outs(%24 : tensor<3x33xf16>) {
    ^bb0(%26: f16, %27: f32, %28: f16, %29: f16):
    %30 = arith.extf %26 : f16 to f32
    %31 = arith.extf %28 : f16 to f32
    %32 = arith.constant 0x80000000 : f32
    %33 = math.fma %30, %27, %32 : f32
    %34 = arith.constant 0x80000000 : f32
    %35 = math.fma %33, %31, %34 : f32
    %36 = arith.truncf %35 : f32 to f16
    %37 = arith.extf %36 : f16 to f32
    %38 = arith.truncf %37 : f32 to f16
    linalg.yield %38 : f16
    } -> tensor<3x33xf16>
    return %25 : tensor<3x33xf16>
  }
}
