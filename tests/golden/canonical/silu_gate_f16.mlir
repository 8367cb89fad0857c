// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=silu-gate
// variant=silu
// source_dtype=none
// operand_dtype=f16
// accumulator=none
// result_dtype=f16
// rounding=exp:f16+one-plus:f32+quotient:f32+sigmoid:f16+product:f16+gate-product:f16
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
  func.func @operation(%0: tensor<3x33xf16>, %1: tensor<3x33xf16>) -> (tensor<3x33xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = tensor.empty() : tensor<3x33xf16>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<3x33xf16>, tensor<3x33xf16>) outs(%2 : tensor<3x33xf16>) {
    ^bb0(%4: f16, %5: f16, %6: f16):
    %7 = arith.extf %4 : f16 to f32
    %8 = arith.extf %5 : f16 to f32
    %9 = math.absf %7 : f32
    %10 = math.exp %9 : f32
    %11 = arith.truncf %10 : f32 to f16
    %12 = arith.extf %11 : f16 to f32
    %13 = arith.constant 0x3F800000 : f32
    %14 = arith.addf %13, %12 : f32
    %15 = arith.constant 0x3F800000 : f32
    %16 = arith.divf %15, %14 : f32
    %17 = arith.subf %13, %16 : f32
    %18 = arith.constant 0x00000000 : f32
    %19 = arith.cmpf olt, %7, %18 : f32
    %20 = arith.select %19, %16, %17 : f32
    %21 = arith.truncf %20 : f32 to f16
    %22 = arith.extf %21 : f16 to f32
    %23 = arith.constant 0x80000000 : f32
    %24 = math.fma %7, %22, %23 : f32
    %25 = arith.truncf %24 : f32 to f16
    %26 = arith.extf %25 : f16 to f32
    %27 = arith.constant 0x80000000 : f32
    %28 = math.fma %26, %8, %27 : f32
    %29 = arith.truncf %28 : f32 to f16
    %30 = arith.extf %29 : f16 to f32
    %31 = arith.truncf %30 : f32 to f16
    linalg.yield %31 : f16
    } -> tensor<3x33xf16>
    return %3 : tensor<3x33xf16>
  }
}
