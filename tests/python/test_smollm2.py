"""SmolLM2-135M-Instruct through the program: reference ids, float64 logits, reproducible bits.

The ids of tests/data/smollm2-greedy-fp64.json come from a float64 pass and its smallest gap between
two best logits (0.015) is thirty times what f32 arithmetic can move (see rounding_bound in
tools/oracle_fp64.py, and test_zoo.py for its derivation in short), so they must match exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import DATA, Program, assert_same_bits

from oracle_fp64 import Oracle, rounding_bound, storage_bound

CASES = json.loads((DATA / "smollm2-greedy-fp64.json").read_text())["cases"]
CASE_NAMES = [case["prompt"] for case in CASES]
DEVICES = ("local-task", "local-sync")
CHUNKS = (8, 32, 128)
THREADS = (1, 2, 3, 4, 8)  # each is a module of its own
STOP_ID, STOP_TEXT = 2, "<|im_end|>"
GENERATED = 64
NARROW_GENERATED = 16
# More than the largest chunk and not a multiple of any: all cases on end, stops left out.
LONG_PROMPT = [
    token for case in CASES for token in case["prompt_ids"] + case["ids"] if token != STOP_ID
]
V4_FLAGS = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
BOUND_TRIALS = 2  # each costs two passes over 135 M weights
CACHE_DIGITS = {"f16": 11, "bf16": 8}  # binary digits of a significand


@pytest.fixture(scope="module")
def model(model_folder: Callable[[str], Path]) -> Path:
    return model_folder("smollm2-135m-instruct")


@pytest.fixture(scope="module")
def oracle(program: Program, model: Path) -> Oracle:
    """Asks for the program so that nothing is loaded when there is nothing to test."""
    return Oracle(model)


@pytest.fixture(scope="module")
def baseline(program: Program, model: Path) -> np.ndarray:
    """Logits of the plainest run: one thread, the smallest chunk, v3."""
    options = ("-t", "1", "--chunk", str(CHUNKS[0]), "--ignore-eos")
    return program.generate(model, LONG_PROMPT, 8, *options, level="v3").logits


@pytest.mark.parametrize("case", CASES, ids=CASE_NAMES)
def test_text_prompt_gives_the_reference_ids_and_text(
    program: Program, model: Path, case: dict
) -> None:
    report = program.generate(model, case["prompt"], GENERATED).report
    assert report["prompt_ids"] == case["prompt_ids"]
    assert report["ids"] == case["ids"]
    assert report["text"] == case["text"].removesuffix(STOP_TEXT)
    assert report["finish_reason"] == ("stop" if case["ids"][-1] == STOP_ID else "length")


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=CASE_NAMES)
def test_ids_equal_the_reference(
    program: Program, model: Path, case: dict, device: str, chunk: int
) -> None:
    options = ("--device", device, "--chunk", str(chunk))
    assert program.generate(model, case["prompt_ids"], GENERATED, *options).ids == case["ids"]


@pytest.mark.parametrize("ids", [*(case["prompt_ids"] for case in CASES), LONG_PROMPT],
                         ids=[*CASE_NAMES, "long prompt"])
def test_first_logits_agree_with_float64(
    program: Program, model: Path, oracle: Oracle, ids: list[int]
) -> None:
    exact = oracle.generate(ids, 1)
    answer = program.generate(model, ids, 1)
    error = np.max(np.abs(answer.logits.astype(np.float64) - exact.logits))
    assert error <= rounding_bound(oracle, exact, BOUND_TRIALS)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("chunk", CHUNKS)
def test_logits_are_bit_identical_over_threads_and_chunks(
    program: Program, model: Path, baseline: np.ndarray, threads: int, chunk: int
) -> None:
    options = ("-t", str(threads), "--chunk", str(chunk), "--ignore-eos")
    assert_same_bits(program.generate(model, LONG_PROMPT, 8, *options).logits, baseline)


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_logits_are_bit_identical_with_chunks_that_fit_no_function(
    program: Program, model: Path, baseline: np.ndarray, chunk: int
) -> None:
    options = ("-t", "2", "--chunk", str(chunk), "--ignore-eos")
    assert_same_bits(program.generate(model, LONG_PROMPT, 8, *options).logits, baseline)


def test_logits_are_bit_identical_when_repeated(
    program: Program, model: Path, baseline: np.ndarray
) -> None:
    for _ in range(3):
        answer = program.generate(model, LONG_PROMPT, 8, "-t", "2", "--ignore-eos")
        assert_same_bits(answer.logits, baseline)


def test_logits_are_bit_identical_on_local_sync(
    program: Program, model: Path, baseline: np.ndarray
) -> None:
    options = ("--device", "local-sync", "--ignore-eos")
    assert_same_bits(program.generate(model, LONG_PROMPT, 8, *options).logits, baseline)


def test_v4_kernels_give_the_bits_of_v3(
    program: Program, model: Path, baseline: np.ndarray
) -> None:
    flags = set(Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split())
    if not V4_FLAGS <= flags:
        pytest.skip(f"this CPU lacks {', '.join(sorted(V4_FLAGS - flags))}: no v4 kernels here")
    for threads in (1, 2, 8):
        options = ("-t", str(threads), "--ignore-eos")
        assert_same_bits(
            program.generate(model, LONG_PROMPT, 8, *options, level="v4").logits, baseline
        )


@pytest.mark.parametrize("dtype", CACHE_DIGITS)
def test_narrow_cache_moves_the_logits_as_far_as_its_roundings_explain(
    program: Program, model: Path, oracle: Oracle, dtype: str
) -> None:
    exact = oracle.generate(LONG_PROMPT, 1)
    wide = program.generate(model, LONG_PROMPT, 1).logits
    narrow = program.generate(model, LONG_PROMPT, 1, "--kv-dtype", dtype).logits
    moved = np.max(np.abs(narrow.astype(np.float64) - exact.logits))
    arithmetic = rounding_bound(oracle, exact, BOUND_TRIALS)
    storage = storage_bound(oracle, exact, CACHE_DIGITS[dtype], BOUND_TRIALS)
    print(f"{dtype}: {np.max(np.abs(narrow - wide))} from f32, {moved} from float64 of {storage}")
    assert arithmetic < np.max(np.abs(narrow - wide))  # it is narrower indeed
    assert moved <= arithmetic + storage


@pytest.mark.parametrize("dtype", CACHE_DIGITS)
def test_narrow_cache_gives_the_same_text_of_a_short_prompt(
    program: Program, model: Path, dtype: str
) -> None:
    case = min(CASES, key=lambda case: len(case["prompt_ids"]))
    answer = program.generate(model, case["prompt"], NARROW_GENERATED, "--kv-dtype", dtype)
    assert answer.ids == case["ids"][:NARROW_GENERATED]


@pytest.mark.parametrize("dtype", CACHE_DIGITS)
def test_narrow_cache_gives_bit_identical_logits(
    program: Program, model: Path, dtype: str
) -> None:
    common = ("--kv-dtype", dtype, "--ignore-eos")
    plain = program.generate(model, LONG_PROMPT, 8, *common, "-t", "1", "--chunk", "8", level="v3")
    for options in (("-t", "2"), ("-t", "4", "--chunk", "32"), ("--device", "local-sync")):
        assert_same_bits(program.generate(model, LONG_PROMPT, 8, *common, *options).logits, plain.logits)
