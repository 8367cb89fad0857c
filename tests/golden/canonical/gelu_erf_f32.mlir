// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=activation
// variant=gelu-erf
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=quotient:f32+erf:f32+one-plus:f32+product:f32+half:f32
// association=none
// dequantization=none
// constants=f32-nearest
// functions=iree-erf+ieee-div
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(8)
// derivation=iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = tensor.empty() : tensor<3x33xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x33xf32>) outs(%1 : tensor<3x33xf32>) {
    ^bb0(%3: f32, %4: f32):
    %5 = arith.constant 0x3FB504F3 : f32
    %6 = arith.divf %3, %5 : f32
    %7 = math.erf %6 : f32
    %8 = arith.constant 0x3F800000 : f32
    %9 = arith.addf %8, %7 : f32
    %10 = arith.constant 0x80000000 : f32
    %11 = math.fma %3, %9, %10 : f32
    %12 = arith.constant 0x40000000 : f32
    %13 = arith.divf %11, %12 : f32
    linalg.yield %13 : f32
    } -> tensor<3x33xf32>
    return %2 : tensor<3x33xf32>
  }
}
