"""`mlxcel oracle run --all`: what every profile earns, against live MLX.

Every row of profile mlx-cpu-0.32.4 must earn production-mlx on both local devices with no
mismatch. The other profiles state what they earn. The evidence is left in MLXCEL_TEST_EVIDENCE
for the tests of whole models.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from cli_program import PROGRAM, needs_program

MLX = "mlx-cpu-0.32.4"
PRODUCTION = f"production-mlx@{MLX}"
STRENGTH = {"none": 0, "mathematical-closeness": 1, "canonical-decomposition": 2, PRODUCTION: 3}
CLASSES = {
    "q4-qmv",
    "q4-qmm",
    "dense-matmul",
    "layer-norm",
    "rms-norm",
    "activation-projection",
    "residual-add",
    "softmax",
    "attention",
    "cumulative-norm",
    "sscp-conv",
    "rope",
    "dequantize",
    "prefix-scan",
}
OUTPUTS_MIN = 10_000
FIELDS = (
    "class",
    "profile",
    "dtype",
    "shape",
    "device",
    "contract_version",
    "contract_fingerprint",
    "claim_asked",
    "claim_earned",
    "mismatches",
    "first_divergence",
    "max_abs",
    "rms",
    "repeats_agree",
    "reference",
    "candidate",
    "compile_seconds",
    "run_seconds",
    "bytes_transferred",
    "peak_memory_bytes",
    "command_line",
)
REFERENCE = ("version", "build", "libmlx_build_id", "libmlx_sha256", "blas_sha256", "libm_sha256")
CANDIDATE = ("compiler", "compiler_sha256", "runtime", "target", "device", "kernel", "vmfb_sha256")
DIVERGENCE = (
    "index",
    "coordinate",
    "reference",
    "candidate",
    "reference_bits",
    "candidate_bits",
    "ulp",
)
pytestmark = needs_program


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs leave their records."""
    folder = os.environ.get("MLXCEL_TEST_EVIDENCE")
    return Path(folder) if folder else tmp_path_factory.mktemp("evidence")


def run(evidence: Path, profile: str, *options: str) -> tuple[int, list[dict]]:
    """Exit code and reports of a run over all classes of `profile`."""
    command = [PROGRAM, "oracle", "run", "--all", "--profile", profile, "--json", *options]
    environment = {**os.environ, "MLXCEL_EVIDENCE_DIR": str(evidence)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1400)
    if "no such program" in done.stderr or "MLX isn't" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.stdout.startswith("["), done.stderr[-2000:]
    return done.returncode, json.loads(done.stdout)


def summary(rows: list[dict]) -> str:
    """The rows that earned less than they asked, for a failure's message."""
    weak = [row for row in rows if STRENGTH[row["claim_earned"]] < STRENGTH[row["claim_asked"]]]
    return "\n".join(
        f"{row['class']} {row['dtype']} {row['shape']} on {row['device']}: {row['claim_earned']}, "
        f"{row['mismatches']} mismatches, {row['first_divergence']}"
        for row in weak[:20]
    )


def check_report(row: dict) -> None:
    """One report has everything that a reader needs to repeat it."""
    assert all(field in row for field in FIELDS)
    assert all(row["reference"][field] for field in REFERENCE)
    assert all(row["candidate"][field] for field in CANDIDATE)
    assert row["repeats_agree"] is True
    assert len(row["contract_fingerprint"]) == 64
    if row["mismatches"]:
        assert all(field in row["first_divergence"] for field in DIVERGENCE)
    else:
        assert row["first_divergence"] is None


def test_mlx_cpu_earns_production_everywhere(evidence: Path) -> None:
    code, rows = run(evidence, MLX, "--repeat", "3")
    assert code == 0, summary(rows)
    assert CLASSES <= {row["class"] for row in rows}
    assert {row["device"] for row in rows} == {"local-sync", "local-task"}
    outputs: dict = defaultdict(int)
    for row in rows:
        check_report(row)
        assert row["claim_earned"] == PRODUCTION and row["mismatches"] == 0
        outputs[row["class"], row["dtype"], row["device"]] += row["outputs"]
    for name in CLASSES:
        for dtype in ("f32", "f16", "bf16"):
            for device in ("local-sync", "local-task"):
                assert outputs[name, dtype, device] >= OUTPUTS_MIN, (name, dtype, device)
    print(f"{len(rows)} rows, {sum(outputs.values())} outputs, 0 mismatches")


def test_pinned_f32_earns_its_declared_order(evidence: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    code, rows = run(evidence, "pinned-f32", "--repeat", "3", "--record", str(record))
    assert code == 0, summary(rows)
    for row in rows:
        check_report(row)
        assert STRENGTH[row["claim_earned"]] >= STRENGTH["canonical-decomposition"]
        assert row["decomposition_mismatches"] == 0
    # Sums in lanes are not MLX's sums: a run that finds no difference at all compares nothing.
    assert any(row["mismatches"] for row in rows if row["class"] == "dense-matmul")
    assert json.loads(record.read_text())["records"]


def test_iree_canonical_states_what_it_earns(evidence: Path) -> None:
    code, rows = run(evidence, "iree-canonical", "--repeat", "1", "--device", "local-sync")
    assert code == 0, summary(rows)
    for row in rows:
        check_report(row)
    earned = {(row["class"], row["dtype"]): set() for row in rows}
    for row in rows:
        earned[row["class"], row["dtype"]].add(row["claim_earned"])
    # IREE's exp isn't MLX's, fused sums aren't unfused ones; explicit 16-bit roundings are kept,
    # where its workers' flushing of subnormals doesn't show.
    assert PRODUCTION not in earned["softmax", "f32"]
    assert "canonical-decomposition" in earned["dense-matmul", "f32"]
    assert earned["dequantize", "bf16"] <= {PRODUCTION, "canonical-decomposition"}
    assert earned["sscp-conv", "bf16"] & {PRODUCTION}


def test_declared_profiles_are_not_run(evidence: Path) -> None:
    command = [PROGRAM, "oracle", "run", "dense-matmul", "--profile", "mlx-cuda-0.32.4-sm80"]
    environment = {**os.environ, "MLXCEL_EVIDENCE_DIR": str(evidence)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("dense-matmul")]
    assert rows and all(line.endswith("not run") for line in rows)


def test_explain_shows_where_two_orders_part(evidence: Path) -> None:
    command = [PROGRAM, "oracle", "explain", "q4-qmv", "--case", "2", "--profile", "pinned-f32"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the steps are its own") == 2
    assert "<- first difference" in done.stdout
