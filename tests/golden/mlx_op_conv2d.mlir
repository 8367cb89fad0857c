// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
// op=convolution
// variant=conv2d
// source_dtype=bf16
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=product:f32+sum:f32+result:bf16
// association=sequential(kh,kw,c)
// dequantization=exact-widen
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_mlx_convolution
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  stream.executable private @mlx_kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "mlx_cpu.o"}>]}>} {
    stream.executable.export public @convolution workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_mlx_convolution(memref<i8>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @convolution(%a0: !stream.binding, %a1: !stream.binding, %a3: i32, %a4: i32, %a5: i32, %a6: i32, %a7: i32, %a8: i32, %a9: i32, %a10: i32, %a11: i32, %a12: i32, %a13: i32, %a14: i32, %a15: i32, %a16: i32, %a2: !stream.binding) {
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
        func.call @mlxcel_mlx_convolution(%p0, %o0, %p1, %o1, %p2, %o2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16, %group, %groups) : (memref<i8>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @operation(%0: tensor<1x7x9x1xbf16>, %1: tensor<4x3x3x1xbf16>) -> (tensor<1x4x5x4xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = arith.constant 1 : i32
    %3 = arith.constant 7 : i32
    %4 = arith.constant 9 : i32
    %5 = arith.constant 1 : i32
    %6 = arith.constant 4 : i32
    %7 = arith.constant 5 : i32
    %8 = arith.constant 4 : i32
    %9 = arith.constant 3 : i32
    %10 = arith.constant 3 : i32
    %11 = arith.constant 2 : i32
    %12 = arith.constant 2 : i32
    %13 = arith.constant 0 : i32
    %14 = arith.constant 1 : i32
    %15 = arith.constant 2 : i32
    %16 = arith.constant 15 : index
    %17 = flow.dispatch @mlx_kernels::@convolution[%16](%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15) : (tensor<1x7x9x1xbf16>, tensor<4x3x3x1xbf16>, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> tensor<1x4x5x4xbf16>
    return %17 : tensor<1x4x5x4xbf16>
  }
}
