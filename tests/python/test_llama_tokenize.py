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
PEER = ROOT / ".toolchain" / "peer" / "build" / "bin" / "llama-tokenize"


def case_bytes(case: dict) -> bytes:
    return bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()


def differences(driver: Driver, case: dict) -> list[str]:
    """What to say if the tokenizer doesn't give the ids of a case; both ways to see special tokens."""
    text = case_bytes(case)
    wanted = {True: case["ids"], False: case.get("plain_ids", case["ids"])}
    return [
        f"{text!r}, parse_special={parse}: llama.cpp {ids}, mlxcel {found}"
        for parse, ids in wanted.items()
        if (found := driver.encode(text, add_special=True, parse_special=parse)) != ids
    ]


@pytest.fixture
def smollm2(driver: Driver, model_folder: Callable[[str], Path]) -> Driver:
    driver.open(model_folder("smollm2-135m-instruct"))
    return driver


def test_there_are_a_few_hundred_texts() -> None:
    assert len(CASES) > 300
    assert sum("plain_ids" in case for case in CASES) > 10
    assert sum("hex" in case for case in CASES) > 10


def test_ids_equal_those_of_llama_tokenize(smollm2: Driver) -> None:
    found = [line for case in CASES for line in differences(smollm2, case)]
    assert not found, "\n".join(found)


def test_llama_tokenize_still_gives_the_ids_of_the_fixture() -> None:
    if not PEER.is_file():
        pytest.skip(f"{PEER} is not there: run bench/setup-peer.sh")
    from compare import find_gguf
    from make_tokenize_fixture import make_case

    gguf = find_gguf()
    assert gguf.name == FIXTURE["gguf"]
    for case in CASES:
        assert make_case(PEER, gguf, case_bytes(case)) == case
