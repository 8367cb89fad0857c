// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=dequantize
// variant=none
// source_dtype=affine-u4-g32-bf16
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=weight-product:bf16+weight-bias:bf16
// association=none
// dequantization=two-round-bf16
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
  func.func @operation(%0: tensor<5x32xi8>, %1: tensor<5x2xbf16>, %2: tensor<5x2xbf16>) -> (tensor<5x64xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = stablehlo.reshape %0 : (tensor<5x32xi8>) -> tensor<5x2x16xi8>
    %4 = tensor.empty() : tensor<5x2x16x2xbf16>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %1, %2 : tensor<5x2x16xi8>, tensor<5x2xbf16>, tensor<5x2xbf16>) outs(%4 : tensor<5x2x16x2xbf16>) {
    ^bb0(%6: i8, %7: bf16, %8: bf16, %9: bf16):
    %10 = arith.extf %7 : bf16 to f32
    %11 = arith.extf %8 : bf16 to f32
    %12 = arith.extui %6 : i8 to i32
    %13 = linalg.index 3 : index
    %14 = arith.index_cast %13 : index to i32
    %15 = arith.constant 4 : i32
    %16 = arith.muli %14, %15 : i32
    %17 = arith.shrui %12, %16 : i32
    %18 = arith.constant 15 : i32
    %19 = arith.andi %17, %18 : i32
    %20 = arith.uitofp %19 : i32 to f32
    %21 = arith.constant 0x80000000 : f32
    %22 = math.fma %10, %20, %21 : f32
    %23 = arith.bitcast %22 : f32 to i32
    %24 = arith.constant 16 : i32
    %25 = arith.shrui %23, %24 : i32
    %26 = arith.constant 1 : i32
    %27 = arith.andi %25, %26 : i32
    %28 = arith.constant 32767 : i32
    %29 = arith.addi %27, %28 : i32
    %30 = arith.addi %23, %29 : i32
    %31 = arith.constant -65536 : i32
    %32 = arith.andi %30, %31 : i32
    %33 = arith.bitcast %32 : i32 to f32
    %34 = arith.constant 0x7FC00000 : f32
    %35 = arith.cmpf uno, %22, %22 : f32
    %36 = arith.select %35, %34, %33 : f32
    %37 = arith.addf %36, %11 : f32
    %38 = arith.bitcast %37 : f32 to i32
    %39 = arith.constant 16 : i32
    %40 = arith.shrui %38, %39 : i32
    %41 = arith.constant 1 : i32
    %42 = arith.andi %40, %41 : i32
    %43 = arith.constant 32767 : i32
    %44 = arith.addi %42, %43 : i32
    %45 = arith.addi %38, %44 : i32
    %46 = arith.constant -65536 : i32
    %47 = arith.andi %45, %46 : i32
    %48 = arith.bitcast %47 : i32 to f32
    %49 = arith.constant 0x7FC00000 : f32
    %50 = arith.cmpf uno, %37, %37 : f32
    %51 = arith.select %50, %49, %48 : f32
    %52 = arith.truncf %51 : f32 to bf16
    linalg.yield %52 : bf16
    } -> tensor<5x2x16x2xbf16>
    %53 = stablehlo.reshape %5 : (tensor<5x2x16x2xbf16>) -> tensor<5x64xbf16>
    return %53 : tensor<5x64xbf16>
  }
}
