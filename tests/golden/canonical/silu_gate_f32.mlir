// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=silu-gate
// variant=silu
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=exp:f32+one-plus:f32+quotient:f32+sigmoid:f32+product:f32+gate-product:f32
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
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = tensor.empty() : tensor<3x33xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<3x33xf32>, tensor<3x33xf32>) outs(%2 : tensor<3x33xf32>) {
    ^bb0(%4: f32, %5: f32, %6: f32):
    %7 = math.absf %4 : f32
    %8 = math.exp %7 : f32
    %9 = arith.constant 0x3F800000 : f32
    %10 = arith.addf %9, %8 : f32
    %11 = arith.constant 0x3F800000 : f32
    %12 = arith.divf %11, %10 : f32
    %13 = arith.subf %9, %12 : f32
    %14 = arith.constant 0x00000000 : f32
    %15 = arith.cmpf olt, %4, %14 : f32
    %16 = arith.select %15, %12, %13 : f32
    %17 = arith.constant 0x80000000 : f32
    %18 = math.fma %4, %16, %17 : f32
    %19 = arith.constant 0x80000000 : f32
    %20 = math.fma %18, %5, %19 : f32
    linalg.yield %20 : f32
    } -> tensor<3x33xf32>
    return %3 : tensor<3x33xf32>
  }
}
