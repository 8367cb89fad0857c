"""Mutations of the kernels' sources: each breaks one clause field of one helper.

A mutation is a textual edit of one source file. The kernel object is compiled from the edited copy
and runs in a real oracle run, which must notice. Where an edit provably can't change a result the
proof is given instead, and the run must then find no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

PINNED = "pinned-f32"
MLX = "mlx-cpu-0.32.4"


@dataclass(frozen=True)
class Mutation:
    """One edit: `old` becomes `new`, everywhere in `file`.

    A field whose value has several parts (rounding, association, functions) is named with the part
    that breaks: "rounding:mean".
    """

    profile: str
    helper: str  # op classes of the clauses, separated by blanks
    fields: tuple[str, ...]  # clause fields that it breaks
    name: str
    file: str  # below src/kernels
    old: str
    new: str
    run: str  # oracle class that must notice
    dtype: str  # of its activations
    case: str  # in "VARIANT WEIGHTS SHAPE" of the case that is run, the class's first such
    proof: str = ""  # why no result can change

    @property
    def label(self) -> str:
        """For reports and test ids."""
        return f"{self.profile}/{self.helper}/{self.name}"


def wrapped(line: str, part: str = "", function: str = "mutate_narrow") -> str:
    """`line` with its only `part` (default: all of it) as the argument of `function`."""
    if not part:
        return f"{function}({line})"
    assert line.count(part) == 1, f"{part!r} is {line.count(part)} times in {line!r}"
    return line.replace(part, f"{function}({part})")
