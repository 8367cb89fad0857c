// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=cumulative-norm
// variant=none
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=step-sum:f32+scan-sum:f32+mean:div-f32+difference:f32+square:f32+step-sum:f32+scan-sum:f32+variance:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32+result:f32
// association=steps:sequential+scan:sequential
// dequantization=exact-widen
// constants=f32-nearest
// functions=ieee-div+ieee-sqrt
// denormals=flush
// algorithm=linalg:generic+linalg-ext:scan
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<5x8x4xf32>, %1: tensor<4xf32>) -> (tensor<5x8x4xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = stablehlo.reshape %0 : (tensor<5x8x4xf32>) -> tensor<5x32xf32>
    %3 = arith.constant 0x00000000 : f32
    %4 = tensor.empty() : tensor<5xf32>
    %5 = linalg.fill ins(%3 : f32) outs(%4 : tensor<5xf32>) -> tensor<5xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<5x32xf32>) outs(%5 : tensor<5xf32>) {
    ^bb0(%7: f32, %8: f32):
    %9 = arith.addf %8, %7 : f32
    linalg.yield %9 : f32
    } -> tensor<5xf32>
    %10 = tensor.empty() : tensor<5xf32>
    %11 = tensor.empty() : tensor<f32>
    %12, %13 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%6 : tensor<5xf32>) outs(%10, %11 : tensor<5xf32>, tensor<f32>) {
    ^bb0(%14: f32, %15: f32):
    %16 = arith.addf %15, %14 : f32
    iree_linalg_ext.yield %16 : f32
    } -> tensor<5xf32>, tensor<f32>
    %17 = tensor.empty() : tensor<5xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12 : tensor<5xf32>) outs(%17 : tensor<5xf32>) {
    ^bb0(%19: f32, %20: f32):
    %21 = linalg.index 0 : index
    %22 = arith.index_cast %21 : index to i32
    %23 = arith.constant 1 : i32
    %24 = arith.addi %22, %23 : i32
    %25 = arith.constant 32 : i32
    %26 = arith.muli %24, %25 : i32
    %27 = arith.sitofp %26 : i32 to f32
    %28 = arith.divf %19, %27 : f32
    linalg.yield %28 : f32
    } -> tensor<5xf32>
    %29 = arith.constant 0x00000000 : f32
    %30 = tensor.empty() : tensor<5xf32>
    %31 = linalg.fill ins(%29 : f32) outs(%30 : tensor<5xf32>) -> tensor<5xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%2, %18 : tensor<5x32xf32>, tensor<5xf32>) outs(%31 : tensor<5xf32>) {
    ^bb0(%33: f32, %34: f32, %35: f32):
    %36 = arith.subf %33, %34 : f32
    %37 = arith.constant 0x80000000 : f32
    %38 = math.fma %36, %36, %37 : f32
    %39 = arith.addf %35, %38 : f32
    linalg.yield %39 : f32
    } -> tensor<5xf32>
    %40 = tensor.empty() : tensor<5xf32>
    %41 = tensor.empty() : tensor<f32>
    %42, %43 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%32 : tensor<5xf32>) outs(%40, %41 : tensor<5xf32>, tensor<f32>) {
    ^bb0(%44: f32, %45: f32):
    %46 = arith.addf %45, %44 : f32
    iree_linalg_ext.yield %46 : f32
    } -> tensor<5xf32>, tensor<f32>
    %47 = tensor.empty() : tensor<5xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%42 : tensor<5xf32>) outs(%47 : tensor<5xf32>) {
    ^bb0(%49: f32, %50: f32):
    %51 = linalg.index 0 : index
    %52 = arith.index_cast %51 : index to i32
    %53 = arith.constant 1 : i32
    %54 = arith.addi %52, %53 : i32
    %55 = arith.constant 32 : i32
    %56 = arith.muli %54, %55 : i32
    %57 = arith.sitofp %56 : i32 to f32
    %58 = arith.divf %49, %57 : f32
    %59 = arith.constant 0x3A83126F : f32
    %60 = arith.addf %58, %59 : f32
    %61 = math.sqrt %60 : f32
    %62 = arith.constant 0x3F800000 : f32
    %63 = arith.divf %62, %61 : f32
    linalg.yield %63 : f32
    } -> tensor<5xf32>
    %64 = tensor.empty() : tensor<5x8x4xf32>
    %65 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0, %18, %48, %1 : tensor<5x8x4xf32>, tensor<5xf32>, tensor<5xf32>, tensor<4xf32>) outs(%64 : tensor<5x8x4xf32>) {
    ^bb0(%66: f32, %67: f32, %68: f32, %69: f32, %70: f32):
    %71 = arith.subf %66, %67 : f32
    %72 = arith.constant 0x80000000 : f32
    %73 = math.fma %71, %68, %72 : f32
    %74 = arith.constant 0x80000000 : f32
    %75 = math.fma %73, %69, %74 : f32
    linalg.yield %75 : f32
    } -> tensor<5x8x4xf32>
    return %65 : tensor<5x8x4xf32>
  }
}
