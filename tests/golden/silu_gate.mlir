// mlxcel_contract=2
// profile=pinned-f32
// clauses=3
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u6-g32-f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=weight:fma-f32+product-sum:fma-f32+tree:f32
// association=lanes(16,tree)
// dequantization=fma-f32
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_pinned_gate_up
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=1
// op=quantized-matmul
// variant=none
// source_dtype=affine-u8-g64-f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=weight:fma-f32+product-sum:fma-f32+tree:f32
// association=lanes(16,tree)
// dequantization=fma-f32
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_pinned_gate_up
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=2
// op=silu-gate
// variant=silu
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=exp:f32+one-plus:f32+quotient:f32+product:f32
// association=none
// dequantization=none
// constants=f32-nearest
// functions=mlxcel-exp-1+ieee-div
// denormals=keep
// algorithm=mlxcel_pinned_gate_up
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @model {
  util.global private @w0 = #flow.parameter.named<"model"::"w.weight"> : tensor<6144xi8>
  util.global private @w1 = #flow.parameter.named<"model"::"w.scales"> : tensor<192xi8>
  util.global private @w2 = #flow.parameter.named<"model"::"w.biases"> : tensor<192xi8>
  util.global private @w3 = #flow.parameter.named<"model"::"v.weight"> : tensor<4608xi8>
  util.global private @w4 = #flow.parameter.named<"model"::"v.scales"> : tensor<384xi8>
  util.global private @w5 = #flow.parameter.named<"model"::"v.biases"> : tensor<384xi8>
  stream.executable private @kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "pinned_f32.o"}>]}>} {
    stream.executable.export public @gate_up workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_pinned_gate_up(memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @gate_up(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a6: !stream.binding, %a7: !stream.binding, %a8: !stream.binding, %a9: !stream.binding, %a11: i32, %a12: i32, %a13: i32, %a14: i32, %a15: i32, %a16: i32, %a17: i32, %a10: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m4 = stream.binding.subspan %a4[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p4, %o4, %s4, %t4 = memref.extract_strided_metadata %m4 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m6 = stream.binding.subspan %a6[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p6, %o6, %s6, %t6 = memref.extract_strided_metadata %m6 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m7 = stream.binding.subspan %a7[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p7, %o7, %s7, %t7 = memref.extract_strided_metadata %m7 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m8 = stream.binding.subspan %a8[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p8, %o8, %s8, %t8 = memref.extract_strided_metadata %m8 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m9 = stream.binding.subspan %a9[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p9, %o9, %s9, %t9 = memref.extract_strided_metadata %m9 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m10 = stream.binding.subspan %a10[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p10, %o10, %s10, %t10 = memref.extract_strided_metadata %m10 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_gate_up(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %p6, %o6, %p7, %o7, %p8, %o8, %p9, %o9, %p10, %o10, %a11, %a12, %a13, %a14, %a15, %a16, %a17, %group, %groups) : (memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @gate_up(%0: tensor<2x64xf32>, %1: tensor<2xi32>) -> (tensor<2x96xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = util.global.load immutable @w0 : tensor<6144xi8>
    %3 = util.global.load immutable @w1 : tensor<192xi8>
    %4 = util.global.load immutable @w2 : tensor<192xi8>
    %5 = util.global.load immutable @w3 : tensor<4608xi8>
    %6 = util.global.load immutable @w4 : tensor<384xi8>
    %7 = util.global.load immutable @w5 : tensor<384xi8>
    %8 = arith.constant 2 : i32
    %9 = arith.constant 64 : i32
    %10 = arith.constant 96 : i32
    %11 = arith.constant 67080 : i32
    %12 = arith.constant 0 : i32
    %13 = arith.constant 66822 : i32
    %14 = arith.constant 0 : i32
    %15 = arith.constant 6 : index
    %16 = flow.dispatch @kernels::@gate_up[%15](%0, %2, %3, %4, %2, %5, %6, %7, %5, %1, %8, %9, %10, %11, %12, %13, %14) : (tensor<2x64xf32>, tensor<6144xi8>, tensor<192xi8>, tensor<192xi8>, tensor<6144xi8>, tensor<4608xi8>, tensor<384xi8>, tensor<384xi8>, tensor<4608xi8>, tensor<2xi32>, i32, i32, i32, i32, i32, i32, i32) -> tensor<2x96xf32>
    return %16 : tensor<2x96xf32>
  }
}
