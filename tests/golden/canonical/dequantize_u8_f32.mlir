// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=dequantize
// variant=none
// source_dtype=affine-u8-g32-f32
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=weight-product:f32+weight-bias:f32
// association=none
// dequantization=two-round-f32
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
  func.func @operation(%0: tensor<5x64xi8>, %1: tensor<5x2xf32>, %2: tensor<5x2xf32>) -> (tensor<5x64xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = stablehlo.reshape %0 : (tensor<5x64xi8>) -> tensor<5x2x32xi8>
    %4 = tensor.empty() : tensor<5x2x32x1xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %1, %2 : tensor<5x2x32xi8>, tensor<5x2xf32>, tensor<5x2xf32>) outs(%4 : tensor<5x2x32x1xf32>) {
    ^bb0(%6: i8, %7: f32, %8: f32, %9: f32):
    %10 = arith.extui %6 : i8 to i32
    %11 = arith.uitofp %10 : i32 to f32
    %12 = arith.constant 0x80000000 : f32
    %13 = math.fma %7, %11, %12 : f32
    %14 = arith.addf %13, %8 : f32
    linalg.yield %14 : f32
    } -> tensor<5x2x32x1xf32>
    %15 = stablehlo.reshape %5 : (tensor<5x2x32x1xf32>) -> tensor<5x64xf32>
    return %15 : tensor<5x64xf32>
  }
}
