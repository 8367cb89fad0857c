// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
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
module @operation {
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<5x33xf32>) -> (tensor<3x5xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<3x33xf32>, tensor<5x33xf32>) -> tensor<3x5xf32>
    return %2 : tensor<3x5xf32>
  }
}
