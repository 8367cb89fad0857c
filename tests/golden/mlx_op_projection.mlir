// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=2
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u4-g32-bf16
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
// clause=1
// op=silu-gate
// variant=gelu-tanh
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=half:bf16+power:bf16+cubic:bf16+inner-sum:bf16+argument:bf16+tanh:bf16+one-plus:bf16+product:bf16+gate-product:bf16
// association=none
// dequantization=none
// constants=bf16-nearest
// functions=host-powf+host-tanhf
// denormals=keep
// algorithm=mlxcel_mlx_elementwise+mlxcel_host_unary
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES+HOST-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
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
  stream.executable private @host_kernels {
    stream.executable.export public @unary workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_host_unary(memref<i8>, index, memref<i8>, index, i32, i32, i32, f32, index, index) attributes {llvm.bareptr = true}
      func.func @unary(%a0: !stream.binding, %a2: i32, %a3: i32, %a4: i32, %a5: f32, %a1: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_host_unary(%p0, %o0, %p1, %o1, %a2, %a3, %a4, %a5, %group, %groups) : (memref<i8>, index, memref<i8>, index, i32, i32, i32, f32, index, index) -> ()
        return
      }
    }
  }
  func.func @operation(%0: tensor<3x64xbf16>, %1: tensor<5x32xi8>, %2: tensor<5x2xbf16>, %3: tensor<5x2xbf16>, %4: tensor<5x32xi8>, %5: tensor<5x2xbf16>, %6: tensor<5x2xbf16>) -> (tensor<3x5xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %7 = arith.constant dense<0> : tensor<3xi32>
    %8 = arith.constant 3 : i32
    %9 = arith.constant 64 : i32
    %10 = arith.constant 5 : i32
    %11 = arith.constant 132356 : i32
    %12 = arith.constant 0 : i32
    %13 = arith.constant 2 : i32
    %14 = arith.constant 1 : index
    %15 = flow.dispatch @mlx_kernels::@matmul[%14](%0, %1, %2, %3, %1, %7, %8, %9, %10, %11, %12, %13) : (tensor<3x64xbf16>, tensor<5x32xi8>, tensor<5x2xbf16>, tensor<5x2xbf16>, tensor<5x32xi8>, tensor<3xi32>, i32, i32, i32, i32, i32, i32) -> tensor<3x5xbf16>
    %16 = arith.constant 3 : i32
    %17 = arith.constant 64 : i32
    %18 = arith.constant 5 : i32
    %19 = arith.constant 132356 : i32
    %20 = arith.constant 0 : i32
    %21 = arith.constant 2 : i32
    %22 = arith.constant 1 : index
    %23 = flow.dispatch @mlx_kernels::@matmul[%22](%0, %4, %5, %6, %4, %7, %16, %17, %18, %19, %20, %21) : (tensor<3x64xbf16>, tensor<5x32xi8>, tensor<5x2xbf16>, tensor<5x2xbf16>, tensor<5x32xi8>, tensor<3xi32>, i32, i32, i32, i32, i32, i32) -> tensor<3x5xbf16>
    %24 = arith.constant 2 : i32
    %25 = arith.constant 15 : i32
    %26 = arith.constant 2 : i32
    %27 = arith.constant 2 : i32
    %28 = arith.constant 1 : i32
    %29 = arith.constant 15 : i32
    %30 = arith.constant 1 : i32
    %31 = arith.constant 0x3F000000 : f32
    %32 = arith.constant 1 : index
    %33 = flow.dispatch @mlx_kernels::@elementwise[%32](%15, %15, %24, %25, %26, %27, %28, %29, %30, %31) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %34 = arith.constant 1 : i32
    %35 = arith.constant 15 : i32
    %36 = arith.constant 2 : i32
    %37 = arith.constant 0x40400000 : f32
    %38 = arith.constant 1 : index
    %39 = flow.dispatch @host_kernels::@unary[%38](%15, %34, %35, %36, %37) : (tensor<3x5xbf16>, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %40 = arith.constant 2 : i32
    %41 = arith.constant 15 : i32
    %42 = arith.constant 2 : i32
    %43 = arith.constant 2 : i32
    %44 = arith.constant 1 : i32
    %45 = arith.constant 15 : i32
    %46 = arith.constant 1 : i32
    %47 = arith.constant 0x3D372713 : f32
    %48 = arith.constant 1 : index
    %49 = flow.dispatch @mlx_kernels::@elementwise[%48](%39, %39, %40, %41, %42, %43, %44, %45, %46, %47) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %50 = arith.constant 0 : i32
    %51 = arith.constant 15 : i32
    %52 = arith.constant 2 : i32
    %53 = arith.constant 2 : i32
    %54 = arith.constant 1 : i32
    %55 = arith.constant 15 : i32
    %56 = arith.constant 0 : i32
    %57 = arith.constant 0x00000000 : f32
    %58 = arith.constant 1 : index
    %59 = flow.dispatch @mlx_kernels::@elementwise[%58](%15, %49, %50, %51, %52, %53, %54, %55, %56, %57) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %60 = arith.constant 2 : i32
    %61 = arith.constant 15 : i32
    %62 = arith.constant 2 : i32
    %63 = arith.constant 2 : i32
    %64 = arith.constant 1 : i32
    %65 = arith.constant 15 : i32
    %66 = arith.constant 1 : i32
    %67 = arith.constant 0x3F4C422A : f32
    %68 = arith.constant 1 : index
    %69 = flow.dispatch @mlx_kernels::@elementwise[%68](%59, %59, %60, %61, %62, %63, %64, %65, %66, %67) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %70 = arith.constant 0 : i32
    %71 = arith.constant 15 : i32
    %72 = arith.constant 2 : i32
    %73 = arith.constant 0x00000000 : f32
    %74 = arith.constant 1 : index
    %75 = flow.dispatch @host_kernels::@unary[%74](%69, %70, %71, %72, %73) : (tensor<3x5xbf16>, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %76 = arith.constant 0 : i32
    %77 = arith.constant 15 : i32
    %78 = arith.constant 2 : i32
    %79 = arith.constant 2 : i32
    %80 = arith.constant 1 : i32
    %81 = arith.constant 15 : i32
    %82 = arith.constant 1 : i32
    %83 = arith.constant 0x3F800000 : f32
    %84 = arith.constant 1 : index
    %85 = flow.dispatch @mlx_kernels::@elementwise[%84](%75, %75, %76, %77, %78, %79, %80, %81, %82, %83) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %86 = arith.constant 2 : i32
    %87 = arith.constant 15 : i32
    %88 = arith.constant 2 : i32
    %89 = arith.constant 2 : i32
    %90 = arith.constant 1 : i32
    %91 = arith.constant 15 : i32
    %92 = arith.constant 0 : i32
    %93 = arith.constant 0x00000000 : f32
    %94 = arith.constant 1 : index
    %95 = flow.dispatch @mlx_kernels::@elementwise[%94](%33, %85, %86, %87, %88, %89, %90, %91, %92, %93) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    %96 = arith.constant 2 : i32
    %97 = arith.constant 15 : i32
    %98 = arith.constant 2 : i32
    %99 = arith.constant 2 : i32
    %100 = arith.constant 1 : i32
    %101 = arith.constant 15 : i32
    %102 = arith.constant 0 : i32
    %103 = arith.constant 0x00000000 : f32
    %104 = arith.constant 1 : index
    %105 = flow.dispatch @mlx_kernels::@elementwise[%104](%95, %23, %96, %97, %98, %99, %100, %101, %102, %103) : (tensor<3x5xbf16>, tensor<3x5xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x5xbf16>
    return %105 : tensor<3x5xbf16>
  }
}
