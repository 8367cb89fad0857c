// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=residual-add
// variant=none
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=sum:f32
// association=none
// dequantization=none
// constants=none
// functions=none
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = tensor.empty() : tensor<3x33xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<3x33xf32>, tensor<3x33xf32>) outs(%2 : tensor<3x33xf32>) {
    ^bb0(%4: f32, %5: f32, %6: f32):
    %7 = arith.addf %4, %5 : f32
    linalg.yield %7 : f32
    } -> tensor<3x33xf32>
    return %3 : tensor<3x33xf32>
  }
}
