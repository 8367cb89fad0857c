"""What is measured: one row of the report each."""

from __future__ import annotations

from dataclasses import dataclass

PROMPT_TOKENS = 512
DECODE_TOKENS = 128
TOGETHER = 8  # sequences
TOGETHER_DEPTH = 128  # tokens that each of them has before its first step
DEPTHS = (4096,)


@dataclass(frozen=True)
class Row:
    """One thing that is measured. The numbers are those of `mlxcel bench -p -n -d -np`."""

    key: str
    title: str
    unit: str
    kind: str  # prefill, decode, together, memory, start
    prompt: int = 0
    gen: int = 0
    depth: int = 0
    parallel: int = 1

    @property
    def higher_is_better(self) -> bool:
        return self.kind not in ("memory", "start")


def decode_row(depth: int) -> Row:
    where = f" at depth {depth}" if depth else ""
    key = f"tg{DECODE_TOKENS}" + (f"@{depth}" if depth else "")
    title = f"decode of {DECODE_TOKENS}{where}"
    return Row(key, title, "tok/s", "decode", gen=DECODE_TOKENS, depth=depth)


def make_rows(depths: tuple[int, ...] = DEPTHS) -> list[Row]:
    """All rows, in the report's order."""
    prefill = Row(
        f"pp{PROMPT_TOKENS}",
        f"prefill of {PROMPT_TOKENS}",
        "tok/s",
        "prefill",
        prompt=PROMPT_TOKENS,
    )
    together = Row(
        f"tg{DECODE_TOKENS}x{TOGETHER}",
        f"{TOGETHER} sequences together, {DECODE_TOKENS} tokens each after {TOGETHER_DEPTH}",
        "tok/s",
        "together",
        gen=DECODE_TOKENS,
        depth=TOGETHER_DEPTH,
        parallel=TOGETHER,
    )
    memory = f"peak memory, {PROMPT_TOKENS} + {DECODE_TOKENS}"
    return [
        prefill,
        *map(decode_row, (0, *depths)),
        together,
        Row("memory", memory, "MiB", "memory"),
        Row("start", "start to first byte", "ms", "start"),
    ]
