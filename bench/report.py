"""From samples to a table: median, range, ratio, limit, goal."""

from __future__ import annotations

from engines import LLAMA_CPP, MLXCEL
from goals import Outcome, Processor, judge
from limits import row_limit
from machine import is_busy
from rows import Row

MEBI = 1 << 20
COLUMNS = (
    "",
    "mlxcel",
    "llama.cpp",
    "ratio",
    "better",
    "limit",
    "share of the limit",
    "goal",
    "reached",
    "llama.cpp's best",
)


def best_of(results: list[dict], row: Row, engine: str) -> dict:
    """The variant with the best median."""
    of_row = [r for r in results if r["row"] == row.key and r["engine"] == engine]
    best = max if row.higher_is_better else min
    return best(of_row, key=lambda result: result["median"])


def measured_rows(outcome: dict, model: dict) -> list[Row]:
    """Those that the model has results of: all, unless the run ended early."""
    found = {result["row"] for result in model["results"]}
    return [row for fields in outcome["rows"] if (row := Row(**fields)).key in found]


def judge_model(outcome: dict, model: dict) -> list[dict]:
    """One entry a row: the best of both, ratio, limits and shares, goal and verdict."""
    judged = []
    for row in measured_rows(outcome, model):
        ours, peer = (best_of(model["results"], row, name) for name in (MLXCEL, LLAMA_CPP))
        entry = {"row": row.key, "cpu": outcome["machine"]["cpu"], "mlxcel": ours, "peer": peer}
        judged.append(entry | _comparison(outcome, model, row, ours, peer))
    return judged


def _comparison(outcome: dict, model: dict, row: Row, ours: dict, peer: dict) -> dict:
    limits = {
        name: row_limit(row, model["weights"][name], model["limits"], outcome["kv_dtype"])
        for name in (MLXCEL, LLAMA_CPP)
    }
    shares = {
        name: result["median"] / limit.value if (limit := limits[name]) else None
        for name, result in ((MLXCEL, ours), (LLAMA_CPP, peer))
    }
    figures = Outcome(ours["median"], peer["median"], shares[MLXCEL])
    processor = Processor(**outcome["processor"])
    goal, verdict = judge(model["name"], row, figures, processor, is_busy(outcome))
    return {
        "ratio": figures.ratio,
        "limits": {name: limit.value if limit else None for name, limit in limits.items()},
        "limit_kind": limits[MLXCEL].kind if limits[MLXCEL] else None,
        "shares": shares,
        "goal": goal,
        "verdict": verdict,
    }


# --- markdown -------------------------------------------------------------------------------------


def _cell(result: dict) -> str:
    return f"{result['median']:.1f} ({result['low']:.1f} to {result['high']:.1f})"


def _limit_cells(entry: dict) -> list[str]:
    if entry["limit_kind"] is None:
        return ["", ""]
    limits = " / ".join(str(value) for value in dict.fromkeys(map(round, entry["limits"].values())))
    shares = " / ".join(f"{100 * share:.0f} %" for share in entry["shares"].values())
    return [f"{limits} ({entry['limit_kind']})", shares]


def _table_line(row: Row, entry: dict) -> str:
    peer = entry["peer"]
    cells = [
        f"{row.title}, {row.unit}",
        _cell(entry["mlxcel"]),
        _cell(peer),
        f"{entry['ratio']:.2f}",
        "higher" if row.higher_is_better else "lower",
        *_limit_cells(entry),
        entry["goal"],
        entry["verdict"],
        f"`{peer['tool']} {peer['variant']}`",
    ]
    return "| " + " | ".join(cells) + " |"


def _model_lines(outcome: dict, model: dict) -> list[str]:
    sizes = {name: weights["bytes"] / MEBI for name, weights in model["weights"].items()}
    limits = model["limits"]
    lines = [
        f"## {model['name']} on {outcome['machine']['cpu']}, {outcome['threads']} threads",
        "",
        f"Weights: mlxcel {sizes[MLXCEL]:.1f} MiB, llama.cpp {sizes[LLAMA_CPP]:.1f} MiB. Measured "
        f"limits: {limits['read_bytes_s'] * 1e-9:.1f} GB/s read, "
        f"{limits['fma_flop_s'] * 1e-9:.0f} GFLOP/s f32 FMA.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|" + "---|" * len(COLUMNS),
    ]
    rows = measured_rows(outcome, model)
    lines += [_table_line(row, entry) for row, entry in zip(rows, model["judged"])]
    return [*lines, ""]


def _facts(outcome: dict) -> list[str]:
    machine, processor = outcome["machine"], outcome["processor"]
    load = ", ".join(f"{value:.2f}" for value in machine["load_average"])
    has = [name for name in ("avx512", "amx") if processor[name]]
    facts = [
        f"{outcome['date']}, {outcome['repetitions']} repetitions, interleaved",
        f"{machine['cpu']}, {machine['processors']} processors, Linux {machine['kernel']}",
        f"{outcome['threads']} threads, both engines on processors {machine['pinned_to']}",
        f"both {'kept to AVX2' if outcome['avx2'] else 'use what the processor has'}; beyond AVX2 "
        f"that is {', '.join(has) if has else 'nothing'}",
        f"KV cache of both: {outcome['kv_dtype']}",
        f"load average at the start: {load}; of the pinned processors, others used "
        f"{100 * outcome['other_load']:.1f} % during the runs",
        f"mlxcel's device: {outcome['device']}",
    ]
    if outcome["environment"]:
        values = ", ".join(f"`{name}={value}`" for name, value in outcome["environment"].items())
        facts.append(f"environment of both: {values}")
    if outcome["failure"]:
        facts.append(f"**Incomplete.** {outcome['failure'].splitlines()[0]}")
    if is_busy(outcome):
        facts.append("**The machine was busy: don't quote these numbers.**")
    return facts


def make_markdown(outcome: dict) -> str:
    """The report for people; the JSON has every sample of every variant."""
    lines = ["# mlxcel beside llama.cpp", ""]
    lines += [f"- {fact}" for fact in _facts(outcome)]
    lines += [
        "",
        "Medians (minimum to maximum); ratio = mlxcel / llama.cpp; limits and shares: mlxcel / "
        "llama.cpp. The FMA limit is mlxcel's: llama.cpp may multiply smaller types.",
        "",
    ]
    for model in outcome["models"]:
        lines += _model_lines(outcome, model)
    for name in (MLXCEL, LLAMA_CPP):
        lines += [f"{name}:", "```", outcome["versions"][name], "```", ""]
    return "\n".join(lines)
