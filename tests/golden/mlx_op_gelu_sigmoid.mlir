// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
// op=activation
// variant=gelu-sigmoid
// source_dtype=none
// operand_dtype=f32
// accumulator=none
// result_dtype=f32
// rounding=argument:f32+exp:f32+one-plus:f32+quotient:f32+sigmoid:f32+product:f32
// association=none
// dequantization=none
// constants=f32-nearest
// functions=mlx-exp-1+ieee-div
// denormals=keep
// algorithm=mlxcel_mlx_elementwise
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
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
  func.func @operation(%0: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = arith.constant 2 : i32
    %2 = arith.constant 99 : i32
    %3 = arith.constant 0 : i32
    %4 = arith.constant 0 : i32
    %5 = arith.constant 1 : i32
    %6 = arith.constant 99 : i32
    %7 = arith.constant 1 : i32
    %8 = arith.constant 0x3FD9DB23 : f32
    %9 = arith.constant 1 : index
    %10 = flow.dispatch @mlx_kernels::@elementwise[%9](%0, %0, %1, %2, %3, %4, %5, %6, %7, %8) : (tensor<3x33xf32>, tensor<3x33xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xf32>
    %11 = arith.constant 5 : i32
    %12 = arith.constant 99 : i32
    %13 = arith.constant 0 : i32
    %14 = arith.constant 0 : i32
    %15 = arith.constant 1 : i32
    %16 = arith.constant 99 : i32
    %17 = arith.constant 0 : i32
    %18 = arith.constant 0x00000000 : f32
    %19 = arith.constant 1 : index
    %20 = flow.dispatch @mlx_kernels::@elementwise[%19](%10, %10, %11, %12, %13, %14, %15, %16, %17, %18) : (tensor<3x33xf32>, tensor<3x33xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xf32>
    %21 = arith.constant 2 : i32
    %22 = arith.constant 99 : i32
    %23 = arith.constant 0 : i32
    %24 = arith.constant 0 : i32
    %25 = arith.constant 1 : i32
    %26 = arith.constant 99 : i32
    %27 = arith.constant 0 : i32
    %28 = arith.constant 0x00000000 : f32
    %29 = arith.constant 1 : index
    %30 = flow.dispatch @mlx_kernels::@elementwise[%29](%0, %20, %21, %22, %23, %24, %25, %26, %27, %28) : (tensor<3x33xf32>, tensor<3x33xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xf32>
    return %30 : tensor<3x33xf32>
  }
}
