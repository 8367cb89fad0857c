"""Ids and rendered chats against the references: PyPI `tokenizers`, and jinja2 as Hugging Face sets it up.

Talks to the C faces of src/tokenizer through tests/tools/text_driver.c, which MLXCEL_TEXT_DRIVER names.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tokenizers

import hf_jinja
from conftest import DATA

KINDS = ("bytelevel", "ignore_merges", "sentencepiece", "unigram")
TEMPLATES = DATA / "chat_templates"
MEBIBYTE = 1 << 20
INVALID_ARGUMENT = 3  # IREE_STATUS_INVALID_ARGUMENT


class Driver:
    """One text_driver process."""

    def __init__(self, binary: Path) -> None:
        self._process = subprocess.Popen(
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def ask(self, op: str, **request: object) -> dict:
        self._process.stdin.write(json.dumps({"op": op, **request}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the driver died of {op} {str(request)[:200]}"
        return json.loads(answer)

    def checked(self, op: str, **request: object) -> dict:
        answer = self.ask(op, **request)
        assert "error" not in answer, answer["error"]
        return answer

    def open(self, folder: Path) -> dict:
        return self.checked("open", folder=str(folder))

    def encode(self, text: bytes | str, add_special: bool = False, parse_special: bool = True) -> list[int]:
        data = text.encode() if isinstance(text, str) else text
        return self.checked("encode", hex=data.hex(), add_special=add_special, parse_special=parse_special)["ids"]

    def decode(self, ids: list[int], skip_special: bool = False) -> bytes:
        return bytes.fromhex(self.checked("decode", ids=ids, skip_special=skip_special)["hex"])

    def stream(self, ids: list[int], skip_special: bool = False, begins_text: bool = True) -> list[bytes]:
        answer = self.checked("stream", ids=ids, skip_special=skip_special, begins_text=begins_text)
        return [bytes.fromhex(piece) for piece in answer["pieces"]]

    def render(self, source: str, variables: dict) -> str | None:
        """The text, or None if the template or its rendering is refused."""
        answer = self.ask("render", source=source, variables=variables)
        return bytes.fromhex(answer["hex"]).decode() if "hex" in answer else None

    def close(self) -> None:
        self._process.stdin.close()
        assert self._process.wait(timeout=60) == 0, "the driver ended with an error (a leak?)"


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    name = os.environ.get("MLXCEL_TEXT_DRIVER")
    if not name:
        pytest.skip("MLXCEL_TEXT_DRIVER is not set: no tokenizer to test")
    driver = Driver(Path(name))
    yield driver
    driver.close()


# --- texts ----------------------------------------------------------------------------------------

WORDS = (
    "the The THE vocabulary Việt tiếng fox's they'll don't I'D we've it''s naïve café straße 日本語 中文 한국어 Привет "
    "مرحبا שלום ไทย हिन्दी 😀 👩‍👩‍👧 ❤️ 🇩🇪 🏳️‍🌈 \U0001f638 ﬁ Å Å e\u0301 ½ ² ٣ Ⅷ \u200b \u00ad \ufeff \ufffd \x00 \x7f _ __init__ a_b"
).split(" ")
NUMBERS = ["0", "7", "42", "123", "1234", "12345", "3.14159", "1,000,000", "2024-01-31", "1e-5", "0x1F", "٣٤٥", "１２３"]
BLANKS = [" ", "  ", "   ", "        ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", " \n", "\n ", "\u00a0", "\u3000", "\u2028", "\x0b\x0c"]
SENTENCES = [
    "",
    "Hello, world!",
    " leading",
    "trailing ",
    "  two  spaces  each  ",
    "line\nline\r\nline\rline",
    "for (int i = 0; i < 10; ++i) {\n\treturn a[i] * 2;\n}",
    "I'm you're he's we'd they'll I've IT'S DON'T",
    "https://example.org/a?b=c&d=%20#e",
    "a" * 300,
    "ab" * 200,
    "!?" * 50,
    "日本語のテキストと English と 123 と 😀。",
    "▁already▁there",
    "<0x41><0xE4>",
    "Ġtext Ċ",
    "<s>[INST] hi [/INST]</s>",
    "<|im_start|>user\nhi<|im_end|>",
    "x<|begin_of_text|>y<|eot_id|> z",
    "a <tool> b<tool>c",
    "a  [PAD]  b[PAD]",
    "<|im_start|",
    "<unk></s>",
]


def texts() -> list[str]:
    joined = [left + right for left, right in zip(WORDS, WORDS[1:])]
    spaced = [f"{blank}{word}{blank}{word}" for word, blank in zip(WORDS * 3, BLANKS * 5)]
    numbered = [f"{word} {number}{word}" for word, number in zip(WORDS, NUMBERS * 5)]
    return WORDS + NUMBERS + BLANKS + SENTENCES + joined + spaced + numbered


# 1 MiB: a run of one character, the shape that quadratic merging can't bear.
RUNS = ("a", " ", "0", "日")

BROKEN = [
    b"\xff",
    b"a\xffb",
    b"\xc3",
    b"\xc3(",
    b"\xe2\x82",
    b"\xe2\x82\x41",
    b"\xf0\x9f\x98",
    b"\xf0\x9f\x98\xf0\x9f\x98\xb8",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf5\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\x80\x80",
    "日".encode()[:2] + "本".encode(),
    b"valid \xe4\xb8\xad then \xe4\xb8",
]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, driver: Driver) -> str:
    driver.open(DATA / "tokenizer" / request.param)
    return request.param


def reference(kind: str) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(DATA / "tokenizer" / kind / "tokenizer.json"))


def starts_with_bos(ids: list[int], reference_ids: list[int]) -> bool:
    return len(reference_ids) > 1 and reference_ids[0] == reference_ids[1] and ids == reference_ids[1:]


def test_there_are_a_few_hundred_texts() -> None:
    assert len(texts()) > 250


@pytest.mark.parametrize("add_special", (False, True), ids=("plain", "with_special"))
def test_ids_equal_those_of_tokenizers(driver: Driver, kind: str, add_special: bool) -> None:
    expected = reference(kind)
    for text in texts():
        wanted = expected.encode(text, add_special_tokens=add_special).ids
        ids = driver.encode(text, add_special=add_special)
        # A text that spells the BOS itself gets no second one: the one intended difference.
        assert ids == wanted or starts_with_bos(ids, wanted), repr(text)


def test_special_tokens_are_plain_text_when_not_parsed(driver: Driver, kind: str) -> None:
    expected = reference(kind)
    expected.encode_special_tokens = True
    for text in texts():
        wanted = expected.encode(text, add_special_tokens=False).ids
        assert driver.encode(text, parse_special=False) == wanted, repr(text)


def test_invalid_utf8_is_read_as_python_replaces_it(driver: Driver, kind: str) -> None:
    expected = reference(kind)
    for data in BROKEN:
        wanted = expected.encode(data.decode("utf-8", "replace"), add_special_tokens=False).ids
        assert driver.encode(data) == wanted, data


@pytest.mark.parametrize("character", RUNS, ids=[f"u{ord(c):x}" for c in RUNS])
def test_a_mebibyte_of_one_character_takes_linear_time(driver: Driver, kind: str, character: str) -> None:
    def seconds(size: int) -> tuple[float, list[int]]:
        text = character * (size // len(character.encode()))
        start = time.monotonic()
        ids = driver.encode(text)
        return time.monotonic() - start, ids

    short, _ = seconds(MEBIBYTE // 8)
    long, ids = seconds(MEBIBYTE)
    # Eight times the text: n log n gives 9.4, quadratic time 64. The constant is for a busy machine.
    assert long < 24 * short + 5.0
    text = character * (MEBIBYTE // len(character.encode()))
    assert ids == reference(kind).encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("skip_special", (False, True), ids=("all", "without_special"))
def test_full_decode_equals_that_of_tokenizers(driver: Driver, kind: str, skip_special: bool) -> None:
    expected = reference(kind)
    for text in texts():
        ids = expected.encode(text).ids
        wanted = expected.decode(ids, skip_special_tokens=skip_special)
        assert driver.decode(ids, skip_special).decode() == wanted, repr(text)


@pytest.mark.parametrize("skip_special", (False, True), ids=("all", "without_special"))
def test_streamed_pieces_are_utf8_and_join_to_the_full_decode(driver: Driver, kind: str, skip_special: bool) -> None:
    expected = reference(kind)
    for text in texts():
        ids = expected.encode(text).ids
        pieces = driver.stream(ids, skip_special)
        for piece in pieces:
            piece.decode("utf-8")
        wanted = expected.decode(ids, skip_special_tokens=skip_special)
        assert b"".join(pieces).decode() == wanted, repr(text)


def byte_fallback_text(tokens: list[str]) -> str:
    """What a stream of sentencepiece tokens shows: whole characters, and U+FFFD for every byte that belongs to none."""
    codecs.register_error("each_byte", lambda error: ("\ufffd" * (error.end - error.start), error.end))
    out, run = [], b""
    for token in [*tokens, ""]:
        if re.fullmatch("<0x[0-9A-F]{2}>", token):
            run += bytes([int(token[3:5], 16)])
            continue
        out += [run.decode("utf-8", "each_byte"), token.replace("▁", " ")]
        run = b""
    return "".join(out).removeprefix(" ")


def test_streamed_broken_bytes_show_as_in_the_full_decode(driver: Driver, kind: str) -> None:
    """Ids that cut characters off: the pieces still join to what tokenizers decodes."""
    expected = reference(kind)
    for text in ("日本語", "😀😀", "a😀b日c", "é"):
        ids = expected.encode(text, add_special_tokens=False).ids
        for start in range(len(ids)):
            for end in range(start, len(ids) + 1):
                cut = ids[start:end]
                pieces = b"".join(driver.stream(cut)).decode()
                wanted = expected.decode(cut, skip_special_tokens=False)
                if kind == "sentencepiece":
                    # tokenizers spoils a whole run of bytes for one broken character, which is known only at the run's end; a stream has shown the rest.
                    spoiled = "\ufffd" in wanted
                    wanted = byte_fallback_text([expected.id_to_token(id_) for id_ in cut])
                    assert spoiled == ("\ufffd" in wanted)
                assert pieces == wanted, (text, start, end)


def test_a_continuing_stream_keeps_the_leading_space(driver: Driver) -> None:
    driver.open(DATA / "tokenizer" / "sentencepiece")
    ids = driver.encode("the fox")
    assert b"".join(driver.stream(ids, begins_text=True)) == b"the fox"
    assert b"".join(driver.stream(ids, begins_text=False)) == b" the fox"


# --- SmolLM2 -----------------------------------------------------------------------------------------


def test_smollm2_ids_equal_those_of_tokenizers(driver: Driver, model_folder: Callable[[str], Path]) -> None:
    folder = model_folder("smollm2-135m-instruct")
    driver.open(folder)
    expected = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text in texts():
        ids = driver.encode(text, add_special=True)
        assert ids == expected.encode(text).ids, repr(text)
        assert b"".join(driver.stream(ids)).decode() == expected.decode(ids, skip_special_tokens=False), repr(text)


def test_smollm2_chat_equals_jinja(driver: Driver, model_folder: Callable[[str], Path]) -> None:
    folder = model_folder("smollm2-135m-instruct")
    driver.open(folder)
    template = folder / "chat_template.jinja"
    config = json.loads((folder / "tokenizer_config.json").read_text())
    source = template.read_text() if template.is_file() else config["chat_template"]
    for messages in CONVERSATIONS[1:]:
        for prompt in (False, True):
            answer = driver.checked("chat", messages=messages, add_generation_prompt=prompt)
            wanted = hf_jinja.render(source, {"messages": messages, "add_generation_prompt": prompt})
            assert wanted is not None
            assert bytes.fromhex(answer["hex"]).decode() == wanted


# --- templates ---------------------------------------------------------------------------------------

TOOLS = json.loads((TEMPLATES / "variables.json").read_text())["tool_list"]
USER = {"role": "user", "content": "Hi <there> & 'you' 日本語 "}
ASSISTANT = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\n Hello!\n"}
SYSTEM = {"role": "system", "content": " Be brief.\nAlways. "}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}}],
}
RESULT = {"role": "tool", "content": '{"sky": "blue"}', "tool_call_id": "abcdefghi"}
PARTS = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is this? "}]}
CONVERSATIONS = [
    [],
    [USER],
    [SYSTEM, USER],
    [USER, ASSISTANT, USER],
    [SYSTEM, USER, ASSISTANT, USER, ASSISTANT, {"role": "user", "content": ""}],
]
SPECIAL_CONVERSATIONS = [
    [USER, CALL, RESULT],
    [SYSTEM, USER, CALL, RESULT, ASSISTANT, USER],
    [PARTS, ASSISTANT],
    [USER, USER],
    [ASSISTANT],
    [{"role": "alien", "content": "x"}],
    [{"role": "user"}],
    [{"content": "x"}],
]
NAMES = ("llama3_like", "qwen_like", "mistral_like", "gemma_like", "macros_like")


@pytest.mark.parametrize("name", NAMES)
def test_templates_render_as_jinja_does(driver: Driver, name: str) -> None:
    source = (TEMPLATES / f"{name}.jinja").read_text()
    rendered = 0
    for messages in CONVERSATIONS + SPECIAL_CONVERSATIONS:
        for tools in (None, TOOLS):
            for extra in ({"add_generation_prompt": True}, {"add_generation_prompt": False, "enable_thinking": False, "date_string": "1 May 2025"}):
                variables = {"messages": messages, "tools": tools, "bos_token": "<s>", "eos_token": "</s>", **extra}
                wanted = hf_jinja.render(source, variables)
                assert driver.render(source, variables) == wanted, variables
                rendered += wanted is not None
    assert rendered >= 10, "most conversations must render, or the comparison shows nothing"


def unescape(line: str) -> str:
    """\\n, \\r and \\\\ of a line of snippets.txt."""
    out = []
    characters = iter(line)
    for character in characters:
        if character == "\\":
            after = next(characters, "")
            character = {"n": "\n", "r": "\r", "\\": "\\"}.get(after, character + after)
        out.append(character)
    return "".join(out)


SNIPPETS = [unescape(line) for line in (TEMPLATES / "snippets.txt").read_text().splitlines() if line and not line.startswith("# ")]


def test_snippets_render_as_jinja_does(driver: Driver) -> None:
    variables = json.loads((TEMPLATES / "variables.json").read_text())
    failures = []
    rendered = 0
    for source in SNIPPETS:
        wanted = hf_jinja.render(source, variables)
        rendered += wanted is not None
        found = driver.render(source, variables)
        if found != wanted:
            failures.append((source, wanted, found))
    assert not failures, "\n".join(f"{source!r}\n  wanted {wanted!r}\n  found  {found!r}" for source, wanted, found in failures)
    assert rendered > 120


def test_strftime_now_is_the_local_time(driver: Driver) -> None:
    source = "{{ strftime_now('%Y-%m-%d %H:%M %A %j %% %e') }}"
    # Minutes may turn over between two renderings.
    before, found, after = hf_jinja.render(source, {}), driver.render(source, {}), hf_jinja.render(source, {})
    assert found in (before, after)


REFUSED = {
    "endless loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "doubling text": "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "doubling by +": "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "doubling lists": "{% set n = namespace(l=[1]) %}{% for i in range(99) %}{% set n.l = n.l + n.l %}{% endfor %}",
    "repeated text": "{{ 'x' * 99999999999 }}",
    "repeated lists": "{{ [1] * 99999999999 }}",
    "wide fields": "{{ '%99999999999d' % 1 }}",
    "wide format fields": "{{ '{:99999999999}'.format(1) }}",
    "wide indents": "{{ 'a' | indent(99999999999) }}",
    "wide padding": "{{ 'a'.center(99999999999) }}",
    "wide JSON": "{{ [1] | tojson(indent=99999999999) }}",
    "growth by replace": "{% set n = namespace(s='aaaaaaaaaa') %}{% for i in range(99) %}{% set n.s = n.s.replace('a', n.s) %}{% endfor %}",
    "growth by join": "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s.join([n.s, n.s, n.s]) %}{% endfor %}",
    "endless macros": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "deep lists": "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = [n.l] %}{% endfor %}",
    "deep dicts": "{% set n = namespace(l={}) %}{% for i in range(9999) %}{% set n.l = {'a': n.l} %}{% endfor %}",
    "shared lists": "{% set n = namespace(l=[1]) %}{% for i in range(90) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l }}",
    "shared lists compared": "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(90) %}{% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}{{ n.l == n.m }}",
    "shared lists as JSON": "{% set n = namespace(l=[1]) %}{% for i in range(90) %}{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l | tojson }}",
    "large output": "{% for i in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
    "deep parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep blocks": "{% if 1 %}" * 5000 + "{% endif %}" * 5000,
    "long sums": "{{ 1" + " + 1" * 5000 + " }}",
    "long filters": "{{ 1" + " | abs" * 5000 + " }}",
    "long attributes": "{{ a" + ".a" * 5000 + " }}",
    "long nots": "{{ " + "not " * 5000 + "1 }}",
    "huge integers": "{{ 10 ** 60 }}",
    "other templates": "{% include 'x' %}",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_hostile_templates_are_refused_by_name(driver: Driver, source: str) -> None:
    answer = driver.ask("render", source=source, variables={})
    assert len(answer.get("error", "")) > 20, "rendered, or refused without a reason"
    assert driver.render("{{ 1 + 1 }}", {}) == "2"


def test_harmless_rings_and_chains_render(driver: Driver) -> None:
    assert driver.render("{% set n = namespace() %}{% set n.self = n %}{% set n.l = [n, n] %}{{ n.self.self.l | length }}", {}) == "2"
    chain = "{% set n = namespace(x=none) %}{% for i in range(50000) %}{% set n.x = namespace(x=n.x) %}{% endfor %}done"
    assert driver.render(chain, {}) == "done"


def test_raised_exceptions_keep_the_templates_words(driver: Driver) -> None:
    answer = driver.ask("render", source="{{ raise_exception('Roles must take turns') }}", variables={})
    assert answer["code"] == INVALID_ARGUMENT
    assert "Roles must take turns" in answer["error"]
