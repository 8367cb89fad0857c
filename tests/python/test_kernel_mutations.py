"""Every mutation of a kernel is noticed by a real oracle run.

For each mutation (pinned_kernel_mutations.py, mlx_kernel_mutations.py) the edited source is compiled
into a kernel object, which takes the place of the built-in one in `mlxcel oracle run`: the same
emission, compiler, loader and reference as always, on operands made for it. The unedited sources
must pass the same runs. By structure every edit is noticed, too: it changes the digest of the
sources, which is a field of every clause.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cli_program import PROGRAM, needs_program
from conftest import ROOT

import mlx_kernel_mutations
import pinned_kernel_mutations
from kernel_mutations import MLX, PINNED, Mutation
from mlx_text_mutations import MLX_TEXT_MUTATIONS

MUTATIONS = pinned_kernel_mutations.PINNED_MUTATIONS + mlx_kernel_mutations.MLX_MUTATIONS
GROUPS = list(dict.fromkeys((m.profile, m.helper) for m in MUTATIONS))
KERNELS = ROOT / "src" / "kernels"
LEVEL = "v3"
WORKERS = 2  # mutations at a time: each compiles a kernel, compiles a module and runs MLX
RUN_TIMEOUT_S = 300
CLAIMS = ("none", "mathematical-closeness", "canonical-decomposition", "production-mlx")  # weakest first


@dataclass(frozen=True)
class Sources:
    """How a profile's kernels are built."""

    root: str
    digest_macro: str
    digested: tuple[str, ...]  # what the digest covers; src/kernels/CMakeLists.txt
    prelude_file: str
    prelude_anchor: str
    prelude: str
    option: str


SOURCES = {
    PINNED: Sources(
        "cpu/pinned_f32.c", "MLXCEL_KERNEL_SOURCE_DIGEST", ("cpu/*.c", "cpu/*.h", "kernel_abi.h"),
        "cpu/elementary.h", '#include "kernels/kernel_abi.h"\n', pinned_kernel_mutations.PRELUDE, "--pinned-object",
    ),
    MLX: Sources(
        "mlx/mlx_cpu.c", "MLXCEL_KERNEL_MLX_SOURCE_DIGEST", ("mlx/*.c", "mlx/*.h", "kernel_abi.h", "mlx_abi.h"),
        "mlx/mlx_number.h", "{ return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }\n", mlx_kernel_mutations.PRELUDE, "--mlx-object",
    ),
}
# The clause fields that an edit of a kernel can break; the others are the descriptor's alone
# (contract_mutation_test).
FIELDS = (
    "operand_dtype",
    "accumulator",
    "result_dtype",
    "rounding",
    "association",
    "dequantization",
    "constants",
    "functions",
    "denormals",
)
# Of f32 values in a narrower KV cache: the declared order is their only reference.
MLX_HAS_NONE = "MLX keeps keys and values in their own dtype"
# Their values are lists: every part needs a mutation of its own.
LISTS = ("rounding", "association", "functions")
# Of such a value there is nothing to break.
EMPTY = ("none", "exact-widen", "copy")
needs_mlx = pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="MLX isn't installed: scripts/requirements.txt")
pytestmark = [needs_program, needs_mlx]


# --- building ---------------------------------------------------------------------------------------


def compiler() -> list[str]:
    """The build's own compiler and flags for kernels."""
    command = os.environ.get("MLXCEL_KERNEL_COMPILE")
    if not command:
        pytest.skip("MLXCEL_KERNEL_COMPILE isn't set: run under ctest")
    return shlex.split(command)


def source_digest(profile: str, kernels: Path) -> str:
    """The digest that stands in the clauses of `profile`."""
    files = sorted({path for pattern in SOURCES[profile].digested for path in kernels.glob(pattern)}, key=str)
    lines = (f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def edited_sources(profile: str, folder: Path, mutation: Mutation | None) -> Path:
    """A copy of the kernels' sources in `folder`, edited: the folder that includes are relative to."""
    kernels = folder / "src" / "kernels"
    shutil.copytree(KERNELS, kernels)
    if not mutation:
        return kernels.parent
    path = kernels / mutation.file
    text = path.read_text()
    assert mutation.old in text, f"{mutation.label}: {mutation.file} has no such text any more"
    path.write_text(text.replace(mutation.old, mutation.new))
    assert source_digest(profile, kernels) != source_digest(profile, KERNELS), mutation.label
    prelude = kernels / SOURCES[profile].prelude_file
    text, anchor = prelude.read_text(), SOURCES[profile].prelude_anchor
    assert text.count(anchor) == 1, f"{prelude.name}: the place of the prelude"
    prelude.write_text(text.replace(anchor, anchor + SOURCES[profile].prelude))
    return kernels.parent


def compile_source(source: Path, include: Path, output: Path, *more: str) -> Path:
    """Compiles one file."""
    command = [*compiler(), "-w", f"-I{include}", *more, str(source), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


def kernel_object(profile: str, folder: Path, mutation: Mutation | None) -> Path:
    """The kernels of `profile`, edited by `mutation`."""
    include = edited_sources(profile, folder, mutation)
    return compile_source(include / "kernels" / SOURCES[profile].root, include, folder / "kernels.o", "-c")


# --- running ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A case of an oracle class."""

    profile: str
    run: str
    index: int


class Oracle:
    """Runs cases with kernels in the place of the built-in ones."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._lists: dict[str, list[dict]] = {}

    def case_of(self, mutation: Mutation) -> Case:
        """The class's first case that the mutation names."""
        if mutation.profile not in self._lists:
            command = [PROGRAM, "oracle", "list", "--json", "--profile", mutation.profile]
            self._lists[mutation.profile] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        for case in self._lists[mutation.profile]:
            text = f"{case['variant']} {case['weight_dtype']} {case['shape']}"
            same = (case["class"], case["dtype"]) == (mutation.run, mutation.dtype)
            if same and mutation.profile in case["profiles"] and mutation.case in text:
                return Case(mutation.profile, mutation.run, case["case"])
        raise AssertionError(f"{mutation.label}: {mutation.run} has no case '{mutation.case}' of {mutation.dtype}")

    def passes(self, case: Case, kernels: Path) -> bool:
        """Whether the case earns what its profile asks for, and isn't known to break its own clause."""
        command = [PROGRAM, "oracle", "run", case.run, "--case", str(case.index), "--profile", case.profile]
        command += ["--device", "local-sync", "--repeat", "1", "--json", "--no-evidence", "--cpu-level", LEVEL]
        command += ["--threads", "1", "--cache-dir", str(self._cache), SOURCES[case.profile].option, str(kernels)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False)
        assert done.returncode in (0, 1), done.stderr
        (row,) = json.loads(done.stdout)
        has_reference = "no reference" not in row["reason"] or MLX_HAS_NONE in row["reason"]
        assert row["run"] and has_reference, row["reason"]
        earned, asked = (CLAIMS.index(row[key].split("@")[0]) for key in ("claim_earned", "claim_asked"))
        assert (earned >= asked) == row["passes"] == (done.returncode == 0), row
        # A mutated kernel of pinned-f32 may happen to be MLX's: that is a claim, but not the clause.
        return row["passes"] and not row.get("decomposition_mismatches")


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """One module cache for all runs."""
    compiler()
    return Oracle(tmp_path_factory.mktemp("cache"))


# The residual of pinned-f32 is added by the matmul's kernel, which no operation by itself does.
RESIDUAL_DRIVER = """
#include "kernels/cpu/pinned_f32.c"
// Adds |residual| unless |flags| says that there is none, in the floating-point environment of IREE's workers.
__attribute__((visibility("default"))) void residual_matmul(const float* x, const uint8_t* w, const float* residual, const int32_t* positions, float* out,
                                                            int rows, int width, int outputs, int flags) {
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040u);
  mlxcel_pinned_matmul(x, 0, w, 0, w, 0, w, 0, w, 0, residual, 0, positions, 0, out, 0, rows, width, outputs, MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_F32), flags, 0, 1);
  _mm_setcsr(saved);
}
"""
ROWS, WIDTH, OUTPUTS, HAS_RESIDUAL = 6, 33, 37, 2


class ResidualMatmul:
    """The pinned matmul, called directly."""

    def __init__(self, folder: Path, mutation: Mutation | None) -> None:
        include = edited_sources(PINNED, folder, mutation)
        driver = folder / "driver.c"
        driver.write_text(RESIDUAL_DRIVER)
        library = compile_source(driver, include, folder / "kernels.so", "-shared", "-nostdlib")
        self._call = ctypes.CDLL(str(library)).residual_matmul

    def __call__(self, x: np.ndarray, w: np.ndarray, residual: np.ndarray | None) -> np.ndarray:
        out = np.zeros((ROWS, OUTPUTS), np.float32)
        positions = np.zeros(ROWS, np.int32)
        buffers = [array.ctypes.data for array in (x, w, x if residual is None else residual, positions, out)]
        flags = 0 if residual is None else HAS_RESIDUAL
        self._call(*map(ctypes.c_void_p, buffers), ROWS, WIDTH, OUTPUTS, flags)
        return out


def residual_passes(folder: Path, mutation: Mutation | None) -> bool:
    """Whether residual + product is IEEE's sum, on rows of noise, cancellation, ties, wide range and subnormals."""
    (folder / "plain").mkdir()
    plain, edited = ResidualMatmul(folder / "plain", None), ResidualMatmul(folder, mutation)
    random = np.random.default_rng(1)
    x = random.standard_normal((ROWS, WIDTH)).astype(np.float32)
    x[4] *= np.float32(2.0**-127)
    w = random.standard_normal((OUTPUTS, WIDTH)).astype(np.float32)
    product = plain(x, w, None)
    residual = random.standard_normal((ROWS, OUTPUTS)).astype(np.float32)
    residual[1] = -product[1] * (1 + 2.0**-6 * random.random(OUTPUTS)).astype(np.float32)
    residual[2] = np.spacing(np.abs(product[2])) / 2
    residual[3] *= np.exp2(random.integers(-30, 30, OUTPUTS)).astype(np.float32)
    residual[4] *= np.float32(2.0**-127)
    return edited(x, w, residual).tobytes() == (residual + product).tobytes()


def mutation_passes(mutation: Mutation, oracle: Oracle, folder: Path) -> bool:
    """Whether nothing is noticed."""
    folder.mkdir()
    if (mutation.profile, mutation.run) == (PINNED, "residual-add"):
        return residual_passes(folder, mutation)
    return oracle.passes(oracle.case_of(mutation), kernel_object(mutation.profile, folder, mutation))


# --- tests ------------------------------------------------------------------------------------------


def clauses(profile: str) -> list[dict[str, str]]:
    """The profile's clauses, as the program states them."""
    command = [PROGRAM, "contract", "show", "--profile", profile]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: list[dict[str, str]] = []
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "op":
            result.append({})
        if result:
            result[-1][key] = value
    return result


def parts_of(field: str, value: str) -> set[str]:
    """What of a clause's field needs a mutation."""
    if value in EMPTY:
        return set()
    parts = [re.split("[:(]", part)[0] for part in value.split("+")] if field in LISTS else []
    return {f"{field}:{part}" for part in parts} if len(parts) > 1 else {field}


@pytest.mark.parametrize("profile", (PINNED, MLX))
def test_every_field_of_every_helper_has_a_mutation(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    known = [m for m in MUTATIONS if m.profile == profile]
    have = {(helper, field) for m in known for helper in m.helper.split() for field in m.fields}
    if profile == MLX:  # whose composed helpers are texts: what stands in those no edit of a kernel can break
        have |= {(m.helper, field) for m in MLX_TEXT_MUTATIONS if not m.proof for field in m.fields.split()}
    needed = {
        (clause["op"], part)
        for clause in clauses(profile)
        for field in FIELDS
        for part in parts_of(field, clause[field])
    }
    assert len(needed) > len(FIELDS)
    assert needed - have == set()
    assert {helper for helper, _ in have} == {helper for helper, _ in needed}
    proved = sum(bool(m.proof) for m in known)
    with capsys.disabled():
        print(f"\n{profile}: {len(known)} mutations of kernels ({proved} proved equivalent); each of {len(needed)} parts of clauses has one")


@pytest.mark.parametrize("profile", (PINNED, MLX))
def test_source_digest_is_the_one_that_the_program_states(profile: str) -> None:
    header = Path(PROGRAM).resolve().parent / "src" / "kernels" / "kernel_digest.h"
    if not header.is_file():
        pytest.skip(f"{header} isn't there: MLXCEL_BIN isn't in a build folder")
    stated = re.search(rf'define {SOURCES[profile].digest_macro} "([0-9a-f]+)"', header.read_text())
    assert stated and stated[1] == source_digest(profile, KERNELS)


@pytest.mark.parametrize("profile", (PINNED, MLX))
def test_unedited_kernels_pass_the_same_runs(profile: str, oracle: Oracle, tmp_path: Path) -> None:
    kernels = kernel_object(profile, tmp_path, None)
    known = [m for m in MUTATIONS if m.profile == profile and (profile, m.run) != (PINNED, "residual-add")]
    cases = list(dict.fromkeys(map(oracle.case_of, known)))
    with ThreadPoolExecutor(WORKERS) as pool:
        passed = list(pool.map(lambda case: oracle.passes(case, kernels), cases))
    assert [case for case, ok in zip(cases, passed) if not ok] == []


def test_unedited_residual_is_added_as_stated(tmp_path: Path) -> None:
    assert residual_passes(tmp_path, None)


@pytest.mark.parametrize("profile, helper", GROUPS, ids=[f"{profile}-{helper.replace(' ', '+')}" for profile, helper in GROUPS])
def test_every_mutation_is_noticed(
    profile: str, helper: str, oracle: Oracle, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = [m for m in MUTATIONS if (m.profile, m.helper) == (profile, helper)]
    with ThreadPoolExecutor(WORKERS) as pool:
        passed = list(pool.map(lambda pair: mutation_passes(pair[1], oracle, tmp_path / str(pair[0])), enumerate(group)))
    problems = [f"{m.label}: nobody notices" for m, ok in zip(group, passed) if ok and not m.proof]
    problems += [f"{m.label}: not equivalent after all; the proof was: {m.proof}" for m, ok in zip(group, passed) if not ok and m.proof]
    with capsys.disabled():
        print(f"\n{profile} {helper}: {len(group)} mutations, {passed.count(False)} noticed, {passed.count(True)} proved equivalent")
    assert problems == []
