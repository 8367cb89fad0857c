// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=activation
// variant=gelu-tanh
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=square:f32+power:f32+cubic:f32+inner-sum:f32+argument:f32+tanh:f32+one-plus:f32+half:f32+product:f32
// association=none
// dequantization=none
// constants=f32-nearest
// functions=iree-tanh
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(8)
// derivation=iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = tensor.empty() : tensor<3x33xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x33xf32>) outs(%1 : tensor<3x33xf32>) {
    ^bb0(%3: f32, %4: f32):
    %5 = arith.constant 0x80000000 : f32
    %6 = math.fma %3, %3, %5 : f32
    %7 = arith.constant 0x80000000 : f32
    %8 = math.fma %6, %3, %7 : f32
    %9 = arith.constant 0x3D372713 : f32
    %10 = arith.constant 0x80000000 : f32
    %11 = math.fma %9, %8, %10 : f32
    %12 = arith.addf %3, %11 : f32
    %13 = arith.constant 0x3F4C422A : f32
    %14 = arith.constant 0x80000000 : f32
    %15 = math.fma %13, %12, %14 : f32
    %16 = math.tanh %15 : f32
    %17 = arith.constant 0x3F800000 : f32
    %18 = arith.addf %17, %16 : f32
    %19 = arith.constant 0x3F000000 : f32
    %20 = arith.constant 0x80000000 : f32
    %21 = math.fma %19, %3, %20 : f32
    %22 = arith.constant 0x80000000 : f32
    %23 = math.fma %21, %18, %22 : f32
    linalg.yield %23 : f32
    } -> tensor<3x33xf32>
    return %2 : tensor<3x33xf32>
  }
}
