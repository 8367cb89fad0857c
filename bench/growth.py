"""Shows that mlxcel's cost grows as it should. See README.md.

    growth.py [--models NAME] [-t THREADS] [-r REPETITIONS] [--kv-dtype TYPE] -o FOLDER

A short context costs the same in a small and a large cache; the time of a decode step is a line
over the depth; memory over context and sequences; a waiting process is idle. Writes
FOLDER/growth.md, growth.json and one SVG a curve, prints the first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import machine
import models
from children import BenchError
from compare import INTERRUPTED, interleave, pin
from engines import Mlxcel, Setup, fitting_context, has_kv_dtype
from idle import measure_idle
from machine import is_busy
from models import ROOT
from rows import Row
from samples import Summary, fit_line, summarize
from svg import Series, line_chart

REPETITIONS = 5
SHORT_CONTEXT = 100  # tokens: a prompt of that many, or that many before the steps
CAPACITIES = (512, 8192)
DEPTHS = (0, 1024, 4096, 7168)
STEPS = 64
CONTEXTS = (512, 1024, 2048, 4096, 8192)
SLOTS = (1, 2, 4, 8)
SLOT_CONTEXT = 2048
TOLERANCE = 0.05
IDLE_SHARE, IDLE_S = 0.01, 5.0


def decode_row(depth: int, parallel: int = 1) -> Row:
    return Row("", "", "tok/s", "decode", gen=STEPS, depth=depth, parallel=parallel)


def verdict(is_met: bool) -> str:
    return "met" if is_met else "not met"


# --- measurements ---------------------------------------------------------------------------------


def measure_capacity(engine: Mlxcel, repetitions: int) -> dict:
    """Rates of the same short work in caches of different capacity."""
    rows = {
        "prefill": Row("", "", "tok/s", "prefill", prompt=SHORT_CONTEXT),
        "decode": decode_row(SHORT_CONTEXT),
    }
    found = {}
    for name, row in rows.items():
        calls = [lambda c=c, r=row: engine.rate(r, c) for c in CAPACITIES]
        small, large = map(summarize, interleave(calls, repetitions))
        change = small.median / large.median - 1  # of the time, not of the rate
        found[name] = {
            "rates": {str(c): asdict(s) for c, s in zip(CAPACITIES, (small, large))},
            "change": change,
            "verdict": verdict(abs(change) <= TOLERANCE),
        }
    return found


def measure_depth(engine: Mlxcel, repetitions: int) -> dict:
    """Milliseconds a decode step at each depth, and the line through the medians."""
    context = max(fitting_context(decode_row(depth)) for depth in DEPTHS)
    calls = [lambda d=d: 1000 / engine.rate(decode_row(d), context) for d in DEPTHS]
    times: list[Summary] = [summarize(s) for s in interleave(calls, repetitions)]
    middles = [depth + STEPS / 2 for depth in DEPTHS]  # the average depth of the steps
    line = fit_line(middles, [time.median for time in times])
    return {
        "depths": list(DEPTHS),
        "ms": [asdict(time) for time in times],
        "line": asdict(line),
        "fit_ms": [line.at(middle) for middle in middles],
        "verdict": verdict(line.largest_deviation <= TOLERANCE),
    }


def measure_context_memory(engine: Mlxcel) -> dict:
    """Peak MiB with a short prompt and with a full context."""
    return {
        "contexts": list(CONTEXTS),
        "short": [engine.peak(SHORT_CONTEXT, STEPS, context) for context in CONTEXTS],
        "full": [engine.peak(context - STEPS - 1, STEPS, context) for context in CONTEXTS],
    }


def measure_slot_memory(engine: Mlxcel) -> dict:
    """Peak MiB of a process with several sequences, the context of each full."""
    rows = [decode_row(SLOT_CONTEXT - STEPS, slots) for slots in SLOTS]
    peaks = [engine.bench_peak(row, SLOT_CONTEXT) for row in rows]
    return {"slots": list(SLOTS), "context": SLOT_CONTEXT, "full": peaks}


def measure(options: argparse.Namespace) -> dict:
    """Everything, ready for JSON."""
    (model,) = models.select(options.models, options.folder)
    cpus = pin(options.threads)
    described = machine.describe(cpus)
    kv_dtype = options.kv_dtype or "f32"
    if kv_dtype != "f32" and not has_kv_dtype(options.program):
        raise BenchError(f"--kv-dtype {kv_dtype}: this mlxcel has f32 only")
    engine = Mlxcel(options.program, model.folder, Setup(len(cpus), kv_dtype), options.device)
    engine.compile()
    load = machine.OtherLoad(cpus)
    steps: dict[str, Callable[[], dict | float]] = {
        "idle": lambda: measure_idle(engine.chat_command(), IDLE_S),
        "capacity": lambda: measure_capacity(engine, options.repetitions),
        "depth": lambda: measure_depth(engine, options.repetitions),
        "context_memory": lambda: measure_context_memory(engine),
        "slot_memory": lambda: measure_slot_memory(engine),
    }
    found = {}
    for name, step in steps.items():
        found[name] = step()
        print(f"{name} done", file=sys.stderr)
    outcome = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": described,
        "other_load": load.share(),
        "version": engine.version(),
        "model": model.name,
        "device": options.device,
        "threads": len(cpus),
        "kv_dtype": kv_dtype,
        "repetitions": options.repetitions,
        **found,
    }
    if is_busy(outcome):  # memory and the processor time of one process are what they are
        for judged in (*found["capacity"].values(), found["depth"]):
            judged["verdict"] = "not judged"
    return outcome


# --- report ---------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def cell(summary: dict) -> str:
    return f"{summary['median']:.2f} ({summary['low']:.2f} to {summary['high']:.2f})"


def capacity_lines(found: dict) -> list[str]:
    head = ["", *(f"-c {c}, tok/s" for c in CAPACITIES), "change of the time", "goal: within 5 %"]
    rows = [
        [name, *map(cell, one["rates"].values()), f"{100 * one['change']:+.1f} %", one["verdict"]]
        for name, one in found.items()
    ]
    return [f"## {SHORT_CONTEXT} tokens in a small and a large context", "", *table(head, rows)]


def depth_lines(found: dict) -> list[str]:
    line = found["line"]
    rows = [
        [str(depth), cell(time), f"{fit:.2f}", f"{100 * (time['median'] / fit - 1):+.1f} %"]
        for depth, time, fit in zip(found["depths"], found["ms"], found["fit_ms"])
    ]
    return [
        "## Time of a decode step over the depth",
        "",
        *table(["depth", "ms a token", "line, ms", "off the line"], rows),
        f"Line of least squares: {line['intercept']:.3f} ms + {1000 * line['slope']:.3f} ms for "
        f"1,000 tokens; largest deviation {100 * line['largest_deviation']:.1f} % "
        f"(goal: within 5 %: {found['verdict']}).",
        "",
        "![time over depth](depth.svg)",
        "",
    ]


def memory_lines(contexts: dict, slots: dict) -> list[str]:
    head = ["context", f"{SHORT_CONTEXT} + {STEPS} tokens used, MiB", "all used, MiB"]
    rows = [
        [str(context), f"{short:.1f}", f"{full:.1f}"]
        for context, short, full in zip(contexts["contexts"], contexts["short"], contexts["full"])
    ]
    lines = ["## Peak memory over the context", "", *table(head, rows)]
    lines += ["![memory over context](context-memory.svg)", "", "## Peak memory over sequences", ""]
    rows = [[str(count), f"{full:.1f}"] for count, full in zip(slots["slots"], slots["full"])]
    head = ["sequences", f"context {slots['context']} of each used, MiB"]
    return [*lines, *table(head, rows), "![memory over sequences](slot-memory.svg)", ""]


def make_markdown(outcome: dict) -> str:
    described, idle = outcome["machine"], outcome["idle"]
    lines = [
        f"# How mlxcel's cost grows: {outcome['model']} on {described['cpu']}",
        "",
        f"- {outcome['date']}, medians of {outcome['repetitions']} (minimum to maximum)",
        f"- {described['cpu']}, {outcome['threads']} threads on processors "
        f"{described['pinned_to']}, Linux {described['kernel']}; of them, others used "
        f"{100 * outcome['other_load']:.1f} %",
        f"- KV cache {outcome['kv_dtype']}, device {outcome['device']}",
        *(["- **The machine was busy: don't quote these times.**"] if is_busy(outcome) else []),
        "",
        *capacity_lines(outcome["capacity"]),
        *depth_lines(outcome["depth"]),
        *memory_lines(outcome["context_memory"], outcome["slot_memory"]),
        "## A waiting process",
        "",
        f"`mlxcel chat` between two lines: {100 * idle:.2f} % of one processor over {IDLE_S:.0f} s "
        f"(goal: under 1 %: {verdict(idle < IDLE_SHARE)}).",
        "",
        "```",
        outcome["version"],
        "```",
    ]
    return "\n".join(lines) + "\n"


def make_charts(outcome: dict) -> dict[str, str]:
    """File names and pictures."""
    depth, contexts, slots = (outcome[k] for k in ("depth", "context_memory", "slot_memory"))
    where = f"{outcome['model']}, {outcome['machine']['cpu']}, {outcome['threads']} threads"
    steps = [(d, time["median"]) for d, time in zip(depth["depths"], depth["ms"])]
    fit = list(zip(depth["depths"], depth["fit_ms"]))
    curves = [Series("measured", steps), Series("line of least squares", fit, has_points=False)]
    charts = {"depth.svg": line_chart(f"Decode step: {where}", "depth, tokens", "ms", curves)}
    curves = [
        Series(name, list(zip(contexts["contexts"], contexts[key])))
        for key, name in (("short", "short prompt"), ("full", "context full"))
    ]
    title = f"Peak memory: {where}"
    charts["context-memory.svg"] = line_chart(title, "context, tokens", "MiB", curves)
    curves = [Series("contexts full", list(zip(slots["slots"], slots["full"])))]
    charts["slot-memory.svg"] = line_chart(title, "sequences", "MiB", curves)
    return charts


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add: Callable[..., object] = parser.add_argument
    add("--models", default="smollm2-q4_1", help="one model with a chat template")
    add("-t", "--threads", type=int, help="threads and processors (default: all allowed)")
    add("-r", "--repetitions", type=int, default=REPETITIONS)
    add("-o", "--output", type=Path, required=True, help="folder for the report")
    add("--kv-dtype", choices=("f32", "f16", "bf16"), help="default f32")
    add("--device", default="local-task", help="mlxcel's device (default local-task)")
    add("--program", type=Path, default=ROOT / "build" / "release" / "mlxcel")
    add("--folder", type=Path, default=models.FOLDER, help="where the models are")
    options = parser.parse_args()
    if options.repetitions < 1 or (options.threads is not None and options.threads < 1):
        parser.error("--threads and --repetitions must be 1 or more")
    if "," in options.models:
        parser.error("--models: one model at a time")
    return options


def main() -> int:
    options = parse_arguments()
    try:
        outcome = measure(options)
    except BenchError as error:
        print(f"growth: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("growth: interrupted", file=sys.stderr)
        return INTERRUPTED
    markdown = make_markdown(outcome)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "growth.json").write_text(json.dumps(outcome, indent=1) + "\n")
    (options.output / "growth.md").write_text(markdown)
    for name, picture in make_charts(outcome).items():
        (options.output / name).write_text(picture)
    print(markdown, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
