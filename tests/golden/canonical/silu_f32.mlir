// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=activation
// variant=silu
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=exp:f32+one-plus:f32+quotient:f32+sigmoid:f32+product:f32
// association=none
// dequantization=none
// constants=none
// functions=iree-exp+ieee-div
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
    %5 = math.absf %3 : f32
    %6 = math.exp %5 : f32
    %7 = arith.constant 0x3F800000 : f32
    %8 = arith.addf %7, %6 : f32
    %9 = arith.constant 0x3F800000 : f32
    %10 = arith.divf %9, %8 : f32
    %11 = arith.subf %7, %10 : f32
    %12 = arith.constant 0x00000000 : f32
    %13 = arith.cmpf olt, %3, %12 : f32
    %14 = arith.select %13, %10, %11 : f32
    %15 = arith.constant 0x80000000 : f32
    %16 = math.fma %3, %14, %15 : f32
    linalg.yield %16 : f32
    } -> tensor<3x33xf32>
    return %2 : tensor<3x33xf32>
  }
}
