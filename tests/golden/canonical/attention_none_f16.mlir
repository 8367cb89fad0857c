// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=attention
// variant=mask-none
// source_dtype=none
// operand_dtype=f16
// accumulator=f32
// result_dtype=f16
// rounding=scale-before-dot:f16+score-sum:fma-f32+score:f16+difference:f32+exp:f32+sum:f32+reciprocal:f32+quotient:f32+probability:f16+value-sum:fma-f32+result:f16
// association=scores:sequential-fma+softmax:sequential+values:sequential-fma
// dequantization=none
// constants=scale:f16-nearest
// functions=iree-exp+ieee-div
// denormals=flush
// algorithm=stablehlo:dot-general+linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(32)
// derivation=fma-contraction+iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x144xf16>, %1: tensor<1x1x2x40x36xf16>, %2: tensor<1x1x2x40x36xf16>, %3: tensor<3xi32>, %4: tensor<3xi32>) -> (tensor<3x144xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %5 = tensor.empty() : tensor<3x144xf16>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x144xf16>) outs(%5 : tensor<3x144xf16>) {
    ^bb0(%7: f16, %8: f16):
    %9 = arith.constant 0x3E99A000 : f32
    %10 = arith.extf %7 : f16 to f32
    %11 = arith.constant 0x80000000 : f32
    %12 = math.fma %9, %10, %11 : f32
    %13 = arith.truncf %12 : f32 to f16
    %14 = arith.extf %13 : f16 to f32
    %15 = arith.truncf %14 : f32 to f16
    linalg.yield %15 : f16
    } -> tensor<3x144xf16>
    %16 = stablehlo.reshape %6 : (tensor<3x144xf16>) -> tensor<3x2x2x36xf16>
    %17 = stablehlo.transpose %16, dims = [1, 2, 0, 3] : (tensor<3x2x2x36xf16>) -> tensor<2x2x3x36xf16>
    %18 = stablehlo.reshape %1 : (tensor<1x1x2x40x36xf16>) -> tensor<2x40x36xf16>
    %19 = stablehlo.reshape %2 : (tensor<1x1x2x40x36xf16>) -> tensor<2x40x36xf16>
    %20 = stablehlo.dot_general %17, %18, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<2x2x3x36xf16>, tensor<2x40x36xf16>) -> tensor<2x2x3x40xf32>
    %21 = tensor.empty() : tensor<2x2x3x40xf16>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x2x3x40xf32>) outs(%21 : tensor<2x2x3x40xf16>) {
    ^bb0(%23: f32, %24: f16):
    %25 = arith.truncf %23 : f32 to f16
    %26 = arith.extf %25 : f16 to f32
    %27 = arith.truncf %26 : f32 to f16
    linalg.yield %27 : f16
    } -> tensor<2x2x3x40xf16>
    %28 = arith.constant 0xFF800000 : f32
    %29 = tensor.empty() : tensor<2x2x3xf32>
    %30 = linalg.fill ins(%28 : f32) outs(%29 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %31 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<2x2x3x40xf16>) outs(%30 : tensor<2x2x3xf32>) {
    ^bb0(%32: f16, %33: f32):
    %34 = arith.extf %32 : f16 to f32
    %35 = arith.maximumf %33, %34 : f32
    linalg.yield %35 : f32
    } -> tensor<2x2x3xf32>
    %36 = arith.constant 0x00000000 : f32
    %37 = tensor.empty() : tensor<2x2x3xf32>
    %38 = linalg.fill ins(%36 : f32) outs(%37 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %39 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%22, %31 : tensor<2x2x3x40xf16>, tensor<2x2x3xf32>) outs(%38 : tensor<2x2x3xf32>) {
    ^bb0(%40: f16, %41: f32, %42: f32):
    %43 = arith.extf %40 : f16 to f32
    %44 = arith.subf %43, %41 : f32
    %45 = math.exp %44 : f32
    %46 = arith.addf %42, %45 : f32
    linalg.yield %46 : f32
    } -> tensor<2x2x3xf32>
    %47 = tensor.empty() : tensor<2x2x3xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%39 : tensor<2x2x3xf32>) outs(%47 : tensor<2x2x3xf32>) {
    ^bb0(%49: f32, %50: f32):
    %51 = arith.constant 0x3F800000 : f32
    %52 = arith.divf %51, %49 : f32
    linalg.yield %52 : f32
    } -> tensor<2x2x3xf32>
    %53 = tensor.empty() : tensor<2x2x3x40xf16>
    %54 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %31, %48 : tensor<2x2x3x40xf16>, tensor<2x2x3xf32>, tensor<2x2x3xf32>) outs(%53 : tensor<2x2x3x40xf16>) {
    ^bb0(%55: f16, %56: f32, %57: f32, %58: f16):
    %59 = arith.extf %55 : f16 to f32
    %60 = arith.subf %59, %56 : f32
    %61 = math.exp %60 : f32
    %62 = arith.constant 0x80000000 : f32
    %63 = math.fma %61, %57, %62 : f32
    %64 = arith.truncf %63 : f32 to f16
    %65 = arith.extf %64 : f16 to f32
    %66 = arith.truncf %65 : f32 to f16
    linalg.yield %66 : f16
    } -> tensor<2x2x3x40xf16>
    %67 = stablehlo.dot_general %54, %19, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<2x2x3x40xf16>, tensor<2x40x36xf16>) -> tensor<2x2x3x36xf32>
    %68 = tensor.empty() : tensor<2x2x3x36xf16>
    %69 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%67 : tensor<2x2x3x36xf32>) outs(%68 : tensor<2x2x3x36xf16>) {
    ^bb0(%70: f32, %71: f16):
    %72 = arith.truncf %70 : f32 to f16
    %73 = arith.extf %72 : f16 to f32
    %74 = arith.truncf %73 : f32 to f16
    linalg.yield %74 : f16
    } -> tensor<2x2x3x36xf16>
    %75 = stablehlo.transpose %69, dims = [2, 0, 1, 3] : (tensor<2x2x3x36xf16>) -> tensor<3x2x2x36xf16>
    %76 = stablehlo.reshape %75 : (tensor<3x2x2x36xf16>) -> tensor<3x144xf16>
    return %76 : tensor<3x144xf16>
  }
}
