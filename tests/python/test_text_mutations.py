"""Mutations of emitted texts change results, unless a proof says that they can't.

iree-canonical: the rules of src/emit/canonical/canonical_mutations.c, compiled and run beside the
unmutated text on operands made to tell them apart. By structure canonical_mutation_test notices
every one of them; here is the numeric half. One mutation of every class, field and rule runs, and
one of those that are proved equivalent; MLXCEL_ALL_MUTATIONS=1 runs all.

mlx-cpu-0.32.4: edits of the sequences of kernels, which real oracle runs must notice.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cli_program import PROGRAM, needs_program

pytest.importorskip("iree.runtime", reason="iree-base-runtime isn't installed (scripts/setup.sh)")

from iree import runtime

from iree_program import BF16, compile_text
from mlx_text_mutations import MLX_TEXT_MUTATIONS, TextMutation

LIST = os.environ.get("MLXCEL_MUTATION_LIST", "")
ALL = os.environ.get("MLXCEL_ALL_MUTATIONS") == "1"
WORKERS = 2  # compilers at a time
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": BF16, "i32": np.int32, "u8": np.int8}

# --- iree-canonical ---------------------------------------------------------------------------------

DRAWS = 80  # of operands, before a mutation counts as one without effect
# By draw: the operands' size, and how far their exponents are spread.
SIZES = (1.0, 1.0, 30.0, 1e-3, 0.1, 3.0)
SPREADS = (0.5, 0.0, 2.0, 1.0, 0.0, 1.0)
NORMS = ("rms-norm", "layer-norm", "cumulative-norm")
SUMS = ("attention", "softmax", "dense-matmul", "quantized-matmul", "convolution", "qkv-rope", "activation-projection", "dequantize")
# Activations of a projection whose gates lie where exponentials and error functions bend, by dtype and draw.
PROJECTED = {"f32": (1.0, 0.3, 2.0), "bf16": (0.03, 0.01, 0.02)}


def size_of(op: str, name: str, is_first: bool, draw: int) -> float:
    """About how large an operand's elements are."""
    size = SIZES[draw % len(SIZES)]
    if op in NORMS:
        return size if is_first else 1.0
    if op in SUMS:  # large ones would overflow f16, small ones vanish beside each other
        return 1.0 if size > 10 else max(size, 0.3)
    return size


def integers(case: dict, operand: dict) -> np.ndarray:
    """Slots or positions."""
    count = operand["dims"][0]
    if operand["name"] == "slots":
        return np.zeros(count, np.int32)
    keys = next((o["dims"][-2] for o in case["operands"] if o["name"] in ("k", "k_cache")), 8)
    return np.arange(keys - count, keys, dtype=np.int32)


def operands_of(case: dict, draw: int) -> list[np.ndarray]:
    """Operands number `draw` of a case."""
    random = np.random.default_rng(draw)
    result = []
    for index, operand in enumerate(case["operands"]):
        dtype, shape = operand["dtype"], operand["dims"]
        if dtype == "u8":
            result.append(random.integers(-128, 128, shape).astype(np.int8))
        elif dtype == "i32":
            result.append(integers(case, operand))
        else:
            values = random.standard_normal(shape) * np.exp(SPREADS[draw % len(SPREADS)] * random.standard_normal(shape))
            values *= size_of(case["op"], operand["name"], index == 0, draw)
            if case["op"] == "activation-projection" and index == 0:
                values *= PROJECTED[dtype][draw % 3]
            result.append(values.astype(np.float32).astype(DTYPES[dtype]))
    return result


class Loaded:
    """A module's function."""

    def __init__(self, module: bytes) -> None:
        self._context = runtime.SystemContext(config=runtime.Config("local-sync"))
        loaded = runtime.VmModule.copy_buffer(self._context.instance, module)
        self._context.add_vm_module(loaded)
        self._function = self._context.modules[loaded.name]["operation"]

    def __call__(self, operands: list[np.ndarray]) -> bytes:
        """The result's bytes."""
        return np.array(self._function(*operands).to_host()).tobytes()


def mutation_list() -> list[dict]:
    """Cases with their mutations; src/emit/canonical."""
    if not LIST:
        pytest.skip("MLXCEL_MUTATION_LIST isn't set: run under ctest")
    lines = subprocess.run([LIST], capture_output=True, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def selected(cases: list[dict]) -> list[tuple[dict, dict]]:
    """Of every class, field and rule the first mutation that can change results and the first that can't; or all."""
    pairs = [(case, mutation) for case in cases for mutation in case["mutations"]]
    if ALL:
        return pairs
    first = {}
    for case, mutation in pairs:
        first.setdefault((case["op"], mutation["field"], mutation["rule"], mutation["proof"] is None), (case, mutation))
    return list(first.values())


def first_difference(case: dict, plain: Loaded, mutated: Loaded, known: list[bytes]) -> int | None:
    """The first draw of operands on which results differ. `known`: results of the unmutated text, extended."""
    for draw in range(DRAWS):
        operands = operands_of(case, draw)
        if draw == len(known):
            known.append(plain(operands))
        if mutated(operands) != known[draw]:
            return draw
    return None


def test_canonical_mutations_change_results_unless_proved_not_to(capsys: pytest.CaptureFixture[str]) -> None:
    cases = mutation_list()
    pairs = selected(cases)
    used = {case["case"]: case for case, _ in pairs}
    plain, known = {}, {name: [] for name in used}
    problems, counts = [], Counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        mutated = pool.map(lambda pair: compile_text(pair[1]["text"]), pairs)
        for (name, _), module in zip(used.items(), pool.map(lambda case: compile_text(case["text"]), used.values())):
            plain[name] = Loaded(module)
        for (case, mutation), module in zip(pairs, mutated):
            name = case["case"]
            draw = first_difference(case, plain[name], Loaded(module), known[name])
            label = f"{name}/{mutation['rule']}/{mutation['occurrence']} ({mutation['field']})"
            if draw is None and mutation["proof"] is None:
                problems.append(f"{label}: no result differs")
            if draw is not None and mutation["proof"] is not None:
                problems.append(f"{label}: results differ on draw {draw}; the proof was: {mutation['proof']}")
            counts[case["op"], "equivalent" if draw is None else "effective"] += 1
    total = sum(len(case["mutations"]) for case in cases)
    with capsys.disabled():
        print(f"\niree-canonical: {len(pairs)} of {total} mutations ran")
        for op in dict.fromkeys(case["op"] for case in cases):
            print(f"iree-canonical {op}: {counts[op, 'effective']} changed results, {counts[op, 'equivalent']} proved equivalent")
    assert problems == []


# --- mlx-cpu-0.32.4 ---------------------------------------------------------------------------------

MLX = "mlx-cpu-0.32.4"
GROUPS = list(dict.fromkeys(m.helper for m in MLX_TEXT_MUTATIONS))
EXIT_NOT_EARNED = 1
needs_mlx = pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="MLX isn't installed: scripts/requirements.txt")


@dataclass(frozen=True)
class Run:
    """What `mlxcel oracle run` said."""

    code: int
    rows: list[dict]
    message: str


def run_mutated(mutation: TextMutation, index: int, cache: Path, mutate: bool = True) -> Run:
    """One case, its text edited or not."""
    command = [PROGRAM, "oracle", "run", mutation.run, "--case", str(index), "--profile", MLX, "--device", "local-sync"]
    command += ["--repeat", "1", "--json", "--no-evidence", "--cpu-level", "v3", "--threads", "1", "--cache-dir", str(cache)]
    if mutate:
        command += ["--mutate", f"{mutation.old}=>{mutation.new}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return Run(done.returncode, json.loads(done.stdout) if done.stdout else [], done.stderr)


def case_index(mutation: TextMutation) -> int:
    """The class's first case that the mutation names."""
    command = [PROGRAM, "oracle", "list", mutation.run, "--json", "--profile", MLX, "--dtype", mutation.dtype]
    for case in json.loads(subprocess.run(command, capture_output=True, check=True).stdout):
        if MLX in case["profiles"] and mutation.case in f"{case['variant']} {case['weight_dtype']} {case['shape']}":
            return case["case"]
    raise AssertionError(f"{mutation.label}: {mutation.run} has no case '{mutation.case}' of {mutation.dtype}")


def problem_of(mutation: TextMutation, cache: Path) -> str | None:
    """What is wrong with it."""
    run = run_mutated(mutation, case_index(mutation), cache)
    if run.code not in (0, EXIT_NOT_EARNED) or not run.rows or not run.rows[0]["run"]:
        return f"{mutation.label}: it doesn't run: {run.message}"
    if mutation.proof and run.code == EXIT_NOT_EARNED:
        return f"{mutation.label}: not equivalent after all; the proof was: {mutation.proof}"
    if not mutation.proof and run.code == 0:
        return f"{mutation.label}: nobody notices"
    return None


@needs_program
@needs_mlx
@pytest.mark.parametrize("helper", GROUPS)
def test_mlx_text_mutations_are_noticed(helper: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = [m for m in MLX_TEXT_MUTATIONS if m.helper == helper]
    with ThreadPoolExecutor(WORKERS) as pool:
        problems = [problem for problem in pool.map(lambda m: problem_of(m, tmp_path), group) if problem]
    proved = sum(bool(m.proof) for m in group)
    with capsys.disabled():
        print(f"\n{MLX} text of {helper}: {len(group)} mutations, {len(group) - proved} to be noticed, {proved} proved equivalent")
    assert problems == []


@needs_program
@needs_mlx
def test_unmutated_mlx_texts_pass_the_same_runs(tmp_path: Path) -> None:
    cases = {(m.run, case_index(m)): m for m in MLX_TEXT_MUTATIONS}
    with ThreadPoolExecutor(WORKERS) as pool:
        runs = list(pool.map(lambda item: run_mutated(item[1], item[0][1], tmp_path, mutate=False), cases.items()))
    assert [case for case, run in zip(cases, runs) if run.code != 0] == []


def test_every_composed_helper_has_a_text_mutation() -> None:
    composed = {"activation", "silu-gate", "cumulative-norm", "attention", "rope", "convolution"}
    assert composed <= {m.helper for m in MLX_TEXT_MUTATIONS if not m.proof}
