"""What a process that waits for input costs: processor time of `mlxcel chat` between two lines."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

from children import BenchError

SETTLE_S = 1.0  # after an answer, so that its last work isn't counted
ANSWER_TIMEOUT_S = 120.0


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads, from /proc."""
    # The name, in parentheses, may hold spaces; utime and stime are fields 14 and 15 of the line.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_idle(command: list[object], seconds: float) -> float:
    """The share of one processor that a chat uses while it waits, after it answered a line."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        pipe = subprocess.PIPE
        try:
            words = [str(word) for word in command]
            child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=errors)
        except OSError as error:
            raise BenchError(f"can't start {words[0]}: {error.strerror}") from error
        try:
            return _wait_and_measure(child, seconds)
        except BenchError as error:
            errors.seek(0)
            raise BenchError(f"{error}\n{errors.read()}") from error
        finally:
            child.kill()
            child.communicate()


def _wait_and_measure(child: subprocess.Popen, seconds: float) -> float:
    try:
        child.stdin.write(b"Hello\n")
        child.stdin.flush()
    except BrokenPipeError as error:
        raise BenchError("the chat ended before it read a line") from error
    _await_line(child)
    time.sleep(SETTLE_S)
    used, begin = cpu_seconds(child.pid), time.monotonic()
    time.sleep(seconds)
    used = cpu_seconds(child.pid) - used
    elapsed = time.monotonic() - begin
    if child.poll() is not None:
        raise BenchError("the chat ended instead of waiting")
    return used / elapsed


def _await_line(child: subprocess.Popen) -> None:
    """Until the answer's last character, a newline; the model's own newlines are no matter."""
    end = time.monotonic() + ANSWER_TIMEOUT_S
    output = b""
    while not output.endswith(b"\n"):
        left = end - time.monotonic()
        if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
            raise BenchError(f"the chat gave no answer within {ANSWER_TIMEOUT_S:.0f} s")
        piece = os.read(child.stdout.fileno(), 4096)
        if not piece:
            raise BenchError("the chat ended without an answer")
        output += piece
