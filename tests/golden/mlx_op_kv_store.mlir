// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
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
module @operation {
  stream.executable private @mlx_kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "mlx_cpu.o"}>]}>} {
    stream.executable.export public @kv_store workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
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
  func.func @operation(%0: tensor<3x32xbf16>, %1: tensor<3x32xbf16>, %2: tensor<3xi32>, %3: tensor<3xi32>, %4: tensor<1x1x2x5x16xbf16>, %5: tensor<1x1x2x5x16xbf16>) -> (tensor<2x1x2x5x16xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %6 = arith.constant 3 : i32
    %7 = arith.constant 2 : i32
    %8 = arith.constant 16 : i32
    %9 = arith.constant 0 : i32
    %10 = arith.constant 1 : i32
    %11 = arith.constant 5 : i32
    %12 = arith.constant 2 : i32
    %13 = arith.constant 3 : index
    %14, %15 = flow.dispatch @mlx_kernels::@kv_store[%13](%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12) : (tensor<3x32xbf16>, tensor<3x32xbf16>, tensor<3xi32>, tensor<3xi32>, tensor<1x1x2x5x16xbf16>, tensor<1x1x2x5x16xbf16>, i32, i32, i32, i32, i32, i32, i32) -> (%4 as tensor<1x1x2x5x16xbf16>, %5 as tensor<1x1x2x5x16xbf16>)
    %16 = stablehlo.concatenate %14, %15, dim = 0 : (tensor<1x1x2x5x16xbf16>, tensor<1x1x2x5x16xbf16>) -> tensor<2x1x2x5x16xbf16>
    return %16 : tensor<2x1x2x5x16xbf16>
  }
}
