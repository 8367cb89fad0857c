// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
// op=rms-norm
// variant=single-rounding
// source_dtype=f16
// operand_dtype=f32
// accumulator=f32
// result_dtype=f16
// rounding=square:f32+square-sum:f32+mean:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32+result:f16
// association=sequential
// dequantization=exact-widen
// constants=f32-nearest
// functions=ieee-div+ieee-sqrt
// denormals=keep
// algorithm=mlxcel_mlx_rms_norm
// algorithm_version=1
// source_digest=MLX-KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  stream.executable private @mlx_kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "mlx_cpu.o"}>]}>} {
    stream.executable.export public @rms_norm workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_mlx_rms_norm(memref<i8>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, f32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @rms_norm(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a4: i32, %a5: i32, %a6: i32, %a7: i32, %a8: i32, %a9: i32, %a10: f32, %a3: !stream.binding) {
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
        func.call @mlxcel_mlx_rms_norm(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %group, %groups) : (memref<i8>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, i32, i32, f32, index, index) -> ()
        return
      }
    }
  }
  func.func @operation(%0: tensor<3x33xf16>, %1: tensor<33xf16>) -> (tensor<3x33xf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = arith.constant dense<0> : tensor<3xi32>
    %3 = arith.constant 3 : i32
    %4 = arith.constant 33 : i32
    %5 = arith.constant 1 : i32
    %6 = arith.constant 1 : i32
    %7 = arith.constant 2 : i32
    %8 = arith.constant 0 : i32
    %9 = arith.constant 0x358637BD : f32
    %10 = arith.constant 3 : index
    %11 = flow.dispatch @mlx_kernels::@rms_norm[%10](%0, %2, %1, %3, %4, %5, %6, %7, %8, %9) : (tensor<3x33xf16>, tensor<3xi32>, tensor<33xf16>, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x33xf16>
    return %11 : tensor<3x33xf16>
  }
}
