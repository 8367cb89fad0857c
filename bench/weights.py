"""How much of a model's weights one token needs, from the headers of a GGUF or of safetensors.

    weights.py FILE.gguf | FOLDER        prints one JSON object

`bytes`: all tensors. `decode_bytes`: what one decode step reads (the embedding table is looked up
row by row and counts only where the head shares it). `prompt_weights`: elements that each token of
a prompt is multiplied with (not the head: only the last token of a prompt needs it); null for a
folder, where packed weights don't show it. A process of its own, so that NumPy's memory isn't
inherited by what compare.py measures.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

HEADER_LENGTH_BYTES = 8


def of_gguf(path: Path) -> dict:
    """llama.cpp's names: token_embd.weight, and output.weight unless the head is tied."""
    from gguf import GGUFReader

    tensors = GGUFReader(path).tensors
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in tensors}
    matrices = {t.name: math.prod(map(int, t.shape)) for t in tensors if len(t.shape) > 1}
    ends = ("token_embd.weight", "output.weight")
    prompt = sum(count for name, count in matrices.items() if name not in ends)
    tied = "output.weight" not in sizes
    table = 0 if tied else sizes["token_embd.weight"]
    total = sum(sizes.values())
    return {"bytes": total, "decode_bytes": total - table, "prompt_weights": prompt}


def of_folder(folder: Path) -> dict:
    """Hugging Face's names: model.embed_tokens.*, and lm_head.* unless the head is tied."""
    sizes: dict[str, int] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(HEADER_LENGTH_BYTES), "little")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            sizes[name] = end - begin
    tied = not any(name.startswith("lm_head.") for name in sizes)
    table = sum(size for name, size in sizes.items() if ".embed_tokens." in name)
    total = sum(sizes.values())
    return {"bytes": total, "decode_bytes": total - (0 if tied else table), "prompt_weights": None}


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: weights.py FILE.gguf | FOLDER", file=sys.stderr)
        return 2
    path = Path(sys.argv[1])
    print(json.dumps(of_folder(path) if path.is_dir() else of_gguf(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
