// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=prefix-scan
// variant=strided
// source_dtype=none
// operand_dtype=bf16
// accumulator=bf16
// result_dtype=bf16
// rounding=sum:bf16
// association=sequential
// dequantization=none
// constants=none
// functions=none
// denormals=flush
// algorithm=linalg-ext:scan
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<33x3xbf16>) -> (tensor<33x3xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = stablehlo.convert %0 : (tensor<33x3xbf16>) -> tensor<33x3xf32>
    %2 = tensor.empty() : tensor<33x3xf32>
    %3 = tensor.empty() : tensor<3xf32>
    %4, %5 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%1 : tensor<33x3xf32>) outs(%2, %3 : tensor<33x3xf32>, tensor<3xf32>) {
    ^bb0(%6: f32, %7: f32):
    %8 = arith.addf %7, %6 : f32
    %9 = arith.bitcast %8 : f32 to i32
    %10 = arith.constant 16 : i32
    %11 = arith.shrui %9, %10 : i32
    %12 = arith.constant 1 : i32
    %13 = arith.andi %11, %12 : i32
    %14 = arith.constant 32767 : i32
    %15 = arith.addi %13, %14 : i32
    %16 = arith.addi %9, %15 : i32
    %17 = arith.constant -65536 : i32
    %18 = arith.andi %16, %17 : i32
    %19 = arith.bitcast %18 : i32 to f32
    %20 = arith.constant 0x7FC00000 : f32
    %21 = arith.cmpf uno, %8, %8 : f32
    %22 = arith.select %21, %20, %19 : f32
    iree_linalg_ext.yield %22 : f32
    } -> tensor<33x3xf32>, tensor<3xf32>
    %23 = stablehlo.convert %4 : (tensor<33x3xf32>) -> tensor<33x3xbf16>
    return %23 : tensor<33x3xbf16>
  }
}
