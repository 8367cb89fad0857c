// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u8-g32-f16
// operand_dtype=f16
// accumulator=f32
// result_dtype=f16
// rounding=weight-product:f16+weight-bias:f16+product:f32+sum:f32+result:f16
// association=sequential
// dequantization=two-round-f16
// constants=none
// functions=none
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(64)
// derivation=wider-accumulator
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x64xf16>, %1: tensor<5x64xi8>, %2: tensor<5x2xf16>, %3: tensor<5x2xf16>) -> (tensor<3x5xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = stablehlo.reshape %1 : (tensor<5x64xi8>) -> tensor<5x2x32xi8>
    %5 = tensor.empty() : tensor<5x2x32x1xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %2, %3 : tensor<5x2x32xi8>, tensor<5x2xf16>, tensor<5x2xf16>) outs(%5 : tensor<5x2x32x1xf32>) {
    ^bb0(%7: i8, %8: f16, %9: f16, %10: f32):
    %11 = arith.extf %8 : f16 to f32
    %12 = arith.extf %9 : f16 to f32
    %13 = arith.extui %7 : i8 to i32
    %14 = arith.uitofp %13 : i32 to f32
    %15 = arith.constant 0x80000000 : f32
    %16 = math.fma %11, %14, %15 : f32
    %17 = arith.truncf %16 : f32 to f16
    %18 = arith.extf %17 : f16 to f32
    %19 = arith.addf %18, %12 : f32
    %20 = arith.truncf %19 : f32 to f16
    %21 = arith.extf %20 : f16 to f32
    linalg.yield %21 : f32
    } -> tensor<5x2x32x1xf32>
    %22 = stablehlo.reshape %0 : (tensor<3x64xf16>) -> tensor<3x2x32x1xf16>
    %23 = arith.constant 0x00000000 : f32
    %24 = tensor.empty() : tensor<3x5xf32>
    %25 = linalg.fill ins(%23 : f32) outs(%24 : tensor<3x5xf32>) -> tensor<3x5xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%22, %6 : tensor<3x2x32x1xf16>, tensor<5x2x32x1xf32>) outs(%25 : tensor<3x5xf32>) {
    ^bb0(%27: f16, %28: f32, %29: f32):
    %30 = arith.extf %27 : f16 to f32
    %31 = arith.constant 0x80000000 : f32
    %32 = math.fma %30, %28, %31 : f32
    %33 = arith.addf %29, %32 : f32
    linalg.yield %33 : f32
    } -> tensor<3x5xf32>
    %34 = tensor.empty() : tensor<3x5xf16>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<3x5xf32>) outs(%34 : tensor<3x5xf16>) {
    ^bb0(%36: f32, %37: f16):
    %38 = arith.truncf %36 : f32 to f16
    %39 = arith.extf %38 : f16 to f32
    %40 = arith.truncf %39 : f32 to f16
    linalg.yield %40 : f16
    } -> tensor<3x5xf16>
    return %35 : tensor<3x5xf16>
  }
}
