// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=convolution
// variant=conv2d
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=product-sum:f32+result:f32
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
  func.func @operation(%0: tensor<1x7x9x3xf32>, %1: tensor<4x3x3x3xf32>) -> (tensor<1x4x5x4xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 2], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x7x9x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x5x4xf32>
    return %2 : tensor<1x4x5x4xf32>
  }
}
