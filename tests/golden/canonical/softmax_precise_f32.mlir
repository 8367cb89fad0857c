// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=softmax
// variant=precise
// source_dtype=none
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=difference:f32+exp:f32+sum:f32+reciprocal:f32+product:f32+result:f32
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
  func.func @operation(%0: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = arith.constant 0xFF800000 : f32
    %2 = tensor.empty() : tensor<3xf32>
    %3 = linalg.fill ins(%1 : f32) outs(%2 : tensor<3xf32>) -> tensor<3xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xf32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%5: f32, %6: f32):
    %7 = arith.maximumf %6, %5 : f32
    linalg.yield %7 : f32
    } -> tensor<3xf32>
    %8 = arith.constant 0x00000000 : f32
    %9 = tensor.empty() : tensor<3xf32>
    %10 = linalg.fill ins(%8 : f32) outs(%9 : tensor<3xf32>) -> tensor<3xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0, %4 : tensor<3x33xf32>, tensor<3xf32>) outs(%10 : tensor<3xf32>) {
    ^bb0(%12: f32, %13: f32, %14: f32):
    %15 = arith.subf %12, %13 : f32
    %16 = math.exp %15 : f32
    %17 = arith.addf %14, %16 : f32
    linalg.yield %17 : f32
    } -> tensor<3xf32>
    %18 = tensor.empty() : tensor<3xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%11 : tensor<3xf32>) outs(%18 : tensor<3xf32>) {
    ^bb0(%20: f32, %21: f32):
    %22 = arith.constant 0x3F800000 : f32
    %23 = arith.divf %22, %20 : f32
    linalg.yield %23 : f32
    } -> tensor<3xf32>
    %24 = tensor.empty() : tensor<3x33xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %4, %19 : tensor<3x33xf32>, tensor<3xf32>, tensor<3xf32>) outs(%24 : tensor<3x33xf32>) {
    ^bb0(%26: f32, %27: f32, %28: f32, %29: f32):
    %30 = arith.subf %26, %27 : f32
    %31 = math.exp %30 : f32
    %32 = arith.constant 0x80000000 : f32
    %33 = math.fma %31, %28, %32 : f32
    linalg.yield %33 : f32
    } -> tensor<3x33xf32>
    return %25 : tensor<3x33xf32>
  }
}
