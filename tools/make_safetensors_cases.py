#!/usr/bin/env python3
"""Writes the broken (and two legal but odd) safetensors files of tests/data/safetensors.

Each file shows one way in which a header can lie; the names say which. The same files seed the
fuzzer's corpus. The output depends on nothing but this source: `--check` compares instead of writing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    ROOT / "tests/data/safetensors",
    ROOT / "tests/fuzz/corpus/mlxcel_safetensors_fuzz",
)


def tensor(name: str, dtype: str, shape: list[int], begin: int, end: int) -> str:
    """One entry of a header."""
    shape_text = ",".join(map(str, shape))
    return f'"{name}":{{"dtype":"{dtype}","shape":[{shape_text}],"data_offsets":[{begin},{end}]}}'


def file(*entries: str, body: int, length: int | None = None, header_size: int = 0) -> bytes:
    """Length field (or a lie), header padded to `header_size`, body of counting bytes."""
    header = ("{" + ",".join(entries) + "}").ljust(header_size).encode()
    field = len(header) if length is None else length
    return field.to_bytes(8, "little") + header + bytes(i & 255 for i in range(body))


def cases() -> dict[str, bytes]:
    two_halves = tensor("a", "U8", [4], 0, 4)
    one = tensor("t", "F32", [1], 0, 4)
    return {
        "a_span_below_shape": file(tensor("t", "F32", [1000, 1000], 0, 4), body=4),
        "b_span_half_of_shape": file(tensor("t", "F64", [4], 0, 16), body=16, header_size=67),
        "c_duplicate_key": file(one, one, body=4),
        "d_length_2_to_63": file(one, body=4, length=1 << 63),
        "d_length_zero": file(one, body=4, length=0),
        "d_seven_bytes": bytes(7),
        "d_length_above_file": file(one, body=4, length=1000),
        "e_begin_after_end": file(tensor("t", "U8", [4], 4, 0), body=4),
        "e_hole": file(two_halves, tensor("b", "U8", [4], 6, 10), body=10),
        "e_hole_at_start": file(tensor("b", "U8", [4], 2, 6), body=6),
        "e_overlap": file(two_halves, tensor("b", "U8", [4], 2, 6), body=6),
        "e_past_end": file(two_halves, tensor("b", "U8", [4], 4, 8), body=6),
        "e_tail": file(two_halves, body=6),
        "f_product_wraps": file(tensor("t", "F32", [1 << 32, 1 << 32], 0, 0), body=0),
        "f_bytes_wrap": file(tensor("t", "F32", [1 << 62], 0, 0), body=0),
        "g_unknown_dtype": file(tensor("t", "Q4", [4], 0, 2), body=2),
        "h_zero_size": file(tensor("t", "F32", [0, 8], 0, 0), body=0),
        "h_scalar": file(tensor("t", "F32", [], 0, 4), body=4),
        "i_header_126_million": file(one, body=4, length=126_000_000),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the files, write nothing")
    check = parser.parse_args().check
    stale = []
    for folder in FOLDERS:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in cases().items():
            path = folder / f"{name}.safetensors"
            if check and (not path.exists() or path.read_bytes() != data):
                stale.append(str(path))
            if not check:
                path.write_bytes(data)
    for path in stale:
        print(f"{path} is stale; run {Path(__file__).name}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
