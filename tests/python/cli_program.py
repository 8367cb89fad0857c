"""How the command-line tests start mlxcel: the program, a model, pipes and terminals.

MLXCEL_BIN names the program, MLXCEL_MODELS a folder with at least one checkpoint folder. What is
missing skips the tests that need it, with the reason.
"""

from __future__ import annotations

import array
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

PROGRAM = os.environ.get("MLXCEL_BIN", "")
MODELS = os.environ.get("MLXCEL_MODELS", "")
PROMPT = "The capital of France is"
TIMEOUT_S = 180  # a cold compile on a busy machine

Runner = Callable[..., subprocess.CompletedProcess]
needs_program = pytest.mark.skipif(
    not os.access(PROGRAM, os.X_OK), reason=f"MLXCEL_BIN={PROGRAM!r} isn't a program"
)


def find_model() -> str:
    """The checkpoint folder to test with: `make demo`'s chat model if present, else the first."""
    if not MODELS or not Path(MODELS).is_dir():
        return ""
    folders = sorted(path.parent for path in Path(MODELS).glob("*/config.json"))
    preferred = [folder for folder in folders if "smollm2" in folder.name.lower()]
    return str((preferred + folders)[0]) if folders else ""


MODEL = find_model()
needs_model = pytest.mark.skipif(
    not MODEL, reason=f"MLXCEL_MODELS={MODELS!r} holds no checkpoint folder"
)


def has_chat_template(folder: str) -> bool:
    """The model can be talked to."""
    config = Path(folder) / "tokenizer_config.json"
    has_text = config.is_file() and '"chat_template"' in config.read_text(encoding="utf-8")
    return has_text or (Path(folder) / "chat_template.jinja").is_file()


needs_chat_model = pytest.mark.skipif(
    not MODEL or not has_chat_template(MODEL),
    reason=f"MLXCEL_MODELS={MODELS!r} holds no checkpoint with a chat template",
)


def generate(run: Runner, *arguments: str, **more: object) -> subprocess.CompletedProcess:
    """A short greedy run with the test's model."""
    return run("generate", "-m", MODEL, "-n", "6", "--temp", "0", *arguments, **more)


def read_npy(path: Path) -> tuple[tuple[int, int], array.array]:
    """Shape and values of a float32 matrix, read by the format's rules."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = int.from_bytes(data[8:10], "little")
    assert (10 + size) % 64 == 0 and data[9 + size : 10 + size] == b"\n"
    header = data[10 : 10 + size].decode("ascii")
    assert "'descr': '<f4'" in header and "'fortran_order': False" in header
    rows, columns = map(int, re.search(r"'shape': \((\d+), (\d+)\)", header).groups())
    values = array.array("f", data[10 + size :])
    assert len(values) == rows * columns
    return (rows, columns), values


def wait_for_bytes(stream: IO[bytes], count: int) -> bytes:
    """Reads at least `count` bytes from a pipe."""
    data = b""
    while len(data) < count:
        ready, _, _ = select.select([stream], [], [], TIMEOUT_S)
        assert ready
        part = os.read(stream.fileno(), 4096)
        assert part, f"closed after {data!r}"
        data += part
    return data


def start_long_answer(environment: dict[str, str], *arguments: str) -> subprocess.Popen:
    """An answer that lasts as long as the context."""
    command = [
        PROGRAM,
        "generate",
        "-m",
        MODEL,
        "-p",
        PROMPT,
        "--ignore-eos",
        "--temp",
        "0",
        *arguments,
    ]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


@dataclass
class Terminal:
    """A program on a pseudo terminal of its own."""

    process: int
    descriptor: int
    output: bytes = b""

    def _read(self, timeout_s: float) -> bool:
        """Collects what comes next; False when the program has closed the terminal."""
        ready, _, _ = select.select([self.descriptor], [], [], max(0.0, timeout_s))
        assert ready, f"nothing after {self.output!r}"
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:  # how Linux says that the other end is closed
            data = b""
        self.output += data
        return data != b""

    def read_until(self, pattern: str) -> None:
        """Collects output until all of it matches `pattern` somewhere."""
        deadline = time.monotonic() + TIMEOUT_S
        while not re.search(pattern.encode(), self.output, re.S):
            is_open = self._read(deadline - time.monotonic())
            assert is_open, f"no {pattern!r} in {self.output!r}"

    def write(self, text: str) -> None:
        """Types."""
        os.write(self.descriptor, text.encode())

    def wait(self) -> int:
        """Reads to the end; the exit code."""
        while self._read(TIMEOUT_S):
            pass
        _, status = os.waitpid(self.process, 0)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)


def open_terminal(environment: dict[str, str], *arguments: str, **variables: str) -> Terminal:
    """Starts mlxcel on a new terminal."""
    process, descriptor = pty.fork()
    if process == 0:
        merged = {**environment, "TERM": "xterm", **variables}
        if "NO_COLOR" not in variables:
            merged.pop("NO_COLOR", None)
        os.execve(PROGRAM, [PROGRAM, *arguments], merged)
    return Terminal(process, descriptor)
