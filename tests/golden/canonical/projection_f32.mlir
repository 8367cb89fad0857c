// mlxcel_contract=2
// profile=iree-canonical
// clauses=2
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=product-sum:fma-f32+result:f32
// association=sequential-fma
// dequantization=exact-widen
// constants=none
// functions=none
// denormals=flush
// algorithm=stablehlo:dot-general+linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(32)
// derivation=fma-contraction
// representable=yes
// clause=1
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
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<5x33xf32>, %2: tensor<5x33xf32>) -> (tensor<3x5xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<3x33xf32>, tensor<5x33xf32>) -> tensor<3x5xf32>
    %4 = stablehlo.dot_general %0, %2, contracting_dims = [1] x [1] : (tensor<3x33xf32>, tensor<5x33xf32>) -> tensor<3x5xf32>
    %5 = tensor.empty() : tensor<3x5xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3, %4 : tensor<3x5xf32>, tensor<3x5xf32>) outs(%5 : tensor<3x5xf32>) {
    ^bb0(%7: f32, %8: f32, %9: f32):
    %10 = math.absf %7 : f32
    %11 = math.exp %10 : f32
    %12 = arith.constant 0x3F800000 : f32
    %13 = arith.addf %12, %11 : f32
    %14 = arith.constant 0x3F800000 : f32
    %15 = arith.divf %14, %13 : f32
    %16 = arith.subf %12, %15 : f32
    %17 = arith.constant 0x00000000 : f32
    %18 = arith.cmpf olt, %7, %17 : f32
    %19 = arith.select %18, %15, %16 : f32
    %20 = arith.constant 0x80000000 : f32
    %21 = math.fma %7, %19, %20 : f32
    %22 = arith.constant 0x80000000 : f32
    %23 = math.fma %21, %8, %22 : f32
    linalg.yield %23 : f32
    } -> tensor<3x5xf32>
    return %6 : tensor<3x5xf32>
  }
}
