"""Makes the zoo: tiny random Llama and Mistral checkpoint folders, the same bytes everywhere.

    make_zoo.py OUTDIR [--only NAME ...] [--list]

Each variant is OUTDIR/NAME with config.json, generation_config.json, tokenizer.json and
model.safetensors (or two shards and an index). Matrices are normal with deviation gain / sqrt(in),
so that activations stay near 1 and logits spread over several units.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from checkpoint_io import Tensor, encode, quantize_affine, write_safetensors
from seeded_random import SeededRandom

SPECIAL_TOKENS = ("<s>", "</s>", "<|user|>", "<|assistant|>")
MERGES = (("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("\u0120", "a"), ("e", "r"))
BOS, EOS = 256, 257
HEAD_GAIN = 3.0  # spreads the logits, and with them the gaps between the best two
QUERY_GAIN = 2.0  # sharpens attention, so that positions and masks matter


@dataclass(frozen=True)
class Variant:
    """One checkpoint: shape, storage and the config keys that make it special."""

    name: str
    seed: int
    hidden: int = 64
    intermediate: int = 96
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int | None = None  # None: hidden / heads, and no key in config.json
    vocab: int = 288
    dtype: str = "F32"  # of everything that is not quantized
    tied: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    shards: int = 1
    align: int = 8
    bits: int = 0  # 0: not quantized
    group: int = 0
    metadata: str = "F16"  # dtype of scales and biases
    overrides: dict[str, dict | bool] = field(default_factory=dict)
    extra: dict = field(default_factory=dict)  # config keys; None removes a key

    @property
    def width(self) -> int:
        """Size of one head."""
        return self.head_dim or self.hidden // self.heads


def quantized(name: str, seed: int, bits: int, group: int, metadata: str, **more) -> Variant:
    """A quantized variant wide enough for every group size."""
    sizes = {"hidden": 128, "intermediate": 256, "bits": bits, "group": group}
    return Variant(name, seed, metadata=metadata, **{"dtype": "F16", **sizes, **more})


LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
MIXED_OVERRIDES: dict[str, dict | bool] = {
    "model.embed_tokens": False,
    "model.layers.0.self_attn.v_proj": {"group_size": 64, "bits": 6},
    "model.layers.0.mlp.down_proj": {"group_size": 128, "bits": 6, "mode": "affine"},
    "model.layers.1.self_attn.q_proj": {"group_size": 32, "bits": 3},
    "model.layers.1.self_attn.o_proj": False,
    "lm_head": {"group_size": 32, "bits": 8},
}

VARIANTS: tuple[Variant, ...] = (
    Variant("dense-f32", 1),
    Variant("dense-f16", 2, dtype="F16"),
    Variant("dense-bf16", 3, dtype="BF16"),
    Variant("tied-mha-f32", 4, tied=True, kv_heads=4),
    Variant("tied-gqa-bf16", 5, tied=True, dtype="BF16"),
    # No rope_theta and no num_key_value_heads, as the first Llama configs.
    Variant("old-config-mha", 6, kv_heads=4, extra={
        "rope_theta": None, "num_key_value_heads": None, "rope_scaling": {},
    }),
    Variant("mqa-three-layers", 7, layers=3, kv_heads=1),
    Variant("head-dim-wide", 8, head_dim=32),
    Variant("head-dim-narrow", 9, head_dim=10, dtype="BF16"),
    Variant("rope-llama3", 10, head_dim=32, extra={"rope_scaling": LLAMA3_ROPE}),
    Variant("rope-linear", 11, extra={"rope_scaling": {"type": "linear", "factor": 4.0}}),
    Variant("rope-parameters", 12, extra={"rope_theta": None, "rope_parameters": {
        **LLAMA3_ROPE, "rope_theta": 50000.0,
    }}),
    Variant("all-biases", 13, attention_bias=True, mlp_bias=True, dtype="F16"),
    Variant("two-shards", 14, shards=2, dtype="BF16"),
    Variant("unaligned-data", 15, align=1),
    Variant("mistral", 16, head_dim=24, dtype="BF16", extra={
        "model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": None,
    }),
    # No size is a multiple of 16: every kernel meets its tail.
    Variant("odd-sizes-f32", 17, hidden=88, intermediate=150, vocab=277),
    Variant("odd-sizes-bf16", 18, hidden=88, intermediate=150, vocab=277, dtype="BF16", tied=True),
    quantized("q2-g32-f32", 20, 2, 32, "F32", dtype="F32"),
    quantized("q2-g64-bf16", 21, 2, 64, "BF16", dtype="BF16"),
    quantized("q3-g32-f16", 22, 3, 32, "F16"),
    quantized("q3-g128-bf16", 23, 3, 128, "BF16", dtype="BF16"),
    quantized("q4-g32-f32", 24, 4, 32, "F32", dtype="F32"),
    quantized("q4-g64-bf16", 25, 4, 64, "BF16", dtype="BF16", tied=True),
    quantized("q4-g128-f16", 26, 4, 128, "F16", shards=2),
    quantized("q5-g64-f32", 27, 5, 64, "F32", dtype="F32"),
    quantized("q5-g128-f16", 28, 5, 128, "F16", tied=True),
    quantized("q6-g32-bf16", 29, 6, 32, "BF16", dtype="BF16"),
    quantized("q6-g128-f16", 30, 6, 128, "F16"),
    quantized("q8-g32-f32", 31, 8, 32, "F32", dtype="F32", tied=True),
    quantized("q8-g64-f16", 32, 8, 64, "F16", attention_bias=True, mlp_bias=True),
    quantized("q-mixed", 33, 4, 64, "BF16", dtype="BF16", overrides=MIXED_OVERRIDES),
)


def modules(variant: Variant) -> Iterator[tuple[str, int, int, float, bool]]:
    """Yields (path, out, in, gain, has bias) of every matrix, in the order of the forward pass."""
    hidden, inner = variant.hidden, variant.intermediate
    query, keys = variant.heads * variant.width, variant.kv_heads * variant.width
    attention, mlp = variant.attention_bias, variant.mlp_bias
    yield "model.embed_tokens", variant.vocab, hidden, HEAD_GAIN, False
    for layer in range(variant.layers):
        base = f"model.layers.{layer}"
        yield f"{base}.self_attn.q_proj", query, hidden, QUERY_GAIN, attention
        yield f"{base}.self_attn.k_proj", keys, hidden, 1.0, attention
        yield f"{base}.self_attn.v_proj", keys, hidden, 1.0, attention
        yield f"{base}.self_attn.o_proj", hidden, query, 1.0, attention
        yield f"{base}.mlp.gate_proj", inner, hidden, QUERY_GAIN, mlp
        yield f"{base}.mlp.up_proj", inner, hidden, 1.0, mlp
        yield f"{base}.mlp.down_proj", hidden, inner, 1.0, mlp
    if not variant.tied:
        yield "lm_head", variant.vocab, hidden, HEAD_GAIN, False


def quantization_of(variant: Variant, path: str) -> dict | None:
    """The {bits, group_size} that apply to a module; None where it stays dense."""
    default = {"group_size": variant.group, "bits": variant.bits} if variant.bits else False
    return variant.overrides.get(path, default) or None


def matrix_tensors(
    variant: Variant, path: str, weight: np.ndarray
) -> Iterator[tuple[str, Tensor]]:
    """Yields a module's stored tensors: the dense weight, or codes, scales and biases."""
    rule = quantization_of(variant, path)
    if rule is None:
        yield f"{path}.weight", encode(weight, variant.dtype)
        return
    parts = quantize_affine(weight, rule["bits"], rule["group_size"], variant.metadata)
    for suffix, tensor in zip(("weight", "scales", "biases"), parts):
        yield f"{path}.{suffix}", tensor


def make_tensors(variant: Variant) -> dict[str, Tensor]:
    """All tensors of a variant, from its seed."""
    random = SeededRandom(variant.seed)
    tensors: dict[str, Tensor] = {}
    for path, rows, columns, gain, biased in modules(variant):
        weight = random.normal((rows, columns)) * (gain / math.sqrt(columns))
        tensors.update(matrix_tensors(variant, path, weight))
        if biased:
            tensors[f"{path}.bias"] = encode(0.3 * random.normal((rows,)), variant.dtype)
    names = ("input_layernorm", "post_attention_layernorm")
    norms = [f"model.layers.{layer}.{name}" for layer in range(variant.layers) for name in names]
    for path in [*norms, "model.norm"]:
        gains = 1 + 0.2 * random.normal((variant.hidden,))
        tensors[f"{path}.weight"] = encode(gains, variant.dtype)
    return tensors


def make_config(variant: Variant) -> dict:
    """config.json; keys that `extra` sets to None stay out, save sliding_window, which is null."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": variant.hidden,
        "intermediate_size": variant.intermediate,
        "num_hidden_layers": variant.layers,
        "num_attention_heads": variant.heads,
        "num_key_value_heads": variant.kv_heads,
        "vocab_size": variant.vocab,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "rope_scaling": None,
        "hidden_act": "silu",
        "attention_bias": variant.attention_bias,
        "mlp_bias": variant.mlp_bias,
        "tie_word_embeddings": variant.tied,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "torch_dtype": {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[variant.dtype],
    }
    if variant.head_dim is not None:
        config["head_dim"] = variant.head_dim
    if variant.bits:
        table = {"group_size": variant.group, "bits": variant.bits, "mode": "affine"}
        # mlx-lm writes the same table under both names.
        config["quantization"] = {**table, **variant.overrides}
        config["quantization_config"] = config["quantization"]
    config.update(variant.extra)
    for key in ("rope_theta", "num_key_value_heads"):
        if config[key] is None:
            del config[key]
    return config


def byte_alphabet() -> list[str]:
    """The byte-level alphabet: printable bytes stand for themselves, others are U+0100 and up."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def make_tokenizer() -> dict:
    """tokenizer.json: byte-level BPE whose id is the byte's value, specials, then merged pairs."""
    symbols = byte_alphabet()
    pieces = [*symbols, *SPECIAL_TOKENS, *("".join(pair) for pair in MERGES)]
    vocabulary = {piece: rank for rank, piece in enumerate(pieces)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [
        {"id": len(symbols) + rank, "content": content, **flags, "special": True}
        for rank, content in enumerate(SPECIAL_TOKENS)
    ]
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {**bytes_only, "use_regex": True},
        "post_processor": None,
        "decoder": {**bytes_only, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [list(pair) for pair in MERGES],
        },
    }


def write_json(path: Path, value: dict) -> None:
    """Stable text: given key order, ASCII, LF."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="ascii", newline="\n")


def write_weights(folder: Path, variant: Variant, tensors: dict[str, Tensor]) -> None:
    """One file, or shards that take the tensors in turn, with the index that names them."""
    if variant.shards == 1:
        write_safetensors(folder / "model.safetensors", tensors, variant.align)
        return
    weight_map: dict[str, str] = {}
    for shard in range(variant.shards):
        file = f"model-{shard + 1:05d}-of-{variant.shards:05d}.safetensors"
        part = dict(list(tensors.items())[shard :: variant.shards])
        write_safetensors(folder / file, part, variant.align)
        weight_map.update(dict.fromkeys(part, file))
    total = sum(tensor.data.nbytes for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    write_json(folder / "model.safetensors.index.json", index)


def make_variant(variant: Variant, out: Path) -> Path:
    """Writes one checkpoint folder and returns it."""
    folder = out / variant.name
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", make_config(variant))
    generation = {"bos_token_id": BOS, "eos_token_id": [EOS], "do_sample": False}
    write_json(folder / "generation_config.json", generation)
    write_json(folder / "tokenizer.json", make_tokenizer())
    write_weights(folder, variant, make_tensors(variant))
    return folder


def digest(folder: Path) -> str:
    """SHA-256 over the names, lengths and bytes of a folder's files, in name order."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        total.update(f"{path.name}\n{len(data)}\n".encode() + data)
    return total.hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Makes all variants, or those named."""
    parser = argparse.ArgumentParser(description="make the zoo of tiny checkpoints")
    parser.add_argument("out", type=Path, nargs="?", help="folder to write into")
    parser.add_argument("--only", nargs="+", choices=[variant.name for variant in VARIANTS])
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(variant.name for variant in VARIANTS))
        return 0
    if options.out is None:
        parser.error("OUTDIR is missing")
    for variant in VARIANTS:
        if options.only is None or variant.name in options.only:
            print(make_variant(variant, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
