"""The command line of mlxcel without a model: usage, environment, streams, completion."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from cli_program import (
    PROGRAM,
    TIMEOUT_S,
    Runner,
    needs_program,
    open_terminal,
)

pytest_plugins = ("cli_fixtures",)
pytestmark = needs_program


def test_version_and_help_go_to_stdout(run: Runner) -> None:
    for arguments in (
        ["--version"],
        ["--help"],
        ["help"],
        ["generate", "--help"],
        ["help", "chat"],
        ["cache", "-h"],
    ):
        result = run(*arguments)
        assert (result.returncode, result.stderr) == (0, b""), arguments
        assert b"mlxcel" in result.stdout
        assert result.stdout.endswith(b"\n")


def test_version_names_runtime_and_compiler(run: Runner) -> None:
    text = run("--version").stdout.decode()
    assert re.search(r"mlxcel \d+\.\d+\.\d+", text)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], ["no command", "mlxcel --help"]),
        (["genrate"], ["'genrate'", "'generate'"]),
        (["--quick"], ["'--quick'", "--version"]),
        (["help", "nothing"], ["'nothing'"]),
        (["help", "chat", "more"], ["'more'", "help"]),
        (["--version", "more"], ["'more'", "--version"]),
        (["generate"], ["no model", "-m", "MLXCEL_MODEL"]),
        (["generate", "-m", "x"], ["no prompt", "-p", "--prompt-ids"]),
        (["generate", "-m", "x", "-p", "a", "-f", "b"], ["more than one prompt"]),
        (["generate", "-m", "x", "-p", "a", "--tmep", "1"], ["'--tmep'", "'--temp'"]),
        (["generate", "-m", "x", "-p", "a", "-n", "many"], ["-n", "'many'", "whole number"]),
        (["generate", "-m", "x", "-p", "a", "--top-p", "1.1"], ["--top-p", "from 0 to 1"]),
        (
            ["generate", "-m", "x", "-p", "a", "--device", "tpu"],
            ["'tpu'", "local-task, local-sync, cuda, hip, metal"],
        ),
        (["generate", "-m", "x", "-p", "a", "--cpu-level", "v2"], ["'v2'", "v3, v4"]),
        (["generate", "-m", "x", "-p", "a", "--profile", "fast"], ["'fast'", "pinned-f32"]),
        (["generate", "-m", "x", "-p", "a", "--precision", "f64"], ["'f64'", "f32, f16, bf16"]),
        (["generate", "-m", "x", "-p", "a", "--quant", "dense"], ["dense", "packed", "pinned-f32"]),
        (
            ["compile", "-m", "x", "--quant", "dense", "--profile", "mlx-cpu-0.32.4"],
            ["dense", "packed", "profile mlx-cpu-0.32.4,"],
        ),
        (["generate", "-m", "x", "-p", "a", "--stop", ""], ["--stop", "empty"]),
        (["chat", "-m", "x", "--stop", "a", "--stop", ""], ["--stop", "empty"]),
        (["taps", "-m", "x", "--precision", "f32"], ["'--precision'"]),
        (["taps", "-m", "x", "--ctx", "8"], ["'--ctx'"]),
        (["taps", "-m", "x", "--chunk", "8"], ["'--chunk'"]),
        (["taps", "-m", "x", "--prompt-ids", "1"], ["-o"]),
        (["generate", "-m", "x", "-p", "a", "--system", "b"], ["--system", "--chat"]),
        (["generate", "-m", "x", "--prompt-ids", "1", "--chat"], ["--chat", "--prompt-ids"]),
        (["generate", "-m", "x", "--prompt-ids", "1,b"], ["--prompt-ids", "'1,b'"]),
        (["generate", "-m", "x", "--prompt-ids", ""], ["--prompt-ids"]),
        (
            ["generate", "-m", "x", "-p", "a", "--logit-bias", "1:2"],
            ["--logit-bias", "'1:2'", "ID=BIAS"],
        ),
        (["generate", "-m", "x", "-p"], ["-p", "TEXT"]),
        (["generate", "-m", "x", "-p", "a", "extra"], ["'extra'"]),
        (["chat"], ["no model"]),
        (["compile"], ["no model"]),
        (["import", "x.gguf"], ["-o"]),
        (["import", "-o", "x"], ["GGUF file is missing"]),
        (["inspect"], ["no checkpoint folder"]),
        (["inspect", "a", "-m", "b"], ["two folders"]),
        (["cache"], ["ls, verify, prune"]),
        (["cache", "list"], ["'list'", "ls, verify, prune"]),
        (["cache", "prune", "--older-than", "-1"], ["--older-than"]),
        (["cache", "ls", "--older-than", "3"], ["--older-than", "ls"]),
        (["cache", "verify", "--older-than", "3"], ["--older-than", "verify"]),
        (["completion", "fish"], ["'fish'", "bash"]),
    ],
)
def test_wrong_usage_is_named_and_exits_2(
    run: Runner, arguments: list[str], words: list[str]
) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == b""
    text = result.stderr.decode()
    assert text.startswith("mlxcel") and ": error: " in text
    assert text.count("\n") == 1
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    "variable, value, words",
    [
        ("MLXCEL_XLA_DEVICE", "tpu", ["MLXCEL_XLA_DEVICE", "local-task"]),
        ("MLXCEL_XLA_PRECISION", "f8", ["MLXCEL_XLA_PRECISION", "f32, f16, bf16"]),
        ("MLXCEL_XLA_QUANT", "sparse", ["MLXCEL_XLA_QUANT", "packed, dense"]),
        ("MLXCEL_XLA_QUANT", "dense", ["MLXCEL_XLA_QUANT", "packed"]),
        ("MLXCEL_BACKEND", "metal", ["MLXCEL_BACKEND", "xla"]),
        ("MLXCEL_CPU_LEVEL", "v5", ["MLXCEL_CPU_LEVEL", "v3, v4"]),
        ("MLXCEL_THREADS", "two", ["MLXCEL_THREADS", "'two'"]),
        ("MLXCEL_JSON", "perhaps", ["MLXCEL_JSON", "true, false"]),
    ],
)
def test_wrong_environment_is_named_by_variable_and_exits_2(
    run: Runner, variable: str, value: str, words: list[str]
) -> None:
    result = run("generate", "-m", "x", "-p", "a", env={variable: value})
    assert (result.returncode, result.stdout) == (2, b"")
    for word in words:
        assert word in result.stderr.decode()


def test_taps_says_that_it_is_outside_of_the_gate(run: Runner, tmp_path: Path) -> None:
    assert "outside of the capability gate" in run("taps", "--help").stdout.decode()
    tap = ["taps", "-m", str(tmp_path), "--prompt-ids", "1", "-o", str(tmp_path / "x")]
    for options, notes in (
        ([], 0),
        (["--profile", "pinned-f32"], 0),
        (["--profile", "mlx-cpu-0.32.4"], 1),
        (["--profile", "mlx-cpu-0.32.4", "-q"], 0),
    ):
        result = run(*tap, *options)
        assert (result.returncode, result.stdout) == (1, b"")
        assert result.stderr.count(b"note: taps measures outside") == notes


def test_precision_refusal_advises_another_profile_only(run: Runner, tmp_path: Path) -> None:
    for profile, valid, advice in (
        ("pinned-f32", "valid: f32 (16-bit", True),
        ("mlx-cpu-0.32.4", "valid: checkpoint\n", False),
    ):
        result = run("compile", "-m", str(tmp_path), "--profile", profile, "--precision", "bf16")
        assert (result.returncode, result.stdout) == (1, b"")
        text = result.stderr.decode()
        assert valid in text and ("are what profile" in text) == advice


def test_missing_files_exit_1_with_the_path(run: Runner, tmp_path: Path) -> None:
    missing = str(tmp_path / "nothing")
    for arguments in (
        ["generate", "-m", missing, "-p", "a"],
        ["compile", "-m", missing],
        ["chat", "-m", missing],
        ["inspect", missing],
        ["import", missing + ".gguf", "-o", str(tmp_path / "out")],
        ["generate", "-m", str(tmp_path), "-f", missing],
    ):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (1, b""), arguments
        assert missing in result.stderr.decode(), arguments
    assert list(tmp_path.iterdir()) == []


def test_logits_target_is_checked_before_the_model_is_loaded(run: Runner, tmp_path: Path) -> None:
    result = run(
        "generate",
        "-m",
        str(tmp_path / "nothing"),
        "-p",
        "a",
        "--logits",
        str(tmp_path / "no folder" / "x.npy"),
    )
    assert result.returncode == 1
    assert "no folder" in result.stderr.decode()
    result = run("generate", "-m", str(tmp_path / "nothing"), "-p", "a", "--logits", "/dev/null")
    assert result.returncode == 1
    assert "regular file" in result.stderr.decode()
    assert Path("/dev/null").is_char_device()


def test_failed_run_leaves_no_logits_behind(run: Runner, tmp_path: Path) -> None:
    result = run(
        "generate", "-m", str(tmp_path / "nothing"), "-p", "a", "--logits", str(tmp_path / "x.npy")
    )
    assert result.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_devices_lists_the_local_ones(run: Runner) -> None:
    devices = {device["name"]: device for device in json.loads(run("devices", "--json").stdout)}
    assert devices["local-task"]["available"] is True
    table = run("devices").stdout.decode()
    assert all(name in table for name in devices)


def test_empty_cache_lists_nothing(run: Runner, tmp_path: Path) -> None:
    result = run("cache", "ls", "--json", "--cache-dir", str(tmp_path))
    assert result.returncode == 0
    assert json.loads(result.stdout) == {"folder": str(tmp_path), "entries": []}
    assert run("cache", "verify", env={"MLXCEL_CACHE_DIR": str(tmp_path)}).returncode == 0


def test_full_device_on_stdout_is_an_error(environment: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [PROGRAM, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert result.returncode == 1
    assert b"cannot write to stdout" in result.stderr


def test_closed_stdout_ends_quietly(environment: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        [PROGRAM, "--help"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    os.close(writing)
    assert (result.returncode, result.stderr) == (0, b"")


def test_closed_streams_are_errors(environment: dict[str, str], tmp_path: Path) -> None:
    command = f"'{PROGRAM}' --help >&-"
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 1
    assert b"cannot write to stdout" in result.stderr
    command = f"'{PROGRAM}' generate -m '{tmp_path}' -p - --logits '{tmp_path}/x.npy' <&-"
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 1
    assert b"cannot read standard input" in result.stderr


def complete(run: Runner, line: str) -> set[str]:
    """What bash would offer at the end of `line`."""
    script = run("completion", "bash").stdout.decode()
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    program = f"{script}\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n_mlxcel\n"
    program += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    result = subprocess.run(
        ["bash", "--norc", "-eu", "-c", program],
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr.decode()
    return set(result.stdout.decode().split())


def test_completion_offers_commands_options_and_values(run: Runner) -> None:
    assert {"generate", "chat", "import", "--version"} <= complete(run, "mlxcel ")
    assert complete(run, "mlxcel gen") == {"generate"}
    assert {"--model", "--temp", "--json", "--help"} <= complete(run, "mlxcel generate --")
    assert "--older-than" not in complete(run, "mlxcel generate --")
    assert complete(run, "mlxcel generate --device local-") == {"local-task", "local-sync"}
    assert complete(run, "mlxcel cache ") == {"ls", "verify", "prune"}
    assert complete(run, "mlxcel generate --device = local-") == {"local-task", "local-sync"}
    assert complete(run, "mlxcel generate -n ") == set()


def test_completion_offers_folders_for_a_model(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    assert complete(run, f"mlxcel generate -m {tmp_path}/f") == {f"{tmp_path}/folder"}
    assert complete(run, f"mlxcel generate -f {tmp_path}/f") == {
        f"{tmp_path}/folder",
        f"{tmp_path}/file",
    }


def test_completion_knows_every_option_of_the_help(run: Runner) -> None:
    for command in ("generate", "chat", "import", "inspect", "compile", "cache", "devices"):
        in_help = set(
            re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", run(command, "--help").stdout.decode(), re.M)
        )
        assert complete(run, f"mlxcel {command} --") == in_help


def test_errors_are_coloured_only_where_wanted(environment: dict[str, str], run: Runner) -> None:
    terminal = open_terminal(environment, "genrate")
    assert terminal.wait() == 2
    assert b"\x1b[1;31merror:\x1b[0m" in terminal.output
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        terminal = open_terminal(environment, "genrate", **variables)
        assert terminal.wait() == 2
        assert b"error:" in terminal.output and b"\x1b" not in terminal.output
    terminal = open_terminal(environment, "genrate", NO_COLOR="")  # empty counts as unset
    terminal.wait()
    assert b"\x1b[1;31m" in terminal.output
    assert b"\x1b" not in run("genrate").stderr
