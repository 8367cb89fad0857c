"""The two engines that are compared: how each is started for a row, and how its answer is read.

An engine offers one or more variants for a row (settings of which the best counts, so that the peer
isn't judged by an unlucky default) and measures one variant once.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from children import BenchError, Finished, read_json, run_child
from rows import DECODE_TOKENS, PROMPT_TOKENS, Row

MEMORY_CONTEXT = 768  # holds prompt and answer; a multiple of 256, to which llama.cpp rounds it up
CONTEXT_STEP = 256
PROMPT = "The capital of France is"
LONG_PROMPT = "the" + " the" * (PROMPT_TOKENS - 1)  # one token a word; checked after the run
START_TOKENS = 4  # the first byte is what counts; a few more show that it came before the end
ID_RANGE = (1000, 30000)  # ordinary tokens of any vocabulary of that size, no special ones
SEED = 3
MEBI = 1 << 20
MLXCEL, LLAMA_CPP = "mlxcel", "llama.cpp"


@dataclass(frozen=True)
class Setup:
    """What is the same for both engines."""

    threads: int
    kv_dtype: str  # "f32" or "f16"
    avx2: bool = False  # no AVX-512, even where the processor has it


class Engine(Protocol):
    """What compare.py needs of a side."""

    name: str

    def variants(self, row: Row) -> list[str]: ...

    def tool(self, row: Row) -> str:
        """The program that measures the row."""

    def measure(self, row: Row, variant: str) -> float: ...


def fitting_context(row: Row) -> int:
    """Tokens that one sequence of the row needs, rounded up as llama.cpp does."""
    return -(-(row.prompt + row.gen + row.depth) // CONTEXT_STEP) * CONTEXT_STEP


def peak_mebibytes(finished: Finished) -> float:
    if finished.peak_bytes is None:
        raise BenchError("a program needed less memory than this tool: its peak can't be told")
    return finished.peak_bytes / MEBI


def _start_ms(finished: Finished) -> float:
    if finished.first_byte_s is None:
        raise BenchError("a program that should have written text wrote none")
    return 1000 * finished.first_byte_s


def only_test(output: str, program: str, **expected: int | str) -> dict:
    """The one test that ran once, from the JSON array of llama-bench or mlxcel bench."""
    tests = read_json(output, program)
    if len(tests) != 1 or len(tests[0].get("samples_ts", [])) != 1:
        raise BenchError(f"{program} ran something else than one test once")
    found = {key: tests[0].get(key) for key in expected}
    if found != expected:
        raise BenchError(f"{program} ran {found}, not {expected}")
    return tests[0]


def expected_test(row: Row, setup: Setup) -> dict[str, int | str]:
    """What both bench tools have to say of the test that they ran."""
    counts = {"n_prompt": row.prompt, "n_gen": row.gen, "n_depth": row.depth}
    kinds = {"type_k": setup.kv_dtype, "type_v": setup.kv_dtype}
    return {**counts, "n_threads": setup.threads, **kinds}


def random_ids(count: int) -> str:
    """A prompt for --prompt-ids, the same on every run."""
    draw = random.Random(SEED)
    return ",".join(str(draw.randrange(*ID_RANGE)) for _ in range(count))


class Mlxcel:
    """This project: `mlxcel bench` for the rates, `mlxcel generate` for memory and start.

    One process a measurement, the compiled module cached.
    """

    name = MLXCEL

    def __init__(self, program: Path, model: Path, setup: Setup, device: str) -> None:
        self._program, self._setup = program, setup
        self._common = ["-m", model, "-t", setup.threads, "--device", device]
        self._common += ["--cpu-level", "v3"] if setup.avx2 else []
        if setup.kv_dtype != "f32" or has_kv_dtype(program):
            self._common += ["--kv-dtype", setup.kv_dtype]

    def version(self) -> str:
        return run_child([self._program, "--version"]).output.strip()

    def variants(self, row: Row) -> list[str]:
        return ["default"]

    def tool(self, row: Row) -> str:
        return "mlxcel generate" if row.kind in ("memory", "start") else "mlxcel bench"

    def measure(self, row: Row, variant: str) -> float:
        if row.kind == "start":
            return _start_ms(self.generate(MEMORY_CONTEXT, "-p", PROMPT, "-n", START_TOKENS, "-q"))
        if row.kind == "memory":
            return self.peak(PROMPT_TOKENS, DECODE_TOKENS, MEMORY_CONTEXT)
        return self.rate(row, fitting_context(row))

    def rate(self, row: Row, context: int) -> float:
        """Tokens a second, of all sequences together."""
        return float(self._bench(row, context)["samples_ts"][0])

    def bench_peak(self, row: Row, context: int) -> float:
        """Peak memory of a bench of this row, in MiB, without what measures the machine in it."""
        return self._bench(row, context)["peak_rss_bytes"] / MEBI

    def chat_command(self) -> list[object]:
        """A conversation with short answers."""
        return [self._program, "chat", *self._common, "-c", MEMORY_CONTEXT, "-n", 16, "-q"]

    def _bench(self, row: Row, context: int) -> dict:
        words = ["-p", row.prompt, "-n", row.gen, "-d", row.depth, "-np", row.parallel]
        words += ["-c", context, "-r", 1, "--no-roofline", "-o", "json", "-q"]
        output = run_child([self._program, "bench", *self._common, *words]).output
        expected = expected_test(row, self._setup)
        return only_test(output, "mlxcel bench", **expected, n_parallel=row.parallel)

    def peak(self, prompt: int, gen: int, context: int) -> float:
        """Peak memory of a run, in MiB."""
        # The first of the generated tokens comes from the prompt, so that many steps are one more.
        words = ["--prompt-ids", random_ids(prompt), "-n", gen + 1, "--json"]
        finished = self.generate(context, *words)
        self._timings(finished)
        return peak_mebibytes(finished)

    def compile(self, context: int = MEMORY_CONTEXT) -> None:
        """Leaves the compiled module in the cache, whatever was there before."""
        self.generate(context, "--prompt-ids", random_ids(PROMPT_TOKENS // 2), "-n", 2, "--json")

    def generate(self, context: int, *options: object) -> Finished:
        words = ["-c", context, "--temp", 0, "--ignore-eos", *options]
        return run_child([self._program, "generate", *self._common, *words])

    @staticmethod
    def _timings(finished: Finished) -> dict:
        timings = read_json(finished.output, "mlxcel generate")["timings"]
        if timings["cache"] != "hit":
            raise BenchError("mlxcel compiled in a measured run: the cache doesn't keep its entry")
        return timings


def has_kv_dtype(program: Path) -> bool:
    """Whether the type of the KV cache can be chosen."""
    helps = (run_child([program, command, "--help"]).output for command in ("bench", "generate"))
    return all("--kv-dtype" in text for text in helps)


def check_peer(version: str, avx512: bool, programs: Path) -> None:
    """The peer uses what it may of the processor: no more, and no less."""
    if ("AVX512 = 1" in version) == avx512:
        return
    if avx512:
        raise BenchError(f"{programs} wasn't built for this processor; run bench/setup-peer.sh")
    raise BenchError(f"{programs} uses AVX-512; run bench/setup-peer.sh --avx2")


class LlamaCpp:
    """The peer, each row with the tool of its own that is made for it.

    llama-bench: the rates, where the KV cache holds f16, since it takes no f32.
    llama-batched-bench: the rates with f32, and those of several sequences together.
    llama-completion: memory and start; it is what corresponds to `mlxcel generate`.

    Variants: flash attention off and on, and for the start the fitting of parameters to the
    device's memory on and off.
    """

    name = LLAMA_CPP

    def __init__(self, programs: Path, gguf: Path, setup: Setup) -> None:
        for program in ("llama-bench", "llama-batched-bench", "llama-completion"):
            if not (programs / program).is_file():
                raise BenchError(f"{programs / program} isn't there; run bench/setup-peer.sh")
        self._setup = setup
        cache = ["-ctk", setup.kv_dtype, "-ctv", setup.kv_dtype]
        common = ["-m", gguf, "-t", setup.threads, *cache]
        self._bench = [programs / "llama-bench", *common, "-r", 1, "-o", "json"]
        self._batched = [programs / "llama-batched-bench", *common, "--output-format", "jsonl"]
        self._completion = [programs / "llama-completion", *common, "-c", MEMORY_CONTEXT]
        self._completion += ["--temp", 0, "--ignore-eos"]
        self._completion += ["--no-warmup", "-no-cnv", "--simple-io", "--no-display-prompt"]

    def version(self) -> str:
        """Build and system_info, the line in which llama.cpp tells what it was compiled for."""
        info = re.search(r"system_info: .*", self._complete(PROMPT, START_TOKENS).errors)
        if not info:
            raise BenchError(f"{self._completion[0]} doesn't say what it was compiled for")
        build = run_child([self._completion[0], "--version"])
        lines = [line for line in (build.output + build.errors).splitlines() if line.strip()]
        return "\n".join([*lines, info.group(0)])

    def variants(self, row: Row) -> list[str]:
        if row.kind == "start":
            return ["-fit on", "-fit off"]
        return ["-fa off", "-fa on"]

    def tool(self, row: Row) -> str:
        if row.kind in ("memory", "start"):
            return "llama-completion"
        return "llama-bench" if self._uses_bench(row) else "llama-batched-bench"

    def measure(self, row: Row, variant: str) -> float:
        words = variant.split()
        runs: dict[str, Callable[[], float]] = {
            "memory": lambda: self._memory(words),
            "start": lambda: _start_ms(self._complete(PROMPT, START_TOKENS, *words)),
        }
        rate = self._bench_rate if self._uses_bench(row) else self._batched_rate
        return runs.get(row.kind, lambda: rate(row, words))()

    def _uses_bench(self, row: Row) -> bool:
        return row.parallel == 1 and self._setup.kv_dtype != "f32"

    def _complete(self, prompt: str, count: int, *options: str) -> Finished:
        return run_child([*self._completion, "-p", prompt, "-n", count, *options])

    def _memory(self, words: list[str]) -> float:
        finished = self._complete(LONG_PROMPT, DECODE_TOKENS + 1, *words)
        done = re.findall(r"eval time = .*/ +(\d+) (?:tokens|runs)", finished.errors)
        if done != [str(PROMPT_TOKENS), str(DECODE_TOKENS)]:
            raise BenchError(f"llama-completion ran {done} tokens, not what was asked for")
        return peak_mebibytes(finished)

    def _bench_rate(self, row: Row, words: list[str]) -> float:
        """After llama-bench's own warm-up in the same process."""
        options = ["-p", row.prompt, "-n", row.gen, "-d", row.depth, *words]
        output = run_child([*self._bench, *options]).output
        expected = expected_test(row, self._setup)
        return float(only_test(output, "llama-bench", **expected)["samples_ts"][0])

    def _batched_rate(self, row: Row, words: list[str]) -> float:
        """The last of the tests in one process; the one before it, if any, is the warm-up."""
        is_prefill = row.kind == "prefill"
        prompt = row.prompt if is_prefill else max(1, row.depth)
        gen = 1 if is_prefill else row.gen
        # A prompt warms up what a decode needs; a prompt alone, and one token, don't.
        prompts = f"{prompt},{prompt}" if is_prefill or prompt == 1 else str(prompt)
        context = -(-(prompt + gen) // CONTEXT_STEP) * CONTEXT_STEP * row.parallel
        options = ["-npp", prompts, "-ntg", gen, "-npl", row.parallel, "-c", context, *words]
        lines = run_child([*self._batched, *options]).output.splitlines()
        program = self._batched[0].name
        tests = [read_json(line, program) for line in lines if line.startswith("{")]
        wanted = {"pp": prompt, "tg": gen, "pl": row.parallel, "n_threads": self._setup.threads}
        if len(tests) != len(prompts.split(",")) or not wanted.items() <= tests[-1].items():
            raise BenchError(f"llama-batched-bench ran {tests}, not {wanted}")
        return float(tests[-1]["speed_pp" if is_prefill else "speed_tg"])
