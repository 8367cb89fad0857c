// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=rope
// variant=interleaved
// source_dtype=none
// operand_dtype=bf16
// accumulator=none
// result_dtype=bf16
// rounding=cos-sin:bf16+product:bf16+sum:bf16
// association=none
// dequantization=none
// constants=angle:f64+cos-sin:f64-to-f32
// functions=host-table(cos,sin)
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=exact
// derivation=every-operation-and-its-order-is-stated
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x20xbf16>, %1: tensor<3xi32>, %2: tensor<8x3xf32>, %3: tensor<8x3xf32>) -> (tensor<3x20xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %4 = stablehlo.reshape %0 : (tensor<3x20xbf16>) -> tensor<3x2x10xbf16>
    %5 = stablehlo.slice %4 [0:3, 0:2, 0:6] : (tensor<3x2x10xbf16>) -> tensor<3x2x6xbf16>
    %6 = tensor.empty() : tensor<3x3xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<3xi32>) outs(%6 : tensor<3x3xf32>) {
    ^bb0(%8: i32, %9: f32):
    %10 = arith.constant 0 : i32
    %11 = arith.maxsi %8, %10 : i32
    %12 = arith.constant 7 : i32
    %13 = arith.minsi %11, %12 : i32
    %14 = arith.index_cast %13 : i32 to index
    %15 = linalg.index 1 : index
    %16 = tensor.extract %2[%14, %15] : tensor<8x3xf32>
    linalg.yield %16 : f32
    } -> tensor<3x3xf32>
    %17 = tensor.empty() : tensor<3x3xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<3xi32>) outs(%17 : tensor<3x3xf32>) {
    ^bb0(%19: i32, %20: f32):
    %21 = arith.constant 0 : i32
    %22 = arith.maxsi %19, %21 : i32
    %23 = arith.constant 7 : i32
    %24 = arith.minsi %22, %23 : i32
    %25 = arith.index_cast %24 : i32 to index
    %26 = linalg.index 1 : index
    %27 = tensor.extract %3[%25, %26] : tensor<8x3xf32>
    linalg.yield %27 : f32
    } -> tensor<3x3xf32>
    %28 = stablehlo.reshape %5 : (tensor<3x2x6xbf16>) -> tensor<3x2x3x2xbf16>
    %29 = stablehlo.slice %28 [0:3, 0:2, 0:3, 0:1] : (tensor<3x2x3x2xbf16>) -> tensor<3x2x3x1xbf16>
    %30 = stablehlo.reshape %29 : (tensor<3x2x3x1xbf16>) -> tensor<3x2x3xbf16>
    %31 = stablehlo.reshape %5 : (tensor<3x2x6xbf16>) -> tensor<3x2x3x2xbf16>
    %32 = stablehlo.slice %31 [0:3, 0:2, 0:3, 1:2] : (tensor<3x2x3x2xbf16>) -> tensor<3x2x3x1xbf16>
    %33 = stablehlo.reshape %32 : (tensor<3x2x3x1xbf16>) -> tensor<3x2x3xbf16>
    %34 = tensor.empty() : tensor<3x2x3xbf16>
    %35 = tensor.empty() : tensor<3x2x3xbf16>
    %36, %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30, %33, %7, %18 : tensor<3x2x3xbf16>, tensor<3x2x3xbf16>, tensor<3x3xf32>, tensor<3x3xf32>) outs(%34, %35 : tensor<3x2x3xbf16>, tensor<3x2x3xbf16>) {
    ^bb0(%38: bf16, %39: bf16, %40: f32, %41: f32, %42: bf16, %43: bf16):
    %44 = arith.extf %38 : bf16 to f32
    %45 = arith.extf %39 : bf16 to f32
    %46 = arith.bitcast %40 : f32 to i32
    %47 = arith.constant 16 : i32
    %48 = arith.shrui %46, %47 : i32
    %49 = arith.constant 1 : i32
    %50 = arith.andi %48, %49 : i32
    %51 = arith.constant 32767 : i32
    %52 = arith.addi %50, %51 : i32
    %53 = arith.addi %46, %52 : i32
    %54 = arith.constant -65536 : i32
    %55 = arith.andi %53, %54 : i32
    %56 = arith.bitcast %55 : i32 to f32
    %57 = arith.constant 0x7FC00000 : f32
    %58 = arith.cmpf uno, %40, %40 : f32
    %59 = arith.select %58, %57, %56 : f32
    %60 = arith.bitcast %41 : f32 to i32
    %61 = arith.constant 16 : i32
    %62 = arith.shrui %60, %61 : i32
    %63 = arith.constant 1 : i32
    %64 = arith.andi %62, %63 : i32
    %65 = arith.constant 32767 : i32
    %66 = arith.addi %64, %65 : i32
    %67 = arith.addi %60, %66 : i32
    %68 = arith.constant -65536 : i32
    %69 = arith.andi %67, %68 : i32
    %70 = arith.bitcast %69 : i32 to f32
    %71 = arith.constant 0x7FC00000 : f32
    %72 = arith.cmpf uno, %41, %41 : f32
    %73 = arith.select %72, %71, %70 : f32
    %74 = arith.constant 0x80000000 : f32
    %75 = math.fma %44, %59, %74 : f32
    %76 = arith.bitcast %75 : f32 to i32
    %77 = arith.constant 16 : i32
    %78 = arith.shrui %76, %77 : i32
    %79 = arith.constant 1 : i32
    %80 = arith.andi %78, %79 : i32
    %81 = arith.constant 32767 : i32
    %82 = arith.addi %80, %81 : i32
    %83 = arith.addi %76, %82 : i32
    %84 = arith.constant -65536 : i32
    %85 = arith.andi %83, %84 : i32
    %86 = arith.bitcast %85 : i32 to f32
    %87 = arith.constant 0x7FC00000 : f32
    %88 = arith.cmpf uno, %75, %75 : f32
    %89 = arith.select %88, %87, %86 : f32
    %90 = arith.constant 0x80000000 : f32
    %91 = math.fma %45, %73, %90 : f32
    %92 = arith.bitcast %91 : f32 to i32
    %93 = arith.constant 16 : i32
    %94 = arith.shrui %92, %93 : i32
    %95 = arith.constant 1 : i32
    %96 = arith.andi %94, %95 : i32
    %97 = arith.constant 32767 : i32
    %98 = arith.addi %96, %97 : i32
    %99 = arith.addi %92, %98 : i32
    %100 = arith.constant -65536 : i32
    %101 = arith.andi %99, %100 : i32
    %102 = arith.bitcast %101 : i32 to f32
    %103 = arith.constant 0x7FC00000 : f32
    %104 = arith.cmpf uno, %91, %91 : f32
    %105 = arith.select %104, %103, %102 : f32
    %106 = arith.constant 0x80000000 : f32
    %107 = math.fma %44, %73, %106 : f32
    %108 = arith.bitcast %107 : f32 to i32
    %109 = arith.constant 16 : i32
    %110 = arith.shrui %108, %109 : i32
    %111 = arith.constant 1 : i32
    %112 = arith.andi %110, %111 : i32
    %113 = arith.constant 32767 : i32
    %114 = arith.addi %112, %113 : i32
    %115 = arith.addi %108, %114 : i32
    %116 = arith.constant -65536 : i32
    %117 = arith.andi %115, %116 : i32
    %118 = arith.bitcast %117 : i32 to f32
    %119 = arith.constant 0x7FC00000 : f32
    %120 = arith.cmpf uno, %107, %107 : f32
    %121 = arith.select %120, %119, %118 : f32
    %122 = arith.constant 0x80000000 : f32
    %123 = math.fma %45, %59, %122 : f32
    %124 = arith.bitcast %123 : f32 to i32
    %125 = arith.constant 16 : i32
    %126 = arith.shrui %124, %125 : i32
    %127 = arith.constant 1 : i32
    %128 = arith.andi %126, %127 : i32
    %129 = arith.constant 32767 : i32
    %130 = arith.addi %128, %129 : i32
    %131 = arith.addi %124, %130 : i32
    %132 = arith.constant -65536 : i32
    %133 = arith.andi %131, %132 : i32
    %134 = arith.bitcast %133 : i32 to f32
    %135 = arith.constant 0x7FC00000 : f32
    %136 = arith.cmpf uno, %123, %123 : f32
    %137 = arith.select %136, %135, %134 : f32
    %138 = arith.subf %89, %105 : f32
    %139 = arith.bitcast %138 : f32 to i32
    %140 = arith.constant 16 : i32
    %141 = arith.shrui %139, %140 : i32
    %142 = arith.constant 1 : i32
    %143 = arith.andi %141, %142 : i32
    %144 = arith.constant 32767 : i32
    %145 = arith.addi %143, %144 : i32
    %146 = arith.addi %139, %145 : i32
    %147 = arith.constant -65536 : i32
    %148 = arith.andi %146, %147 : i32
    %149 = arith.bitcast %148 : i32 to f32
    %150 = arith.constant 0x7FC00000 : f32
    %151 = arith.cmpf uno, %138, %138 : f32
    %152 = arith.select %151, %150, %149 : f32
    %153 = arith.truncf %152 : f32 to bf16
    %154 = arith.addf %121, %137 : f32
    %155 = arith.bitcast %154 : f32 to i32
    %156 = arith.constant 16 : i32
    %157 = arith.shrui %155, %156 : i32
    %158 = arith.constant 1 : i32
    %159 = arith.andi %157, %158 : i32
    %160 = arith.constant 32767 : i32
    %161 = arith.addi %159, %160 : i32
    %162 = arith.addi %155, %161 : i32
    %163 = arith.constant -65536 : i32
    %164 = arith.andi %162, %163 : i32
    %165 = arith.bitcast %164 : i32 to f32
    %166 = arith.constant 0x7FC00000 : f32
    %167 = arith.cmpf uno, %154, %154 : f32
    %168 = arith.select %167, %166, %165 : f32
    %169 = arith.truncf %168 : f32 to bf16
    linalg.yield %153, %169 : bf16, bf16
    } -> (tensor<3x2x3xbf16>, tensor<3x2x3xbf16>)
    %170 = stablehlo.reshape %36 : (tensor<3x2x3xbf16>) -> tensor<3x2x3x1xbf16>
    %171 = stablehlo.reshape %37 : (tensor<3x2x3xbf16>) -> tensor<3x2x3x1xbf16>
    %172 = stablehlo.concatenate %170, %171, dim = 3 : (tensor<3x2x3x1xbf16>, tensor<3x2x3x1xbf16>) -> tensor<3x2x3x2xbf16>
    %173 = stablehlo.reshape %172 : (tensor<3x2x3x2xbf16>) -> tensor<3x2x6xbf16>
    %174 = stablehlo.slice %4 [0:3, 0:2, 6:10] : (tensor<3x2x10xbf16>) -> tensor<3x2x4xbf16>
    %175 = stablehlo.concatenate %173, %174, dim = 2 : (tensor<3x2x6xbf16>, tensor<3x2x4xbf16>) -> tensor<3x2x10xbf16>
    %176 = stablehlo.reshape %175 : (tensor<3x2x10xbf16>) -> tensor<3x20xbf16>
    return %176 : tensor<3x20xbf16>
  }
}
