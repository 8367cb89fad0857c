"""The developer tools themselves: packing, dequantization, the oracle's mathematics, its bound."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import DATA, join_ids

import make_fixtures
import make_zoo
import oracle_fp64
from checkpoint_io import (
    Tensor,
    decode,
    dequantize_affine,
    encode,
    fma_f32,
    pack_bits,
    quantize_affine,
    read_folder,
    read_safetensors,
    unpack_bits,
    write_safetensors,
)
from oracle_fp64 import Exact, LlamaConfig, Oracle, RopeRule, eos_ids
from seeded_random import SeededRandom

ZOO = {variant.name: variant for variant in make_zoo.VARIANTS}
BITS = (2, 3, 4, 5, 6, 8)


def fixture_of(name: str) -> dict:
    return json.loads((DATA / "zoo" / f"{name}.json").read_text())


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("zoo")
    for variant in make_zoo.VARIANTS:
        make_zoo.make_variant(variant, out)
    return out


@pytest.mark.parametrize("bits", BITS)
def test_packing_is_one_little_endian_bit_stream_a_row(bits: int) -> None:
    codes = np.array(SeededRandom(bits).integers(3 * 64, 1 << bits), np.uint8).reshape(3, 64)
    words = pack_bits(codes, bits)
    assert words.shape == (3, 64 * bits // 32)
    for row, packed in zip(codes.tolist(), words):
        stream = sum(code << (place * bits) for place, code in enumerate(row))
        assert int.from_bytes(packed.tobytes(), "little") == stream
    assert np.array_equal(unpack_bits(words, bits), codes)


def nearest_f32(exact: Fraction) -> float:
    """Rounds to the nearest f32, ties to even, by comparing the neighbours of a first guess."""
    guess = np.float32(float(exact))
    candidates = [guess, *(np.nextafter(guess, np.float32(side)) for side in (-np.inf, np.inf))]
    keys = [(abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1) for c in candidates]
    return float(candidates[keys.index(min(keys))])


@pytest.mark.parametrize("factor, scale, bias", [
    (3.0, 2.0**-60, 1.0),
    (255.0, 1 / 3, -85.0),
    (7.0, -0.1, 0.7),
    # 2^24 + 1 is a tie of f32; the bias decides it from beyond float64's last bit.
    (16777217.0, 1.0, 2.0**-40),
    (16777217.0, 1.0, -(2.0**-40)),
    (16777219.0, 1.0, -(2.0**-40)),
    (16777219.0, 1.0, 0.0),
])
def test_fma_rounds_once(factor: float, scale: float, bias: float) -> None:
    operands = [np.array([np.float32(value)], np.float64) for value in (scale, bias)]
    exact = Fraction(factor) * Fraction(operands[0][0]) + Fraction(operands[1][0])
    assert float(fma_f32(np.array([factor]), *operands)[0]) == nearest_f32(exact)


def test_bf16_rounds_to_nearest_even() -> None:
    values = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20, -1.0])
    assert decode(encode(values, "BF16")).tolist() == [1.0, 1 + 2.0**-6, 1 + 2.0**-7, -1.0]


@pytest.mark.parametrize("bits", BITS)
def test_quantized_weights_are_within_half_a_step(bits: int) -> None:
    weight = SeededRandom(bits).normal((4, 128))
    parts = quantize_affine(weight, bits, 32, "F32")
    error = np.abs(dequantize_affine(*parts, bits) - weight).reshape(4, 4, 32)
    step = np.abs(decode(parts[1]))[..., None]
    assert np.all(error <= step * (0.5 + 1e-5))
    assert np.any(decode(parts[1]) < 0) and np.any(decode(parts[1]) > 0)


@pytest.mark.parametrize("align", [1, 8, 64])
def test_safetensors_read_back_as_written(tmp_path: Path, align: int) -> None:
    random = SeededRandom(1)
    tensors = {dtype: encode(random.normal((3, 5)), dtype) for dtype in ("BF16", "F16", "F32")}
    tensors["codes"] = Tensor("U32", np.arange(6, dtype=np.uint32).reshape(2, 3))
    write_safetensors(tmp_path / "file", tensors, align)
    header = int.from_bytes((tmp_path / "file").read_bytes()[:8], "little")
    assert (8 + header) % align == 0
    for name, (dtype, data) in read_safetensors(tmp_path / "file").items():
        assert dtype == tensors[name].dtype
        assert np.array_equal(data, tensors[name].data)


def test_llama3_frequencies_follow_the_three_wavelength_bands() -> None:
    rule = RopeRule.from_config({"rope_theta": 10000.0, "rope_scaling": make_zoo.LLAMA3_ROPE})
    bands = set()
    for pair, got in enumerate(rule.frequencies(32)):
        plain = 10000.0 ** (-2 * pair / 32)
        wavelength = 2 * math.pi / plain
        if wavelength < 32 / 4.0:
            band, expected = "kept", plain
        elif wavelength > 32 / 1.0:
            band, expected = "slowed", plain / 8
        else:
            smooth = (32 / wavelength - 1.0) / (4.0 - 1.0)
            band, expected = "blended", (1 - smooth) * plain / 8 + smooth * plain
        bands.add(band)
        assert got == pytest.approx(expected, rel=1e-14)
    assert bands == {"kept", "slowed", "blended"}


@pytest.mark.parametrize("key, value", [
    ("model_type", "gemma"),
    ("hidden_act", "gelu"),
    ("sliding_window", 16),
    ("rope_scaling", {"rope_type": "yarn", "factor": 2.0}),
])
def test_oracle_refuses_what_it_does_not_implement(key: str, value: object) -> None:
    config = {**make_zoo.make_config(ZOO["dense-f32"]), key: value}
    with pytest.raises(ValueError, match="not implemented"):
        LlamaConfig.from_json(config)


def test_eos_is_the_union_of_ints_and_lists(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"eos_token_id": 7}')
    assert eos_ids(tmp_path) == {7}
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 9]}')
    assert eos_ids(tmp_path) == {7, 9}


def test_zoo_covers_every_width_and_group() -> None:
    cells = [(v.bits, v.group, v.metadata) for v in ZOO.values() if v.bits]
    for place, needed in enumerate((BITS, (32, 64, 128), ("F16", "BF16", "F32"))):
        assert {cell[place] for cell in cells} == set(needed)


def test_zoo_and_fixtures_name_the_same_variants() -> None:
    assert {path.stem for path in (DATA / "zoo").glob("*.json")} == set(ZOO)


@pytest.mark.parametrize("name", ZOO)
def test_zoo_is_made_of_the_same_bytes(zoo: Path, name: str) -> None:
    assert make_zoo.digest(zoo / name) == fixture_of(name)["checkpoint_sha256"]


@pytest.mark.parametrize("name", ["rope-parameters", "q-mixed", "odd-sizes-bf16"])
def test_fixtures_are_reproducible(tmp_path: Path, name: str) -> None:
    make_fixtures.write_fixture(
        tmp_path / "again.json", make_fixtures.make_fixture(ZOO[name], tmp_path)
    )
    assert (tmp_path / "again.json").read_bytes() == (DATA / "zoo" / f"{name}.json").read_bytes()


def test_two_shards_hold_what_one_file_holds(zoo: Path, tmp_path: Path) -> None:
    whole = dataclasses.replace(ZOO["two-shards"], shards=1)
    single = read_folder(make_zoo.make_variant(whole, tmp_path))
    sharded = read_folder(zoo / "two-shards")
    assert sorted(single) == sorted(sharded)
    assert all(np.array_equal(single[name].data, sharded[name].data) for name in single)


def test_cached_steps_equal_one_pass(zoo: Path) -> None:
    oracle = Oracle(zoo / "rope-llama3")
    ids = fixture_of("rope-llama3")["prompt_ids"]
    whole = oracle.forward(ids, [], Exact())
    cache: list = []
    parts = [oracle.forward(part, cache, Exact()) for part in (ids[:7], ids[7:8], ids[8:])]
    assert np.allclose(np.concatenate(parts), whole, rtol=1e-12, atol=1e-12)


def test_taps_hold_every_layer_for_every_position(zoo: Path) -> None:
    oracle = Oracle(zoo / "mqa-three-layers")
    result = oracle.generate([1, 2, 3, 4], 3, ignore_eos=True, tapped=True)
    assert list(result.taps) == ["embed", "layer.0", "layer.1", "layer.2"]
    assert all(rows.shape == (4 + 2, 64) for rows in result.taps.values())
    last = oracle.head(result.taps["layer.2"][-1:], Exact())
    assert np.allclose(last[0], result.logits[-1], rtol=1e-12)


class Rounding(Exact):
    """A whole pass with operands and results rounded to a given type, as a stand-in engine."""

    def __init__(self, dtype: type) -> None:
        self._dtype = dtype

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        product = left.astype(self._dtype).astype(np.float32) @ right.astype(np.float32)
        return product.astype(self._dtype).astype(np.float64)

    def rounded(self, values: np.ndarray, _ulps: float | np.ndarray) -> np.ndarray:
        return values.astype(self._dtype).astype(np.float64)


def deviation(folder: Path, name: str, ops: Exact | None = None) -> float:
    """Largest distance from the fixture's logits, over its steps, with its ids forced."""
    fixture = fixture_of(name)
    ids = fixture["ids"]
    got = Oracle(folder).generate(fixture["prompt_ids"], len(ids), forced=ids, ops=ops).logits
    rows = fixture["logits"].items()
    return max(float(np.max(np.abs(got[int(step)] - row))) for step, row in rows)


@pytest.mark.parametrize("name", ["dense-f32", "q4-g64-bf16", "mqa-three-layers", "odd-sizes-bf16"])
def test_bound_admits_f32_and_rejects_f16_arithmetic(zoo: Path, name: str) -> None:
    bound = fixture_of(name)["error_bound"]
    assert deviation(zoo / name, name, Rounding(np.float32)) < bound
    assert deviation(zoo / name, name, Rounding(np.float16)) > 10 * bound


@pytest.mark.parametrize("name, change", [
    ("rope-llama3", {"rope_scaling": None}),
    ("rope-linear", {"rope_scaling": None}),
    ("rope-parameters", {"rope_parameters": {**make_zoo.LLAMA3_ROPE}}),
    ("mistral", {"rms_norm_eps": 1e-3}),
    ("dense-f32", {"rope_theta": 10500.0}),
])
def test_fixtures_notice_a_misread_config(
    zoo: Path, tmp_path: Path, name: str, change: dict
) -> None:
    folder = shutil.copytree(zoo / name, tmp_path / name)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    assert deviation(folder, name) > 10 * fixture_of(name)["error_bound"]


@pytest.mark.parametrize("name", ["all-biases", "q8-g64-f16"])
def test_fixtures_notice_a_dropped_bias(zoo: Path, tmp_path: Path, name: str) -> None:
    for suffix in ("q_proj", "o_proj", "down_proj"):
        folder = shutil.copytree(zoo / name, tmp_path / name / suffix)
        tensors = read_folder(folder)
        dropped = f"model.layers.0.{'mlp' if suffix == 'down_proj' else 'self_attn'}.{suffix}.bias"
        del tensors[dropped]
        write_safetensors(folder / "model.safetensors", tensors)
        assert deviation(folder, name) > 10 * fixture_of(name)["error_bound"]


def test_zoo_tokenizer_reads_bytes_as_ids(zoo: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    loaded = tokenizers.Tokenizer.from_file(str(zoo / "dense-f32" / "tokenizer.json"))
    text = "z\u00e9\n<s>\u732b"
    ids = [0x7A, 0xC3, 0xA9, 0x0A, 256, 0xE7, 0x8C, 0xAB]
    assert loaded.encode(text).ids == ids
    assert loaded.decode(ids, skip_special_tokens=False) == text
    assert loaded.encode("the").ids == [261]


def test_oracle_command_writes_ids_logits_and_taps(zoo: Path, tmp_path: Path) -> None:
    fixture = fixture_of("tied-gqa-bf16")
    paths = {kind: tmp_path / name for kind, name in [
        ("--json", "out.json"), ("--logits", "out.npy"), ("--taps", "out.npz"),
    ]}
    outputs = [str(part) for pair in paths.items() for part in pair]
    ids = join_ids(fixture["prompt_ids"])
    model = str(zoo / "tied-gqa-bf16")
    oracle_fp64.main(["-m", model, "--ids", ids, "-n", "16", "--ignore-eos", "--bound", *outputs])
    report = json.loads(paths["--json"].read_text())
    assert report["ids"] == fixture["ids"]
    assert make_fixtures.round_up(report["error_bound"]) == fixture["error_bound"]
    assert np.load(paths["--logits"]).shape == (16, 288)
    assert "layer.1" in np.load(paths["--taps"])
