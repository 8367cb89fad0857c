// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=layer-norm
// variant=none
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=sum:f32+mean:mul-reciprocal-f32+difference:f32+square:f32+square-sum:f32+variance:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32+bias:f32
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
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<33xf32>, %2: tensor<33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = arith.constant 0x00000000 : f32
    %4 = tensor.empty() : tensor<3xf32>
    %5 = linalg.fill ins(%3 : f32) outs(%4 : tensor<3xf32>) -> tensor<3xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xf32>) outs(%5 : tensor<3xf32>) {
    ^bb0(%7: f32, %8: f32):
    %9 = arith.addf %8, %7 : f32
    linalg.yield %9 : f32
    } -> tensor<3xf32>
    %10 = tensor.empty() : tensor<3xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%6 : tensor<3xf32>) outs(%10 : tensor<3xf32>) {
    ^bb0(%12: f32, %13: f32):
    %14 = arith.constant 0x3CF83E10 : f32
    %15 = arith.constant 0x80000000 : f32
    %16 = math.fma %12, %14, %15 : f32
    linalg.yield %16 : f32
    } -> tensor<3xf32>
    %17 = arith.constant 0x00000000 : f32
    %18 = tensor.empty() : tensor<3xf32>
    %19 = linalg.fill ins(%17 : f32) outs(%18 : tensor<3xf32>) -> tensor<3xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0, %11 : tensor<3x33xf32>, tensor<3xf32>) outs(%19 : tensor<3xf32>) {
    ^bb0(%21: f32, %22: f32, %23: f32):
    %24 = arith.subf %21, %22 : f32
    %25 = arith.constant 0x80000000 : f32
    %26 = math.fma %24, %24, %25 : f32
    %27 = arith.addf %23, %26 : f32
    linalg.yield %27 : f32
    } -> tensor<3xf32>
    %28 = tensor.empty() : tensor<3xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%20 : tensor<3xf32>) outs(%28 : tensor<3xf32>) {
    ^bb0(%30: f32, %31: f32):
    %32 = arith.constant 0x3CF83E10 : f32
    %33 = arith.constant 0x80000000 : f32
    %34 = math.fma %30, %32, %33 : f32
    %35 = arith.constant 0x3727C5AC : f32
    %36 = arith.addf %34, %35 : f32
    %37 = math.sqrt %36 : f32
    %38 = arith.constant 0x3F800000 : f32
    %39 = arith.divf %38, %37 : f32
    linalg.yield %39 : f32
    } -> tensor<3xf32>
    %40 = tensor.empty() : tensor<3x33xf32>
    %41 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %11, %29, %1, %2 : tensor<3x33xf32>, tensor<3xf32>, tensor<3xf32>, tensor<33xf32>, tensor<33xf32>) outs(%40 : tensor<3x33xf32>) {
    ^bb0(%42: f32, %43: f32, %44: f32, %45: f32, %46: f32, %47: f32):
    %48 = arith.subf %42, %43 : f32
    %49 = arith.constant 0x80000000 : f32
    %50 = math.fma %48, %44, %49 : f32
    %51 = arith.constant 0x80000000 : f32
    %52 = math.fma %50, %45, %51 : f32
    %53 = arith.addf %52, %46 : f32
    linalg.yield %53 : f32
    } -> tensor<3x33xf32>
    return %41 : tensor<3x33xf32>
  }
}
