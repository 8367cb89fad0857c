"""What the project asks of each row of the comparison, and whether a run reached it."""

from __future__ import annotations

from dataclasses import dataclass

from rows import DECODE_TOKENS, PROMPT_TOKENS, Row

MEMORY_SLACK_MIB = 30e6 / (1 << 20)  # 30 MB


@dataclass(frozen=True)
class Processor:
    """What both engines may use of the processor's instructions."""

    avx512: bool
    amx: bool


@dataclass(frozen=True)
class Outcome:
    """A row's medians, and what share of the machine's limit mlxcel reached (None: no limit)."""

    ours: float
    peer: float
    share: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.peer


@dataclass(frozen=True)
class Goal:
    """Reached if every part of one of the alternatives holds."""

    ratio: float | None = None  # of the peer's rate, at least
    share: float | None = None  # of the limit, at least
    either: bool = False  # one of both is enough

    def text(self) -> str:
        parts = [] if self.ratio is None else [f"ratio >= {self.ratio:.1f}"]
        parts += [] if self.share is None else [f"share >= {100 * self.share:.0f} %"]
        return (" or " if self.either else " and ").join(parts)

    def is_met(self, outcome: Outcome) -> bool:
        checks = [] if self.ratio is None else [outcome.ratio >= self.ratio]
        if self.share is not None:
            checks.append(outcome.share is not None and outcome.share >= self.share)
        return any(checks) if self.either else all(checks)


def rate_goal(model: str, row: Row, processor: Processor) -> Goal | None:
    """Of a rate; None where the project asks for nothing."""
    if row.key == f"pp{PROMPT_TOKENS}":
        return _prefill_goal(model, processor)
    if row.key == f"tg{DECODE_TOKENS}":
        return _decode_goal(model, processor)
    if row.kind == "together" and model == "smollm2-q4_1" and processor.avx512:
        return Goal(ratio=2.5)
    return None


def _prefill_goal(model: str, processor: Processor) -> Goal | None:
    if model == "smollm2-q4_1":
        if processor.amx:  # the peer multiplies 8-bit tiles there
            return Goal(share=0.6)
        return Goal(ratio=2.0) if processor.avx512 else Goal(ratio=0.8, share=0.6)
    if model.startswith("llama1b-q4") and processor.avx512:
        return Goal(ratio=2.0)
    return None


def _decode_goal(model: str, processor: Processor) -> Goal | None:
    if model == "smollm2-q4_1":
        return Goal(ratio=1.5 if processor.avx512 else 1.0)
    if model.startswith("llama1b-q4"):
        return Goal(ratio=1.3, share=0.8, either=True)
    if model == "llama1b-bf16":
        return Goal(ratio=1.0, share=0.85)
    return None


def judge(
    model: str, row: Row, outcome: Outcome, processor: Processor, busy: bool
) -> tuple[str, str]:
    """The goal in words ("" for none), and "met", "not met" or "not judged".

    Memory doesn't depend on who else runs; the times of a busy machine prove nothing.
    """
    if row.kind == "memory":
        bound = outcome.peer + MEMORY_SLACK_MIB
        return f"at most {bound:.1f} (30 MB more)", _verdict(outcome.ours <= bound)
    if row.kind == "start":
        verdict = _verdict(outcome.ours <= outcome.peer)
        return "no slower", "not judged" if busy else verdict
    goal = rate_goal(model, row, processor)
    if goal is None:
        return "", ""
    return goal.text(), "not judged" if busy else _verdict(goal.is_met(outcome))


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "not met"
