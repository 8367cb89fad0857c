// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=attention
// variant=mask-causal
// source_dtype=none
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=scale-before-dot:f32+score-sum:fma-f32+score:f32+difference:f32+exp:f32+sum:f32+reciprocal:f32+quotient:f32+probability:f32+value-sum:fma-f32+result:f32
// association=scores:sequential-fma+softmax:sequential+values:sequential-fma
// dequantization=none
// constants=scale:f32-nearest
// functions=iree-exp+ieee-div
// denormals=flush
// algorithm=stablehlo:dot-general+linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(32)
// derivation=fma-contraction+iree-polynomials
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x144xf32>, %1: tensor<1x1x2x40x36xf32>, %2: tensor<1x1x2x40x36xf32>, %3: tensor<3xi32>, %4: tensor<3xi32>) -> (tensor<3x144xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %5 = tensor.empty() : tensor<3x144xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x144xf32>) outs(%5 : tensor<3x144xf32>) {
    ^bb0(%7: f32, %8: f32):
    %9 = arith.constant 0x3E99999A : f32
    %10 = arith.constant 0x80000000 : f32
    %11 = math.fma %9, %7, %10 : f32
    linalg.yield %11 : f32
    } -> tensor<3x144xf32>
    %12 = stablehlo.reshape %6 : (tensor<3x144xf32>) -> tensor<3x2x2x36xf32>
    %13 = stablehlo.transpose %12, dims = [1, 2, 0, 3] : (tensor<3x2x2x36xf32>) -> tensor<2x2x3x36xf32>
    %14 = stablehlo.reshape %1 : (tensor<1x1x2x40x36xf32>) -> tensor<2x40x36xf32>
    %15 = stablehlo.reshape %2 : (tensor<1x1x2x40x36xf32>) -> tensor<2x40x36xf32>
    %16 = stablehlo.dot_general %13, %14, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<2x2x3x36xf32>, tensor<2x40x36xf32>) -> tensor<2x2x3x40xf32>
    %17 = tensor.empty() : tensor<2x2x3x40xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %4 : tensor<2x2x3x40xf32>, tensor<3xi32>) outs(%17 : tensor<2x2x3x40xf32>) {
    ^bb0(%19: f32, %20: i32, %21: f32):
    %22 = linalg.index 3 : index
    %23 = arith.index_cast %22 : index to i32
    %24 = arith.constant 0xFF7FFFFF : f32
    %25 = arith.cmpi sle, %23, %20 : i32
    %26 = arith.select %25, %19, %24 : f32
    linalg.yield %26 : f32
    } -> tensor<2x2x3x40xf32>
    %27 = arith.constant 0xFF800000 : f32
    %28 = tensor.empty() : tensor<2x2x3xf32>
    %29 = linalg.fill ins(%27 : f32) outs(%28 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x2x3x40xf32>) outs(%29 : tensor<2x2x3xf32>) {
    ^bb0(%31: f32, %32: f32):
    %33 = arith.maximumf %32, %31 : f32
    linalg.yield %33 : f32
    } -> tensor<2x2x3xf32>
    %34 = arith.constant 0x00000000 : f32
    %35 = tensor.empty() : tensor<2x2x3xf32>
    %36 = linalg.fill ins(%34 : f32) outs(%35 : tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18, %30 : tensor<2x2x3x40xf32>, tensor<2x2x3xf32>) outs(%36 : tensor<2x2x3xf32>) {
    ^bb0(%38: f32, %39: f32, %40: f32):
    %41 = arith.subf %38, %39 : f32
    %42 = math.exp %41 : f32
    %43 = arith.addf %40, %42 : f32
    linalg.yield %43 : f32
    } -> tensor<2x2x3xf32>
    %44 = tensor.empty() : tensor<2x2x3xf32>
    %45 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%37 : tensor<2x2x3xf32>) outs(%44 : tensor<2x2x3xf32>) {
    ^bb0(%46: f32, %47: f32):
    %48 = arith.constant 0x3F800000 : f32
    %49 = arith.divf %48, %46 : f32
    linalg.yield %49 : f32
    } -> tensor<2x2x3xf32>
    %50 = tensor.empty() : tensor<2x2x3x40xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %30, %45 : tensor<2x2x3x40xf32>, tensor<2x2x3xf32>, tensor<2x2x3xf32>) outs(%50 : tensor<2x2x3x40xf32>) {
    ^bb0(%52: f32, %53: f32, %54: f32, %55: f32):
    %56 = arith.subf %52, %53 : f32
    %57 = math.exp %56 : f32
    %58 = arith.constant 0x80000000 : f32
    %59 = math.fma %57, %54, %58 : f32
    linalg.yield %59 : f32
    } -> tensor<2x2x3x40xf32>
    %60 = stablehlo.dot_general %51, %15, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<2x2x3x40xf32>, tensor<2x40x36xf32>) -> tensor<2x2x3x36xf32>
    %61 = stablehlo.transpose %60, dims = [2, 0, 1, 3] : (tensor<2x2x3x36xf32>) -> tensor<3x2x2x36xf32>
    %62 = stablehlo.reshape %61 : (tensor<3x2x2x36xf32>) -> tensor<3x144xf32>
    return %62 : tensor<3x144xf32>
  }
}
