// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
// op=prefix-scan
// variant=strided
// source_dtype=none
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=sum:f32
// association=sequential
// dequantization=none
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_mlx_scan
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  stream.executable private @mlx_kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "mlx_cpu.o"}>]}>} {
    stream.executable.export public @scan workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_mlx_scan(memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @scan(%a0: !stream.binding, %a2: i32, %a3: i32, %a4: i32, %a5: i32, %a1: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_mlx_scan(%p0, %o0, %p1, %o1, %a2, %a3, %a4, %a5, %group, %groups) : (memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @operation(%0: tensor<3x33xf32>) -> (tensor<3x33xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %1 = arith.constant 1 : i32
    %2 = arith.constant 3 : i32
    %3 = arith.constant 33 : i32
    %4 = arith.constant 0 : i32
    %5 = arith.constant 15 : index
    %6 = flow.dispatch @mlx_kernels::@scan[%5](%0, %1, %2, %3, %4) : (tensor<3x33xf32>, i32, i32, i32, i32) -> tensor<3x33xf32>
    return %6 : tensor<3x33xf32>
  }
}
