// mlxcel_contract=2
// profile=iree-canonical
// clauses=2
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=product-sum:fma-f32+result:f32
// association=sequential-fma
// dequantization=exact-widen
// constants=none
// functions=none
// denormals=flush
// algorithm=stablehlo:dot-general+linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(32)
// derivation=fma-contraction
// representable=yes
// clause=1
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
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<20x33xf32>, %2: tensor<10x33xf32>, %3: tensor<10x33xf32>, %4: tensor<3xi32>, %5: tensor<3xi32>, %6: tensor<8x5xf32>, %7: tensor<8x5xf32>, %8: tensor<1x1x1x8x10xf32>, %9: tensor<1x1x1x8x10xf32>) -> (tensor<3x20xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %10 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<3x33xf32>, tensor<20x33xf32>) -> tensor<3x20xf32>
    %11 = stablehlo.reshape %10 : (tensor<3x20xf32>) -> tensor<3x2x10xf32>
    %12 = stablehlo.slice %11 [0:3, 0:2, 0:10] : (tensor<3x2x10xf32>) -> tensor<3x2x10xf32>
    %13 = tensor.empty() : tensor<3x5xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<3xi32>) outs(%13 : tensor<3x5xf32>) {
    ^bb0(%15: i32, %16: f32):
    %17 = arith.constant 0 : i32
    %18 = arith.maxsi %15, %17 : i32
    %19 = arith.constant 7 : i32
    %20 = arith.minsi %18, %19 : i32
    %21 = arith.index_cast %20 : i32 to index
    %22 = linalg.index 1 : index
    %23 = tensor.extract %6[%21, %22] : tensor<8x5xf32>
    linalg.yield %23 : f32
    } -> tensor<3x5xf32>
    %24 = tensor.empty() : tensor<3x5xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<3xi32>) outs(%24 : tensor<3x5xf32>) {
    ^bb0(%26: i32, %27: f32):
    %28 = arith.constant 0 : i32
    %29 = arith.maxsi %26, %28 : i32
    %30 = arith.constant 7 : i32
    %31 = arith.minsi %29, %30 : i32
    %32 = arith.index_cast %31 : i32 to index
    %33 = linalg.index 1 : index
    %34 = tensor.extract %7[%32, %33] : tensor<8x5xf32>
    linalg.yield %34 : f32
    } -> tensor<3x5xf32>
    %35 = stablehlo.slice %12 [0:3, 0:2, 0:5] : (tensor<3x2x10xf32>) -> tensor<3x2x5xf32>
    %36 = stablehlo.slice %12 [0:3, 0:2, 5:10] : (tensor<3x2x10xf32>) -> tensor<3x2x5xf32>
    %37 = tensor.empty() : tensor<3x2x5xf32>
    %38 = tensor.empty() : tensor<3x2x5xf32>
    %39, %40 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35, %36, %14, %25 : tensor<3x2x5xf32>, tensor<3x2x5xf32>, tensor<3x5xf32>, tensor<3x5xf32>) outs(%37, %38 : tensor<3x2x5xf32>, tensor<3x2x5xf32>) {
    ^bb0(%41: f32, %42: f32, %43: f32, %44: f32, %45: f32, %46: f32):
    %47 = arith.constant 0x80000000 : f32
    %48 = math.fma %41, %43, %47 : f32
    %49 = arith.constant 0x80000000 : f32
    %50 = math.fma %42, %44, %49 : f32
    %51 = arith.constant 0x80000000 : f32
    %52 = math.fma %41, %44, %51 : f32
    %53 = arith.constant 0x80000000 : f32
    %54 = math.fma %42, %43, %53 : f32
    %55 = arith.subf %48, %50 : f32
    %56 = arith.addf %52, %54 : f32
    linalg.yield %55, %56 : f32, f32
    } -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>)
    %57 = stablehlo.concatenate %39, %40, dim = 2 : (tensor<3x2x5xf32>, tensor<3x2x5xf32>) -> tensor<3x2x10xf32>
    %58 = stablehlo.reshape %57 : (tensor<3x2x10xf32>) -> tensor<3x20xf32>
    return %58 : tensor<3x20xf32>
  }
}
