// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u4-g32-f32
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
  func.func @operation(%0: tensor<3x64xf32>, %1: tensor<5x32xi8>, %2: tensor<5x2xf32>, %3: tensor<5x2xf32>) -> (tensor<3x5xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = stablehlo.reshape %1 : (tensor<5x32xi8>) -> tensor<5x2x16xi8>
    %5 = tensor.empty() : tensor<5x2x16x2xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %2, %3 : tensor<5x2x16xi8>, tensor<5x2xf32>, tensor<5x2xf32>) outs(%5 : tensor<5x2x16x2xf32>) {
    ^bb0(%7: i8, %8: f32, %9: f32, %10: f32):
    %11 = arith.extui %7 : i8 to i32
    %12 = linalg.index 3 : index
    %13 = arith.index_cast %12 : index to i32
    %14 = arith.constant 4 : i32
    %15 = arith.muli %13, %14 : i32
    %16 = arith.shrui %11, %15 : i32
    %17 = arith.constant 15 : i32
    %18 = arith.andi %16, %17 : i32
    %19 = arith.uitofp %18 : i32 to f32
    %20 = arith.constant 0x80000000 : f32
    %21 = math.fma %8, %19, %20 : f32
    %22 = arith.addf %21, %9 : f32
    linalg.yield %22 : f32
    } -> tensor<5x2x16x2xf32>
    %23 = stablehlo.reshape %0 : (tensor<3x64xf32>) -> tensor<3x2x16x2xf32>
    %24 = arith.constant 0x00000000 : f32
    %25 = tensor.empty() : tensor<3x5xf32>
    %26 = linalg.fill ins(%24 : f32) outs(%25 : tensor<3x5xf32>) -> tensor<3x5xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%23, %6 : tensor<3x2x16x2xf32>, tensor<5x2x16x2xf32>) outs(%26 : tensor<3x5xf32>) {
    ^bb0(%28: f32, %29: f32, %30: f32):
    %31 = arith.constant 0x80000000 : f32
    %32 = math.fma %28, %29, %31 : f32
    %33 = arith.addf %30, %32 : f32
    linalg.yield %33 : f32
    } -> tensor<3x5xf32>
    return %27 : tensor<3x5xf32>
  }
}
