// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
// op=activation
// variant=gelu-tanh
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=half:bf16+power:bf16+cubic:bf16+inner-sum:bf16+argument:bf16+tanh:bf16+one-plus:bf16+product:bf16
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
    stream.executable.export public @elementwise workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
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
  func.func @operation(%0: tensor<3x33xbf16>) -> (tensor<3x33xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = arith.constant 2 : i32
    %2 = arith.constant 99 : i32
    %3 = arith.constant 2 : i32
    %4 = arith.constant 2 : i32
    %5 = arith.constant 1 : i32
    %6 = arith.constant 99 : i32
    %7 = arith.constant 1 : i32
    %8 = arith.constant 0x3F000000 : f32
    %9 = arith.constant 1 : index
    %10 = flow.dispatch @mlx_kernels::@elementwise[%9](%0, %0, %1, %2, %3, %4, %5, %6, %7, %8) : (tensor<3x33xbf16>, tensor<3x33xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %11 = arith.constant 1 : i32
    %12 = arith.constant 99 : i32
    %13 = arith.constant 2 : i32
    %14 = arith.constant 0x40400000 : f32
    %15 = arith.constant 1 : index
    %16 = flow.dispatch @host_kernels::@unary[%15](%0, %11, %12, %13, %14) : (tensor<3x33xbf16>, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %17 = arith.constant 2 : i32
    %18 = arith.constant 99 : i32
    %19 = arith.constant 2 : i32
    %20 = arith.constant 2 : i32
    %21 = arith.constant 1 : i32
    %22 = arith.constant 99 : i32
    %23 = arith.constant 1 : i32
    %24 = arith.constant 0x3D372713 : f32
    %25 = arith.constant 1 : index
    %26 = flow.dispatch @mlx_kernels::@elementwise[%25](%16, %16, %17, %18, %19, %20, %21, %22, %23, %24) : (tensor<3x33xbf16>, tensor<3x33xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %27 = arith.constant 0 : i32
    %28 = arith.constant 99 : i32
    %29 = arith.constant 2 : i32
    %30 = arith.constant 2 : i32
    %31 = arith.constant 1 : i32
    %32 = arith.constant 99 : i32
    %33 = arith.constant 0 : i32
    %34 = arith.constant 0x00000000 : f32
    %35 = arith.constant 1 : index
    %36 = flow.dispatch @mlx_kernels::@elementwise[%35](%0, %26, %27, %28, %29, %30, %31, %32, %33, %34) : (tensor<3x33xbf16>, tensor<3x33xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %37 = arith.constant 2 : i32
    %38 = arith.constant 99 : i32
    %39 = arith.constant 2 : i32
    %40 = arith.constant 2 : i32
    %41 = arith.constant 1 : i32
    %42 = arith.constant 99 : i32
    %43 = arith.constant 1 : i32
    %44 = arith.constant 0x3F4C422A : f32
    %45 = arith.constant 1 : index
    %46 = flow.dispatch @mlx_kernels::@elementwise[%45](%36, %36, %37, %38, %39, %40, %41, %42, %43, %44) : (tensor<3x33xbf16>, tensor<3x33xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %47 = arith.constant 0 : i32
    %48 = arith.constant 99 : i32
    %49 = arith.constant 2 : i32
    %50 = arith.constant 0x00000000 : f32
    %51 = arith.constant 1 : index
    %52 = flow.dispatch @host_kernels::@unary[%51](%46, %47, %48, %49, %50) : (tensor<3x33xbf16>, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %53 = arith.constant 0 : i32
    %54 = arith.constant 99 : i32
    %55 = arith.constant 2 : i32
    %56 = arith.constant 2 : i32
    %57 = arith.constant 1 : i32
    %58 = arith.constant 99 : i32
    %59 = arith.constant 1 : i32
    %60 = arith.constant 0x3F800000 : f32
    %61 = arith.constant 1 : index
    %62 = flow.dispatch @mlx_kernels::@elementwise[%61](%52, %52, %53, %54, %55, %56, %57, %58, %59, %60) : (tensor<3x33xbf16>, tensor<3x33xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xbf16>
    %63 = arith.constant 2 : i32
    %64 = arith.constant 99 : i32
    %65 = arith.constant 2 : i32
    %66 = arith.constant 2 : i32
    %67 = arith.constant 1 : i32
    %68 = arith.constant 99 : i32
    %69 = arith.constant 0 : i32
    %70 = arith.constant 0x00000000 : f32
    %71 = arith.constant 1 : index
    %72 = flow.dispatch @mlx_kernels::@elementwise[%71](%10, %62, %63, %64, %65, %66, %67, %68, %69, %70) : (tensor<3x33xbf16>, tensor<3x33xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xbf16>
    return %72 : tensor<3x33xbf16>
  }
}
