"""How much of a model's weights one token needs, from the headers of a GGUF or of safetensors.

    weights.py FILE.gguf [FOLDER]        prints one JSON object for the file, or for both

`bytes`: all tensors. `decode_bytes`: what one decode step reads (the embedding table is looked up
row by row and counts only where the head shares it). `prompt_weights`: elements that each token of
a prompt is multiplied with (not the head: only the last token of a prompt needs it);
`decode_weights`: with the head. `kv_elements`: keys and values of one token. A process of its own,
so that NumPy's memory isn't inherited by what compare.py measures.
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

    reader = GGUFReader(path)
    sizes = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
    matrices = {t.name: math.prod(map(int, t.shape)) for t in reader.tensors if len(t.shape) > 1}
    ends = ("token_embd.weight", "output.weight")
    prompt = sum(count for name, count in matrices.items() if name not in ends)
    tied = "output.weight" not in sizes
    table = 0 if tied else sizes["token_embd.weight"]
    total = sum(sizes.values())
    return {
        "bytes": total,
        "decode_bytes": total - table,
        "prompt_weights": prompt,
        "decode_weights": prompt + matrices[ends[0] if tied else ends[1]],
        "kv_elements": sum(math.prod(map(int, t.shape[1:])) for t in reader.tensors if _is_kv(t)),
    }


def _is_kv(tensor: object) -> bool:
    """Its rows are the elements of a key or a value."""
    return tensor.name.endswith((".attn_k.weight", ".attn_v.weight"))


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
    return {"bytes": total, "decode_bytes": total - (0 if tied else table)}


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: weights.py FILE.gguf [FOLDER]", file=sys.stderr)
        return 2
    theirs = of_gguf(Path(sys.argv[1]))
    # Packed weights don't show how many they are; the file that the folder was made from does.
    found = {"llama.cpp": theirs}
    if len(sys.argv) == 3:
        found["mlxcel"] = {**theirs, **of_folder(Path(sys.argv[2]))}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
