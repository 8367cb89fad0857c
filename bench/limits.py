"""What the machine allows for a row: bytes over bandwidth, multiply-adds over their rate."""

from __future__ import annotations

from dataclasses import dataclass

from rows import Row

FLOPS_PER_WEIGHT = 2  # a multiply and an add
KV_BYTES = {"f32": 4, "f16": 2, "bf16": 2}


@dataclass(frozen=True)
class Limit:
    """In the row's unit."""

    value: float
    kind: str  # "bandwidth" or "f32 FMA"


def row_limit(row: Row, weights: dict, machine: dict, kv_dtype: str) -> Limit | None:
    """`weights` is what weights.py says of one engine's file, `machine` has both rates.

    A step reads all weights once, and the keys and values that each sequence has in the middle of
    the run. Attention's own arithmetic isn't counted.
    """
    if row.kind == "prefill":
        return Limit(_compute(weights["prompt_weights"], machine), "f32 FMA")
    if row.kind not in ("decode", "together"):
        return None
    cached = row.depth + row.gen / 2
    kv = weights["kv_elements"] * KV_BYTES[kv_dtype] * cached * row.parallel
    bandwidth = row.parallel * machine["read_bytes_s"] / (weights["decode_bytes"] + kv)
    compute = _compute(weights["decode_weights"], machine)
    if compute < bandwidth:
        return Limit(compute, "f32 FMA")
    return Limit(bandwidth, "bandwidth")


def _compute(weights: float, machine: dict) -> float:
    return machine["fma_flop_s"] / (FLOPS_PER_WEIGHT * weights)
