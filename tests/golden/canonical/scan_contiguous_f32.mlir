// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=prefix-scan
// variant=contiguous
// source_dtype=none
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=sum:f32
// association=sequential
// dequantization=none
// constants=none
// functions=none
// denormals=flush
// algorithm=linalg-ext:scan
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = tensor.empty() : tensor<3x33xf32>
    %2 = tensor.empty() : tensor<3xf32>
    %3, %4 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%0 : tensor<3x33xf32>) outs(%1, %2 : tensor<3x33xf32>, tensor<3xf32>) {
    ^bb0(%5: f32, %6: f32):
    %7 = arith.addf %6, %5 : f32
    iree_linalg_ext.yield %7 : f32
    } -> tensor<3x33xf32>, tensor<3xf32>
    return %3 : tensor<3x33xf32>
  }
}
