// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=rms-norm
// variant=plain
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=square:f32+square-sum:f32+mean:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32
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
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = arith.constant 0x00000000 : f32
    %3 = tensor.empty() : tensor<3xf32>
    %4 = linalg.fill ins(%2 : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xf32>) outs(%4 : tensor<3xf32>) {
    ^bb0(%6: f32, %7: f32):
    %8 = arith.constant 0x80000000 : f32
    %9 = math.fma %6, %6, %8 : f32
    %10 = arith.addf %7, %9 : f32
    linalg.yield %10 : f32
    } -> tensor<3xf32>
    %11 = tensor.empty() : tensor<3xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%5 : tensor<3xf32>) outs(%11 : tensor<3xf32>) {
    ^bb0(%13: f32, %14: f32):
    %15 = arith.constant 0x3CF83E10 : f32
    %16 = arith.constant 0x80000000 : f32
    %17 = math.fma %13, %15, %16 : f32
    %18 = arith.constant 0x3727C5AC : f32
    %19 = arith.addf %17, %18 : f32
    %20 = math.sqrt %19 : f32
    %21 = arith.constant 0x3F800000 : f32
    %22 = arith.divf %21, %20 : f32
    linalg.yield %22 : f32
    } -> tensor<3xf32>
    %23 = tensor.empty() : tensor<3x33xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %12, %1 : tensor<3x33xf32>, tensor<3xf32>, tensor<33xf32>) outs(%23 : tensor<3x33xf32>) {
    ^bb0(%25: f32, %26: f32, %27: f32, %28: f32):
    %29 = arith.constant 0x80000000 : f32
    %30 = math.fma %25, %26, %29 : f32
    %31 = arith.constant 0x80000000 : f32
    %32 = math.fma %30, %27, %31 : f32
    linalg.yield %32 : f32
    } -> tensor<3x33xf32>
    return %24 : tensor<3x33xf32>
  }
}
