// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=activation
// variant=silu
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=exp:bf16+one-plus:f32+quotient:f32+sigmoid:bf16+product:bf16
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
  func.func @operation(%0: tensor<3x33xbf16>) -> (tensor<3x33xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = tensor.empty() : tensor<3x33xbf16>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x33xbf16>) outs(%1 : tensor<3x33xbf16>) {
    ^bb0(%3: bf16, %4: bf16):
    %5 = arith.extf %3 : bf16 to f32
    %6 = math.absf %5 : f32
    %7 = math.exp %6 : f32
    %8 = arith.bitcast %7 : f32 to i32
    %9 = arith.constant 16 : i32
    %10 = arith.shrui %8, %9 : i32
    %11 = arith.constant 1 : i32
    %12 = arith.andi %10, %11 : i32
    %13 = arith.constant 32767 : i32
    %14 = arith.addi %12, %13 : i32
    %15 = arith.addi %8, %14 : i32
    %16 = arith.constant -65536 : i32
    %17 = arith.andi %15, %16 : i32
    %18 = arith.bitcast %17 : i32 to f32
    %19 = arith.constant 0x7FC00000 : f32
    %20 = arith.cmpf uno, %7, %7 : f32
    %21 = arith.select %20, %19, %18 : f32
    %22 = arith.constant 0x3F800000 : f32
    %23 = arith.addf %22, %21 : f32
    %24 = arith.constant 0x3F800000 : f32
    %25 = arith.divf %24, %23 : f32
    %26 = arith.subf %22, %25 : f32
    %27 = arith.constant 0x00000000 : f32
    %28 = arith.cmpf olt, %5, %27 : f32
    %29 = arith.select %28, %25, %26 : f32
    %30 = arith.bitcast %29 : f32 to i32
    %31 = arith.constant 16 : i32
    %32 = arith.shrui %30, %31 : i32
    %33 = arith.constant 1 : i32
    %34 = arith.andi %32, %33 : i32
    %35 = arith.constant 32767 : i32
    %36 = arith.addi %34, %35 : i32
    %37 = arith.addi %30, %36 : i32
    %38 = arith.constant -65536 : i32
    %39 = arith.andi %37, %38 : i32
    %40 = arith.bitcast %39 : i32 to f32
    %41 = arith.constant 0x7FC00000 : f32
    %42 = arith.cmpf uno, %29, %29 : f32
    %43 = arith.select %42, %41, %40 : f32
    %44 = arith.constant 0x80000000 : f32
    %45 = math.fma %5, %43, %44 : f32
    %46 = arith.bitcast %45 : f32 to i32
    %47 = arith.constant 16 : i32
    %48 = arith.shrui %46, %47 : i32
    %49 = arith.constant 1 : i32
    %50 = arith.andi %48, %49 : i32
    %51 = arith.constant 32767 : i32
    %52 = arith.addi %50, %51 : i32
    %53 = arith.addi %46, %52 : i32
    %54 = arith.constant -65536 : i32
    %55 = arith.andi %53, %54 : i32
    %56 = arith.bitcast %55 : i32 to f32
    %57 = arith.constant 0x7FC00000 : f32
    %58 = arith.cmpf uno, %45, %45 : f32
    %59 = arith.select %58, %57, %56 : f32
    %60 = arith.truncf %59 : f32 to bf16
    linalg.yield %60 : bf16
    } -> tensor<3x33xbf16>
    return %2 : tensor<3x33xbf16>
  }
}
