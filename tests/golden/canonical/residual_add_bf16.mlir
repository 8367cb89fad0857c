// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=residual-add
// variant=none
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=sum:bf16
// association=none
// dequantization=none
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
  func.func @operation(%0: tensor<3x33xbf16>, %1: tensor<3x33xbf16>) -> (tensor<3x33xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = tensor.empty() : tensor<3x33xbf16>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<3x33xbf16>, tensor<3x33xbf16>) outs(%2 : tensor<3x33xbf16>) {
    ^bb0(%4: bf16, %5: bf16, %6: bf16):
    %7 = arith.extf %4 : bf16 to f32
    %8 = arith.extf %5 : bf16 to f32
    %9 = arith.addf %7, %8 : f32
    %10 = arith.bitcast %9 : f32 to i32
    %11 = arith.constant 16 : i32
    %12 = arith.shrui %10, %11 : i32
    %13 = arith.constant 1 : i32
    %14 = arith.andi %12, %13 : i32
    %15 = arith.constant 32767 : i32
    %16 = arith.addi %14, %15 : i32
    %17 = arith.addi %10, %16 : i32
    %18 = arith.constant -65536 : i32
    %19 = arith.andi %17, %18 : i32
    %20 = arith.bitcast %19 : i32 to f32
    %21 = arith.constant 0x7FC00000 : f32
    %22 = arith.cmpf uno, %9, %9 : f32
    %23 = arith.select %22, %21, %20 : f32
    %24 = arith.truncf %23 : f32 to bf16
    linalg.yield %24 : bf16
    } -> tensor<3x33xbf16>
    return %3 : tensor<3x33xbf16>
  }
}
