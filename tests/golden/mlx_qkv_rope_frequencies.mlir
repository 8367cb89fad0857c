// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=5
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=bf16+bias-bf16
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=product:f32+sum:f32+bias:f32+result:bf16
// association=sequential
// dequantization=exact-widen
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
// op=kv-store
// variant=none
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=none
// association=none
// dequantization=none
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_mlx_kv_store
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=2
// op=quantized-matmul
// variant=none
// source_dtype=affine-u2-g32-bf16
// operand_dtype=bf16
// accumulator=bf16
// result_dtype=bf16
// rounding=weight-product:bf16+weight-bias:bf16+product:bf16+sum:bf16
// association=sequential
// dequantization=two-round-bf16
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_mlx_matmul
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=3
// op=quantized-matmul
// variant=none
// source_dtype=affine-u4-g64-bf16
// operand_dtype=bf16
// accumulator=bf16
// result_dtype=bf16
// rounding=weight-product:bf16+weight-bias:bf16+product:bf16+sum:bf16
// association=sequential
// dequantization=two-round-bf16
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_mlx_matmul
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=4
// op=rope
// variant=half
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=position-scale:f32+reciprocal:f32+angle:f32+cos-sin:bf16+product:bf16+sum:bf16
// association=none
// dequantization=none
// constants=frequencies:f32-nearest
// functions=ieee-div+mlx-sin-1+mlx-cos-1
// denormals=keep
// algorithm=mlxcel_mlx_rope
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @model {
  util.global private @w0 = #flow.parameter.named<"model"::"q.weight"> : tensor<8192xi8>
  util.global private @w1 = #flow.parameter.named<"model"::"q.bias"> : tensor<128xi8>
  util.global private @w2 = #flow.parameter.named<"model"::"w.weight"> : tensor<1024xi8>
  util.global private @w3 = #flow.parameter.named<"model"::"w.scales"> : tensor<64xi8>
  util.global private @w4 = #flow.parameter.named<"model"::"w.biases"> : tensor<64xi8>
  util.global private @w5 = #flow.parameter.named<"model"::"v.weight"> : tensor<512xi8>
  util.global private @w6 = #flow.parameter.named<"model"::"v.scales"> : tensor<128xi8>
  util.global private @w7 = #flow.parameter.named<"model"::"v.biases"> : tensor<128xi8>
  stream.executable private @mlx_kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "mlx_cpu.o"}>]}>} {
    stream.executable.export public @matmul workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    stream.executable.export public @rope workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    stream.executable.export public @kv_store workgroups(%n: index) -> (index, index, index) {
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
      func.func private @mlxcel_mlx_rope(memref<i8>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, f32, f32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @rope(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a4: i32, %a5: i32, %a6: i32, %a7: i32, %a8: i32, %a9: i32, %a10: i32, %a11: f32, %a12: f32, %a3: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_mlx_rope(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %group, %groups) : (memref<i8>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, f32, f32, index, index) -> ()
        return
      }
      func.func private @mlxcel_mlx_kv_store(memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @kv_store(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a6: i32, %a7: i32, %a8: i32, %a9: i32, %a10: i32, %a11: i32, %a12: i32) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m4 = stream.binding.subspan %a4[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p4, %o4, %s4, %t4 = memref.extract_strided_metadata %m4 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_mlx_kv_store(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %group, %groups) : (memref<i8>, index, memref<i8>, index, memref<i32>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @qkv_rope(%0: tensor<2xi32>, %1: tensor<2xi32>, %2: tensor<2x64xbf16>, %3: tensor<?x8xf32>, %6: tensor<?x8xf32>, %9: tensor<3x?x2x?x16xbf16> {iree.abi.output = 1 : index}, %14: tensor<3x?x2x?x16xbf16> {iree.abi.output = 2 : index}) -> (tensor<2x64xbf16>, tensor<3x?x2x?x16xbf16>, tensor<3x?x2x?x16xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = arith.constant 0 : index
    %5 = tensor.dim %3, %4 : tensor<?x8xf32>
    %7 = arith.constant 0 : index
    %8 = tensor.dim %6, %7 : tensor<?x8xf32>
    %10 = arith.constant 1 : index
    %11 = tensor.dim %9, %10 : tensor<3x?x2x?x16xbf16>
    %12 = arith.constant 3 : index
    %13 = tensor.dim %9, %12 : tensor<3x?x2x?x16xbf16>
    %15 = arith.constant 1 : index
    %16 = tensor.dim %14, %15 : tensor<3x?x2x?x16xbf16>
    %17 = arith.constant 3 : index
    %18 = tensor.dim %14, %17 : tensor<3x?x2x?x16xbf16>
    %19 = util.global.load immutable @w0 : tensor<8192xi8>
    %20 = util.global.load immutable @w1 : tensor<128xi8>
    %21 = arith.constant 2 : i32
    %22 = arith.constant 64 : i32
    %23 = arith.constant 64 : i32
    %24 = arith.constant 131072 : i32
    %25 = arith.constant 33 : i32
    %26 = arith.constant 2 : i32
    %27 = arith.constant 2 : index
    %28 = flow.dispatch @mlx_kernels::@matmul[%27](%2, %19, %19, %19, %20, %1, %21, %22, %23, %24, %25, %26) : (tensor<2x64xbf16>, tensor<8192xi8>, tensor<8192xi8>, tensor<8192xi8>, tensor<128xi8>, tensor<2xi32>, i32, i32, i32, i32, i32, i32) -> tensor<2x64xbf16>
    %29 = util.global.load immutable @w2 : tensor<1024xi8>
    %30 = util.global.load immutable @w3 : tensor<64xi8>
    %31 = util.global.load immutable @w4 : tensor<64xi8>
    %32 = arith.constant 2 : i32
    %33 = arith.constant 64 : i32
    %34 = arith.constant 32 : i32
    %35 = arith.constant 132612 : i32
    %36 = arith.constant 0 : i32
    %37 = arith.constant 2 : i32
    %38 = arith.constant 1 : index
    %39 = flow.dispatch @mlx_kernels::@matmul[%38](%2, %29, %30, %31, %29, %1, %32, %33, %34, %35, %36, %37) : (tensor<2x64xbf16>, tensor<1024xi8>, tensor<64xi8>, tensor<64xi8>, tensor<1024xi8>, tensor<2xi32>, i32, i32, i32, i32, i32, i32) -> tensor<2x32xbf16>
    %40 = util.global.load immutable @w5 : tensor<512xi8>
    %41 = util.global.load immutable @w6 : tensor<128xi8>
    %42 = util.global.load immutable @w7 : tensor<128xi8>
    %43 = arith.constant 2 : i32
    %44 = arith.constant 64 : i32
    %45 = arith.constant 32 : i32
    %46 = arith.constant 132354 : i32
    %47 = arith.constant 0 : i32
    %48 = arith.constant 2 : i32
    %49 = arith.constant 1 : index
    %50 = flow.dispatch @mlx_kernels::@matmul[%49](%2, %40, %41, %42, %40, %1, %43, %44, %45, %46, %47, %48) : (tensor<2x64xbf16>, tensor<512xi8>, tensor<128xi8>, tensor<128xi8>, tensor<512xi8>, tensor<2xi32>, i32, i32, i32, i32, i32, i32) -> tensor<2x32xbf16>
    %51 = arith.constant dense<[0x3F800000, 0x404A62C2, 0x41200000, 0x42000000]> : tensor<4xf32>
    %52 = arith.constant 2 : i32
    %53 = arith.constant 4 : i32
    %54 = arith.constant 16 : i32
    %55 = arith.constant 8 : i32
    %56 = arith.constant 0 : i32
    %57 = arith.constant 1 : i32
    %58 = arith.constant 2 : i32
    %59 = arith.constant 0x00000000 : f32
    %60 = arith.constant 0x3E800000 : f32
    %61 = arith.constant 2 : index
    %62 = flow.dispatch @mlx_kernels::@rope[%61](%28, %1, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60) : (tensor<2x64xbf16>, tensor<2xi32>, tensor<4xf32>, i32, i32, i32, i32, i32, i32, i32, f32, f32) -> tensor<2x64xbf16>
    %63 = arith.constant 2 : i32
    %64 = arith.constant 2 : i32
    %65 = arith.constant 16 : i32
    %66 = arith.constant 8 : i32
    %67 = arith.constant 0 : i32
    %68 = arith.constant 1 : i32
    %69 = arith.constant 2 : i32
    %70 = arith.constant 0x00000000 : f32
    %71 = arith.constant 0x3E800000 : f32
    %72 = arith.constant 2 : index
    %73 = flow.dispatch @mlx_kernels::@rope[%72](%39, %1, %51, %63, %64, %65, %66, %67, %68, %69, %70, %71) : (tensor<2x32xbf16>, tensor<2xi32>, tensor<4xf32>, i32, i32, i32, i32, i32, i32, i32, f32, f32) -> tensor<2x32xbf16>
    %74 = arith.constant 2 : i32
    %75 = arith.constant 2 : i32
    %76 = arith.constant 16 : i32
    %77 = arith.constant 2 : i32
    %78 = arith.index_cast %11 : index to i32
    %79 = arith.index_cast %13 : index to i32
    %80 = arith.constant 2 : i32
    %81 = arith.constant 2 : index
    %82, %83 = flow.dispatch @mlx_kernels::@kv_store[%81](%73, %50, %0, %1, %9, %14, %74, %75, %76, %77, %78, %79, %80) : (tensor<2x32xbf16>, tensor<2x32xbf16>, tensor<2xi32>, tensor<2xi32>, tensor<3x?x2x?x16xbf16>{%11, %13}, tensor<3x?x2x?x16xbf16>{%16, %18}, i32, i32, i32, i32, i32, i32, i32) -> (%9 as tensor<3x?x2x?x16xbf16>{%11, %13}, %14 as tensor<3x?x2x?x16xbf16>{%16, %18})
    return %62, %82, %83 : tensor<2x64xbf16>, tensor<3x?x2x?x16xbf16>, tensor<3x?x2x?x16xbf16>
  }
}
