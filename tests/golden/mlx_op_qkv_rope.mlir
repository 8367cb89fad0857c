// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=3
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=product:f32+sum:f32+result:f32
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
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
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
// op=rope
// variant=half
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=position-scale:f32+exponent:f32+exp:f32+angle:f32+cos-sin:f32+product:f32+sum:f32
// association=none
// dequantization=none
// constants=log-base:f32
// functions=mlx-exp-1+mlx-sin-1+mlx-cos-1
// denormals=keep
// algorithm=mlxcel_mlx_rope
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
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
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<64x33xf32>, %2: tensor<32x33xf32>, %3: tensor<32x33xf32>, %4: tensor<3xi32>, %5: tensor<3xi32>, %6: tensor<5x8xf32>, %7: tensor<5x8xf32>, %8: tensor<1x1x2x5x16xf32>, %9: tensor<1x1x2x5x16xf32>) -> (tensor<512xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %10 = arith.constant 3 : i32
    %11 = arith.constant 33 : i32
    %12 = arith.constant 64 : i32
    %13 = arith.constant 0 : i32
    %14 = arith.constant 0 : i32
    %15 = arith.constant 0 : i32
    %16 = arith.constant 2 : index
    %17 = flow.dispatch @mlx_kernels::@matmul[%16](%0, %1, %1, %1, %1, %5, %10, %11, %12, %13, %14, %15) : (tensor<3x33xf32>, tensor<64x33xf32>, tensor<64x33xf32>, tensor<64x33xf32>, tensor<64x33xf32>, tensor<3xi32>, i32, i32, i32, i32, i32, i32) -> tensor<3x64xf32>
    %18 = arith.constant 3 : i32
    %19 = arith.constant 33 : i32
    %20 = arith.constant 32 : i32
    %21 = arith.constant 0 : i32
    %22 = arith.constant 0 : i32
    %23 = arith.constant 0 : i32
    %24 = arith.constant 1 : index
    %25 = flow.dispatch @mlx_kernels::@matmul[%24](%0, %2, %2, %2, %2, %5, %18, %19, %20, %21, %22, %23) : (tensor<3x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<3xi32>, i32, i32, i32, i32, i32, i32) -> tensor<3x32xf32>
    %26 = arith.constant 3 : i32
    %27 = arith.constant 33 : i32
    %28 = arith.constant 32 : i32
    %29 = arith.constant 0 : i32
    %30 = arith.constant 0 : i32
    %31 = arith.constant 0 : i32
    %32 = arith.constant 1 : index
    %33 = flow.dispatch @mlx_kernels::@matmul[%32](%0, %3, %3, %3, %3, %5, %26, %27, %28, %29, %30, %31) : (tensor<3x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<3xi32>, i32, i32, i32, i32, i32, i32) -> tensor<3x32xf32>
    %34 = arith.constant 3 : i32
    %35 = arith.constant 4 : i32
    %36 = arith.constant 16 : i32
    %37 = arith.constant 16 : i32
    %38 = arith.constant 0 : i32
    %39 = arith.constant 0 : i32
    %40 = arith.constant 0 : i32
    %41 = arith.constant 0x3F935D8E : f32
    %42 = arith.constant 0x3E800000 : f32
    %43 = arith.constant 3 : index
    %44 = flow.dispatch @mlx_kernels::@rope[%43](%17, %5, %5, %34, %35, %36, %37, %38, %39, %40, %41, %42) : (tensor<3x64xf32>, tensor<3xi32>, tensor<3xi32>, i32, i32, i32, i32, i32, i32, i32, f32, f32) -> tensor<3x64xf32>
    %45 = arith.constant 3 : i32
    %46 = arith.constant 2 : i32
    %47 = arith.constant 16 : i32
    %48 = arith.constant 16 : i32
    %49 = arith.constant 0 : i32
    %50 = arith.constant 0 : i32
    %51 = arith.constant 0 : i32
    %52 = arith.constant 0x3F935D8E : f32
    %53 = arith.constant 0x3E800000 : f32
    %54 = arith.constant 3 : index
    %55 = flow.dispatch @mlx_kernels::@rope[%54](%25, %5, %5, %45, %46, %47, %48, %49, %50, %51, %52, %53) : (tensor<3x32xf32>, tensor<3xi32>, tensor<3xi32>, i32, i32, i32, i32, i32, i32, i32, f32, f32) -> tensor<3x32xf32>
    %56 = arith.constant 3 : i32
    %57 = arith.constant 2 : i32
    %58 = arith.constant 16 : i32
    %59 = arith.constant 0 : i32
    %60 = arith.constant 1 : i32
    %61 = arith.constant 5 : i32
    %62 = arith.constant 0 : i32
    %63 = arith.constant 3 : index
    %64, %65 = flow.dispatch @mlx_kernels::@kv_store[%63](%55, %33, %4, %5, %8, %9, %56, %57, %58, %59, %60, %61, %62) : (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3xi32>, tensor<3xi32>, tensor<1x1x2x5x16xf32>, tensor<1x1x2x5x16xf32>, i32, i32, i32, i32, i32, i32, i32) -> (%8 as tensor<1x1x2x5x16xf32>, %9 as tensor<1x1x2x5x16xf32>)
    %66 = stablehlo.reshape %44 : (tensor<3x64xf32>) -> tensor<192xf32>
    %67 = stablehlo.reshape %64 : (tensor<1x1x2x5x16xf32>) -> tensor<160xf32>
    %68 = stablehlo.reshape %65 : (tensor<1x1x2x5x16xf32>) -> tensor<160xf32>
    %69 = stablehlo.concatenate %66, %67, %68, dim = 0 : (tensor<192xf32>, tensor<160xf32>, tensor<160xf32>) -> tensor<512xf32>
    return %69 : tensor<512xf32>
  }
}
