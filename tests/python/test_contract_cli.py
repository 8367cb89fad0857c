"""mlxcel contract: numeric contracts as text, without a model; one test compiles a tiny one."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from cli_program import Runner, needs_program
from conftest import ROOT

import make_zoo

pytest_plugins = ("cli_fixtures",)
pytestmark = needs_program

GOLDENS = ROOT / "tests" / "golden" / "fingerprints.txt"
PROFILES = [line.split()[1] for line in GOLDENS.read_text().splitlines()]
KEYS = (
    "op variant source_dtype operand_dtype accumulator result_dtype rounding association "
    "dequantization constants functions denormals algorithm algorithm_version source_digest "
    "tolerance derivation representable"
).split()


def show(run: Runner, *arguments: str) -> str:
    """The contract that `show` prints."""
    result = run("contract", "show", *arguments)
    assert (result.returncode, result.stderr) == (0, b""), result.stderr.decode()
    return result.stdout.decode()


def clauses_of(text: str) -> list[dict[str, str]]:
    """The clauses of one contract, read by the format's rules."""
    head, *bodies = re.split(r"^clause=\d+\n", text, flags=re.M)
    assert re.fullmatch(rf"mlxcel_contract=2\nprofile=\S+\nclauses={len(bodies)}\n", head)
    clauses = [dict(line.split("=", 1) for line in body.splitlines()) for body in bodies]
    assert all(list(clause) == KEYS for clause in clauses)
    return clauses


@pytest.fixture
def contract(run: Runner, tmp_path: Path) -> Path:
    """A file with the RMSNorm clauses of a profile."""
    path = tmp_path / "norms.txt"
    path.write_text(show(run, "--profile", "mlx-cpu-0.32.4", "--op", "rms-norm"))
    return path


def test_show_lists_profiles_with_the_frozen_fingerprints(run: Runner) -> None:
    rows = show(run).splitlines()
    assert rows[0].split() == ["PROFILE", "CLAUSES", "REFERENCE", "STATE", "FINGERPRINT"]
    listed = {row.split()[0]: row.split()[-1] for row in rows[1:]}
    frozen = dict(reversed(line.split()) for line in GOLDENS.read_text().splitlines())
    assert listed == frozen
    assert [row.split()[0] for row in rows if "declared only" in row] == PROFILES[-2:]


@pytest.mark.parametrize("profile", PROFILES)
def test_shown_profile_is_a_contract_that_verifies(
    run: Runner, tmp_path: Path, profile: str
) -> None:
    text = show(run, "--profile", profile)
    path = tmp_path / "profile.txt"
    path.write_text(text)
    result = run("contract", "verify", str(path))
    assert (result.returncode, result.stderr) == (0, b"")
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    expected = f"version: 2\nprofile: {profile}\nclauses: {len(clauses_of(text))}\n"
    assert result.stdout.decode() == f"{expected}fingerprint: {fingerprint}\n"
    assert f"{fingerprint}  {profile}\n" in GOLDENS.read_text()
    assert show(run, str(path)) == show(run, profile) == text


def test_show_chooses_by_class_variant_and_dtype(run: Runner, contract: Path) -> None:
    norms = clauses_of(contract.read_text())
    assert {clause["op"] for clause in norms} == {"rms-norm"}
    assert {clause["variant"] for clause in norms} == {"plain", "gemma", "single-rounding"}
    options = ["--op", "rms-norm", "--variant", "plain", "--dtype", "bf16"]
    plain = clauses_of(show(run, "--profile", "mlx-cpu-0.32.4", *options))
    assert {clause["source_dtype"] for clause in plain} == {"f32", "f16", "bf16"}
    of_bf16 = next(clause for clause in plain if clause["source_dtype"] == "bf16")
    assert of_bf16["rounding"].endswith("scale:bf16+weight:bf16")
    text = show(run, *options)  # every profile that has some, one contract behind the other
    assert re.findall(r"^profile=(\S+)$", text, flags=re.M) == PROFILES[1:]


def test_show_says_when_nothing_fits(run: Runner) -> None:
    result = run("contract", "show", "--profile", "pinned-f32", "--op", "softmax")
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"pinned-f32" in result.stderr and b"--op" in result.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["show, diff, verify"]),
        (["print"], ["'print'", "show, diff, verify"]),
        (["show", "a", "b"], ["show", "at most one"]),
        (["diff", "pinned-f32"], ["diff", "two contracts"]),
        (["verify"], ["verify", "one contract"]),
        (["verify", "a", "b", "c"], ["'c'"]),
        (["show", "a", "--op", "rope"], ["--op", "'a'"]),
        (["show", "--op", "rms_norm"], ["'rms_norm'", "--op"]),
        (["show", "--variant", "qmmm"], ["'qmmm'", "--variant"]),
        (["show", "--dtype", "f64"], ["'f64'", "f32, f16, bf16"]),
        (["show", "--profile", "fast"], ["'fast'", "pinned-f32"]),
    ],
)
def test_wrong_usage_is_named_and_exits_2(
    run: Runner, arguments: list[str], words: list[str]
) -> None:
    result = run("contract", *arguments)
    assert (result.returncode, result.stdout) == (2, b"")
    for word in words:
        assert word in result.stderr.decode()


def test_profile_of_the_environment_does_not_hinder_files(run: Runner, contract: Path) -> None:
    result = run("contract", "show", str(contract), env={"MLXCEL_PROFILE": "pinned-f32"})
    assert (result.returncode, result.stdout) == (0, contract.read_bytes())


def test_diff_of_equal_contracts_is_empty(run: Runner, contract: Path) -> None:
    for pair in ((contract, contract), ("pinned-f32", "pinned-f32")):
        result = run("contract", "diff", *map(str, pair))
        assert (result.returncode, result.stdout) == (0, b"")
        assert result.stderr == b"0 differences\n"


def test_diff_names_clause_and_field(run: Runner, contract: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(contract.read_text().replace("denormals=keep", "denormals=flush", 1))
    result = run("contract", "diff", str(contract), str(other))
    assert result.returncode == 1
    assert re.fullmatch(
        r"clause 0 \(rms-norm gemma \w+\): denormals: keep -> flush\n", result.stdout.decode()
    )
    assert result.stderr == b"1 difference\n"


def test_diff_of_two_architectures_shows_what_differs(run: Runner) -> None:
    result = run("contract", "diff", *PROFILES[-2:])
    assert result.returncode == 1
    lines = result.stdout.decode().splitlines()
    assert lines[0] == f"profile: {PROFILES[-2]} -> {PROFILES[-1]}"
    assert any("dequantization: two-round-bf16 -> fma-bf16" in line for line in lines)
    assert all("bf16" in line or "layer-norm" in line for line in lines[1:])


@pytest.mark.parametrize(
    "before, after, words",
    [
        ("mlxcel_contract=2", "mlxcel_contract=1", ["version 1", "older"]),
        ("mlxcel_contract=2", "mlxcel_contract=3", ["version 3", "newer"]),
        ("association=sequential\n", "", ["association", "missing", "line 12"]),
        ("denormals=keep", "denormals=maybe", ["denormals", "maybe"]),
        ("denormals=keep\n", "denormals=keep\r\n", ["denormals", "carriage return"]),
        ("op=rms-norm", "op=rope", ["op, variant", "rope"]),
    ],
)
def test_verify_names_what_is_wrong(
    run: Runner, contract: Path, before: str, after: str, words: list[str]
) -> None:
    text = contract.read_text()
    assert before in text
    contract.write_bytes(text.replace(before, after, 1).encode())
    for action in ("verify", "show"):
        result = run("contract", action, str(contract))
        assert (result.returncode, result.stdout) == (1, b"")
        for word in [str(contract), *words]:
            assert word in result.stderr.decode()


def test_verify_shows_no_control_bytes_of_the_file(run: Runner, contract: Path) -> None:
    text = contract.read_bytes()
    for before, after, shown in (
        (b"denormals=keep", b"denormals=\x1b[2J\x07", b"\\x1b[2J\\x07"),
        (b"denormals=keep", b"denormals=\xc2\x9b2J", b"\\xc2\\x9b2J"),
        (b"profile=mlx", b"profile=\x1b]0;owned\x07", b"\\x1b]0;owned\\x07"),
        (b"denormals=keep", b"\x1b[31m=keep", b"\\x1b[31m"),
    ):
        contract.write_bytes(text.replace(before, after, 1))
        result = run("contract", "verify", str(contract))
        assert (result.returncode, result.stdout) == (1, b"")
        assert shown in result.stderr
        assert not set(result.stderr) & {0x1B, 0x07, 0x9B}


def test_missing_contract_is_named_with_a_remedy(run: Runner, tmp_path: Path) -> None:
    result = run("contract", "show", str(tmp_path / "nothing"))
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"nothing" in result.stderr and b"mlxcel cache ls" in result.stderr
    assert run("contract", "verify", str(tmp_path / "nothing")).returncode == 1
    for action in ("show", "verify"):
        result = run("contract", action, str(tmp_path))
        assert (result.returncode, result.stdout) == (1, b"")
        words = f"{tmp_path} isn't the folder of a compiled module"
        assert words in result.stderr.decode() and b"mlxcel cache ls" in result.stderr


def test_verify_refuses_what_the_profile_does_not_define(run: Runner, contract: Path) -> None:
    text = contract.read_text()
    contract.write_text(text.replace("denormals=keep", "denormals=flush", 1))
    result = run("contract", "verify", str(contract))
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"doesn't define 1 of " in result.stderr and b"clause 0 (rms-norm" in result.stderr
    contract.write_text("mlxcel_contract=2\nprofile=pinned-f32\nclauses=0\n")
    result = run("contract", "verify", str(contract))
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"no clause" in result.stderr


def compile_tiny(run: Runner, tmp_path: Path) -> Path:
    """The folder of a compiled module, in a cache of its own."""
    variant = next(variant for variant in make_zoo.VARIANTS if variant.name == "q3-g128-bf16")
    model = make_zoo.make_variant(variant, tmp_path)
    cache = tmp_path / "cache"
    result = run("compile", "-m", str(model), "--cache-dir", str(cache))
    assert result.returncode == 0, result.stderr.decode()
    (manifest,) = cache.glob("*/manifest.json")
    return manifest.parent


def flip_byte(path: Path) -> None:
    """Changes one byte in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_entry_of_an_older_mlxcel_is_named_and_not_damaged(run: Runner, tmp_path: Path) -> None:
    folder = compile_tiny(run, tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    created = manifest["created_unix"]
    manifest["manifest_version"] = 0
    (folder / "manifest.json").write_text(json.dumps(manifest))
    words = b"of an older mlxcel; `mlxcel cache prune` removes it"
    for action in ("ls", "verify"):
        result = run("cache", action, "--cache-dir", str(folder.parent))
        assert result.returncode == 0 and b"error" not in result.stderr
        assert words in result.stdout and b"1970" not in result.stdout
        result = run("cache", action, "--cache-dir", str(folder.parent), "--json")
        (entry,) = json.loads(result.stdout)["entries"]
        assert entry["foreign"] is True and entry["created_unix"] == created
        assert entry.get("ok") is None
    (folder / "manifest.json").write_text("{")
    result = run("cache", "verify", "--cache-dir", str(folder.parent))
    assert result.returncode == 1 and b"damaged: 1 of 1" in result.stderr


def test_compiled_module_shows_and_verifies_its_contract(run: Runner, tmp_path: Path) -> None:
    folder = compile_tiny(run, tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    text = show(run, str(folder))
    assert hashlib.sha256(text.encode()).hexdigest() in json.dumps(manifest)
    clauses = clauses_of(text)
    assert {clause["algorithm"] for clause in clauses} >= {"mlxcel_pinned_attention"}
    assert all(re.fullmatch(r"[0-9a-f]{64}", clause["source_digest"]) for clause in clauses)
    result = run("contract", "verify", str(folder))
    assert (result.returncode, result.stderr) == (0, b"")
    assert f"fingerprint: {hashlib.sha256(text.encode()).hexdigest()}\n" in result.stdout.decode()
    assert f"artifact: {folder.name}\n" in result.stdout.decode()
    without_digests = re.sub(r"(?m)^source_digest=.*$", "source_digest=none", text)
    defined = clauses_of(show(run, "--profile", "pinned-f32"))
    assert all(clause in defined for clause in clauses_of(without_digests))
    for name in ("model.vmfb", "manifest.json", "model.mlir"):
        original = (folder / name).read_bytes()
        flip_byte(folder / name)
        damaged: subprocess.CompletedProcess = run("contract", "verify", str(folder))
        assert (damaged.returncode, damaged.stdout) == (1, b"")
        assert name in damaged.stderr.decode()
        (folder / name).write_bytes(original)
