"""From samples to a table: median, range, ratio, limit, goal."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from engines import ROWS, Row

FLOPS_PER_WEIGHT = 2  # a multiply and an add
BUSY_SHARE = 0.05  # of the pinned processors used by others: above that, a note in the report
DECODE_GOAL = 0.8  # of llama.cpp's rate
MEMORY_GOAL = (1.5, 100.0)  # times the weights, plus MiB
START_GOAL_MS = 500.0
MEBI = 1 << 20


@dataclass(frozen=True)
class Result:
    """One engine in one variant on one row."""

    row: str
    engine: str
    variant: str
    median: float
    low: float
    high: float
    samples: list[float]


def summarize(row: Row, engine: str, variant: str, samples: list[float]) -> Result:
    middle = statistics.median(samples)
    return Result(row.key, engine, variant, middle, min(samples), max(samples), samples)


def best_of(outcome: dict, row: Row, engine: str) -> dict:
    """The variant with the best median."""
    of_row = [r for r in outcome["results"] if r["row"] == row.key and r["engine"] == engine]
    return (max if row.higher_is_better else min)(of_row, key=lambda result: result["median"])


def row_limit(outcome: dict, row: Row) -> str:
    """What the machine allows: weights over bandwidth, or multiply-adds over their peak rate."""
    limits = outcome["limits"]
    if row.key == "decode":
        rates = [
            limits["read_bytes_s"] / outcome["weights"][engine]["decode_bytes"]
            for engine in ("mlxcel", "llama.cpp")
        ]
        return f"{rates[0]:.0f} / {rates[1]:.0f} (bandwidth)"
    if row.key == "prefill":
        work = FLOPS_PER_WEIGHT * outcome["weights"]["llama.cpp"]["prompt_weights"]
        return f"{limits['fma_flop_s'] / work:.0f} (f32 FMA)"
    return ""


def row_goal(outcome: dict, row: Row, ours: float, peer: float) -> str:
    """What the project asks of this row, and whether this run reached it.

    Memory doesn't depend on who else runs; the times of a busy machine prove nothing.
    """
    if row.key == "memory":
        factor, slack = MEMORY_GOAL
        bound = factor * outcome["weights"]["mlxcel"]["bytes"] / MEBI + slack
        return f"at most {bound:.0f}: {_verdict(ours <= bound)}"
    quiet = not is_busy(outcome)
    if row.key == "decode":
        verdict = _verdict(ours >= DECODE_GOAL * peer) if quiet else "not judged"
        return f"{DECODE_GOAL} of llama.cpp: {verdict}"
    if row.key == "start":
        verdict = _verdict(ours < START_GOAL_MS) if quiet else "not judged"
        return f"under {START_GOAL_MS:.0f}: {verdict}"
    return ""


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


def is_busy(outcome: dict) -> bool:
    """Others used too much of the processors for a fair run."""
    return outcome["other_load"] > BUSY_SHARE


def _cell(result: dict) -> str:
    return f"{result['median']:.1f} ({result['low']:.1f} to {result['high']:.1f})"


def _table_line(outcome: dict, row: Row) -> str:
    ours, peer = (best_of(outcome, row, engine) for engine in ("mlxcel", "llama.cpp"))
    ratio = ours["median"] / peer["median"]
    cells = [
        f"{row.title}, {row.unit}",
        _cell(ours),
        _cell(peer),
        f"{ratio:.2f}",
        "higher" if row.higher_is_better else "lower",
        row_limit(outcome, row),
        row_goal(outcome, row, ours["median"], peer["median"]),
        f"`{peer['variant']}`",
    ]
    return "| " + " | ".join(cells) + " |"


def _facts(outcome: dict) -> list[str]:
    machine, limits = outcome["machine"], outcome["limits"]
    load = ", ".join(f"{value:.2f}" for value in machine["load_average"])
    sizes = {name: weights["bytes"] / MEBI for name, weights in outcome["weights"].items()}
    facts = [
        f"{outcome['date']}, {outcome['repetitions']} repetitions, interleaved",
        f"{machine['cpu']}, {machine['processors']} processors, Linux {machine['kernel']}",
        f"{outcome['threads']} threads, both engines on processors {machine['pinned_to']}",
        f"load average at the start: {load}; of the pinned processors, others used "
        f"{100 * outcome['other_load']:.1f} % during the runs",
        f"measured limits with {outcome['threads']} threads: "
        f"{limits['read_bytes_s'] * 1e-9:.1f} GB/s read, "
        f"{limits['fma_flop_s'] * 1e-9:.0f} GFLOP/s f32 FMA",
        f"mlxcel: {outcome['files']['mlxcel']}, {sizes['mlxcel']:.1f} MiB of weights, "
        f"device {outcome['device']}",
        f"llama.cpp: {outcome['files']['llama.cpp']}, {sizes['llama.cpp']:.1f} MiB of weights",
    ]
    if is_busy(outcome):
        facts.append("**The machine was busy: don't quote these numbers.**")
    return facts


def make_markdown(outcome: dict) -> str:
    """The report for people; the JSON has every sample of every variant."""
    head = "| | mlxcel | llama.cpp | ratio | better | limit | goal | llama.cpp's best setting |"
    lines = ["# mlxcel beside llama.cpp", ""]
    lines += [f"- {fact}" for fact in _facts(outcome)]
    lines += ["", "Medians (minimum to maximum); ratio = mlxcel / llama.cpp.", ""]
    lines += [head, "|" + "---|" * 8]
    lines += [_table_line(outcome, row) for row in ROWS]
    for name in ("mlxcel", "llama.cpp"):
        lines += ["", f"{name}:", "```", outcome["versions"][name], "```"]
    return "\n".join(lines) + "\n"
