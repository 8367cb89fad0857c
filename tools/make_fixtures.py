"""Makes tests/data/zoo/NAME.json: what the float64 oracle answers for each checkpoint of the zoo.

    make_fixtures.py [--out tests/data/zoo] [--only NAME ...]

A fixture holds the digest of the checkpoint's files, a random prompt, the greedy ids (EOS
ignored), the float64 logits rounded to f32 for two of the steps, and the bound within which an f32
engine must stay. Step 0 is the prompt's last row and comes from prefill; the last step comes from
decode and reads every row of the KV cache. A rerun gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np

from make_zoo import BOS, VARIANTS, Variant, digest, make_variant
from oracle_fp64 import Oracle, Result, rounding_bound
from seeded_random import SeededRandom

DEFAULT_OUT = Path(__file__).resolve().parent.parent / "tests" / "data" / "zoo"
PROMPT_LENGTH = 20  # not a multiple of any chunk size
GENERATED = 16
KEPT_STEPS = (0, GENERATED - 1)
PROMPT_SEED = 1000
MIN_DISTINCT_IDS = 4  # a fixture that repeats one token would hide position errors


def make_prompt(variant: Variant) -> list[int]:
    """BOS, then random byte tokens."""
    random = SeededRandom(PROMPT_SEED + variant.seed)
    return [BOS, *random.integers(PROMPT_LENGTH - 1, 256)]


def round_up(value: float, digits: int = 2) -> float:
    """The value rounded up to a few significant digits, so that the text is stable."""
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / unit) * unit:.{digits - 1}e}")


def short_f32(row: np.ndarray) -> list[float]:
    """Each value rounded to f32, as the shortest decimal that reads back as that f32."""
    return [float(str(value)) for value in row.astype(np.float32)]


def check_health(variant: Variant, result: Result, bound: float) -> None:
    """A fixture must not hang on rounding: the ids have to be safe, and varied."""
    if result.min_margin < 4 * bound:
        raise SystemExit(f"{variant.name}: margin {result.min_margin} is near the bound {bound}")
    if len(set(result.ids)) < MIN_DISTINCT_IDS:
        raise SystemExit(f"{variant.name}: ids {result.ids} repeat; choose another seed")


def make_fixture(variant: Variant, zoo: Path) -> dict:
    """Runs the oracle over one variant."""
    folder = make_variant(variant, zoo)
    oracle = Oracle(folder)
    result = oracle.generate(make_prompt(variant), GENERATED, ignore_eos=True)
    bound = round_up(rounding_bound(oracle, result))
    check_health(variant, result, bound)
    return {
        "name": variant.name,
        "checkpoint_sha256": digest(folder),
        "prompt_ids": result.prompt_ids,
        "ids": result.ids,
        "min_margin": float(f"{result.min_margin:.6g}"),
        "error_bound": bound,
        "logits": {str(step): short_f32(result.logits[step]) for step in KEPT_STEPS},
    }


def write_fixture(path: Path, fixture: dict) -> None:
    """One key a line, compact values."""
    lines = [f' "{key}": {json.dumps(value)}' for key, value in fixture.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="ascii", newline="\n")


def main(arguments: list[str] | None = None) -> int:
    """Writes the fixtures."""
    parser = argparse.ArgumentParser(description="make the zoo's expected results")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--only", nargs="+", choices=[variant.name for variant in VARIANTS])
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as zoo:
        for variant in VARIANTS:
            if options.only is None or variant.name in options.only:
                fixture = make_fixture(variant, Path(zoo))
                write_fixture(options.out / f"{variant.name}.json", fixture)
                print(variant.name, fixture["min_margin"], fixture["error_bound"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
