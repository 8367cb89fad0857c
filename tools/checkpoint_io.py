"""Reads and writes checkpoints for the developer tools: safetensors and MLX affine quantization.

Deliberately independent of the engine and of the `safetensors` package: an oracle that shares code
with what it judges shares its mistakes. Arrays keep their stored form (BF16 as uint16 bit
patterns); `decode` widens them to float64, which is exact for every supported dtype.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

# safetensors dtype name -> NumPy dtype of the stored elements.
STORAGE = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
}


class Tensor(NamedTuple):
    """One stored tensor: the safetensors dtype name and the elements in that storage."""

    dtype: str
    data: np.ndarray


def encode(values: np.ndarray, dtype: str) -> Tensor:
    """Rounds float values to F32, F16 or BF16, to nearest, ties to even."""
    single = np.ascontiguousarray(values, dtype=np.float32)
    if dtype == "BF16":
        bits = single.view(np.uint32)
        half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        return Tensor(dtype, ((bits + half) >> np.uint32(16)).astype(np.uint16))
    return Tensor(dtype, single.astype(STORAGE[dtype]))


def decode(tensor: Tensor) -> np.ndarray:
    """Widens a float tensor to float64; exact. BF16 is the upper half of an F32."""
    if tensor.dtype == "BF16":
        bits = tensor.data.astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).astype(np.float64)
    if tensor.dtype not in ("F32", "F16"):
        raise ValueError(f"dtype {tensor.dtype} holds no floats")
    return tensor.data.astype(np.float64)


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Maps a file: u64 header length, JSON header, then the data the offsets point into."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    length = int.from_bytes(raw[:8].tobytes(), "little")
    header = json.loads(raw[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    return {name: _slice(path, name, raw[8 + length :], entry) for name, entry in header.items()}


def _slice(path: Path, name: str, body: np.ndarray, entry: dict) -> Tensor:
    """Cuts one tensor out of the data section (a copy only where the offset is unaligned)."""
    begin, end = entry["data_offsets"]
    storage = STORAGE[entry["dtype"]]
    if end - begin != math.prod(entry["shape"]) * storage.itemsize or end > body.size:
        raise ValueError(f"{path}: {name}: data_offsets {begin}..{end} do not fit its shape")
    data = np.frombuffer(body[begin:end], dtype=storage)
    return Tensor(entry["dtype"], data.reshape(entry["shape"]))


def write_safetensors(path: Path, tensors: dict[str, Tensor], align: int = 8) -> None:
    """Writes tensors in the given order; the header is padded so that data starts at `align`.

    Always makes a new file: tensors read from the old one still map it.
    """
    header: dict[str, dict] = {}
    offset = 0
    for name, (dtype, data) in tensors.items():
        span = [offset, offset + data.nbytes]
        header[name] = {"dtype": dtype, "shape": list(data.shape), "data_offsets": span}
        offset = span[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % align)
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for dtype, data in tensors.values():
            file.write(np.ascontiguousarray(data, dtype=STORAGE[dtype]).tobytes())


def read_folder(folder: Path) -> dict[str, Tensor]:
    """Reads model.safetensors, or the shards that model.safetensors.index.json names."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return read_safetensors(folder / "model.safetensors")
    weight_map: dict[str, str] = json.loads(index.read_text())["weight_map"]
    shards = {file: read_safetensors(folder / file) for file in sorted(set(weight_map.values()))}
    return {name: shards[file][name] for name, file in weight_map.items()}


def pack_bits(codes: np.ndarray, bits: int) -> np.ndarray:
    """Packs codes [rows, n] into uint32 words [rows, n*bits/32].

    A row is one stream of n fields of `bits` bits, least significant bit first; field k takes the
    stream's bits k*bits .. k*bits+bits-1 and word i its bits 32*i .. 32*i+31, so that fields of
    3, 5 and 6 bits straddle words.
    """
    rows, count = codes.shape
    if count * bits % 32:
        raise ValueError(f"{count} fields of {bits} bits do not fill whole words")
    stream = (codes[:, :, None] >> np.arange(bits)) & 1
    packed = np.packbits(stream.astype(np.uint8).reshape(rows, -1), axis=1, bitorder="little")
    return packed.view("<u4")


def unpack_bits(words: np.ndarray, bits: int) -> np.ndarray:
    """Inverse of pack_bits: words [rows, n*bits/32] to uint8 codes [rows, n]."""
    octets = np.ascontiguousarray(words, dtype="<u4").view(np.uint8)
    stream = np.unpackbits(octets, axis=1, bitorder="little").reshape(words.shape[0], -1, bits)
    return np.packbits(stream, axis=2, bitorder="little")[:, :, 0]


def fma_f32(factor: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """round_f32(factor*scale + bias) with one rounding, for factor < 2^29 and f32 scale and bias.

    The product is exact in float64 (29 + 24 bits). The sum is rounded to odd there: where TwoSum
    shows that it is inexact and its last bit is even, it moves to the neighbour on the exact
    value's side. With 53 >= 24 + 2 bits the final rounding to f32 then equals the direct one.
    """
    product = factor * scale
    total = product + bias
    moved = total - product
    residual = (product - (total - moved)) + (bias - moved)
    if np.any(residual):
        even = (total.view(np.int64) & 1) == 0
        toward = np.nextafter(total, np.where(residual > 0, np.inf, -np.inf))
        total = np.where((residual != 0) & even, toward, total)
    return total.astype(np.float32)


def quantize_affine(
    weight: np.ndarray, bits: int, group: int, metadata: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Quantizes [rows, n] to (codes U32, scales, biases) with w ~ code*scale + bias in each group.

    The bias is the group's extreme of larger magnitude and the scale steps from it to the other
    extreme, hence is negative where the bias is the maximum; both are rounded to `metadata` first,
    and the codes are the nearest steps under the rounded values.
    """
    rows, count = weight.shape
    steps = (1 << bits) - 1
    grouped = weight.reshape(rows, count // group, group)
    low, high = grouped.min(axis=2), grouped.max(axis=2)
    edge = np.where(np.abs(high) > np.abs(low), high, low)
    biases = encode(edge, metadata)
    scales = encode((low + high - 2 * edge) / steps, metadata)
    codes = np.rint((grouped - decode(biases)[..., None]) / decode(scales)[..., None])
    codes = np.clip(codes, 0, steps).astype(np.uint8).reshape(rows, count)
    return Tensor("U32", pack_bits(codes, bits)), scales, biases


def dequantize_affine(words: Tensor, scales: Tensor, biases: Tensor, bits: int) -> np.ndarray:
    """The contract's weights, w = fma(code, scale, bias) in f32, as float64 [rows, n]."""
    codes = unpack_bits(words.data, bits)
    rows, groups = scales.data.shape
    grouped = codes.reshape(rows, groups, -1).astype(np.float64)
    weight = fma_f32(grouped, decode(scales)[..., None], decode(biases)[..., None])
    return weight.reshape(codes.shape).astype(np.float64)
