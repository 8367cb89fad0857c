"""Every checkpoint of the zoo, through the program, against the float64 oracle's fixtures.

The logits' bound is each fixture's `error_bound`, absolute for all its logits. Its derivation is
in tools/oracle_fp64.py, `rounding_bound`; in short: a dot of length K makes n = ceil(K/16) + 4
roundings on a path, so its error has a standard deviation of at most u sqrt(n) max(|y|,
||x*w||_2), u = 2^-24; the other operations make a stated handful of roundings each; how these
local errors reach the logits is measured by injecting errors of just that size into the float64
pass; the largest deviation seen is taken four times. That is about 1e-5 of the largest logit.
Fixture values are rounded to f32, which adds u * |logit|, covered by the factor. Greedy ids must
be equal: every fixture's smallest gap between the two best logits is more than twice the bound, so
rounding cannot exchange them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from conftest import DATA, Answer, Program, assert_same_bits

import make_zoo

ZOO = {variant.name: variant for variant in make_zoo.VARIANTS}
# One of each kind of weight and of attention, for what need not be repeated on all.
SAMPLE = ("mqa-three-layers", "odd-sizes-bf16", "q-mixed", "q3-g128-bf16")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zoo")


def fixture_of(name: str) -> dict:
    return json.loads((DATA / "zoo" / f"{name}.json").read_text())


def run(program: Program, zoo: Path, name: str, *options: str) -> Answer:
    """Runs a variant on its fixture's prompt."""
    fixture = fixture_of(name)
    folder = make_zoo.make_variant(ZOO[name], zoo)
    assert make_zoo.digest(folder) == fixture["checkpoint_sha256"], "rerun tools/make_fixtures.py"
    prompt, count = fixture["prompt_ids"], len(fixture["ids"])
    return program.generate(folder, prompt, count, "--ignore-eos", *options)


@pytest.mark.parametrize("name", ZOO)
def test_zoo_variant_agrees_with_float64(program: Program, zoo: Path, name: str) -> None:
    fixture = fixture_of(name)
    assert fixture["min_margin"] > 2 * fixture["error_bound"]
    answer = run(program, zoo, name)
    assert answer.report["prompt_ids"] == fixture["prompt_ids"]
    assert answer.logits.shape == (len(fixture["ids"]), ZOO[name].vocab)
    for step, expected in fixture["logits"].items():
        error = np.max(np.abs(answer.logits[int(step)].astype(np.float64) - np.array(expected)))
        assert error <= fixture["error_bound"], f"step {step}"
    assert answer.ids == fixture["ids"]


@pytest.mark.parametrize("options", [
    ("--device", "local-sync"),
    ("-t", "1"),
    ("--chunk", "8"),
    ("--chunk", "32"),
], ids="-".join)
@pytest.mark.parametrize("name", SAMPLE)
def test_zoo_logits_do_not_depend_on_how_they_run(
    program: Program, zoo: Path, name: str, options: tuple[str, ...]
) -> None:
    assert_same_bits(
        run(program, zoo, name, *options).logits, run(program, zoo, name, "-t", "2").logits
    )
