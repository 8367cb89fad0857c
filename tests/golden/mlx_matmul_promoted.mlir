// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=2
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u4-g64-f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=weight-product:f32+weight-bias:f32+product:f32+sum:f32
// association=sequential
// dequantization=two-round-f32
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_mlx_matmul
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=1
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
// denormals=keep
// algorithm=mlxcel_mlx_elementwise
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @model {
  util.global private @w0 = #flow.parameter.named<"model"::"w.weight"> : tensor<2048xi8>
  util.global private @w1 = #flow.parameter.named<"model"::"w.scales"> : tensor<128xi8>
  util.global private @w2 = #flow.parameter.named<"model"::"w.biases"> : tensor<128xi8>
  stream.executable private @mlx_kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "mlx_cpu.o"}>]}>} {
    stream.executable.export public @matmul workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    stream.executable.export public @elementwise workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_mlx_matmul(memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @matmul(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a7: i32, %a8: i32, %a9: i32, %a10: i32, %a11: i32, %a12: i32, %a6: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m4 = stream.binding.subspan %a4[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p4, %o4, %s4, %t4 = memref.extract_strided_metadata %m4 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m6 = stream.binding.subspan %a6[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p6, %o6, %s6, %t6 = memref.extract_strided_metadata %m6 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_mlx_matmul(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %p6, %o6, %a7, %a8, %a9, %a10, %a11, %a12, %group, %groups) : (memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
      func.func private @mlxcel_mlx_elementwise(memref<i8>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, f32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @elementwise(%a0: !stream.binding, %a1: !stream.binding, %a3: i32, %a4: i32, %a5: i32, %a6: i32, %a7: i32, %a8: i32, %a9: i32, %a10: f32, %a2: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_mlx_elementwise(%p0, %o0, %p1, %o1, %p2, %o2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %group, %groups) : (memref<i8>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, f32, index, index) -> ()
        return
      }
    }
  }
  func.func @matmul_of_mixed_dtypes(%0: tensor<2x64xbf16>, %1: tensor<2xi32>) -> (tensor<2x64xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = util.global.load immutable @w0 : tensor<2048xi8>
    %3 = util.global.load immutable @w1 : tensor<128xi8>
    %4 = util.global.load immutable @w2 : tensor<128xi8>
    %5 = arith.constant 2 : i32
    %6 = arith.constant 64 : i32
    %7 = arith.constant 64 : i32
    %8 = arith.constant 67076 : i32
    %9 = arith.constant 0 : i32
    %10 = arith.constant 2 : i32
    %11 = arith.constant 2 : index
    %12 = flow.dispatch @mlx_kernels::@matmul[%11](%0, %2, %3, %4, %2, %1, %5, %6, %7, %8, %9, %10) : (tensor<2x64xbf16>, tensor<2048xi8>, tensor<128xi8>, tensor<128xi8>, tensor<2048xi8>, tensor<2xi32>, i32, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    %13 = arith.constant 11 : i32
    %14 = arith.constant 128 : i32
    %15 = arith.constant 2 : i32
    %16 = arith.constant 0 : i32
    %17 = arith.constant 1 : i32
    %18 = arith.constant 128 : i32
    %19 = arith.constant 0 : i32
    %20 = arith.constant 0x00000000 : f32
    %21 = arith.constant 1 : index
    %22 = flow.dispatch @mlx_kernels::@elementwise[%21](%0, %0, %13, %14, %15, %16, %17, %18, %19, %20) : (tensor<2x64xbf16>, tensor<2x64xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<2x64xf32>
    %23 = arith.constant 0 : i32
    %24 = arith.constant 128 : i32
    %25 = arith.constant 0 : i32
    %26 = arith.constant 0 : i32
    %27 = arith.constant 1 : i32
    %28 = arith.constant 128 : i32
    %29 = arith.constant 0 : i32
    %30 = arith.constant 0x00000000 : f32
    %31 = arith.constant 1 : index
    %32 = flow.dispatch @mlx_kernels::@elementwise[%31](%22, %12, %23, %24, %25, %26, %27, %28, %29, %30) : (tensor<2x64xf32>, tensor<2x64xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<2x64xf32>
    return %32 : tensor<2x64xf32>
  }
}
