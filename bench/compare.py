"""Compares mlxcel with llama.cpp on the same weights, threads and processors. See README.md.

    compare.py [--models NAME,...] [--rows KEY,...] [-t THREADS] [-r REPETITIONS] [-o FOLDER]

The runs are interleaved: every repetition of a row starts each engine in each of its variants
once, in an order that rotates. Writes FOLDER/compare.md and FOLDER/compare.json, prints the former.
What ends it early, an interrupt too, leaves the rows that were finished, and the exit code isn't 0.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import machine
import models
from children import BenchError, read_json
from engines import LLAMA_CPP, MLXCEL, Engine, LlamaCpp, Mlxcel, Setup, check_peer, has_kv_dtype
from goals import Processor
from models import ROOT, Model
from report import judge_model, make_markdown
from rows import DEPTHS, Row, make_rows
from samples import summarize

REPETITIONS, QUICK_REPETITIONS = 10, 3
INTERRUPTED = 130  # exit code, as a shell has it for Ctrl-C
EARLY_ENDS = (BenchError, KeyboardInterrupt)
ENVIRONMENT_PREFIXES = ("MLXCEL_", "LLAMA_", "GGML_", "OMP_", "GOMP_")


def interleave(runs: Sequence[Callable[[], float]], repetitions: int) -> list[list[float]]:
    """Samples of each run: one unmeasured turn, then turns whose order rotates."""
    for run in runs:
        run()  # warm-up: page cache, compiled module
    samples: list[list[float]] = [[] for _ in runs]
    for repetition in range(repetitions):
        turn = repetition % len(runs)
        for i in [*range(turn, len(runs)), *range(turn)]:
            samples[i].append(runs[i]())
    return samples


def measure_row(row: Row, engines: list[Engine], repetitions: int) -> list[dict]:
    """All samples of a row, engine by engine and variant by variant."""
    runs = [(engine, variant) for engine in engines for variant in engine.variants(row)]
    calls = [lambda e=engine, v=variant: e.measure(row, v) for engine, variant in runs]
    results = []
    for (engine, variant), samples in zip(runs, interleave(calls, repetitions)):
        names = {"row": row.key, "engine": engine.name, "tool": engine.tool(row)}
        names |= {"variant": variant, "cpu": machine.cpu_model(), "unit": row.unit}
        results.append({**names, **asdict(summarize(samples))})
    return results


def read_weights(model: Model) -> dict:
    """Runs weights.py in a process of its own; why: see there."""
    command = [sys.executable, str(ROOT / "bench" / "weights.py"), model.gguf, model.folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"can't read the sizes of {model.name}:\n{done.stderr}")
    return read_json(done.stdout, "weights.py")


def pin(threads: int | None) -> list[int]:
    """Restricts this process, and so its children, to as many processors as threads."""
    allowed = sorted(os.sched_getaffinity(0))
    count = threads or len(allowed)
    if count > len(allowed):
        raise BenchError(f"-t {count}: this process may use {len(allowed)} processors only")
    os.sched_setaffinity(0, allowed[:count])
    return allowed[:count]


def choose_kv_dtype(options: argparse.Namespace) -> str:
    """f16, the peer's default, unless mlxcel has no choice; equal for both in any case."""
    can_choose = has_kv_dtype(options.program)
    if options.kv_dtype and options.kv_dtype != "f32" and not can_choose:
        raise BenchError(f"--kv-dtype {options.kv_dtype}: this mlxcel has f32 only")
    return options.kv_dtype or ("f16" if can_choose else "f32")


def choose_rows(names: str | None, depths: tuple[int, ...]) -> list[Row]:
    rows = make_rows(depths)
    if names is None:
        return rows
    known = {row.key: row for row in rows}
    for name in names.split(","):
        if name not in known:
            raise BenchError(f"--rows: no row is called '{name}'; there are {', '.join(known)}")
    return [known[name] for name in names.split(",")]


def describe_end(what: str, error: BaseException) -> str:
    return f"{what}: {str(error) or 'interrupted'}"


def measure_rows(
    rows: list[Row], engines: list[Engine], repetitions: int, name: str
) -> tuple[list[dict], str | None]:
    """Results of the rows of one model, and what ended them early if something did.

    Nothing is worth keeping before the first row is finished: then it is raised.
    """
    results: list[dict] = []
    for row in rows:
        try:
            results += measure_row(row, engines, repetitions)
        except EARLY_ENDS as error:
            if not results:
                raise
            return results, describe_end(f"{name}, {row.title}", error)
        print(f"{name}: {row.title} done", file=sys.stderr)
    return results, None


def measure_models(
    chosen: list[Model], measure: Callable[[Model], tuple[dict, str | None]]
) -> tuple[list[dict], str | None]:
    """All models, up to what ended them early if something did."""
    measured: list[dict] = []
    failure = None
    for model in chosen:
        try:
            found, failure = measure(model)
        except EARLY_ENDS as error:
            if not measured:
                raise
            return measured, describe_end(model.name, error)
        measured.append(found)
        if failure:
            break
    return measured, failure


def measure_model(
    model: Model,
    options: argparse.Namespace,
    setup: Setup,
    rows: list[Row],
    processor: Processor,
) -> tuple[dict, str | None]:
    """The rows of one model, and what ended them early if something did."""
    ours = Mlxcel(options.program, model.folder, setup, options.device)
    peer = LlamaCpp(options.peer, model.gguf, setup)
    weights = read_weights(model)
    limits = machine.measure_limits(
        options.program, weights[MLXCEL]["decode_bytes"], setup.threads, setup.avx2
    )
    versions = {MLXCEL: ours.version(), LLAMA_CPP: peer.version()}
    check_peer(versions[LLAMA_CPP], processor.avx512, options.peer)
    ours.compile()
    results, failure = measure_rows(rows, [peer, ours], options.repetitions, model.name)
    found = {
        "name": model.name,
        "files": {MLXCEL: model.folder.name, LLAMA_CPP: model.gguf.name},
        "versions": versions,
        "weights": weights,
        "limits": asdict(limits),
        "results": results,
    }
    return found, failure


def environment() -> dict[str, str]:
    """Variables that may change what one of the engines does; paths of caches don't."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(ENVIRONMENT_PREFIXES) and not name.endswith("_DIR")
    }


def compare(options: argparse.Namespace) -> dict:
    """Everything that was measured, ready for JSON."""
    chosen = models.select(options.models, options.folder)
    rows = choose_rows(options.rows, options.depths)
    cpus = pin(options.threads)
    described = machine.describe(cpus)  # before anything runs: the load average is others'
    setup = Setup(len(cpus), choose_kv_dtype(options), options.avx2)
    flags = set() if setup.avx2 else machine.cpu_flags()
    processor = Processor(avx512="avx512f" in flags, amx="amx_tile" in flags)
    load = machine.OtherLoad(cpus)
    measured, failure = measure_models(
        chosen, lambda model: measure_model(model, options, setup, rows, processor)
    )
    outcome = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": described,
        "processor": asdict(processor),
        "other_load": load.share(),
        "failure": failure,
        "environment": environment(),
        "versions": measured[0]["versions"],
        "device": options.device,
        "threads": setup.threads,
        "kv_dtype": setup.kv_dtype,
        "avx2": setup.avx2,
        "repetitions": options.repetitions,
        "rows": [asdict(row) for row in rows],
        "models": measured,
    }
    for model in measured:
        del model["versions"]
        model["judged"] = judge_model(outcome, model)
    return outcome


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(int(word) for word in text.split(",") if word)
    if any(count < 1 for count in counts):
        raise ValueError
    return counts


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add: Callable[..., object] = parser.add_argument
    add("--models", help=f"of {', '.join(models.NAMES)} (default: all that were made)")
    add("--rows", help="keys of rows (default: all)")
    add("--depths", type=_counts, default=DEPTHS, help="of decode, beside 0 (default 4096)")
    add("--quick", action="store_true", help=f"{QUICK_REPETITIONS} repetitions: does it work?")
    add("-t", "--threads", type=int, help="threads and processors (default: all allowed)")
    add("-r", "--repetitions", type=int, help=f"of every row (default {REPETITIONS})")
    add("-o", "--output", type=Path, help="folder for compare.md and compare.json")
    add("--kv-dtype", choices=("f32", "f16"), help="of both (default: f16 if mlxcel has it)")
    add("--avx2", action="store_true", help="neither engine uses AVX-512")
    add("--device", default="local-task", help="mlxcel's device (default local-task)")
    add("--program", type=Path, default=ROOT / "build" / "release" / "mlxcel")
    add("--folder", type=Path, default=models.FOLDER, help="where the models are")
    add("--peer", type=Path, help="folder of llama.cpp's programs")
    options = parser.parse_args()
    for name in ("threads", "repetitions"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            parser.error(f"--{name} must be 1 or more")
    default = QUICK_REPETITIONS if options.quick else REPETITIONS
    options.repetitions = options.repetitions or default
    name = "peer-avx2" if options.avx2 else "peer"
    options.peer = options.peer or ROOT / ".toolchain" / name / "build" / "bin"
    return options


def main() -> int:
    options = parse_arguments()
    try:
        outcome = compare(options)
    except BenchError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("compare: interrupted before a row was finished", file=sys.stderr)
        return INTERRUPTED
    markdown = make_markdown(outcome)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "compare.json").write_text(json.dumps(outcome, indent=1) + "\n")
        (options.output / "compare.md").write_text(markdown)
    print(markdown, end="")
    if outcome["failure"]:
        print(f"compare: {outcome['failure']}", file=sys.stderr)
    return 1 if outcome["failure"] else 0


if __name__ == "__main__":
    sys.exit(main())
