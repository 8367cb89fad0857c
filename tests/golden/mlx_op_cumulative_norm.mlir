// mlxcel_contract=2
// profile=mlx-cpu-0.32.4
// clauses=1
// clause=0
// op=cumulative-norm
// variant=none
// source_dtype=bf16
// operand_dtype=f32
// accumulator=f32
// result_dtype=bf16
// rounding=step-sum:f32+scan-sum:f32+mean:div-f32+difference:f32+power:f32+step-sum:f32+scan-sum:f32+variance:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32+result:bf16
// association=steps:sequential+scan:sequential
// dequantization=exact-widen
// constants=f32-nearest
// functions=host-powf+ieee-div+ieee-sqrt
// denormals=keep
// algorithm=mlxcel_mlx_row_sum+mlxcel_mlx_scan+mlxcel_mlx_elementwise+mlxcel_host_unary
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
    stream.executable.export public @scan workgroups(%n: index) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      stream.return %n, %c1, %c1 : index, index, index
    }
    stream.executable.export public @row_sum workgroups(%n: index) -> (index, index, index) {
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
      func.func private @mlxcel_mlx_row_sum(memref<i8>, index, memref<i8>, index, i32, i32, i32, index, index) attributes {hal.import.static, llvm.bareptr = true}
      func.func @row_sum(%a0: !stream.binding, %a2: i32, %a3: i32, %a4: i32, %a1: !stream.binding) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %group = stream.dispatch.workgroup.id[0] : index
        %groups = stream.dispatch.workgroup.count[0] : index
        %m0 = stream.binding.subspan %a0[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p0, %o0, %s0, %t0 = memref.extract_strided_metadata %m0 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        %m1 = stream.binding.subspan %a1[%c0] : !stream.binding -> memref<?xi8, strided<[1], offset: ?>>{%c1}
        %p1, %o1, %s1, %t1 = memref.extract_strided_metadata %m1 : memref<?xi8, strided<[1], offset: ?>> -> memref<i8>, index, index, index
        func.call @mlxcel_mlx_row_sum(%p0, %o0, %p1, %o1, %a2, %a3, %a4, %group, %groups) : (memref<i8>, index, memref<i8>, index, i32, i32, i32, index, index) -> ()
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
  func.func @operation(%0: tensor<3x8x4xbf16>, %1: tensor<4xbf16>) -> (tensor<3x8x4xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %2 = arith.constant 11 : i32
    %3 = arith.constant 96 : i32
    %4 = arith.constant 2 : i32
    %5 = arith.constant 0 : i32
    %6 = arith.constant 1 : i32
    %7 = arith.constant 96 : i32
    %8 = arith.constant 0 : i32
    %9 = arith.constant 0x00000000 : f32
    %10 = arith.constant 1 : index
    %11 = flow.dispatch @mlx_kernels::@elementwise[%10](%0, %0, %2, %3, %4, %5, %6, %7, %8, %9) : (tensor<3x8x4xbf16>, tensor<3x8x4xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x8x4xf32>
    %12 = arith.constant dense<0x42000000> : tensor<3xf32>
    %13 = arith.constant 1 : i32
    %14 = arith.constant 3 : i32
    %15 = arith.constant 1 : i32
    %16 = arith.constant 0 : i32
    %17 = arith.constant 1 : index
    %18 = flow.dispatch @mlx_kernels::@scan[%17](%12, %13, %14, %15, %16) : (tensor<3xf32>, i32, i32, i32, i32) -> tensor<3xf32>
    %19 = arith.constant 4 : i32
    %20 = arith.constant 3 : i32
    %21 = arith.constant 0 : i32
    %22 = arith.constant 0 : i32
    %23 = arith.constant 1 : i32
    %24 = arith.constant 3 : i32
    %25 = arith.constant 1 : i32
    %26 = arith.constant 0x3F800000 : f32
    %27 = arith.constant 1 : index
    %28 = flow.dispatch @mlx_kernels::@elementwise[%27](%18, %18, %19, %20, %21, %22, %23, %24, %25, %26) : (tensor<3xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3xf32>
    %29 = arith.constant 3 : i32
    %30 = arith.constant 32 : i32
    %31 = arith.constant 0 : i32
    %32 = arith.constant 3 : index
    %33 = flow.dispatch @mlx_kernels::@row_sum[%32](%11, %29, %30, %31) : (tensor<3x8x4xf32>, i32, i32, i32) -> tensor<3xf32>
    %34 = arith.constant 1 : i32
    %35 = arith.constant 3 : i32
    %36 = arith.constant 1 : i32
    %37 = arith.constant 0 : i32
    %38 = arith.constant 1 : index
    %39 = flow.dispatch @mlx_kernels::@scan[%38](%33, %34, %35, %36, %37) : (tensor<3xf32>, i32, i32, i32, i32) -> tensor<3xf32>
    %40 = arith.constant 3 : i32
    %41 = arith.constant 3 : i32
    %42 = arith.constant 0 : i32
    %43 = arith.constant 0 : i32
    %44 = arith.constant 1 : i32
    %45 = arith.constant 3 : i32
    %46 = arith.constant 0 : i32
    %47 = arith.constant 0x00000000 : f32
    %48 = arith.constant 1 : index
    %49 = flow.dispatch @mlx_kernels::@elementwise[%48](%39, %28, %40, %41, %42, %43, %44, %45, %46, %47) : (tensor<3xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3xf32>
    %50 = arith.constant 1 : i32
    %51 = arith.constant 96 : i32
    %52 = arith.constant 0 : i32
    %53 = arith.constant 0 : i32
    %54 = arith.constant 32 : i32
    %55 = arith.constant 3 : i32
    %56 = arith.constant 0 : i32
    %57 = arith.constant 0x00000000 : f32
    %58 = arith.constant 1 : index
    %59 = flow.dispatch @mlx_kernels::@elementwise[%58](%11, %49, %50, %51, %52, %53, %54, %55, %56, %57) : (tensor<3x8x4xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x8x4xf32>
    %60 = arith.constant 1 : i32
    %61 = arith.constant 96 : i32
    %62 = arith.constant 0 : i32
    %63 = arith.constant 0x40000000 : f32
    %64 = arith.constant 1 : index
    %65 = flow.dispatch @host_kernels::@unary[%64](%59, %60, %61, %62, %63) : (tensor<3x8x4xf32>, i32, i32, i32, f32) -> tensor<3x8x4xf32>
    %66 = arith.constant 3 : i32
    %67 = arith.constant 32 : i32
    %68 = arith.constant 0 : i32
    %69 = arith.constant 3 : index
    %70 = flow.dispatch @mlx_kernels::@row_sum[%69](%65, %66, %67, %68) : (tensor<3x8x4xf32>, i32, i32, i32) -> tensor<3xf32>
    %71 = arith.constant 1 : i32
    %72 = arith.constant 3 : i32
    %73 = arith.constant 1 : i32
    %74 = arith.constant 0 : i32
    %75 = arith.constant 1 : index
    %76 = flow.dispatch @mlx_kernels::@scan[%75](%70, %71, %72, %73, %74) : (tensor<3xf32>, i32, i32, i32, i32) -> tensor<3xf32>
    %77 = arith.constant 3 : i32
    %78 = arith.constant 3 : i32
    %79 = arith.constant 0 : i32
    %80 = arith.constant 0 : i32
    %81 = arith.constant 1 : i32
    %82 = arith.constant 3 : i32
    %83 = arith.constant 0 : i32
    %84 = arith.constant 0x00000000 : f32
    %85 = arith.constant 1 : index
    %86 = flow.dispatch @mlx_kernels::@elementwise[%85](%76, %28, %77, %78, %79, %80, %81, %82, %83, %84) : (tensor<3xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3xf32>
    %87 = arith.constant 0 : i32
    %88 = arith.constant 3 : i32
    %89 = arith.constant 0 : i32
    %90 = arith.constant 0 : i32
    %91 = arith.constant 1 : i32
    %92 = arith.constant 3 : i32
    %93 = arith.constant 1 : i32
    %94 = arith.constant 0x3A83126F : f32
    %95 = arith.constant 1 : index
    %96 = flow.dispatch @mlx_kernels::@elementwise[%95](%86, %86, %87, %88, %89, %90, %91, %92, %93, %94) : (tensor<3xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3xf32>
    %97 = arith.constant 9 : i32
    %98 = arith.constant 3 : i32
    %99 = arith.constant 0 : i32
    %100 = arith.constant 0 : i32
    %101 = arith.constant 1 : i32
    %102 = arith.constant 3 : i32
    %103 = arith.constant 0 : i32
    %104 = arith.constant 0x00000000 : f32
    %105 = arith.constant 1 : index
    %106 = flow.dispatch @mlx_kernels::@elementwise[%105](%96, %96, %97, %98, %99, %100, %101, %102, %103, %104) : (tensor<3xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3xf32>
    %107 = arith.constant 2 : i32
    %108 = arith.constant 96 : i32
    %109 = arith.constant 0 : i32
    %110 = arith.constant 0 : i32
    %111 = arith.constant 32 : i32
    %112 = arith.constant 3 : i32
    %113 = arith.constant 0 : i32
    %114 = arith.constant 0x00000000 : f32
    %115 = arith.constant 1 : index
    %116 = flow.dispatch @mlx_kernels::@elementwise[%115](%59, %106, %107, %108, %109, %110, %111, %112, %113, %114) : (tensor<3x8x4xf32>, tensor<3xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x8x4xf32>
    %117 = arith.constant 11 : i32
    %118 = arith.constant 4 : i32
    %119 = arith.constant 2 : i32
    %120 = arith.constant 0 : i32
    %121 = arith.constant 1 : i32
    %122 = arith.constant 4 : i32
    %123 = arith.constant 0 : i32
    %124 = arith.constant 0x00000000 : f32
    %125 = arith.constant 1 : index
    %126 = flow.dispatch @mlx_kernels::@elementwise[%125](%1, %1, %117, %118, %119, %120, %121, %122, %123, %124) : (tensor<4xbf16>, tensor<4xbf16>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<4xf32>
    %127 = arith.constant 2 : i32
    %128 = arith.constant 96 : i32
    %129 = arith.constant 0 : i32
    %130 = arith.constant 0 : i32
    %131 = arith.constant 1 : i32
    %132 = arith.constant 4 : i32
    %133 = arith.constant 0 : i32
    %134 = arith.constant 0x00000000 : f32
    %135 = arith.constant 1 : index
    %136 = flow.dispatch @mlx_kernels::@elementwise[%135](%116, %126, %127, %128, %129, %130, %131, %132, %133, %134) : (tensor<3x8x4xf32>, tensor<4xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x8x4xf32>
    %137 = arith.constant 11 : i32
    %138 = arith.constant 96 : i32
    %139 = arith.constant 0 : i32
    %140 = arith.constant 2 : i32
    %141 = arith.constant 1 : i32
    %142 = arith.constant 96 : i32
    %143 = arith.constant 0 : i32
    %144 = arith.constant 0x00000000 : f32
    %145 = arith.constant 1 : index
    %146 = flow.dispatch @mlx_kernels::@elementwise[%145](%136, %136, %137, %138, %139, %140, %141, %142, %143, %144) : (tensor<3x8x4xf32>, tensor<3x8x4xf32>, i32, i32, i32, i32, i32, i32, i32, f32) -> tensor<3x8x4xbf16>
    return %146 : tensor<3x8x4xbf16>
  }
}
