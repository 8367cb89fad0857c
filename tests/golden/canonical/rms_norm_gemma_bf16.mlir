// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=rms-norm
// variant=gemma
// source_dtype=bf16
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=one-plus:bf16+square:f32+square-sum:f32+mean:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+scale:bf16+weight:bf16
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
  func.func @operation(%0: tensor<3x33xbf16>, %1: tensor<33xbf16>) -> (tensor<3x33xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = arith.constant 0x00000000 : f32
    %3 = tensor.empty() : tensor<3xf32>
    %4 = linalg.fill ins(%2 : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<3x33xbf16>) outs(%4 : tensor<3xf32>) {
    ^bb0(%6: bf16, %7: f32):
    %8 = arith.extf %6 : bf16 to f32
    %9 = arith.constant 0x80000000 : f32
    %10 = math.fma %8, %8, %9 : f32
    %11 = arith.addf %7, %10 : f32
    linalg.yield %11 : f32
    } -> tensor<3xf32>
    %12 = tensor.empty() : tensor<3xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%5 : tensor<3xf32>) outs(%12 : tensor<3xf32>) {
    ^bb0(%14: f32, %15: f32):
    %16 = arith.constant 0x3CF83E10 : f32
    %17 = arith.constant 0x80000000 : f32
    %18 = math.fma %14, %16, %17 : f32
    %19 = arith.constant 0x3727C5AC : f32
    %20 = arith.addf %18, %19 : f32
    %21 = math.sqrt %20 : f32
    %22 = arith.constant 0x3F800000 : f32
    %23 = arith.divf %22, %21 : f32
    linalg.yield %23 : f32
    } -> tensor<3xf32>
    %24 = tensor.empty() : tensor<3x33xbf16>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %13, %1 : tensor<3x33xbf16>, tensor<3xf32>, tensor<33xbf16>) outs(%24 : tensor<3x33xbf16>) {
    ^bb0(%26: bf16, %27: f32, %28: bf16, %29: bf16):
    %30 = arith.extf %26 : bf16 to f32
    %31 = arith.extf %28 : bf16 to f32
    %32 = arith.constant 0x80000000 : f32
    %33 = math.fma %30, %27, %32 : f32
    %34 = arith.bitcast %33 : f32 to i32
    %35 = arith.constant 16 : i32
    %36 = arith.shrui %34, %35 : i32
    %37 = arith.constant 1 : i32
    %38 = arith.andi %36, %37 : i32
    %39 = arith.constant 32767 : i32
    %40 = arith.addi %38, %39 : i32
    %41 = arith.addi %34, %40 : i32
    %42 = arith.constant -65536 : i32
    %43 = arith.andi %41, %42 : i32
    %44 = arith.bitcast %43 : i32 to f32
    %45 = arith.constant 0x7FC00000 : f32
    %46 = arith.cmpf uno, %33, %33 : f32
    %47 = arith.select %46, %45, %44 : f32
    %48 = arith.constant 0x3F800000 : f32
    %49 = arith.addf %48, %31 : f32
    %50 = arith.bitcast %49 : f32 to i32
    %51 = arith.constant 16 : i32
    %52 = arith.shrui %50, %51 : i32
    %53 = arith.constant 1 : i32
    %54 = arith.andi %52, %53 : i32
    %55 = arith.constant 32767 : i32
    %56 = arith.addi %54, %55 : i32
    %57 = arith.addi %50, %56 : i32
    %58 = arith.constant -65536 : i32
    %59 = arith.andi %57, %58 : i32
    %60 = arith.bitcast %59 : i32 to f32
    %61 = arith.constant 0x7FC00000 : f32
    %62 = arith.cmpf uno, %49, %49 : f32
    %63 = arith.select %62, %61, %60 : f32
    %64 = arith.constant 0x80000000 : f32
    %65 = math.fma %47, %63, %64 : f32
    %66 = arith.bitcast %65 : f32 to i32
    %67 = arith.constant 16 : i32
    %68 = arith.shrui %66, %67 : i32
    %69 = arith.constant 1 : i32
    %70 = arith.andi %68, %69 : i32
    %71 = arith.constant 32767 : i32
    %72 = arith.addi %70, %71 : i32
    %73 = arith.addi %66, %72 : i32
    %74 = arith.constant -65536 : i32
    %75 = arith.andi %73, %74 : i32
    %76 = arith.bitcast %75 : i32 to f32
    %77 = arith.constant 0x7FC00000 : f32
    %78 = arith.cmpf uno, %65, %65 : f32
    %79 = arith.select %78, %77, %76 : f32
    %80 = arith.truncf %79 : f32 to bf16
    linalg.yield %80 : bf16
    } -> tensor<3x33xbf16>
    return %25 : tensor<3x33xbf16>
  }
}
