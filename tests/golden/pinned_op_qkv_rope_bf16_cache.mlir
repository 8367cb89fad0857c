// mlxcel_contract=2
// profile=pinned-f32
// clauses=3
// clause=0
// op=dense-matmul
// variant=none
// source_dtype=f32
// operand_dtype=f32
// accumulator=f32
// result_dtype=f32
// rounding=product-sum:fma-f32+tree:f32
// association=lanes(16,tree)
// dequantization=exact-widen
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_pinned_qkv_rope
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
// clause=1
// op=kv-store
// variant=none
// source_dtype=bf16
// operand_dtype=f32
// accumulator=none
// result_dtype=bf16
// rounding=store:bf16
// association=none
// dequantization=none
// constants=none
// functions=none
// denormals=keep
// algorithm=mlxcel_pinned_qkv_rope
// algorithm_version=1
// source_digest=KERNEL-SOURCES
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
// rounding=product:f32+fma-f32
// association=none
// dequantization=none
// constants=angle:f64+cos-sin:f64-to-f32
// functions=host-table(cos,sin)
// denormals=keep
// algorithm=mlxcel_pinned_qkv_rope
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  stream.executable private @kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "pinned_f32.o"}>]}>} {
    stream.executable.export public @qkv_rope workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_pinned_qkv_rope(memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, memref<f32>, index, memref<i32>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @qkv_rope(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a6: !stream.binding, %a7: !stream.binding, %a8: !stream.binding, %a9: !stream.binding, %a10: !stream.binding, %a11: !stream.binding, %a12: !stream.binding, %a13: !stream.binding, %a14: !stream.binding, %a15: !stream.binding, %a16: !stream.binding, %a17: !stream.binding, %a18: !stream.binding, %a20: i32, %a21: i32, %a22: i32, %a23: i32, %a24: i32, %a25: i32, %a26: i32, %a27: i32, %a28: i32, %a29: i32, %a30: i32, %a31: i32, %a32: i32, %a33: i32, %a34: i32, %a35: i32, %a19: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m2 = stream.binding.subspan %a2[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p2, %o2, %s2, %t2 = memref.extract_strided_metadata %m2 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m3 = stream.binding.subspan %a3[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p3, %o3, %s3, %t3 = memref.extract_strided_metadata %m3 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m4 = stream.binding.subspan %a4[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p4, %o4, %s4, %t4 = memref.extract_strided_metadata %m4 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m6 = stream.binding.subspan %a6[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p6, %o6, %s6, %t6 = memref.extract_strided_metadata %m6 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m7 = stream.binding.subspan %a7[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p7, %o7, %s7, %t7 = memref.extract_strided_metadata %m7 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m8 = stream.binding.subspan %a8[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p8, %o8, %s8, %t8 = memref.extract_strided_metadata %m8 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m9 = stream.binding.subspan %a9[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p9, %o9, %s9, %t9 = memref.extract_strided_metadata %m9 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m10 = stream.binding.subspan %a10[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p10, %o10, %s10, %t10 = memref.extract_strided_metadata %m10 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m11 = stream.binding.subspan %a11[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p11, %o11, %s11, %t11 = memref.extract_strided_metadata %m11 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m12 = stream.binding.subspan %a12[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p12, %o12, %s12, %t12 = memref.extract_strided_metadata %m12 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m13 = stream.binding.subspan %a13[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p13, %o13, %s13, %t13 = memref.extract_strided_metadata %m13 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m14 = stream.binding.subspan %a14[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p14, %o14, %s14, %t14 = memref.extract_strided_metadata %m14 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m15 = stream.binding.subspan %a15[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p15, %o15, %s15, %t15 = memref.extract_strided_metadata %m15 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m16 = stream.binding.subspan %a16[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p16, %o16, %s16, %t16 = memref.extract_strided_metadata %m16 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m17 = stream.binding.subspan %a17[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p17, %o17, %s17, %t17 = memref.extract_strided_metadata %m17 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m18 = stream.binding.subspan %a18[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p18, %o18, %s18, %t18 = memref.extract_strided_metadata %m18 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m19 = stream.binding.subspan %a19[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p19, %o19, %s19, %t19 = memref.extract_strided_metadata %m19 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_qkv_rope(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %p6, %o6, %p7, %o7, %p8, %o8, %p9, %o9, %p10, %o10, %p11, %o11, %p12, %o12, %p13, %o13, %p14, %o14, %p15, %o15, %p16, %o16, %p17, %o17, %p18, %o18, %p19, %o19, %a20, %a21, %a22, %a23, %a24, %a25, %a26, %a27, %a28, %a29, %a30, %a31, %a32, %a33, %a34, %a35, %group, %groups) : (memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, memref<f32>, index, memref<i32>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @operation(%0: tensor<3x33xf32>, %1: tensor<64x33xf32>, %2: tensor<32x33xf32>, %3: tensor<32x33xf32>, %4: tensor<3xi32>, %5: tensor<3xi32>, %6: tensor<5x8xf32>, %7: tensor<5x8xf32>, %8: tensor<1x1x2x5x16xbf16>, %9: tensor<1x1x2x5x16xbf16>) -> (tensor<512xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %10 = arith.constant 3 : i32
    %11 = arith.constant 33 : i32
    %12 = arith.constant 4 : i32
    %13 = arith.constant 2 : i32
    %14 = arith.constant 16 : i32
    %15 = arith.constant 8 : i32
    %16 = arith.constant 0 : i32
    %17 = arith.constant 0 : i32
    %18 = arith.constant 0 : i32
    %19 = arith.constant 0 : i32
    %20 = arith.constant 0 : i32
    %21 = arith.constant 0 : i32
    %22 = arith.constant 0 : i32
    %23 = arith.constant 1 : i32
    %24 = arith.constant 5 : i32
    %25 = arith.constant 2 : i32
    %26 = arith.constant 8 : index
    %27, %28, %29 = flow.dispatch @kernels::@qkv_rope[%26](%0, %1, %1, %1, %1, %2, %2, %2, %2, %3, %3, %3, %3, %6, %7, %4, %5, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25) : (tensor<3x33xf32>, tensor<64x33xf32>, tensor<64x33xf32>, tensor<64x33xf32>, tensor<64x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<32x33xf32>, tensor<5x8xf32>, tensor<5x8xf32>, tensor<3xi32>, tensor<3xi32>, tensor<1x1x2x5x16xbf16>, tensor<1x1x2x5x16xbf16>, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) -> (%8 as tensor<1x1x2x5x16xbf16>, %9 as tensor<1x1x2x5x16xbf16>, tensor<3x64xf32>)
    %30 = stablehlo.reshape %29 : (tensor<3x64xf32>) -> tensor<192xf32>
    %31 = stablehlo.convert %27 : (tensor<1x1x2x5x16xbf16>) -> tensor<1x1x2x5x16xf32>
    %32 = stablehlo.reshape %31 : (tensor<1x1x2x5x16xf32>) -> tensor<160xf32>
    %33 = stablehlo.convert %28 : (tensor<1x1x2x5x16xbf16>) -> tensor<1x1x2x5x16xf32>
    %34 = stablehlo.reshape %33 : (tensor<1x1x2x5x16xf32>) -> tensor<160xf32>
    %35 = stablehlo.concatenate %30, %32, %34, dim = 0 : (tensor<192xf32>, tensor<160xf32>, tensor<160xf32>) -> tensor<512xf32>
    return %35 : tensor<512xf32>
  }
}
