"""Every mutation of a kernel is noticed by a real oracle run.

For each mutation (kernel_mutations.py) the edited source is compiled into a kernel object, which
takes the place of the built-in one in `mlxcel oracle run`: the same emission, compiler, loader and
reference as always, on operands made for it. The unedited sources must pass the same runs.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from cli_program import PROGRAM, needs_program
from conftest import ROOT

import kernel_mutations
from kernel_mutations import MLX, PINNED, Mutation

KERNELS = ROOT / "src" / "kernels"
LEVEL = "v3"
OBJECT_OPTIONS = {PINNED: "--pinned-object", MLX: "--mlx-object"}
# The clause fields that an edit of a kernel can break; the others are the descriptor's alone
# (contract_mutation_test) or the emitted text's (test_text_mutations).
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
pytestmark = needs_program


def compiler(profile: str) -> list[str]:
    """The build's own compiler and flags for the kernels of `profile`."""
    name = "MLXCEL_PINNED_COMPILE" if profile == PINNED else "MLXCEL_MLX_COMPILE"
    command = os.environ.get(name)
    if not command:
        pytest.skip(f"{name} isn't set: run under ctest")
    return shlex.split(command)


def build(profile: str, tmp_path: Path, mutation: Mutation | None) -> Path:
    """Compiles the kernels of `profile`, edited by `mutation`."""
    source = tmp_path / "src"
    shutil.copytree(KERNELS, source / "kernels")
    if mutation:
        prelude = source / kernel_mutations.PRELUDES[profile][0]
        text = prelude.read_text()
        anchor, addition = kernel_mutations.PRELUDES[profile][1:]
        assert text.count(anchor) == 1
        prelude.write_text(text.replace(anchor, anchor + addition))
        path = source / "kernels" / mutation.file
        text = path.read_text()
        assert mutation.old in text, f"{mutation.label}: {mutation.file} has no such text any more"
        path.write_text(text.replace(mutation.old, mutation.new))
    output = tmp_path / "kernels.o"
    root = source / "kernels" / kernel_mutations.ROOTS[profile]
    command = [*compiler(profile), "-w", f"-I{source}", "-c", str(root)]
    done = subprocess.run([*command, "-o", str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


def run_oracle(profile: str, kernels: Path, name: str, dtype: str) -> list[dict]:
    """The rows of one class with `kernels` instead of the built-in object."""
    command = [PROGRAM, "oracle", "run", name, "--profile", profile, "--dtype", dtype]
    command += ["--device", "local-sync", "--repeat", "1", "--json", "--no-evidence"]
    command += ["--cpu-level", LEVEL, OBJECT_OPTIONS[profile], str(kernels)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    rows = json.loads(done.stdout)
    assert rows, done.stderr
    return rows


def was_noticed(rows: list[dict]) -> bool:
    """Some row didn't earn what its profile asks for."""
    return any(row["claim_earned"] != row["claim_asked"] for row in rows)


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


@pytest.mark.parametrize("profile", (PINNED, MLX))
def test_every_field_of_every_helper_has_a_mutation(profile: str) -> None:
    known = [m for m in kernel_mutations.MUTATIONS if m.profile == profile]
    have = {(helper, field) for m in known for helper in m.helper.split() for field in m.fields}
    needed = {
        (clause["op"], field)
        for clause in clauses(profile)
        for field in FIELDS
        if clause[field] not in ("none", "exact-widen")
    }
    assert needed - have - set(kernel_mutations.EXEMPT.get(profile, {})) == set()
    counts = Counter(helper for m in known for helper in m.helper.split())
    print(f"{profile}: {len(known)} mutations: {dict(counts)}")
    for (helper, field), proof in kernel_mutations.EXEMPT.get(profile, {}).items():
        assert (helper, field) in needed and proof


@pytest.mark.parametrize(
    "mutation", kernel_mutations.MUTATIONS, ids=[m.label for m in kernel_mutations.MUTATIONS]
)
def test_mutation_is_noticed(mutation: Mutation, tmp_path: Path) -> None:
    kernels = build(mutation.profile, tmp_path, mutation)
    rows = run_oracle(mutation.profile, kernels, mutation.run, mutation.dtype)
    if mutation.proof:
        assert not was_noticed(rows), f"not equivalent after all; the proof was: {mutation.proof}"
    else:
        assert was_noticed(rows)


@pytest.mark.parametrize("profile", (PINNED, MLX))
def test_unedited_kernels_pass_the_same_runs(profile: str, tmp_path: Path) -> None:
    kernels = build(profile, tmp_path, None)
    runs = {(m.run, m.dtype) for m in kernel_mutations.MUTATIONS if m.profile == profile}
    for name, dtype in sorted(runs):
        assert not was_noticed(run_oracle(profile, kernels, name, dtype)), f"{name} {dtype}"
