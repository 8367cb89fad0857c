"""Runs the programs that are measured: output, time to the first byte, peak memory.

Processor affinity is inherited: compare.py pins itself before it starts anything, so that every
child runs on the same processors and no wrapper adds to a start time.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 1800  # a deep context of a large model with its warm-up takes minutes
ERROR_LINES = 15
ERROR_WORD = 80  # characters of an argument that a message repeats
READ_BYTES = 1 << 16


class BenchError(Exception):
    """A measurement that can't be made; the message says what to do about it."""


@dataclass(frozen=True)
class Finished:
    """A child that ended well."""

    output: str
    errors: str
    first_byte_s: float | None  # process start to the first byte of output; None: no output
    peak_bytes: int | None  # None: below what this process had when it forked, so unknown


def run_child(command: list[str | Path]) -> Finished:
    """Runs a program to its end; raises BenchError when it fails or takes too long."""
    arguments = [str(word) for word in command]
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        begin = time.perf_counter()
        try:
            child = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            raise BenchError(f"can't start {arguments[0]}: {error.strerror}") from error
        try:
            output, first_byte_s = _drain(child, begin)
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:  # an interrupt of this tool too leaves nothing running
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read()
    if child.returncode != 0:
        tail = "\n".join(text.splitlines()[-ERROR_LINES:])
        words = (w if len(w) <= ERROR_WORD else f"{w[:ERROR_WORD]}..." for w in arguments)
        raise BenchError(f"{' '.join(words)}\n{_ending(child.returncode)}:\n{tail}")
    return Finished(output.decode(errors="replace"), text, first_byte_s, _peak_bytes(usage))


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with {returncode}"
    return f"was ended by signal {-returncode} ({signal.strsignal(-returncode)})"


def read_json(text: str, program: str | Path) -> Any:
    """What a program answered; raises BenchError when that isn't JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BenchError(f"{program} wrote something else than JSON: {text[:200]!r}") from error


def _drain(child: subprocess.Popen, begin: float) -> tuple[bytes, float | None]:
    """Reads the child's output to the end and notes when its first byte came."""
    pieces: list[bytes] = []
    first_byte_s = None
    descriptor = child.stdout.fileno()
    while True:
        left = begin + TIMEOUT_S - time.perf_counter()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            raise BenchError(f"{child.args[0]} didn't end within {TIMEOUT_S} s; stopped it")
        piece = os.read(descriptor, READ_BYTES)
        if not piece:
            child.stdout.close()
            return b"".join(pieces), first_byte_s
        if first_byte_s is None:
            first_byte_s = time.perf_counter() - begin
        pieces.append(piece)


def _peak_bytes(usage: resource.struct_rusage) -> int | None:
    """ru_maxrss, which Linux counts in KiB and starts at what the parent had when it forked."""
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss * 1024 if usage.ru_maxrss > floor else None
