// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=f16+bias-f16
// operand_dtype=f16
// accumulator=f32
// result_dtype=f16
// rounding=product-sum:fma-f32+bias:f32+result:f16
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
module @operation {
  func.func @operation(%0: tensor<3x33xf16>, %1: tensor<5x33xf16>, %2: tensor<5xf16>) -> (tensor<3x5xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<3x33xf16>, tensor<5x33xf16>) -> tensor<3x5xf32>
    %4 = tensor.empty() : tensor<3x5xf16>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%3, %2 : tensor<3x5xf32>, tensor<5xf16>) outs(%4 : tensor<3x5xf16>) {
    ^bb0(%6: f32, %7: f16, %8: f16):
    %9 = arith.extf %7 : f16 to f32
    %10 = arith.addf %6, %9 : f32
    %11 = arith.truncf %10 : f32 to f16
    %12 = arith.extf %11 : f16 to f32
    %13 = arith.truncf %12 : f32 to f16
    linalg.yield %13 : f16
    } -> tensor<3x5xf16>
    return %5 : tensor<3x5xf16>
  }
}
