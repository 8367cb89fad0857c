// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=attention
// variant=mask-additive
// source_dtype=none
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=scale-before-dot:bf16+score-sum:fma-f32+score:bf16+mask:bf16+difference:f32+exp:f32+sum:f32+reciprocal:f32+quotient:f32+probability:bf16+value-sum:fma-f32+result:bf16
// association=scores:sequential-fma+softmax:sequential+values:sequential-fma
// dequantization=none
// constants=scale:bf16-nearest
// functions=iree-exp+ieee-div
// denormals=flush
// algorithm=stablehlo:dot-general+linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(32)
// derivation=fma-contraction+iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x144xbf16>, %1: tensor<1x1x2x40x36xbf16>, %2: tensor<1x1x2x40x36xbf16>, %3: tensor<3xi32>, %4: tensor<3xi32>, %5: tensor<3x40xbf16>) -> (tensor<3x144xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %6 = tensor.empty() : tensor<3x144xbf16>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x144xbf16>) outs(%6 : tensor<3x144xbf16>) {
    ^bb0(%8: bf16, %9: bf16):
    %10 = arith.constant 0x3E9A0000 : f32
    %11 = arith.extf %8 : bf16 to f32
    %12 = arith.constant 0x80000000 : f32
    %13 = math.fma %10, %11, %12 : f32
    %14 = arith.bitcast %13 : f32 to i32
    %15 = arith.constant 16 : i32
    %16 = arith.shrui %14, %15 : i32
    %17 = arith.constant 1 : i32
    %18 = arith.andi %16, %17 : i32
    %19 = arith.constant 32767 : i32
    %20 = arith.addi %18, %19 : i32
    %21 = arith.addi %14, %20 : i32
    %22 = arith.constant -65536 : i32
    %23 = arith.andi %21, %22 : i32
    %24 = arith.bitcast %23 : i32 to f32
    %25 = arith.constant 0x7FC00000 : f32
    %26 = arith.cmpf uno, %13, %13 : f32
    %27 = arith.select %26, %25, %24 : f32
    %28 = arith.truncf %27 : f32 to bf16
    linalg.yield %28 : bf16
    } -> tensor<3x144xbf16>
    %29 = stablehlo.reshape %7 : (tensor<3x144xbf16>) -> tensor<3x2x2x36xbf16>
    %30 = stablehlo.transpose %29, dims = [1, 2, 0, 3] : (tensor<3x2x2x36xbf16>) -> tensor<2x2x3x36xbf16>
    %31 = stablehlo.reshape %1 : (tensor<1x1x2x40x36xbf16>) -> tensor<2x40x36xbf16>
    %32 = stablehlo.reshape %2 : (tensor<1x1x2x40x36xbf16>) -> tensor<2x40x36xbf16>
    %33 = stablehlo.dot_general %30, %31, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<2x2x3x36xbf16>, tensor<2x40x36xbf16>) -> tensor<2x2x3x40xf32>
    %34 = tensor.empty() : tensor<2x2x3x40xbf16>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33, %5 : tensor<2x2x3x40xf32>, tensor<3x40xbf16>) outs(%34 : tensor<2x2x3x40xbf16>) {
    ^bb0(%36: f32, %37: bf16, %38: bf16):
    %39 = arith.bitcast %36 : f32 to i32
    %40 = arith.constant 16 : i32
    %41 = arith.shrui %39, %40 : i32
    %42 = arith.constant 1 : i32
    %43 = arith.andi %41, %42 : i32
    %44 = arith.constant 32767 : i32
    %45 = arith.addi %43, %44 : i32
    %46 = arith.addi %39, %45 : i32
    %47 = arith.constant -65536 : i32
    %48 = arith.andi %46, %47 : i32
    %49 = arith.bitcast %48 : i32 to f32
    %50 = arith.constant 0x7FC00000 : f32
    %51 = arith.cmpf uno, %36, %36 : f32
    %52 = arith.select %51, %50, %49 : f32
    %53 = arith.extf %37 : bf16 to f32
    %54 = arith.addf %52, %53 : f32
    %55 = arith.bitcast %54 : f32 to i32
    %56 = arith.constant 16 : i32
    %57 = arith.shrui %55, %56 : i32
    %58 = arith.constant 1 : i32
    %59 = arith.andi %57, %58 : i32
    %60 = arith.constant 32767 : i32
    %61 = arith.addi %59, %60 : i32
    %62 = arith.addi %55, %61 : i32
    %63 = arith.constant -65536 : i32
    %64 = arith.andi %62, %63 : i32
    %65 = arith.bitcast %64 : i32 to f32
    %66 = arith.constant 0x7FC00000 : f32
    %67 = arith.cmpf uno, %54, %54 : f32
    %68 = arith.select %67, %66, %65 : f32
    %69 = arith.truncf %68 : f32 to bf16
    linalg.yield %69 : bf16
    } -> tensor<2x2x3x40xbf16>
    %70 = arith.constant 0xFF800000 : f32
    %71 = tensor.empty() : tensor<2x2x3xf32>
    %72 = linalg.fill ins(%70 : f32) outs(%71 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %73 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%35 : tensor<2x2x3x40xbf16>) outs(%72 : tensor<2x2x3xf32>) {
    ^bb0(%74: bf16, %75: f32):
    %76 = arith.extf %74 : bf16 to f32
    %77 = arith.maximumf %75, %76 : f32
    linalg.yield %77 : f32
    } -> tensor<2x2x3xf32>
    %78 = arith.constant 0x00000000 : f32
    %79 = tensor.empty() : tensor<2x2x3xf32>
    %80 = linalg.fill ins(%78 : f32) outs(%79 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %81 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%35, %73 : tensor<2x2x3x40xbf16>, tensor<2x2x3xf32>) outs(%80 : tensor<2x2x3xf32>) {
    ^bb0(%82: bf16, %83: f32, %84: f32):
    %85 = arith.extf %82 : bf16 to f32
    %86 = arith.subf %85, %83 : f32
    %87 = math.exp %86 : f32
    %88 = arith.addf %84, %87 : f32
    linalg.yield %88 : f32
    } -> tensor<2x2x3xf32>
    %89 = tensor.empty() : tensor<2x2x3xf32>
    %90 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%81 : tensor<2x2x3xf32>) outs(%89 : tensor<2x2x3xf32>) {
    ^bb0(%91: f32, %92: f32):
    %93 = arith.constant 0x3F800000 : f32
    %94 = arith.divf %93, %91 : f32
    linalg.yield %94 : f32
    } -> tensor<2x2x3xf32>
    %95 = tensor.empty() : tensor<2x2x3x40xbf16>
    %96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35, %73, %90 : tensor<2x2x3x40xbf16>, tensor<2x2x3xf32>, tensor<2x2x3xf32>) outs(%95 : tensor<2x2x3x40xbf16>) {
    ^bb0(%97: bf16, %98: f32, %99: f32, %100: bf16):
    %101 = arith.extf %97 : bf16 to f32
    %102 = arith.subf %101, %98 : f32
    %103 = math.exp %102 : f32
    %104 = arith.constant 0x80000000 : f32
    %105 = math.fma %103, %99, %104 : f32
    %106 = arith.bitcast %105 : f32 to i32
    %107 = arith.constant 16 : i32
    %108 = arith.shrui %106, %107 : i32
    %109 = arith.constant 1 : i32
    %110 = arith.andi %108, %109 : i32
    %111 = arith.constant 32767 : i32
    %112 = arith.addi %110, %111 : i32
    %113 = arith.addi %106, %112 : i32
    %114 = arith.constant -65536 : i32
    %115 = arith.andi %113, %114 : i32
    %116 = arith.bitcast %115 : i32 to f32
    %117 = arith.constant 0x7FC00000 : f32
    %118 = arith.cmpf uno, %105, %105 : f32
    %119 = arith.select %118, %117, %116 : f32
    %120 = arith.truncf %119 : f32 to bf16
    linalg.yield %120 : bf16
    } -> tensor<2x2x3x40xbf16>
    %121 = stablehlo.dot_general %96, %32, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<2x2x3x40xbf16>, tensor<2x40x36xbf16>) -> tensor<2x2x3x36xf32>
    %122 = tensor.empty() : tensor<2x2x3x36xbf16>
    %123 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%121 : tensor<2x2x3x36xf32>) outs(%122 : tensor<2x2x3x36xbf16>) {
    ^bb0(%124: f32, %125: bf16):
    %126 = arith.bitcast %124 : f32 to i32
    %127 = arith.constant 16 : i32
    %128 = arith.shrui %126, %127 : i32
    %129 = arith.constant 1 : i32
    %130 = arith.andi %128, %129 : i32
    %131 = arith.constant 32767 : i32
    %132 = arith.addi %130, %131 : i32
    %133 = arith.addi %126, %132 : i32
    %134 = arith.constant -65536 : i32
    %135 = arith.andi %133, %134 : i32
    %136 = arith.bitcast %135 : i32 to f32
    %137 = arith.constant 0x7FC00000 : f32
    %138 = arith.cmpf uno, %124, %124 : f32
    %139 = arith.select %138, %137, %136 : f32
    %140 = arith.truncf %139 : f32 to bf16
    linalg.yield %140 : bf16
    } -> tensor<2x2x3x36xbf16>
    %141 = stablehlo.transpose %123, dims = [2, 0, 1, 3] : (tensor<2x2x3x36xbf16>) -> tensor<3x2x2x36xbf16>
    %142 = stablehlo.reshape %141 : (tensor<3x2x2x36xbf16>) -> tensor<3x144xbf16>
    return %142 : tensor<3x144xbf16>
  }
}
