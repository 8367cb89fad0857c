"""Compares mlxcel with llama.cpp on the same weights, threads and processors. See README.md.

    compare.py [--quick] [-t THREADS] [-r REPETITIONS] [-o FOLDER]

The runs are interleaved: every repetition of a row starts each engine in each of its variants
once, in an order that rotates. Writes FOLDER/compare.md and FOLDER/compare.json, prints the former.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import machine
from children import BenchError
from engines import ROWS, Engine, LlamaCpp, Mlxcel, Row
from report import Result, make_markdown, summarize

ROOT = Path(__file__).resolve().parent.parent
REPETITIONS, QUICK_REPETITIONS = 10, 3
ENVIRONMENT_PREFIXES = ("MLXCEL_", "LLAMA_", "GGML_", "OMP_", "GOMP_")


def measure_row(row: Row, engines: list[Engine], repetitions: int) -> list[Result]:
    """All samples of a row, engine by engine and variant by variant."""
    runs = [(engine, variant) for engine in engines for variant in engine.variants(row.key)]
    samples: dict[tuple[str, str], list[float]] = {(e.name, v): [] for e, v in runs}
    for engine, variant in runs:
        engine.measure(row.key, variant)  # warm-up: page cache, compiled module
    for repetition in range(repetitions):
        turn = repetition % len(runs)
        for engine, variant in runs[turn:] + runs[:turn]:
            samples[engine.name, variant].append(engine.measure(row.key, variant))
        print(f"{row.title}: {repetition + 1} of {repetitions} done", file=sys.stderr)
    return [summarize(row, name, variant, values) for (name, variant), values in samples.items()]


def read_weights(path: Path) -> dict:
    """Runs weights.py in a process of its own; why: see there."""
    command = [sys.executable, str(ROOT / "bench" / "weights.py"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise BenchError(f"can't read the sizes of {path}:\n{done.stderr}")
    return json.loads(done.stdout)


def find_gguf() -> Path:
    """The file that scripts/demo-model.sh imports."""
    pins = (ROOT / "scripts" / "pins.env").read_text().splitlines()
    name = next(line.partition("=")[2] for line in pins if line.startswith("SMOLLM2_GGUF="))
    found = sorted((ROOT / ".toolchain" / "venv").glob(f"lib/python*/site-packages/**/{name}"))
    if not found:
        raise BenchError(f"{name} isn't in .toolchain/venv; run scripts/setup.sh or give --gguf")
    return found[0]


def pin(threads: int | None) -> list[int]:
    """Restricts this process, and so its children, to as many processors as threads."""
    allowed = sorted(os.sched_getaffinity(0))
    count = threads or len(allowed)
    if count > len(allowed):
        raise BenchError(f"-t {count}: this process may use {len(allowed)} processors only")
    os.sched_setaffinity(0, allowed[:count])
    return allowed[:count]


def compare(options: argparse.Namespace) -> dict:
    """Everything that was measured, ready for JSON."""
    gguf = options.gguf or find_gguf()
    cpus = pin(options.threads)
    described = machine.describe(cpus)  # before anything runs: the load average is others'
    ours = Mlxcel(options.program, options.model, len(cpus), options.device)
    peer = LlamaCpp(options.peer, gguf, len(cpus))
    weights = {"mlxcel": read_weights(options.model), "llama.cpp": read_weights(gguf)}
    limits = machine.measure_limits(
        ROOT / "build" / "bench", weights["mlxcel"]["decode_bytes"], len(cpus)
    )
    ours.compile()
    versions = {"mlxcel": ours.version(), "llama.cpp": peer.version()}
    load = machine.OtherLoad(cpus)
    repetitions = options.repetitions or (QUICK_REPETITIONS if options.quick else REPETITIONS)
    results = [r for row in ROWS for r in measure_row(row, [peer, ours], repetitions)]
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "machine": described,
        "other_load": load.share(),
        "environment": {k: v for k, v in os.environ.items() if k.startswith(ENVIRONMENT_PREFIXES) and not k.endswith("_DIR")},
        "versions": versions,
        "files": {"llama.cpp": gguf.name, "mlxcel": options.model.name},
        "device": options.device,
        "threads": len(cpus),
        "repetitions": repetitions,
        "weights": weights,
        "limits": asdict(limits),
        "results": [asdict(result) for result in results],
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add: Callable[..., object] = parser.add_argument
    add("--quick", action="store_true", help=f"{QUICK_REPETITIONS} repetitions: does it work?")
    add("-t", "--threads", type=int, help="threads and processors (default: all allowed)")
    add("-r", "--repetitions", type=int, help=f"of every row (default {REPETITIONS})")
    add("-o", "--output", type=Path, help="folder for compare.md and compare.json")
    add("--device", default="local-task", help="mlxcel's device (default local-task)")
    add("--program", type=Path, default=ROOT / "build" / "release" / "mlxcel")
    add("--model", type=Path, default=ROOT / "models" / "smollm2-135m-instruct")
    add("--gguf", type=Path, help="the file that --model was imported from")
    add("--peer", type=Path, default=ROOT / ".toolchain" / "peer" / "build" / "bin")
    options = parser.parse_args()
    for name in ("threads", "repetitions"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            parser.error(f"--{name} must be 1 or more")
    return options


def main() -> int:
    options = parse_arguments()
    try:
        outcome = compare(options)
    except BenchError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 1
    markdown = make_markdown(outcome)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "compare.json").write_text(json.dumps(outcome, indent=1) + "\n")
        (options.output / "compare.md").write_text(markdown)
    print(markdown, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
