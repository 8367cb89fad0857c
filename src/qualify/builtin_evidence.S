// The committed records of the default profile as read-only data; the path comes from CMake.
    .section .rodata
    .globl mlxcel_builtin_evidence, mlxcel_builtin_evidence_end
mlxcel_builtin_evidence:
    .incbin MLXCEL_BUILTIN_EVIDENCE
mlxcel_builtin_evidence_end:
    .byte 0
    .section .note.GNU-stack, "", @progbits
