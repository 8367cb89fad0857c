"""Whole models under profile mlx-cpu-0.32.4 against mlx-lm on MLX's CPU, bit for bit.

The zoo and SmolLM2 (f32, f16, bf16 and MLX's own Q4 in groups of 32 and 64): every operation's
output in every layer, every step's logits, and 32 greedy tokens. A difference is reported as the
first operation in order of execution whose bits differ.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_program import PROGRAM, needs_program
from conftest import ROOT, Program, join_ids

import make_zoo
import mlx_models
from mlx_models import mx, nn

PROFILE = "mlx-cpu-0.32.4"
TOKENS = 32
ZOO = {variant.name: variant for variant in make_zoo.VARIANTS}
# MLX takes llama3's frequencies from the host's powf: refused by name.
REFUSED = ("rope-llama3", "rope-parameters")
BITS = {mx.float32: np.uint32, mx.float16: np.uint16, mx.bfloat16: np.uint16}
SMOLLM2 = Path(os.environ.get("MLXCEL_MODELS", "")) / "smollm2-135m-instruct"
PROMPT = [504, 3575, 282, 4649, 314, 260, 2939, 1235]
needs_smollm2 = pytest.mark.skipif(
    not (SMOLLM2 / "config.json").is_file(), reason=f"no {SMOLLM2}: make model"
)
pytestmark = needs_program


@pytest.fixture(scope="module")
def mlx_program(tmp_path_factory: pytest.TempPathFactory, evidence: Path) -> Program:
    return Program(Path(PROGRAM), tmp_path_factory.mktemp("mlx"), MLXCEL_EVIDENCE_DIR=str(evidence))


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence for the profile, without which it is closed: test_oracle.py's, or made here."""
    if "MLXCEL_TEST_EVIDENCE" in os.environ:
        return Path(os.environ["MLXCEL_TEST_EVIDENCE"])
    folder = tmp_path_factory.mktemp("evidence")
    command = [PROGRAM, "oracle", "run", "--all", "--profile", PROFILE, "--device", "local-task"]
    done = subprocess.run(
        command,
        env={**os.environ, "MLXCEL_EVIDENCE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


def bits_of(value: Any) -> np.ndarray:
    """An MLX array's bit patterns."""
    wide = {np.uint16: mx.uint16, np.uint32: mx.uint32}[BITS[value.dtype]]
    return np.array(value.view(wide))


def our_taps(folder: Path, ids: list[int], tmp_path: Path) -> dict[str, Any]:
    """The same values from `mlxcel taps`."""
    path = tmp_path / "taps.safetensors"
    command = [PROGRAM, "taps", "-m", str(folder), "--profile", PROFILE]
    command += ["--prompt-ids", join_ids(ids), "-o", str(path), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return mx.load(str(path))


def first_divergence(ours: dict[str, Any], theirs: dict[str, Any], layers: int) -> str | None:
    """The first tap in order of execution that differs, described; None if none does."""
    steps = ("input_norm", "keys", "values", "queries", "attention")
    steps += ("attention_residual", "post_norm", "gated")
    order = [f"layers.{i}.{step}" for i in range(layers) for step in (*steps, "output")]
    order = ["embedding", *order, "norm", "logits"]
    assert set(order) == set(ours) == set(theirs)
    for name in order:
        if ours[name].dtype != theirs[name].dtype or ours[name].shape != theirs[name].shape:
            return f"{name}: {ours[name].dtype} {ours[name].shape}, MLX {theirs[name].dtype}"
        left, right = bits_of(ours[name]), bits_of(theirs[name])
        if not np.array_equal(left, right):
            at = tuple(int(i) for i in np.argwhere(left != right)[0])
            differing = int(np.count_nonzero(left != right))
            return f"{name}: {differing} of {left.size} differ, first at {at}"
    return None


def check_model(
    program: Program, folder: Path, prompt: list[int], tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    """Taps of the prompt, then greedy tokens with every step's logits."""
    model = mlx_models.load_model(folder)
    theirs = mlx_models.record(model, prompt, patch)
    ours = our_taps(folder, prompt, tmp_path)
    assert first_divergence(ours, theirs, len(model.model.layers)) is None
    answer = program.generate(folder, prompt, TOKENS, "--ignore-eos", "--profile", PROFILE)
    ids, rows = mlx_models.greedy(model, prompt, TOKENS)
    assert answer.ids == ids
    expected = np.array(mx.stack([row.astype(mx.float32) for row in rows]))
    assert np.array_equal(answer.logits.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("name", [name for name in ZOO if name not in REFUSED])
def test_zoo_is_bit_identical_to_mlx_lm(
    mlx_program: Program, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_zoo.make_variant(ZOO[name], tmp_path)
    fixture = json.loads((ROOT / "tests" / "data" / "zoo" / f"{name}.json").read_text())
    check_model(mlx_program, folder, fixture["prompt_ids"], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", REFUSED)
def test_scaled_frequencies_are_refused_by_name(name: str, tmp_path: Path) -> None:
    folder = make_zoo.make_variant(ZOO[name], tmp_path)
    command = [PROGRAM, "compile", "-m", str(folder), "--profile", PROFILE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert "llama3" in done.stderr and "pinned-f32" in done.stderr


def dense_weights(dtype: Any) -> dict[str, Any]:
    """SmolLM2's weights, dequantized in f32 and rounded to `dtype`."""
    model = mlx_models.load_model(SMOLLM2)
    weights = {}
    for path, module in model.named_modules():
        if hasattr(module, "scales"):
            scales, biases = module.scales.astype(mx.float32), module.biases.astype(mx.float32)
            wide = mx.dequantize(module.weight, scales, biases, module.group_size, module.bits)
            weights[f"{path}.weight"] = wide.astype(dtype)
        elif hasattr(module, "weight"):
            weights[f"{path}.weight"] = module.weight.astype(dtype)
    mx.eval(weights)
    return weights


def write_smollm2(folder: Path, dtype: Any, group_size: int | None) -> Path:
    """SmolLM2 as a checkpoint of `dtype`, or quantized by MLX to 4 bits of `dtype` scales."""
    folder.mkdir()
    for path in SMOLLM2.iterdir():
        if path.suffix == ".json" or path.suffix == ".jinja":
            shutil.copy(path, folder)
    config = json.loads((folder / "config.json").read_text())
    config.pop("quantization", None)
    config.pop("quantization_config", None)
    weights = dense_weights(dtype)
    if group_size:
        config["quantization"] = {"group_size": group_size, "bits": 4}
        for name in [name for name, value in weights.items() if value.ndim == 2]:
            path = name.removesuffix(".weight")
            codes, scales, biases = mx.quantize(weights[name], group_size, 4)
            weights.update({name: codes, f"{path}.scales": scales, f"{path}.biases": biases})
    (folder / "config.json").write_text(json.dumps(config))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    return folder


VARIANTS: dict[str, Callable[[Path], Path]] = {
    "as-imported": lambda _: SMOLLM2,
    "f32": lambda folder: write_smollm2(folder, mx.float32, None),
    "f16": lambda folder: write_smollm2(folder, mx.float16, None),
    "bf16": lambda folder: write_smollm2(folder, mx.bfloat16, None),
    "q4-g32-f16": lambda folder: write_smollm2(folder, mx.float16, 32),
    "q4-g64-bf16": lambda folder: write_smollm2(folder, mx.bfloat16, 64),
}


@needs_smollm2
@pytest.mark.parametrize("variant", VARIANTS)
def test_smollm2_is_bit_identical_to_mlx_lm(
    mlx_program: Program, variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = VARIANTS[variant](tmp_path / "model")
    check_model(mlx_program, folder, PROMPT, tmp_path, monkeypatch)
    shutil.rmtree(tmp_path / "model", ignore_errors=True)


def test_profile_is_closed_without_evidence(tmp_path: Path) -> None:
    folder = make_zoo.make_variant(ZOO["dense-bf16"], tmp_path)
    command = [PROGRAM, "generate", "-m", str(folder), "--profile", PROFILE]
    command += ["--prompt-ids", "1,2,3", "-n", "1"]
    done = subprocess.run(
        command,
        env={**os.environ, "MLXCEL_EVIDENCE_DIR": str(tmp_path / "nothing")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert "capability" in done.stderr and "mlxcel oracle run" in done.stderr
