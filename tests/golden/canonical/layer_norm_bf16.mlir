// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=layer-norm
// variant=none
// source_dtype=bf16
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=sum:f32+mean:mul-reciprocal-f32+difference:f32+square:f32+square-sum:f32+variance:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+scale:bf16+weight:bf16+bias:bf16
// association=sequential
// dequantization=exact-widen
// constants=f32-nearest
// functions=ieee-div+ieee-sqrt
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xbf16>, %1: tensor<33xbf16>, %2: tensor<33xbf16>) -> (tensor<3x33xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = arith.constant 0x00000000 : f32
    %4 = tensor.empty() : tensor<3xf32>
    %5 = linalg.fill ins(%3 : f32) outs(%4 : tensor<3xf32>) -> tensor<3xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xbf16>) outs(%5 : tensor<3xf32>) {
    ^bb0(%7: bf16, %8: f32):
    %9 = arith.extf %7 : bf16 to f32
    %10 = arith.addf %8, %9 : f32
    linalg.yield %10 : f32
    } -> tensor<3xf32>
    %11 = tensor.empty() : tensor<3xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%6 : tensor<3xf32>) outs(%11 : tensor<3xf32>) {
    ^bb0(%13: f32, %14: f32):
    %15 = arith.constant 0x3CF83E10 : f32
    %16 = arith.constant 0x80000000 : f32
    %17 = math.fma %13, %15, %16 : f32
    linalg.yield %17 : f32
    } -> tensor<3xf32>
    %18 = arith.constant 0x00000000 : f32
    %19 = tensor.empty() : tensor<3xf32>
    %20 = linalg.fill ins(%18 : f32) outs(%19 : tensor<3xf32>) -> tensor<3xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0, %12 : tensor<3x33xbf16>, tensor<3xf32>) outs(%20 : tensor<3xf32>) {
    ^bb0(%22: bf16, %23: f32, %24: f32):
    %25 = arith.extf %22 : bf16 to f32
    %26 = arith.subf %25, %23 : f32
    %27 = arith.constant 0x80000000 : f32
    %28 = math.fma %26, %26, %27 : f32
    %29 = arith.addf %24, %28 : f32
    linalg.yield %29 : f32
    } -> tensor<3xf32>
    %30 = tensor.empty() : tensor<3xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%21 : tensor<3xf32>) outs(%30 : tensor<3xf32>) {
    ^bb0(%32: f32, %33: f32):
    %34 = arith.constant 0x3CF83E10 : f32
    %35 = arith.constant 0x80000000 : f32
    %36 = math.fma %32, %34, %35 : f32
    %37 = arith.constant 0x3727C5AC : f32
    %38 = arith.addf %36, %37 : f32
    %39 = math.sqrt %38 : f32
    %40 = arith.constant 0x3F800000 : f32
    %41 = arith.divf %40, %39 : f32
    linalg.yield %41 : f32
    } -> tensor<3xf32>
    %42 = tensor.empty() : tensor<3x33xbf16>
    %43 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %12, %31, %1, %2 : tensor<3x33xbf16>, tensor<3xf32>, tensor<3xf32>, tensor<33xbf16>, tensor<33xbf16>) outs(%42 : tensor<3x33xbf16>) {
    ^bb0(%44: bf16, %45: f32, %46: f32, %47: bf16, %48: bf16, %49: bf16):
    %50 = arith.extf %44 : bf16 to f32
    %51 = arith.extf %47 : bf16 to f32
    %52 = arith.extf %48 : bf16 to f32
    %53 = arith.subf %50, %45 : f32
    %54 = arith.constant 0x80000000 : f32
    %55 = math.fma %53, %46, %54 : f32
    %56 = arith.bitcast %55 : f32 to i32
    %57 = arith.constant 16 : i32
    %58 = arith.shrui %56, %57 : i32
    %59 = arith.constant 1 : i32
    %60 = arith.andi %58, %59 : i32
    %61 = arith.constant 32767 : i32
    %62 = arith.addi %60, %61 : i32
    %63 = arith.addi %56, %62 : i32
    %64 = arith.constant -65536 : i32
    %65 = arith.andi %63, %64 : i32
    %66 = arith.bitcast %65 : i32 to f32
    %67 = arith.constant 0x7FC00000 : f32
    %68 = arith.cmpf uno, %55, %55 : f32
    %69 = arith.select %68, %67, %66 : f32
    %70 = arith.constant 0x80000000 : f32
    %71 = math.fma %69, %51, %70 : f32
    %72 = arith.bitcast %71 : f32 to i32
    %73 = arith.constant 16 : i32
    %74 = arith.shrui %72, %73 : i32
    %75 = arith.constant 1 : i32
    %76 = arith.andi %74, %75 : i32
    %77 = arith.constant 32767 : i32
    %78 = arith.addi %76, %77 : i32
    %79 = arith.addi %72, %78 : i32
    %80 = arith.constant -65536 : i32
    %81 = arith.andi %79, %80 : i32
    %82 = arith.bitcast %81 : i32 to f32
    %83 = arith.constant 0x7FC00000 : f32
    %84 = arith.cmpf uno, %71, %71 : f32
    %85 = arith.select %84, %83, %82 : f32
    %86 = arith.addf %85, %52 : f32
    %87 = arith.bitcast %86 : f32 to i32
    %88 = arith.constant 16 : i32
    %89 = arith.shrui %87, %88 : i32
    %90 = arith.constant 1 : i32
    %91 = arith.andi %89, %90 : i32
    %92 = arith.constant 32767 : i32
    %93 = arith.addi %91, %92 : i32
    %94 = arith.addi %87, %93 : i32
    %95 = arith.constant -65536 : i32
    %96 = arith.andi %94, %95 : i32
    %97 = arith.bitcast %96 : i32 to f32
    %98 = arith.constant 0x7FC00000 : f32
    %99 = arith.cmpf uno, %86, %86 : f32
    %100 = arith.select %99, %98, %97 : f32
    %101 = arith.truncf %100 : f32 to bf16
    linalg.yield %101 : bf16
    } -> tensor<3x33xbf16>
    return %43 : tensor<3x33xbf16>
  }
}
