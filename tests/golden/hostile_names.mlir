// mlxcel_contract=2
// profile=pinned-f32
// clauses=1
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
// algorithm=mlxcel_pinned_matmul
// algorithm_version=1
// source_digest=KERNEL-SOURCES
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @model {
  util.global private @w0 = #flow.parameter.named<"model"::"a \22quoted\22 name"> : tensor<16384xi8>
  util.global private @w1 = #flow.parameter.named<"model"::"back\5Cslash\5C22"> : tensor<16384xi8>
  util.global private @w2 = #flow.parameter.named<"model"::"new\0Aline\09tab"> : tensor<16384xi8>
  util.global private @w3 = #flow.parameter.named<"model"::"caf\C3\A9 \E5\B1\82"> : tensor<16384xi8>
  util.global private @w4 = #flow.parameter.named<"model"::"@FINGERPRINT@"> : tensor<16384xi8>
  util.global private @w5 = #flow.parameter.named<"model"::"%s%n > : tensor<4xi8>"> : tensor<16384xi8>
  stream.executable private @kernels attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {}> = [#hal.executable.object<{path = "pinned_f32.o"}>]}>} {
    stream.executable.export public @matmul workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    builtin.module {
      func.func private @mlxcel_pinned_matmul(memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @matmul(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a3: !stream.binding, %a4: !stream.binding, %a5: !stream.binding, %a6: !stream.binding, %a8: i32, %a9: i32, %a10: i32, %a11: i32, %a12: i32, %a7: !stream.binding) {
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
        %m5 = stream.binding.subspan %a5[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p5, %o5, %s5, %t5 = memref.extract_strided_metadata %m5 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        %m6 = stream.binding.subspan %a6[%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%c1}
        %p6, %o6, %s6, %t6 = memref.extract_strided_metadata %m6 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index
        %m7 = stream.binding.subspan %a7[%c0] : !stream.binding -> memref<?xf32, strided<[1], offset: ?>>{%c1}
        %p7, %o7, %s7, %t7 = memref.extract_strided_metadata %m7 : memref<?xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
        func.call @mlxcel_pinned_matmul(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %p6, %o6, %p7, %o7, %a8, %a9, %a10, %a11, %a12, %group, %groups) : (memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<i8>, index, memref<f32>, index, memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, index, index) -> ()
        return
      }
    }
  }
  func.func @hostile_names(%0: tensor<2x64xf32>, %1: tensor<2xi32>) -> (tensor<2x64xf32>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = util.global.load immutable @w0 : tensor<16384xi8>
    %3 = arith.constant 2 : i32
    %4 = arith.constant 64 : i32
    %5 = arith.constant 64 : i32
    %6 = arith.constant 0 : i32
    %7 = arith.constant 0 : i32
    %8 = arith.constant 4 : index
    %9 = flow.dispatch @kernels::@matmul[%8](%0, %2, %2, %2, %2, %0, %1, %3, %4, %5, %6, %7) : (tensor<2x64xf32>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    %10 = util.global.load immutable @w1 : tensor<16384xi8>
    %11 = arith.constant 2 : i32
    %12 = arith.constant 64 : i32
    %13 = arith.constant 64 : i32
    %14 = arith.constant 0 : i32
    %15 = arith.constant 0 : i32
    %16 = arith.constant 4 : index
    %17 = flow.dispatch @kernels::@matmul[%16](%9, %10, %10, %10, %10, %9, %1, %11, %12, %13, %14, %15) : (tensor<2x64xf32>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    %18 = util.global.load immutable @w2 : tensor<16384xi8>
    %19 = arith.constant 2 : i32
    %20 = arith.constant 64 : i32
    %21 = arith.constant 64 : i32
    %22 = arith.constant 0 : i32
    %23 = arith.constant 0 : i32
    %24 = arith.constant 4 : index
    %25 = flow.dispatch @kernels::@matmul[%24](%17, %18, %18, %18, %18, %17, %1, %19, %20, %21, %22, %23) : (tensor<2x64xf32>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    %26 = util.global.load immutable @w3 : tensor<16384xi8>
    %27 = arith.constant 2 : i32
    %28 = arith.constant 64 : i32
    %29 = arith.constant 64 : i32
    %30 = arith.constant 0 : i32
    %31 = arith.constant 0 : i32
    %32 = arith.constant 4 : index
    %33 = flow.dispatch @kernels::@matmul[%32](%25, %26, %26, %26, %26, %25, %1, %27, %28, %29, %30, %31) : (tensor<2x64xf32>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    %34 = util.global.load immutable @w4 : tensor<16384xi8>
    %35 = arith.constant 2 : i32
    %36 = arith.constant 64 : i32
    %37 = arith.constant 64 : i32
    %38 = arith.constant 0 : i32
    %39 = arith.constant 0 : i32
    %40 = arith.constant 4 : index
    %41 = flow.dispatch @kernels::@matmul[%40](%33, %34, %34, %34, %34, %33, %1, %35, %36, %37, %38, %39) : (tensor<2x64xf32>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    %42 = util.global.load immutable @w5 : tensor<16384xi8>
    %43 = arith.constant 2 : i32
    %44 = arith.constant 64 : i32
    %45 = arith.constant 64 : i32
    %46 = arith.constant 0 : i32
    %47 = arith.constant 0 : i32
    %48 = arith.constant 4 : index
    %49 = flow.dispatch @kernels::@matmul[%48](%41, %42, %42, %42, %42, %41, %1, %43, %44, %45, %46, %47) : (tensor<2x64xf32>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<16384xi8>, tensor<2x64xf32>, tensor<2xi32>, i32, i32, i32, i32, i32) -> tensor<2x64xf32>
    return %49 : tensor<2x64xf32>
  }
}
