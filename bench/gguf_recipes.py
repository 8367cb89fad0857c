"""GGUF files of our own: a model's weights in another storage type, and random checkpoints.

A file is written tensor by tensor, a tensor is encoded in pieces: at most one encoded tensor and
one piece of it in f32 are in memory. The random checkpoints are the same on every run.
"""

from __future__ import annotations

import itertools
import math
import os
import string
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter
from gguf.constants import LlamaFileType
from gguf.quants import dequantize, quantize

SEED = 20
PIECE_ELEMENTS = 1 << 22  # 16 MiB of f32; quantizing needs a few times that
FILE_TYPES = {
    "F32": LlamaFileType.ALL_F32,
    "F16": LlamaFileType.MOSTLY_F16,
    "BF16": LlamaFileType.MOSTLY_BF16,
    "Q4_0": LlamaFileType.MOSTLY_Q4_0,
    "Q4_1": LlamaFileType.MOSTLY_Q4_1,
    "Q8_0": LlamaFileType.MOSTLY_Q8_0,
}

Pieces = Callable[[], Iterator[np.ndarray]]


@dataclass(frozen=True)
class Tensor:
    """`pieces` yields the encoded rows in order, each piece uint8 [rows, bytes of a row]."""

    name: str
    shape: tuple[int, ...]  # outermost first
    kind: GGMLQuantizationType
    pieces: Pieces

    def byte_shape(self) -> tuple[int, ...]:
        elements, size = GGML_QUANT_SIZES[self.kind]
        return (*self.shape[:-1], self.shape[-1] // elements * size)


@dataclass(frozen=True)
class Value:
    """One entry of the metadata."""

    key: str
    content: Any
    kind: GGUFValueType
    element: GGUFValueType | None = None  # of an array


@dataclass(frozen=True)
class Shape:
    """A Llama checkpoint's sizes; the head is tied to the embedding."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    vocab: int
    context: int
    rope_theta: float = 500000.0
    epsilon: float = 1e-5


LLAMA_1B = Shape(2048, 16, 32, 8, 64, 8192, 128256, 8192)  # Llama-3.2-1B, of its context 8192


# --- writing --------------------------------------------------------------------------------------


def write(path: Path, values: list[Value], tensors: list[Tensor]) -> None:
    """Writes a file of architecture llama; it appears under its name when it is complete."""
    partial = path.with_suffix(".partial")
    writer = GGUFWriter(partial, "llama")
    for value in values:
        writer.add_key_value(value.key, value.content, value.kind, value.element)
    for tensor in tensors:
        shape, byte = tensor.byte_shape(), np.dtype(np.uint8)
        writer.add_tensor_info(tensor.name, shape, byte, math.prod(shape), tensor.kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in tensors:
        writer.write_tensor_data(_encoded(tensor))
    writer.close()
    os.replace(partial, path)


def _encoded(tensor: Tensor) -> np.ndarray:
    shape = tensor.byte_shape()
    rows = np.empty((math.prod(shape[:-1]), shape[-1]), dtype=np.uint8)
    begin = 0
    for piece in tensor.pieces():
        rows[begin : begin + len(piece)] = piece
        begin += len(piece)
    assert begin == len(rows), f"{tensor.name}: {begin} rows of {len(rows)}"
    return rows


def _encode(values: np.ndarray, kind: GGMLQuantizationType) -> np.ndarray:
    return np.ascontiguousarray(quantize(values, kind)).view(np.uint8).reshape(len(values), -1)


def _row_ranges(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    step = max(1, PIECE_ELEMENTS // columns)
    return ((begin, min(begin + step, rows)) for begin in range(0, rows, step))


# --- another storage type -------------------------------------------------------------------------


def convert(source: Path, path: Path, kind_name: str) -> None:
    """Stores a model's matrices as another type, rounding once; vectors and metadata stay."""
    reader = GGUFReader(source)
    target = GGMLQuantizationType[kind_name]
    write(path, _copied_values(reader, kind_name), [_converted(t, target) for t in reader.tensors])


def _copied_values(reader: GGUFReader, kind_name: str) -> list[Value]:
    """The reader's own GGUF.* aren't metadata, and the writer adds the architecture itself."""
    own = ("general.architecture", "general.file_type")
    values = [
        Value(name, field.contents(), field.types[0], field.types[1] if field.types[1:] else None)
        for name, field in reader.fields.items()
        if not name.startswith("GGUF.") and name not in own
    ]
    file_type = Value("general.file_type", int(FILE_TYPES[kind_name]), GGUFValueType.UINT32)
    return [*values, file_type]


def _converted(tensor: Any, target: GGMLQuantizationType) -> Tensor:
    shape = tuple(int(size) for size in reversed(tensor.shape))
    is_copied = len(shape) == 1 or tensor.tensor_type == target
    kind = tensor.tensor_type if is_copied else target
    rows = tensor.data if len(shape) > 1 else tensor.data.reshape(1, -1)

    def pieces() -> Iterator[np.ndarray]:
        for begin, end in _row_ranges(len(rows), shape[-1]):
            part = np.ascontiguousarray(rows[begin:end])
            if is_copied:
                yield part.view(np.uint8).reshape(len(part), -1)
            else:
                yield _encode(dequantize(part, tensor.tensor_type), kind)

    return Tensor(tensor.name, shape, kind, pieces)


# --- random checkpoints ---------------------------------------------------------------------------


def make_random(path: Path, shape: Shape, kind_name: str, name: str) -> None:
    """A checkpoint of this shape: normal weights of deviation 1/sqrt(columns), norms of ones.

    With that a matrix keeps the size of what it is multiplied with, so all values stay finite at
    any depth, and the logits have a deviation of about one.
    """
    kind = GGMLQuantizationType[kind_name]
    tensors = [_random_tensor(f"{n}.weight", s, kind) for n, s in _tensor_shapes(shape)]
    write(path, _model_values(shape, kind_name, name) + tokenizer_values(shape.vocab), tensors)


def _tensor_shapes(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    query, key = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    layer = {
        "attn_norm": (shape.hidden,),
        "attn_q": (query, shape.hidden),
        "attn_k": (key, shape.hidden),
        "attn_v": (key, shape.hidden),
        "attn_output": (shape.hidden, query),
        "ffn_norm": (shape.hidden,),
        "ffn_gate": (shape.inner, shape.hidden),
        "ffn_up": (shape.inner, shape.hidden),
        "ffn_down": (shape.hidden, shape.inner),
    }
    yield "token_embd", (shape.vocab, shape.hidden)
    for i in range(shape.layers):
        yield from ((f"blk.{i}.{name}", size) for name, size in layer.items())
    yield "output_norm", (shape.hidden,)


def _random_tensor(name: str, shape: tuple[int, ...], kind: GGMLQuantizationType) -> Tensor:
    if len(shape) == 1:
        ones = np.ones((1, *shape), dtype=np.float32)
        f32 = GGMLQuantizationType.F32
        return Tensor(name, shape, f32, lambda: iter([_encode(ones, f32)]))

    def pieces() -> Iterator[np.ndarray]:
        generator = np.random.default_rng([SEED, zlib.crc32(name.encode())])
        scale = np.float32(1 / math.sqrt(shape[-1]))
        for begin, end in _row_ranges(*shape):
            values = generator.standard_normal((end - begin, shape[-1]), dtype=np.float32)
            yield _encode(values * scale, kind)

    return Tensor(name, shape, kind, pieces)


def _model_values(shape: Shape, kind_name: str, name: str) -> list[Value]:
    counts = {
        "general.file_type": int(FILE_TYPES[kind_name]),
        "general.quantization_version": 2,
        "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.kv_heads,
        "llama.attention.key_length": shape.head_dim,
        "llama.attention.value_length": shape.head_dim,
        "llama.block_count": shape.layers,
        "llama.context_length": shape.context,
        "llama.embedding_length": shape.hidden,
        "llama.feed_forward_length": shape.inner,
        "llama.rope.dimension_count": shape.head_dim,
        "llama.vocab_size": shape.vocab,
    }
    reals = {
        "llama.attention.layer_norm_rms_epsilon": shape.epsilon,
        "llama.rope.freq_base": shape.rope_theta,
    }
    values = [Value("general.name", name, GGUFValueType.STRING)]
    values += [Value(key, count, GGUFValueType.UINT32) for key, count in counts.items()]
    return values + [Value(key, real, GGUFValueType.FLOAT32) for key, real in reals.items()]


# --- a vocabulary ---------------------------------------------------------------------------------

CONTROL_TOKENS = 256  # as many as Llama 3 has, at the end
BEGIN_OF_TEXT, END_OF_TURN = 0, 9  # among them, as in Llama 3
TOKEN_NORMAL, TOKEN_CONTROL = 1, 3  # the format's own numbers


def byte_characters() -> list[str]:
    """The character that stands for each byte in byte-level BPE: itself if it is visible."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    replaced = {byte: 256 + i for i, byte in enumerate(b for b in range(256) if b not in visible)}
    return [chr(replaced.get(byte, byte)) for byte in range(256)]


def make_words(count: int) -> list[tuple[str, str]]:
    """Merges, each of two tokens: words of 2 and 3 letters, words after a space, longer words."""
    space = byte_characters()[ord(" ")]

    def spelled(length: int) -> Iterator[tuple[str, str]]:
        letters = itertools.product(string.ascii_lowercase, repeat=length)
        return (("".join(word[:-1]), word[-1]) for word in letters)

    short = [*spelled(2), *spelled(3)]
    spaced = [(space, letter) for letter in string.ascii_lowercase]
    spaced += [(space, "".join(pair)) for pair in short]
    words = list(itertools.islice(itertools.chain(short, spaced, spelled(4)), count))
    assert len(words) == count, "more tokens than words of up to four letters"
    return words


def tokenizer_values(vocab: int) -> list[Value]:
    """A byte-level BPE vocabulary of `vocab` tokens that llama.cpp and mlxcel both take.

    A tiny one has fewer words than Llama's, never fewer bytes or control tokens.
    """
    words = make_words(vocab - CONTROL_TOKENS - len(byte_characters()))
    control = [f"<|reserved_special_token_{i}|>" for i in range(CONTROL_TOKENS)]
    control[BEGIN_OF_TEXT], control[END_OF_TURN] = "<|begin_of_text|>", "<|eot_id|>"
    tokens = [*byte_characters(), *("".join(pair) for pair in words), *control]
    types = [TOKEN_NORMAL] * (vocab - CONTROL_TOKENS) + [TOKEN_CONTROL] * CONTROL_TOKENS
    text, array = GGUFValueType.STRING, GGUFValueType.ARRAY
    first, count = vocab - CONTROL_TOKENS, GGUFValueType.UINT32
    merges = [f"{left} {right}" for left, right in words]
    return [
        Value("tokenizer.ggml.model", "gpt2", text),
        Value("tokenizer.ggml.pre", "llama-bpe", text),
        Value("tokenizer.ggml.tokens", tokens, array, text),
        Value("tokenizer.ggml.token_type", types, array, GGUFValueType.INT32),
        Value("tokenizer.ggml.merges", merges, array, text),
        Value("tokenizer.ggml.bos_token_id", first + BEGIN_OF_TEXT, count),
        Value("tokenizer.ggml.eos_token_id", first + END_OF_TURN, count),
        Value("tokenizer.ggml.add_bos_token", False, GGUFValueType.BOOL),
    ]
