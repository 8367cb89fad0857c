// mlxcel_contract=2
// profile=pinned-f32
// clauses=2
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=product-sum:fma-f32+tree:f32
// association=lanes(16,tree)
// dequantization=exact-widen
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_pinned_matmul
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=1
// op=rms-norm
// variant=plain
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=square-sum:fma-f32+tree:f32+mean:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32
// association=lanes(16,tree)
// dequantization=exact-widen
// constants=f32-nearest
// functions=ieee-div+ieee-sqrt
// denormals=keep
// algorithm=mlxcel_pinned_rms_norm
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @model {
  util.global private @w0 = #flow.parameter.named<"model"::"proj.weight"> : tensor<12288xi8>
  util.global private @w1 = #flow.parameter.named<"model"::"norm.weight"> : tensor<256xi8>
  stream.executable private @kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "pinned_f32.o"}>]}>} {
    stream.executable.export public @rms_norm workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    stream.executable.export public @matmul workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_pinned_rms_norm(memref<f32>, index, memref<i32>, index, memref<i8>, index, memref<f32>, index, i32, i32, i32, i32, f32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @rms_norm(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a4: i32, %a5: i32, %a6: i32, %a7: i32, %a8: f32, %a3: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_rms_norm(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %a4, %a5, %a6, %a7, %a8, %group, %groups) : (memref<f32>, index, memref<i32>, index, memref<i8>, index, memref<f32>, index, i32, i32, i32, i32, f32, index, index) -> ()
        return
      }
      func.func private @mlxcel_pinned_matmul(memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @matmul(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a6: !stream.binding, %a8: i32, %a9: i32, %a10: i32, %a11: i32, %a12: i32, %a7: !stream.binding) {
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
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m6 = stream.binding.subspan %a6[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p6, %o6, %s6, %t6 = memref.extract_strided_metadata %m6 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m7 = stream.binding.subspan %a7[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p7, %o7, %s7, %t7 = memref.extract_strided_metadata %m7 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_matmul(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %p6, %o6, %p7, %o7, %a8, %a9, %a10, %a11, %a12, %group, %groups) : (memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @matmul(%0: tensor<2x64xf32>, %1: tensor<2xi32>) -> (tensor<2x96xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = util.global.load immutable @w0 : tensor<12288xi8>
    %3 = arith.constant 2 : i32
    %4 = arith.constant 64 : i32
    %5 = arith.constant 96 : i32
    %6 = arith.constant 65536 : i32
    %7 = arith.constant 0 : i32
    %8 = arith.constant 6 : index
    %9 = flow.dispatch @kernels::@matmul[%8](%0, %2, %2, %2, %2, %0, %1, %3, %4, %5, %6, %7) : (tensor<2x64xf32>, tensor<12288xi8>, tensor<12288xi8>, tensor<12288xi8>, tensor<12288xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x96xf32>
    return %9 : tensor<2x96xf32>
  }
  func.func @norm(%0: tensor<2x64xf32>, %1: tensor<2xi32>) -> (tensor<2x64xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = util.global.load immutable @w1 : tensor<256xi8>
    %3 = arith.constant 2 : i32
    %4 = arith.constant 64 : i32
    %5 = arith.constant 0 : i32
    %6 = arith.constant 0 : i32
    %7 = arith.constant 0x3727C5AC : f32
    %8 = arith.constant 2 : index
    %9 = flow.dispatch @kernels::@rms_norm[%8](%0, %1, %2, %3, %4, %5, %6, %7) : (tensor<2x64xf32>, tensor<2xi32>, tensor<256xi8>, i32, i32, i32, i32, f32) -> tensor<2x64xf32>
    return %9 : tensor<2x64xf32>
  }
  func.func @both(%0: tensor<2x64xf32>, %1: tensor<2xi32>) -> (tensor<2x96xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = util.global.load immutable @w1 : tensor<256xi8>
    %3 = arith.constant 2 : i32
    %4 = arith.constant 64 : i32
    %5 = arith.constant 0 : i32
    %6 = arith.constant 0 : i32
    %7 = arith.constant 0x3727C5AC : f32
    %8 = arith.constant 2 : index
    %9 = flow.dispatch @kernels::@rms_norm[%8](%0, %1, %2, %3, %4, %5, %6, %7) : (tensor<2x64xf32>, tensor<2xi32>, tensor<256xi8>, i32, i32, i32, i32, f32) -> tensor<2x64xf32>
    %10 = util.global.load immutable @w0 : tensor<12288xi8>
    %11 = arith.constant 2 : i32
    %12 = arith.constant 64 : i32
    %13 = arith.constant 96 : i32
    %14 = arith.constant 65536 : i32
    %15 = arith.constant 0 : i32
    %16 = arith.constant 6 : index
    %17 = flow.dispatch @kernels::@matmul[%16](%9, %10, %10, %10, %10, %9, %1, %11, %12, %13, %14, %15) : (tensor<2x64xf32>, tensor<12288xi8>, tensor<12288xi8>, tensor<12288xi8>, tensor<12288xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x96xf32>
    return %17 : tensor<2x96xf32>
  }
}
