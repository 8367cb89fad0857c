// mlxcel_contract=2
// profile=iree-canonical
// clauses=1
// clause=0
// op=quantized-matmul
// variant=none
// source_dtype=affine-u4-g32-bf16+bias-bf16
// operand_dtype=bf16
// accumulator=f32
// result_dtype=bf16
// rounding=weight-product:bf16+weight-bias:bf16+product:f32+sum:f32+result:bf16+bias:bf16
// association=sequential
// dequantization=two-round-bf16
// constants=none
// functions=none
// denormals=flush
// algorithm=linalg:generic
// algorithm_version=1
// source_digest=none
// tolerance=max-ulp(64)
// derivation=wider-accumulator
// representable=yes
module @operation {
  func.func @operation(%0: tensor<3x64xbf16>, %1: tensor<5x32xi8>, %2: tensor<5x2xbf16>, %3: tensor<5x2xbf16>, %4: tensor<5xbf16>) -> (tensor<3x5xbf16>) attributes {iree.reflection = {"mlxcel.contract" = "FINGERPRINT", "mlxcel.contract.version" = "2"}} {
    %5 = stablehlo.reshape %1 : (tensor<5x32xi8>) -> tensor<5x2x16xi8>
    %6 = tensor.empty() : tensor<5x2x16x2xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %2, %3 : tensor<5x2x16xi8>, tensor<5x2xbf16>, tensor<5x2xbf16>) outs(%6 : tensor<5x2x16x2xf32>) {
    ^bb0(%8: i8, %9: bf16, %10: bf16, %11: f32):
    %12 = arith.extf %9 : bf16 to f32
    %13 = arith.extf %10 : bf16 to f32
    %14 = arith.extui %8 : i8 to i32
    %15 = linalg.index 3 : index
    %16 = arith.index_cast %15 : index to i32
    %17 = arith.constant 4 : i32
    %18 = arith.muli %16, %17 : i32
    %19 = arith.shrui %14, %18 : i32
    %20 = arith.constant 15 : i32
    %21 = arith.andi %19, %20 : i32
    %22 = arith.uitofp %21 : i32 to f32
    %23 = arith.constant 0x80000000 : f32
    %24 = math.fma %12, %22, %23 : f32
    %25 = arith.bitcast %24 : f32 to i32
    %26 = arith.constant 16 : i32
    %27 = arith.shrui %25, %26 : i32
    %28 = arith.constant 1 : i32
    %29 = arith.andi %27, %28 : i32
    %30 = arith.constant 32767 : i32
    %31 = arith.addi %29, %30 : i32
    %32 = arith.addi %25, %31 : i32
    %33 = arith.constant -65536 : i32
    %34 = arith.andi %32, %33 : i32
    %35 = arith.bitcast %34 : i32 to f32
    %36 = arith.constant 0x7FC00000 : f32
    %37 = arith.cmpf uno, %24, %24 : f32
    %38 = arith.select %37, %36, %35 : f32
    %39 = arith.addf %38, %13 : f32
    %40 = arith.bitcast %39 : f32 to i32
    %41 = arith.constant 16 : i32
    %42 = arith.shrui %40, %41 : i32
    %43 = arith.constant 1 : i32
    %44 = arith.andi %42, %43 : i32
    %45 = arith.constant 32767 : i32
    %46 = arith.addi %44, %45 : i32
    %47 = arith.addi %40, %46 : i32
    %48 = arith.constant -65536 : i32
    %49 = arith.andi %47, %48 : i32
    %50 = arith.bitcast %49 : i32 to f32
    %51 = arith.constant 0x7FC00000 : f32
    %52 = arith.cmpf uno, %39, %39 : f32
    %53 = arith.select %52, %51, %50 : f32
    linalg.yield %53 : f32
    } -> tensor<5x2x16x2xf32>
    %54 = stablehlo.reshape %0 : (tensor<3x64xbf16>) -> tensor<3x2x16x2xbf16>
    %55 = arith.constant 0x00000000 : f32
    %56 = tensor.empty() : tensor<3x5xf32>
    %57 = linalg.fill ins(%55 : f32) outs(%56 : tensor<3x5xf32>) -> tensor<3x5xf32>
    %58 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%54, %7 : tensor<3x2x16x2xbf16>, tensor<5x2x16x2xf32>) outs(%57 : tensor<3x5xf32>) {
    ^bb0(%59: bf16, %60: f32, %61: f32):
    %62 = arith.extf %59 : bf16 to f32
    %63 = arith.constant 0x80000000 : f32
    %64 = math.fma %62, %60, %63 : f32
    %65 = arith.addf %61, %64 : f32
    linalg.yield %65 : f32
    } -> tensor<3x5xf32>
    %66 = tensor.empty() : tensor<3x5xbf16>
    %67 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%58 : tensor<3x5xf32>) outs(%66 : tensor<3x5xbf16>) {
    ^bb0(%68: f32, %69: bf16):
    %70 = arith.bitcast %68 : f32 to i32
    %71 = arith.constant 16 : i32
    %72 = arith.shrui %70, %71 : i32
    %73 = arith.constant 1 : i32
    %74 = arith.andi %72, %73 : i32
    %75 = arith.constant 32767 : i32
    %76 = arith.addi %74, %75 : i32
    %77 = arith.addi %70, %76 : i32
    %78 = arith.constant -65536 : i32
    %79 = arith.andi %77, %78 : i32
    %80 = arith.bitcast %79 : i32 to f32
    %81 = arith.constant 0x7FC00000 : f32
    %82 = arith.cmpf uno, %68, %68 : f32
    %83 = arith.select %82, %81, %80 : f32
    %84 = arith.truncf %83 : f32 to bf16
    linalg.yield %84 : bf16
    } -> tensor<3x5xbf16>
    %85 = tensor.empty() : tensor<3x5xbf16>
    %86 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%67, %4 : tensor<3x5xbf16>, tensor<5xbf16>) outs(%85 : tensor<3x5xbf16>) {
    ^bb0(%87: bf16, %88: bf16, %89: bf16):
    %90 = arith.extf %87 : bf16 to f32
    %91 = arith.extf %88 : bf16 to f32
    %92 = arith.addf %90, %91 : f32
    %93 = arith.bitcast %92 : f32 to i32
    %94 = arith.constant 16 : i32
    %95 = arith.shrui %93, %94 : i32
    %96 = arith.constant 1 : i32
    %97 = arith.andi %95, %96 : i32
    %98 = arith.constant 32767 : i32
    %99 = arith.addi %97, %98 : i32
    %100 = arith.addi %93, %99 : i32
    %101 = arith.constant -65536 : i32
    %102 = arith.andi %100, %101 : i32
    %103 = arith.bitcast %102 : i32 to f32
    %104 = arith.constant 0x7FC00000 : f32
    %105 = arith.cmpf uno, %92, %92 : f32
    %106 = arith.select %105, %104, %103 : f32
    %107 = arith.truncf %106 : f32 to bf16
    linalg.yield %107 : bf16
    } -> tensor<3x5xbf16>
    return %86 : tensor<3x5xbf16>
  }
}
