// mlxcel_contract=2
// profile=pinned-f32
// clauses=1
// clause=0
// op=attention
// variant=mask-causal
// source_dtype=bf16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=score:fma-f32+tree:f32+scale-after-dot:f32+difference:f32+exp:f32+sum:f32+tree:f32+value:fma-f32+combine:f32-fma+quotient:f32
// association=scores:lanes(16,tree)+blocks(64,absolute):lanes(16,tree)+values:sequential+combine:sequential
// dequantization=exact-widen
// constants=f32-nearest
// functions=mlxcel-exp-1+ieee-div
// denormals=keep
// algorithm=mlxcel_pinned_attention
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @model {
  stream.executable private @kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "pinned_f32.o"}>]}>} {
    stream.executable.export public @attention workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_pinned_attention(memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, i32, f32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @attention(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a6: i32, %a7: i32, %a8: i32, %a9: i32, %a10: i32, %a11: i32, %a12: i32, %a13: i32, %a14: f32, %a5: !stream.binding) {
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
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m4 = stream.binding.subspan %a4[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p4, %o4, %s4, %t4 = memref.extract_strided_metadata %m4 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_attention(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %group, %groups) : (memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, i32, f32, index, index) -> ()
        return
      }
    }
  }
  func.func @attention(%0: tensor<2xi32>, %1: tensor<2xi32>, %2: tensor<2x64xf32>, %3: tensor<3x?x2x?x16xbf16>, %8: tensor<3x?x2x?x16xbf16>) -> (tensor<2x64xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = arith.constant 1 : index
    %5 = tensor.dim %3, %4 : tensor<3x?x2x?x16xbf16>
    %6 = arith.constant 3 : index
    %7 = tensor.dim %3, %6 : tensor<3x?x2x?x16xbf16>
    %9 = arith.constant 1 : index
    %10 = tensor.dim %8, %9 : tensor<3x?x2x?x16xbf16>
    %11 = arith.constant 3 : index
    %12 = tensor.dim %8, %11 : tensor<3x?x2x?x16xbf16>
    %13 = arith.constant 2 : i32
    %14 = arith.constant 4 : i32
    %15 = arith.constant 2 : i32
    %16 = arith.constant 16 : i32
    %17 = arith.constant 1 : i32
    %18 = arith.index_cast %5 : index to i32
    %19 = arith.index_cast %7 : index to i32
    %20 = arith.constant 2 : i32
    %21 = arith.constant 0x3E800000 : f32
    %22 = arith.constant 4 : index
    %23 = flow.dispatch @kernels::@attention[%22](%2, %3, %8, %0, %1, %13, %14, %15, %16, %17, %18, %19, %20, %21) : (tensor<2x64xf32>, tensor<3x?x2x?x16xbf16>{%5, %7}, tensor<3x?x2x?x16xbf16>{%10, %12}, tensor<2xi32>, tensor<2xi32>, i32, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<2x64xf32>
    return %23 : tensor<2x64xf32>
  }
}
