// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=dequantize
// variant=none
// source_dtype=affine-u2-g32-f16
// operand_dtype=f16
// accumulator=none
// result_dtype=f16
// rounding=weight-product:f16+weight-bias:f16
// association=none
// dequantization=two-round-f16
// constants=none
// functions=none
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<5x16xi8>, %1: tensor<5x2xf16>, %2: tensor<5x2xf16>) -> (tensor<5x64xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = stablehlo.reshape %0 : (tensor<5x16xi8>) -> tensor<5x2x8xi8>
    %4 = tensor.empty() : tensor<5x2x8x4xf16>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %1, %2 : tensor<5x2x8xi8>, tensor<5x2xf16>, tensor<5x2xf16>) outs(%4 : tensor<5x2x8x4xf16>) {
    ^bb0(%6: i8, %7: f16, %8: f16, %9: f16):
    %10 = arith.extf %7 : f16 to f32
    %11 = arith.extf %8 : f16 to f32
    %12 = arith.extui %6 : i8 to i32
    %13 = linalg.index 3 : index
    %14 = arith.index_cast %13 : index to i32
    %15 = arith.constant 2 : i32
    %16 = arith.muli %14, %15 : i32
    %17 = arith.shrui %12, %16 : i32
    %18 = arith.constant 3 : i32
    %19 = arith.andi %17, %18 : i32
    %20 = arith.uitofp %19 : i32 to f32
    %21 = arith.constant 0x80000000 : f32
    %22 = math.fma %10, %20, %21 : f32
    %23 = arith.truncf %22 : f32 to f16
    %24 = arith.extf %23 : f16 to f32
    %25 = arith.addf %24, %11 : f32
    %26 = arith.truncf %25 : f32 to f16
    %27 = arith.extf %26 : f16 to f32
    %28 = arith.truncf %27 : f32 to f16
    linalg.yield %28 : f16
    } -> tensor<5x2x8x4xf16>
    %29 = stablehlo.reshape %5 : (tensor<5x2x8x4xf16>) -> tensor<5x64xf16>
    return %29 : tensor<5x64xf16>
  }
}
