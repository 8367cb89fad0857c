// mlxcel_contract=2
// profile=pinned-f32
// clauses=1
// clause=0
// op=dequantize
// variant=none
// source_dtype=affine-u4-g32-f32
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=weight:fma-f32
// association=none
// dequantization=fma-f32
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_pinned_embed
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  stream.executable private @kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "pinned_f32.o"}>]}>} {
    stream.executable.export public @embed workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_pinned_embed(memref<i32>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @embed(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a7: i32, %a8: i32, %a9: i32, %a6: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m4 = stream.binding.subspan %a4[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p4, %o4, %s4, %t4 = memref.extract_strided_metadata %m4 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m6 = stream.binding.subspan %a6[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p6, %o6, %s6, %t6 = memref.extract_strided_metadata %m6 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_embed(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %p6, %o6, %a7, %a8, %a9, %group, %groups) : (memref<i32>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @operation(%0: tensor<5x32xi8>, %1: tensor<5x2xf32>, %2: tensor<5x2xf32>) -> (tensor<5x64xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %3 = arith.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
    %4 = arith.constant dense<0> : tensor<5xi32>
    %5 = arith.constant 5 : i32
    %6 = arith.constant 64 : i32
    %7 = arith.constant 1284 : i32
    %8 = arith.constant 5 : index
    %9 = flow.dispatch @kernels::@embed[%8](%3, %4, %0, %1, %2, %0, %5, %6, %7) : (tensor<5xi32>, tensor<5xi32>, tensor<5x32xi8>, tensor<5x2xf32>, tensor<5x2xf32>, tensor<5x32xi8>, i32, i32, i32) -> tensor<5x64xf32>
    return %9 : tensor<5x64xf32>
  }
}
