// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=convolution
// variant=conv1d
// source_dtype=f16
// operand_dtype=f16
// accumulator=f32
// result_dtype=f16
// rounding=product-sum:f32+result:f16
// association=opaque(iree)
// dequantization=exact-widen
// constants=none
// functions=none
// denormals=flush
// algorithm=stablehlo:convolution+linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(32)
// derivation=fma-contraction
// representable=no:compiler-order
module @operation {
  func.func @operation(%0: tensor<1x1x9x3xf16>, %1: tensor<2x1x3x3xf16>) -> (tensor<1x1x5x2xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[0, 0], [2, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x9x3xf16>, tensor<2x1x3x3xf16>) -> tensor<1x1x5x2xf32>
    %3 = tensor.empty() : tensor<1x1x5x2xf16>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x1x5x2xf32>) outs(%3 : tensor<1x1x5x2xf16>) {
    ^bb0(%5: f32, %6: f16):
    %7 = arith.truncf %5 : f32 to f16
    %8 = arith.extf %7 : f16 to f32
    %9 = arith.truncf %8 : f32 to f16
    linalg.yield %9 : f16
    } -> tensor<1x1x5x2xf16>
    return %4 : tensor<1x1x5x2xf16>
  }
}
