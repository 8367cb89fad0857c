"""Ids of SmolLM2's tokenizer against llama.cpp's llama-tokenize on the same GGUF.

tests/data/tokenizer/llama-tokenize-smollm2.json holds texts and the ids that llama-tokenize gave
(bench/make_tokenize_fixture.py makes it). Where the peer is built (bench/setup-peer.sh) it is asked
again, so that the fixture can't be wrong unnoticed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import DATA, ROOT
from test_tokenizer import Driver, driver  # noqa: F401  a fixture

sys.path.insert(0, str(ROOT / "bench"))

FIXTURE = json.loads((DATA / "tokenizer" / "llama-tokenize-smollm2.json").read_text())
CASES = FIXTURE["cases"]
TEXTS = [case for case in CASES if "text" in case]
INVALID = [case for case in CASES if "hex" in case]
PEER = ROOT / ".toolchain" / "peer" / "build" / "bin" / "llama-tokenize"


def case_bytes(case: dict) -> bytes:
    return bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()


def difference(driver: Driver, case: dict, wanted: list[int], parse_special: bool) -> list[str]:
    """Empty, or what to say if the tokenizer gives other ids."""
    data = case_bytes(case)
    found = driver.encode(data, add_special=True, parse_special=parse_special)
    return [] if found == wanted else [f"{data!r}: llama.cpp {wanted}, mlxcel {found}"]


@pytest.fixture
def smollm2(driver: Driver, model_folder: Callable[[str], Path]) -> Driver:
    driver.open(model_folder("smollm2-135m-instruct"))
    return driver


def test_there_are_a_few_hundred_texts() -> None:
    assert len(TEXTS) > 300
    assert sum("plain_ids" in case for case in TEXTS) > 10
    assert len(INVALID) > 10


def test_ids_equal_those_of_llama_tokenize(smollm2: Driver) -> None:
    found = [line for case in TEXTS for line in difference(smollm2, case, case["ids"], True)]
    assert not found, "\n".join(found)


def test_ids_equal_those_of_llama_tokenize_without_special_tokens(smollm2: Driver) -> None:
    found = [
        line
        for case in TEXTS
        for line in difference(smollm2, case, case.get("plain_ids", case["ids"]), False)
    ]
    assert not found, "\n".join(found)


def test_invalid_utf8_gets_the_ids_of_its_replacement(smollm2: Driver) -> None:
    """What isn't UTF-8 is read as Python replaces it.

    llama.cpp itself reads it otherwise: one U+FFFD a byte where Python puts one for the beginning
    of a character, surrogates and over-long forms as characters, and it aborts above U+10FFFF.
    """
    found = [
        line for case in INVALID for line in difference(smollm2, case, case["replaced_ids"], True)
    ]
    assert not found, "\n".join(found)


def test_llama_tokenize_still_gives_the_ids_of_the_fixture() -> None:
    if not PEER.is_file():
        pytest.skip(f"{PEER} is not there: run bench/setup-peer.sh")
    from make_tokenize_fixture import make_case
    from models import find_demo_gguf

    gguf = find_demo_gguf()
    assert gguf.name == FIXTURE["gguf"]
    for case in CASES:
        assert make_case(PEER, gguf, case_bytes(case)) == case
