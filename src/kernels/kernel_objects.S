// The kernel objects as read-only data; the paths come from CMake.
    .section .rodata
    .balign 64
    .globl mlxcel_kernel_object_v3, mlxcel_kernel_object_v3_end, mlxcel_kernel_object_v4, mlxcel_kernel_object_v4_end
    .globl mlxcel_kernel_object_mlx, mlxcel_kernel_object_mlx_end
mlxcel_kernel_object_v3:
    .incbin MLXCEL_OBJECT_V3
mlxcel_kernel_object_v3_end:
    .balign 64
mlxcel_kernel_object_v4:
    .incbin MLXCEL_OBJECT_V4
mlxcel_kernel_object_v4_end:
    .balign 64
mlxcel_kernel_object_mlx:
    .incbin MLXCEL_OBJECT_MLX
mlxcel_kernel_object_mlx_end:
    .byte 0
    .section .note.GNU-stack, "", @progbits
