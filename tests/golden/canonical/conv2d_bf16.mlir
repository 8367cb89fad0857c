// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=convolution
// variant=conv2d
// source_dtype=bf16
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=product-sum:f32+result:bf16
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
  func.func @operation(%0: tensor<1x7x9x3xbf16>, %1: tensor<4x3x3x3xbf16>) -> (tensor<1x4x5x4xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = stablehlo.convolution(%0, %1) dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 2], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x7x9x3xbf16>, tensor<4x3x3x3xbf16>) -> tensor<1x4x5x4xf32>
    %3 = tensor.empty() : tensor<1x4x5x4xbf16>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x4x5x4xf32>) outs(%3 : tensor<1x4x5x4xbf16>) {
    ^bb0(%5: f32, %6: bf16):
    %7 = arith.bitcast %5 : f32 to i32
    %8 = arith.constant 16 : i32
    %9 = arith.shrui %7, %8 : i32
    %10 = arith.constant 1 : i32
    %11 = arith.andi %9, %10 : i32
    %12 = arith.constant 32767 : i32
    %13 = arith.addi %11, %12 : i32
    %14 = arith.addi %7, %13 : i32
    %15 = arith.constant -65536 : i32
    %16 = arith.andi %14, %15 : i32
    %17 = arith.bitcast %16 : i32 to f32
    %18 = arith.constant 0x7FC00000 : f32
    %19 = arith.cmpf uno, %5, %5 : f32
    %20 = arith.select %19, %18, %17 : f32
    %21 = arith.truncf %20 : f32 to bf16
    linalg.yield %21 : bf16
    } -> tensor<1x4x5x4xbf16>
    return %4 : tensor<1x4x5x4xbf16>
  }
}
