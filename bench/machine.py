"""The machine: what it is, what else runs on it, and its limits (memory bandwidth, f32 FMA)."""

from __future__ import annotations

import os
import platform
import resource
from dataclasses import dataclass
from pathlib import Path

from children import BenchError, read_json, run_child

BUSY_SHARE = 0.05  # of the pinned processors used by others
BUFFER_BYTES_MAX = 1 << 30  # more than any cache holds


def cpu_model() -> str:
    """The processor's name as the kernel gives it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def cpu_flags() -> set[str]:
    """The processor's features as the kernel names them."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.partition(":")[2].split())
    return set()


def describe(cpus: list[int]) -> dict:
    """What a reader needs to judge the numbers."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": cpu_model(),
        "processors": os.cpu_count(),
        "pinned_to": cpus,
        "memory_bytes": pages,
        "kernel": platform.release(),
        "load_average": list(os.getloadavg()),
    }


def is_busy(outcome: dict) -> bool:
    """Others used too much of the processors for times that prove anything."""
    return outcome["other_load"] > BUSY_SHARE


class OtherLoad:
    """The share of the pinned processors that something else than this tool's children used.

    Time stolen by a hypervisor counts as something else.
    """

    def __init__(self, cpus: list[int]) -> None:
        self._names = {f"cpu{cpu}" for cpu in cpus}
        self._begin = self._read()

    def _read(self) -> tuple[float, float, float]:
        """Seconds since boot: all, busy, ours."""
        total = busy = 0
        for line in Path("/proc/stat").read_text().splitlines():
            name, *fields = line.split()
            if name in self._names:
                user, nice, system, idle, wait, irq, softirq, steal = map(int, fields[:8])
                busy += user + nice + system + irq + softirq + steal
                total += user + nice + system + idle + wait + irq + softirq + steal
        ticks = os.sysconf("SC_CLK_TCK")
        usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        ours = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        return total / ticks, busy / ticks, ours

    def share(self) -> float:
        """Since the object was made; 0 to 1."""
        total, busy, ours = (now - then for now, then in zip(self._read(), self._begin))
        return min(1.0, max(0.0, (busy - ours) / total)) if total > 0 else 0.0


@dataclass(frozen=True)
class Limits:
    """The best that some number of threads reached."""

    read_bytes_s: float
    fma_flop_s: float
    rows: list[dict]  # all thread counts and vector widths, as it printed them


def measure_limits(program: Path, buffer_bytes: int, threads: int, avx2: bool) -> Limits:
    """By `mlxcel bench --roofline` on the processors of this process.

    It reads a buffer as large as the weights, 1 GiB at most, over and over, and runs independent
    chains of f32 multiply-adds in registers; the best repetition counts. With `avx2` only that
    width counts.
    """
    size = min(buffer_bytes, BUFFER_BYTES_MAX)
    words = ["bench", "--roofline", "--roofline-bytes", size, "-t", threads]
    report = read_json(run_child([program, *words, "-o", "json", "-q"]).output, program)
    row = report["rows"][threads - 1]
    widths = [row[name] for name in (("avx2",) if avx2 else ("avx2", "avx512")) if name in row]
    if not widths:
        raise BenchError("this processor has neither AVX2 nor AVX-512: nothing to compare on it")
    return Limits(
        1e9 * max(width["read_gb_s"] for width in widths),
        1e9 * max(width["f32_fma_gflop_s"] for width in widths),
        report["rows"],
    )

