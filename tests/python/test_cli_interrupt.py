"""Signals, closed pipes and full disks while mlxcel compiles or answers."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli_program import (
    MODEL,
    PROGRAM,
    PROMPT,
    TIMEOUT_S,
    needs_model,
    needs_program,
    open_terminal,
    read_npy,
    start_long_answer,
    wait_for_bytes,
)

pytest_plugins = ("cli_fixtures",)
pytestmark = needs_program


@needs_model
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_during_decode_ends_cleanly_with_130(
    environment: dict[str, str], tmp_path: Path, number: int
) -> None:
    process = start_long_answer(environment, "--logits", str(tmp_path / "logits.npy"))
    wait_for_bytes(process.stdout, 4)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"eval time" in errors  # it ended in order, with its statistics
    assert list(tmp_path.iterdir()) == []


@needs_model
def test_interrupt_during_decode_still_prints_the_json_object(
    environment: dict[str, str], tmp_path: Path
) -> None:
    logits = tmp_path / "logits.npy"
    process = start_long_answer(environment, "--json", "--logits", str(logits))
    deadline = time.monotonic() + TIMEOUT_S
    while not any(path.stat().st_size > 1024 for path in tmp_path.iterdir()):  # decoding has begun
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert json.loads(output)["finish_reason"] == "cancelled"


@needs_model
def test_second_interrupt_ends_at_once_and_removes_the_temporary_file(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start_long_answer(environment, "--logits", str(tmp_path / "logits.npy"))
    wait_for_bytes(process.stdout, 1)
    process.send_signal(signal.SIGSTOP)  # both signals arrive before the first is acted on
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"interrupted twice" in errors
    assert list(tmp_path.iterdir()) == []


BOOKKEEPING = {"locks", "requests", "tmp", "failed", "damaged", "compilers.json"}


def cache_leftovers(folder: Path) -> list[str]:
    """What lies in a cache folder beside its bookkeeping: entries, temporary and damaged ones."""
    paths = [path.relative_to(folder) for path in folder.rglob("*")]
    is_bookkeeping = [path.parts[0] == "locks" or str(path) in BOOKKEEPING for path in paths]
    return [str(path) for path, skip in zip(paths, is_bookkeeping, strict=True) if not skip]


def processes_naming(text: str) -> list[str]:
    """Command lines of running processes, other than ours, that hold `text`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and "pytest" not in line:
            found.append(line)
    return found


@needs_model
@pytest.mark.parametrize(
    "command", [["compile"], ["generate", "-p", PROMPT]], ids=["compile", "generate"]
)
def test_interrupt_during_compile_gives_130_and_a_clean_cache(
    environment: dict[str, str], tmp_path: Path, command: list[str]
) -> None:
    folder = tmp_path / "cache"
    process = subprocess.Popen(
        [PROGRAM, *command, "-m", MODEL, "--cache-dir", str(folder)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    errors = wait_for_bytes(process.stderr, 1)
    deadline = time.monotonic() + TIMEOUT_S
    while not cache_leftovers(folder):  # the compiler's temporary folder
        assert time.monotonic() < deadline and process.poll() is None, errors
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=20)
    assert (process.returncode, output) == (130, b"")
    assert cache_leftovers(folder) == []
    assert processes_naming(str(folder)) == []
    entries = subprocess.run(
        [PROGRAM, "cache", "ls", "--json", "--cache-dir", str(folder)],
        capture_output=True,
        env=environment,
        check=True,
    )
    assert json.loads(entries.stdout)["entries"] == []


@needs_model
def test_compile_on_a_terminal_shows_a_bar_and_obeys_the_interrupt_key(
    environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = open_terminal(environment, "compile", "-m", MODEL, "--cache-dir", str(tmp_path))
    terminal.read_until(r"compil[^\r\n]*\[.*#")
    assert b"\r\x1b[K" in terminal.output
    terminal.write("\x03")
    assert terminal.wait() == 130
    assert cache_leftovers(tmp_path) == []


@needs_model
def test_answer_ends_quietly_when_its_reader_has_enough(environment: dict[str, str]) -> None:
    process = start_long_answer(environment)
    wait_for_bytes(process.stdout, 1)
    process.stdout.close()
    errors = process.stderr.read()
    assert process.wait(timeout=20) == 0
    assert b"error" not in errors and b"eval time" not in errors


@needs_model
def test_answer_through_head_ends_quietly(environment: dict[str, str]) -> None:
    answer = f"'{PROGRAM}' generate -m '{MODEL}' -q -p '{PROMPT}' --ignore-eos"
    command = f"set -o pipefail; {answer} | head -c 1"
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (result.returncode, result.stderr, len(result.stdout)) == (0, b"", 1)


@needs_model
def test_logits_are_finished_although_the_reader_has_enough(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start_long_answer(environment, "-n", "40", "--logits", str(tmp_path / "logits.npy"))
    wait_for_bytes(process.stdout, 1)
    process.stdout.close()
    process.stderr.read()
    assert process.wait(timeout=TIMEOUT_S) == 0
    assert read_npy(tmp_path / "logits.npy")[0][0] == 40


@needs_model
def test_full_disk_under_stdout_is_an_error(environment: dict[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        command = [PROGRAM, "generate", "-m", MODEL, "-p", PROMPT, "-n", "4"]
        result = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert result.returncode == 1
    assert b"cannot write to stdout" in result.stderr


@needs_model
def test_closed_stdout_is_an_error_and_no_other_file_takes_its_place(
    environment: dict[str, str], tmp_path: Path
) -> None:
    answer = f"'{PROGRAM}' generate -m '{MODEL}' -p '{PROMPT}' -n 4"
    command = f"{answer} --logits '{tmp_path}/logits.npy' >&-"
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        env=environment,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 1
    assert b"cannot write to stdout" in result.stderr
    assert list(tmp_path.iterdir()) == []
