"""`mlxcel capabilities`, and what `mlxcel oracle run` must have shown before it opens anything."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cli_program import PROGRAM, needs_program

MLX = "mlx-cpu-0.32.4"
PRODUCTION = f"production-mlx@{MLX}"
PROFILES = {"pinned-f32", MLX, "iree-canonical", "mlx-cuda-0.32.4-sm80", "mlx-cuda-0.32.4-sm90a"}
DEVICES = {"local-task", "local-sync"}
STATES = {"open", "stale", "closed"}
RUN_TIMEOUT_S = 600
# A powf that is one step off: what another C math library might compute.
OTHER_POWF = """
#include <math.h>
float powf(float x, float y) { return nextafterf((float)pow((double)x, (double)y), INFINITY); }
"""
pytestmark = needs_program


def mlxcel(*arguments: str | Path, **environment: str | None) -> subprocess.CompletedProcess:
    """Runs the program; a variable that is None is unset."""
    merged = {**os.environ, **environment}
    given = {name: value for name, value in merged.items() if value is not None}
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=RUN_TIMEOUT_S
    )


def capabilities(folder: Path, *options: str, **environment: str) -> dict:
    """The report of `mlxcel capabilities --json` over the evidence in `folder`."""
    done = mlxcel("capabilities", "--json", "--evidence-dir", folder, *options, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def gelu_rows(folder: Path, **environment: str) -> list[dict]:
    """The f32 rows of gelu's tanh form under MLX's profile on local-sync."""
    rows = capabilities(folder, "--profile", MLX, **environment)["capabilities"]
    found = [
        row
        for row in rows
        if (row["operation"], row["variant"]) == ("activation", "gelu-tanh")
        and (row["dtype"], row["device"]) == ("f32", "local-sync")
    ]
    assert found
    return found


def run_activations(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess:
    """Every f32 case of class activation under MLX's profile on local-sync."""
    done = mlxcel(
        "oracle", "run", "activation", "--profile", MLX, "--dtype", "f32", "--device", "local-sync",
        "--json", "--evidence-dir", folder, *options, **environment,
    )
    if "no such program" in done.stderr or "MLX isn't" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done


def records(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def test_table_sums_up_every_profile(tmp_path: Path) -> None:
    done = mlxcel("capabilities", "--evidence-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    for profile in PROFILES:
        assert f"{profile} at CPU level" in done.stdout
    assert "local-task open" in done.stdout  # the default profile, on what is built in
    assert "canonical-decomposition, inferred" in done.stdout


def test_all_has_a_line_for_every_storage(tmp_path: Path) -> None:
    short = mlxcel("capabilities", "--evidence-dir", tmp_path, "--profile", MLX)
    full = mlxcel("capabilities", "--evidence-dir", tmp_path, "--profile", MLX, "--all")
    assert full.returncode == 0 and short.returncode == 0
    assert "kinds" in short.stdout and "kinds" not in full.stdout
    assert len(full.stdout.splitlines()) > 2 * len(short.stdout.splitlines())


def test_json_rows_and_summaries_agree(tmp_path: Path) -> None:
    report = capabilities(tmp_path)
    rows = report["capabilities"]
    assert {row["profile"] for row in rows} == PROFILES
    assert {row["device"] for row in rows} == DEVICES
    assert {row["state"] for row in rows} <= STATES
    for row in rows:
        assert (row["reason"] == "") == (row["state"] == "open")
        assert (row["state"] == "open") == (row["profile"] == "pinned-f32"), row
    for summary in report["profiles"]:
        own = [
            row["state"]
            for row in rows
            if (row["profile"], row["device"]) == (summary["profile"], summary["device"])
        ]
        assert [summary[state] for state in sorted(STATES)] == [
            own.count(state) for state in sorted(STATES)
        ]


def test_fused_addition_of_the_default_profile_is_inferred(tmp_path: Path) -> None:
    rows = capabilities(tmp_path, "--profile", "pinned-f32")["capabilities"]
    residual = [row for row in rows if row["operation"] == "residual-add"]
    assert residual and all(row["inferred"] and row["state"] == "open" for row in residual)
    assert any(not row["inferred"] for row in rows)


def test_one_profile(tmp_path: Path) -> None:
    rows = capabilities(tmp_path, "--profile", "iree-canonical")["capabilities"]
    assert {row["profile"] for row in rows} == {"iree-canonical"}


def test_unknown_profile_is_a_usage_error(tmp_path: Path) -> None:
    done = mlxcel("capabilities", "--evidence-dir", tmp_path, "--profile", "mlx-cpu-9")
    assert done.returncode == 2
    assert "'mlx-cpu-9' is unknown" in done.stderr and done.stdout == ""


def test_without_a_home_the_list_is_made_all_the_same() -> None:
    done = mlxcel(
        "capabilities", "--profile", "pinned-f32", HOME=None, XDG_DATA_HOME=None,
        XDG_CACHE_HOME=None, MLXCEL_EVIDENCE_DIR=None, MLXCEL_CACHE_DIR=None,
    )
    assert done.returncode == 0, done.stderr
    assert "HOME isn't set" in done.stderr
    assert "local-task open" in done.stdout


def test_evidence_path_that_is_a_file_is_told_and_counts_as_empty(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    done = mlxcel("capabilities", "--profile", "pinned-f32", "--evidence-dir", file)
    assert done.returncode == 0, done.stderr
    assert str(file) in done.stderr
    assert "local-task open" in done.stdout


def test_absent_compiler_is_told_and_unknown(tmp_path: Path) -> None:
    missing = tmp_path / "iree-compile"
    options = ("capabilities", "--json", "--evidence-dir", tmp_path, "--compiler", missing)
    done = mlxcel(*options)
    assert done.returncode == 0, done.stderr
    assert str(missing) in done.stderr and "--compiler" in done.stderr
    assert json.loads(done.stdout)["compiler_digest"] is None


def test_run_opens_and_a_disproving_run_closes(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler for the other powf")
    source, library = tmp_path / "powf.c", tmp_path / "powf.so"
    source.write_text(OTHER_POWF)
    command = [compiler, "-O1", "-fno-builtin", "-shared", "-fPIC", source, "-o", library, "-lm"]
    subprocess.run(command, check=True)
    folder = tmp_path / "evidence"

    good = run_activations(folder)
    assert good.returncode == 0, good.stderr
    count = len(records(folder))
    assert count > 0
    assert {row["state"] for row in gelu_rows(folder)} == {"open"}
    # The same evidence says nothing of a process that has another powf.
    (row,) = gelu_rows(folder, LD_PRELOAD=str(library))
    assert row["state"] == "stale"

    bad = run_activations(folder, LD_PRELOAD=str(library))
    assert bad.returncode == 1, bad.stderr
    assert any(report["mismatches"] for report in json.loads(bad.stdout))
    assert len(records(folder)) == count  # in the place of the records that were there
    (row,) = gelu_rows(folder, LD_PRELOAD=str(library))
    assert (row["state"], row["claim"]) == ("closed", "none")
    assert "the last run found mismatches" in row["reason"]
    assert {row["state"] for row in gelu_rows(folder)} == {"stale"}

    assert run_activations(folder).returncode == 0
    assert {row["state"] for row in gelu_rows(folder)} == {"open"}


def test_foreign_reference_program_is_named_unknown_and_records_nothing(tmp_path: Path) -> None:
    own = Path(PROGRAM).resolve().parent / "src/oracle/mlx/mlxcel-mlx-reference"
    if not own.is_file():
        pytest.skip(f"{own} isn't built")
    other = tmp_path / "reference"
    other.symlink_to(own)
    folder = tmp_path / "evidence"
    done = run_activations(folder, MLXCEL_MLX_REFERENCE=str(other))
    assert done.returncode == 1
    earned = {report["claim_earned"] for report in json.loads(done.stdout)}
    assert earned == {f"production-mlx@unknown-{MLX}"}
    assert "nothing is recorded" in done.stderr
    assert records(folder) == []


def test_eager_reference_is_named_and_records_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    done = run_activations(folder, "--mlx-eager")
    reports = json.loads(done.stdout)
    assert all("--mlx-eager" in report["command_line"] for report in reports)
    assert PRODUCTION not in {report["claim_earned"] for report in reports}
    assert records(folder) == []


def test_two_calls_record_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "evidence"
    done = run_activations(folder, "--repeat", "2")
    assert done.returncode == 0 and "nothing is recorded" in done.stderr
    assert records(folder) == []


def test_evidence_that_cannot_be_written_is_told_before_anything_is_compiled(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    cache = tmp_path / "cache"
    done = run_activations(file / "evidence", "--cache-dir", str(cache))
    assert done.returncode == 1 and done.stdout == ""
    assert str(file) in done.stderr and "--no-evidence" in done.stderr
    assert not cache.exists()
