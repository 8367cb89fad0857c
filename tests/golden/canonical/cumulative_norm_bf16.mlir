// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=cumulative-norm
// variant=none
// source_dtype=bf16
// operand_dtype=f32
// accumulator=f32
// result_dtype=bf16
// rounding=step-sum:f32+scan-sum:f32+mean:div-f32+difference:f32+square:f32+step-sum:f32+scan-sum:f32+variance:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32+result:bf16
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
  func.func @operation(%0: tensor<5x8x4xbf16>, %1: tensor<4xbf16>) -> (tensor<5x8x4xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = stablehlo.reshape %0 : (tensor<5x8x4xbf16>) -> tensor<5x32xbf16>
    %3 = arith.constant 0x00000000 : f32
    %4 = tensor.empty() : tensor<5xf32>
    %5 = linalg.fill ins(%3 : f32) outs(%4 : tensor<5xf32>) -> tensor<5xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<5x32xbf16>) outs(%5 : tensor<5xf32>) {
    ^bb0(%7: bf16, %8: f32):
    %9 = arith.extf %7 : bf16 to f32
    %10 = arith.addf %8, %9 : f32
    linalg.yield %10 : f32
    } -> tensor<5xf32>
    %11 = tensor.empty() : tensor<5xf32>
    %12 = tensor.empty() : tensor<f32>
    %13, %14 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%6 : tensor<5xf32>) outs(%11, %12 : tensor<5xf32>, tensor<f32>) {
    ^bb0(%15: f32, %16: f32):
    %17 = arith.addf %16, %15 : f32
    iree_linalg_ext.yield %17 : f32
    } -> tensor<5xf32>, tensor<f32>
    %18 = tensor.empty() : tensor<5xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%13 : tensor<5xf32>) outs(%18 : tensor<5xf32>) {
    ^bb0(%20: f32, %21: f32):
    %22 = linalg.index 0 : index
    %23 = arith.index_cast %22 : index to i32
    %24 = arith.constant 1 : i32
    %25 = arith.addi %23, %24 : i32
    %26 = arith.constant 32 : i32
    %27 = arith.muli %25, %26 : i32
    %28 = arith.sitofp %27 : i32 to f32
    %29 = arith.divf %20, %28 : f32
    linalg.yield %29 : f32
    } -> tensor<5xf32>
    %30 = arith.constant 0x00000000 : f32
    %31 = tensor.empty() : tensor<5xf32>
    %32 = linalg.fill ins(%30 : f32) outs(%31 : tensor<5xf32>) -> tensor<5xf32>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%2, %19 : tensor<5x32xbf16>, tensor<5xf32>) outs(%32 : tensor<5xf32>) {
    ^bb0(%34: bf16, %35: f32, %36: f32):
    %37 = arith.extf %34 : bf16 to f32
    %38 = arith.subf %37, %35 : f32
    %39 = arith.constant 0x80000000 : f32
    %40 = math.fma %38, %38, %39 : f32
    %41 = arith.addf %36, %40 : f32
    linalg.yield %41 : f32
    } -> tensor<5xf32>
    %42 = tensor.empty() : tensor<5xf32>
    %43 = tensor.empty() : tensor<f32>
    %44, %45 = iree_linalg_ext.scan dimension(0) inclusive(true) ins(%33 : tensor<5xf32>) outs(%42, %43 : tensor<5xf32>, tensor<f32>) {
    ^bb0(%46: f32, %47: f32):
    %48 = arith.addf %47, %46 : f32
    iree_linalg_ext.yield %48 : f32
    } -> tensor<5xf32>, tensor<f32>
    %49 = tensor.empty() : tensor<5xf32>
    %50 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%44 : tensor<5xf32>) outs(%49 : tensor<5xf32>) {
    ^bb0(%51: f32, %52: f32):
    %53 = linalg.index 0 : index
    %54 = arith.index_cast %53 : index to i32
    %55 = arith.constant 1 : i32
    %56 = arith.addi %54, %55 : i32
    %57 = arith.constant 32 : i32
    %58 = arith.muli %56, %57 : i32
    %59 = arith.sitofp %58 : i32 to f32
    %60 = arith.divf %51, %59 : f32
    %61 = arith.constant 0x3A83126F : f32
    %62 = arith.addf %60, %61 : f32
    %63 = math.sqrt %62 : f32
    %64 = arith.constant 0x3F800000 : f32
    %65 = arith.divf %64, %63 : f32
    linalg.yield %65 : f32
    } -> tensor<5xf32>
    %66 = tensor.empty() : tensor<5x8x4xbf16>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0, %19, %50, %1 : tensor<5x8x4xbf16>, tensor<5xf32>, tensor<5xf32>, tensor<4xbf16>) outs(%66 : tensor<5x8x4xbf16>) {
    ^bb0(%68: bf16, %69: f32, %70: f32, %71: bf16, %72: bf16):
    %73 = arith.extf %68 : bf16 to f32
    %74 = arith.extf %71 : bf16 to f32
    %75 = arith.subf %73, %69 : f32
    %76 = arith.constant 0x80000000 : f32
    %77 = math.fma %75, %70, %76 : f32
    %78 = arith.constant 0x80000000 : f32
    %79 = math.fma %77, %74, %78 : f32
    %80 = arith.bitcast %79 : f32 to i32
    %81 = arith.constant 16 : i32
    %82 = arith.shrui %80, %81 : i32
    %83 = arith.constant 1 : i32
    %84 = arith.andi %82, %83 : i32
    %85 = arith.constant 32767 : i32
    %86 = arith.addi %84, %85 : i32
    %87 = arith.addi %80, %86 : i32
    %88 = arith.constant -65536 : i32
    %89 = arith.andi %87, %88 : i32
    %90 = arith.bitcast %89 : i32 to f32
    %91 = arith.constant 0x7FC00000 : f32
    %92 = arith.cmpf uno, %79, %79 : f32
    %93 = arith.select %92, %91, %90 : f32
    %94 = arith.truncf %93 : f32 to bf16
    linalg.yield %94 : bf16
    } -> tensor<5x8x4xbf16>
    return %67 : tensor<5x8x4xbf16>
  }
}
