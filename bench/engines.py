"""The two engines that are compared: how each is started for a row, and how its answer is read.

A row is one of ROWS. An engine offers one or more variants for a row (settings of which the best
counts, so that the peer isn't judged by an unlucky default) and measures one variant once.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from children import BenchError, Finished, run_child

PROMPT_TOKENS = 512
DECODE_TOKENS = 128
CONTEXT = 768  # holds both; a multiple of 256, to which llama.cpp rounds it up
PROMPT = "The capital of France is"
LONG_PROMPT = "the" + " the" * (PROMPT_TOKENS - 1)  # one token a word; checked after the run
START_TOKENS = 4  # the first byte is what counts; a few more show that it came before the end
ID_RANGE = (1000, 30000)  # ordinary tokens of any vocabulary of that size, no special ones
SEED = 3


@dataclass(frozen=True)
class Row:
    """One thing that is measured."""

    key: str
    title: str
    unit: str
    higher_is_better: bool


ROWS = (
    Row("prefill", f"prefill of {PROMPT_TOKENS}", "tok/s", True),
    Row("decode", f"decode of {DECODE_TOKENS}", "tok/s", True),
    Row("memory", f"peak memory, {PROMPT_TOKENS} + {DECODE_TOKENS}", "MiB", False),
    Row("start", "start to first byte", "ms", False),
)


class Engine(Protocol):
    """What compare.py needs of a side."""

    name: str

    def variants(self, row: str) -> list[str]: ...

    def measure(self, row: str, variant: str) -> float: ...


def _mebibytes(finished: Finished) -> float:
    if finished.peak_bytes is None:
        raise BenchError("a program needed less memory than this tool: its peak can't be told")
    return finished.peak_bytes / (1 << 20)


def _start_ms(finished: Finished) -> float:
    if finished.first_byte_s is None:
        raise BenchError("a program that should have written text wrote none")
    return 1000 * finished.first_byte_s


class Mlxcel:
    """This project: `mlxcel generate`, one process a measurement, the compiled module cached."""

    name = "mlxcel"

    def __init__(self, program: Path, model: Path, threads: int, device: str) -> None:
        self._base = [program, "generate", "-m", model, "-t", threads, "-c", CONTEXT]
        self._base += ["--device", device, "--temp", 0, "--ignore-eos"]
        draw = random.Random(SEED)
        self._ids = ",".join(str(draw.randrange(*ID_RANGE)) for _ in range(PROMPT_TOKENS))

    def version(self) -> str:
        return run_child([self._base[0], "--version"]).output.strip()

    def variants(self, row: str) -> list[str]:
        return ["default"]

    def measure(self, row: str, variant: str) -> float:
        if row == "start":
            return _start_ms(self._run("-p", PROMPT, "-n", START_TOKENS, "-q"))
        prompt = self._ids.partition(",")[0] if row == "decode" else self._ids
        count = {"prefill": 1, "decode": DECODE_TOKENS + 1, "memory": DECODE_TOKENS + 1}[row]
        finished = self._run("--prompt-ids", prompt, "-n", count, "--json")
        timings = json.loads(finished.output)["timings"]
        if timings["cache"] != "hit":
            raise BenchError("mlxcel compiled in a measured run: the cache doesn't keep its entry")
        if row == "memory":
            return _mebibytes(finished)
        expected = PROMPT_TOKENS if row == "prefill" else DECODE_TOKENS
        if timings[f"{row}_tokens"] != expected:
            raise BenchError(f"mlxcel timed {timings[f'{row}_tokens']} tokens, not {expected}")
        return expected / timings[f"{row}_s"]

    def compile(self) -> None:
        """Leaves the compiled module in the cache, whatever was there before."""
        self._run("--prompt-ids", self._ids, "-n", 1, "--json")

    def _run(self, *options: object) -> Finished:
        return run_child([*self._base, *options])


class LlamaCpp:
    """The peer: llama-bench for the rates, llama-completion for memory and start.

    Variants: flash attention off and on, and for the start the fitting of parameters to the
    device's memory on and off. For the memory the KV cache holds f32, as mlxcel's does (llama-bench
    can't do that, and llama-completion is what corresponds to `mlxcel generate`).
    """

    name = "llama.cpp"

    def __init__(self, programs: Path, gguf: Path, threads: int) -> None:
        for program in ("llama-bench", "llama-completion"):
            if not (programs / program).is_file():
                raise BenchError(f"{programs / program} isn't there; run bench/setup-peer.sh")
        self._bench = [programs / "llama-bench", "-m", gguf, "-t", threads, "-r", 1, "-o", "json"]
        self._completion = [programs / "llama-completion", "-m", gguf, "-t", threads]
        self._completion += ["-c", CONTEXT, "--temp", 0, "--ignore-eos"]
        self._completion += ["--no-warmup", "-no-cnv", "--simple-io", "--no-display-prompt"]

    def version(self) -> str:
        """Build and system_info, the line in which llama.cpp tells what it was compiled for."""
        info = re.search(r"system_info: .*", self._complete(PROMPT, START_TOKENS).errors)
        build = run_child([self._completion[0], "--version"])
        lines = [line for line in (build.output + build.errors).splitlines() if line.strip()]
        return "\n".join([*lines, info.group(0) if info else "system_info: not printed"])

    def variants(self, row: str) -> list[str]:
        return {
            "prefill": ["-fa 0", "-fa 1"],
            "decode": ["-fa 0", "-fa 1"],
            "memory": [f"-fa {flash} -ctk f32 -ctv f32" for flash in ("off", "on")],
            "start": ["-fit on", "-fit off"],
        }[row]

    def measure(self, row: str, variant: str) -> float:
        runs: dict[str, Callable[[list[str]], float]] = {
            "prefill": lambda words: self._rate("-p", PROMPT_TOKENS, "-n", 0, *words),
            "decode": lambda words: self._rate("-p", 0, "-n", DECODE_TOKENS, *words),
            "memory": self._memory,
            "start": lambda words: _start_ms(self._complete(PROMPT, START_TOKENS, *words)),
        }
        return runs[row](variant.split())

    def _complete(self, prompt: str, count: int, *options: str) -> Finished:
        return run_child([*self._completion, "-p", prompt, "-n", count, *options])

    def _memory(self, words: list[str]) -> float:
        finished = self._complete(LONG_PROMPT, DECODE_TOKENS + 1, *words)
        done = re.findall(r"eval time = .*/ +(\d+) (?:tokens|runs)", finished.errors)
        if done != [str(PROMPT_TOKENS), str(DECODE_TOKENS)]:
            raise BenchError(f"llama-completion ran {done} tokens, not what was asked for")
        return _mebibytes(finished)

    def _rate(self, *options: object) -> float:
        """Tokens a second of one test, after llama-bench's own warm-up in the same process."""
        tests = json.loads(run_child([*self._bench, *options]).output)
        if len(tests) != 1 or len(tests[0]["samples_ts"]) != 1:
            raise BenchError("llama-bench ran something else than one test once")
        return float(tests[0]["samples_ts"][0])
