// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=rope
// variant=half
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=cos-sin:f32+product:f32+sum:f32
// association=none
// dequantization=none
// constants=angle:f64+cos-sin:f64-to-f32
// functions=host-table(cos,sin)
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x20xf32>, %1: tensor<3xi32>, %2: tensor<8x5xf32>, %3: tensor<8x5xf32>) -> (tensor<3x20xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = stablehlo.reshape %0 : (tensor<3x20xf32>) -> tensor<3x2x10xf32>
    %5 = stablehlo.slice %4 [0:3, 0:2, 0:10] : (tensor<3x2x10xf32>) -> tensor<3x2x10xf32>
    %6 = tensor.empty() : tensor<3x5xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<3xi32>) outs(%6 : tensor<3x5xf32>) {
    ^bb0(%8: i32, %9: f32):
    %10 = arith.constant 0 : i32
    %11 = arith.maxsi %8, %10 : i32
    %12 = arith.constant 7 : i32
    %13 = arith.minsi %11, %12 : i32
    %14 = arith.index_cast %13 : i32 to index
    %15 = linalg.index 1 : index
    %16 = tensor.extract %2[%14, %15] : tensor<8x5xf32>
    linalg.yield %16 : f32
    } -> tensor<3x5xf32>
    %17 = tensor.empty() : tensor<3x5xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<3xi32>) outs(%17 : tensor<3x5xf32>) {
    ^bb0(%19: i32, %20: f32):
    %21 = arith.constant 0 : i32
    %22 = arith.maxsi %19, %21 : i32
    %23 = arith.constant 7 : i32
    %24 = arith.minsi %22, %23 : i32
    %25 = arith.index_cast %24 : i32 to index
    %26 = linalg.index 1 : index
    %27 = tensor.extract %3[%25, %26] : tensor<8x5xf32>
    linalg.yield %27 : f32
    } -> tensor<3x5xf32>
    %28 = stablehlo.slice %5 [0:3, 0:2, 0:5] : (tensor<3x2x10xf32>) -> tensor<3x2x5xf32>
    %29 = stablehlo.slice %5 [0:3, 0:2, 5:10] : (tensor<3x2x10xf32>) -> tensor<3x2x5xf32>
    %30 = tensor.empty() : tensor<3x2x5xf32>
    %31 = tensor.empty() : tensor<3x2x5xf32>
    %32, %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28, %29, %7, %18 : tensor<3x2x5xf32>, tensor<3x2x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) outs(%30, %31 : tensor<3x2x5xf32>, tensor<3x2x5xf32>) {
    ^bb0(%34: f32, %35: f32, %36: f32, %37: f32, %38: f32, %39: f32):
    %40 = arith.constant 0x80000000 : f32
    %41 = math.fma %34, %36, %40 : f32
    %42 = arith.constant 0x80000000 : f32
    %43 = math.fma %35, %37, %42 : f32
    %44 = arith.constant 0x80000000 : f32
    %45 = math.fma %34, %37, %44 : f32
    %46 = arith.constant 0x80000000 : f32
    %47 = math.fma %35, %36, %46 : f32
    %48 = arith.subf %41, %43 : f32
    %49 = arith.addf %45, %47 : f32
    linalg.yield %48, %49 : f32, f32
    } -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>)
    %50 = stablehlo.concatenate %32, %33, dim = 2 : (tensor<3x2x5xf32>, tensor<3x2x5xf32>) -> tensor<3x2x10xf32>
    %51 = stablehlo.reshape %50 : (tensor<3x2x10xf32>) -> tensor<3x20xf32>
    return %51 : tensor<3x20xf32>
  }
}
