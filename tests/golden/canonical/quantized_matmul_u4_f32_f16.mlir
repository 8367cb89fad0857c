// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u4-g32-f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=weight-product:f32+weight-bias:f32+product:f32+sum:f32+result:f32
// association=sequential
// dequantization=two-round-f32
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
  func.func @operation(%0: tensor<3x64xf32>, %1: tensor<5x32xi8>, %2: tensor<5x2xf16>, %3: tensor<5x2xf16>) -> (tensor<3x5xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = stablehlo.reshape %1 : (tensor<5x32xi8>) -> tensor<5x2x16xi8>
    %5 = tensor.empty() : tensor<5x2x16x2xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %2, %3 : tensor<5x2x16xi8>, tensor<5x2xf16>, tensor<5x2xf16>) outs(%5 : tensor<5x2x16x2xf32>) {
    ^bb0(%7: i8, %8: f16, %9: f16, %10: f32):
    %11 = arith.extf %8 : f16 to f32
    %12 = arith.extf %9 : f16 to f32
    %13 = arith.extui %7 : i8 to i32
    %14 = linalg.index 3 : index
    %15 = arith.index_cast %14 : index to i32
    %16 = arith.constant 4 : i32
    %17 = arith.muli %15, %16 : i32
    %18 = arith.shrui %13, %17 : i32
    %19 = arith.constant 15 : i32
    %20 = arith.andi %18, %19 : i32
    %21 = arith.uitofp %20 : i32 to f32
    %22 = arith.constant 0x80000000 : f32
    %23 = math.fma %11, %21, %22 : f32
    %24 = arith.addf %23, %12 : f32
    linalg.yield %24 : f32
    } -> tensor<5x2x16x2xf32>
    %25 = stablehlo.reshape %0 : (tensor<3x64xf32>) -> tensor<3x2x16x2xf32>
    %26 = arith.constant 0x00000000 : f32
    %27 = tensor.empty() : tensor<3x5xf32>
    %28 = linalg.fill ins(%26 : f32) outs(%27 : tensor<3x5xf32>) -> tensor<3x5xf32>
    %29 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%25, %6 : tensor<3x2x16x2xf32>, tensor<5x2x16x2xf32>) outs(%28 : tensor<3x5xf32>) {
    ^bb0(%30: f32, %31: f32, %32: f32):
    %33 = arith.constant 0x80000000 : f32
    %34 = math.fma %30, %31, %33 : f32
    %35 = arith.addf %32, %34 : f32
    linalg.yield %35 : f32
    } -> tensor<3x5xf32>
    return %29 : tensor<3x5xf32>
  }
}
