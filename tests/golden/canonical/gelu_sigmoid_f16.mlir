// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=activation
// variant=gelu-sigmoid
// source_dtype=none
// operand_dtype=f16
// accumulator=none
// result_dtype=f16
// rounding=argument:f16+exp:f16+one-plus:f32+quotient:f32+sigmoid:f16+product:f16
// association=none
// dequantization=none
// constants=f16-nearest
// functions=iree-exp+ieee-div
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(8)
// derivation=iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xf16>) -> (tensor<3x33xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = tensor.empty() : tensor<3x33xf16>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x33xf16>) outs(%1 : tensor<3x33xf16>) {
    ^bb0(%3: f16, %4: f16):
    %5 = arith.extf %3 : f16 to f32
    %6 = arith.constant 0x3FD9E000 : f32
    %7 = arith.constant 0x80000000 : f32
    %8 = math.fma %6, %5, %7 : f32
    %9 = arith.truncf %8 : f32 to f16
    %10 = arith.extf %9 : f16 to f32
    %11 = math.absf %10 : f32
    %12 = math.exp %11 : f32
    %13 = arith.truncf %12 : f32 to f16
    %14 = arith.extf %13 : f16 to f32
    %15 = arith.constant 0x3F800000 : f32
    %16 = arith.addf %15, %14 : f32
    %17 = arith.constant 0x3F800000 : f32
    %18 = arith.divf %17, %16 : f32
    %19 = arith.subf %15, %18 : f32
    %20 = arith.constant 0x00000000 : f32
    %21 = arith.cmpf olt, %10, %20 : f32
    %22 = arith.select %21, %18, %19 : f32
    %23 = arith.truncf %22 : f32 to f16
    %24 = arith.extf %23 : f16 to f32
    %25 = arith.constant 0x80000000 : f32
    %26 = math.fma %5, %24, %25 : f32
    %27 = arith.truncf %26 : f32 to f16
    %28 = arith.extf %27 : f16 to f32
    %29 = arith.truncf %28 : f32 to f16
    linalg.yield %29 : f16
    } -> tensor<3x33xf16>
    return %2 : tensor<3x33xf16>
  }
}
