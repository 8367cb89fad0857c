"""Writes tests/data/tokenizer/llama-tokenize-smollm2.json: texts and the ids of llama-tokenize.

    bench/setup-peer.sh && .toolchain/venv/bin/python bench/make_tokenize_fixture.py

The fixture lets a machine without the peer compare mlxcel's tokenizer with llama.cpp's. The texts
are those of tests/python/test_tokenizer.py, some more written here, and mixtures of hand-written
pieces by a seeded generator; the ids come from one llama-tokenize process a text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

from models import find_demo_gguf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))
import test_tokenizer  # noqa: E402  its texts

OUTPUT = ROOT / "tests" / "data" / "tokenizer" / "llama-tokenize-smollm2.json"
TOKENIZE = ROOT / ".toolchain" / "peer" / "build" / "bin" / "llama-tokenize"
SEED = 20
MIXED_TEXTS = 100
MIXED_PIECES = (2, 9)

ENGLISH = [
    "", "a", " ", "Hello", " Hello", "Hello world", "Hello, world!", "The capital of France is",
    "I'm you're he'll we've they'd it's don't", "I'M YOU'RE HE'LL WE'VE THEY'D IT'S DON'T",
    "'s 't 're 've 'm 'll 'd", "'S'T'RE'VE'M'LL'D", "o'clock rock'n'roll 'tis", "’s isn’t it’s",
    "state-of-the-art, well-known; e.g. this: that (those) [these] {them}", "A.B.C. e.g., i.e.",
    "supercalifragilisticexpialidocious antidisestablishmentarianism", "MiXeD cAsE WORDS iPhone",
    "Wait... what?! No!!! Yes??", "“Quoted” ‘single’ „low“ «guillemets»", "en–dash em—dash …",
    "email@example.org https://example.org/a/b?c=d&e=f#g", "snake_case camelCase kebab-case",
]
DIGITS = [
    "0", "1", "12", "123", "1234", "12345", "1234567890", "3.14159", "1,000,000", "1e-5", "-42",
    "2024-02-29", "12:34:56", "0xDEADBEEF", "1st 2nd 3rd", "a1b2c3", "10 000", " 7", "  77",
    "½ ¼ ²³", "٠١٢٣", "१२३", "１２３", "Ⅷ Ⅻ", "①②③", "+1 (555) 010-9999", "$1.50 €2,99 £3",
]
SPACES = [
    "  ", "   ", "    ", " " * 7, " " * 8, " " * 15, " " * 16, " " * 17, " " * 64, " " * 300,
    "\t", "\t\t", "\t \t", "\n", "\n\n", "\n\n\n", "\n\n\n\n", "\r", "\r\n", "\r\n\r\n", "\n\r",
    " \n", "\n ", " \n \n ", "a\n", "a\nb", "a\n\nb", "a\r\nb", "a \nb", "a\n b", "a  b", "a   b",
    "a    b", "a b ", "a b  ", " a", "  a", "   a", "\ta", "a\tb", "a\t\tb", "a\x0bb", "a\x0cb",
    "end. \n\n  Next", "  indented\n    more\n\tand tab\n", "a\u00a0b", "\u00a0", "\u00a0\u00a0a",
    "a\u2003b", "a\u2028b\u2029c", "\u3000全角\u3000", "a\u200bb", "\ufeffbom", "x\u0085y",
    "a\u1680b", "trailing newline\n", "trailing newlines\n\n", " 1", "  1", "\n1", " .", "  .",
]
SCRIPTS = [
    "你好，世界！", "今天天气很好。我们去公园吧。", "中文English混排123数字", "こんにちは世界", "カタカナとひらがな",
    "日本語のテキストです。", "안녕하세요 세계", "한국어 문장입니다.", "Привет, мир!", "Καλημέρα κόσμε",
    "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "வணக்கம் உலகம்", "გამარჯობა",
    "Xin chào thế giới", "Çağrı İstanbul ığüşöç", "Straße ẞ ß", "naïve café résumé", "Ærøskøbing",
    "e\u0301 vs é", "a\u0300\u0301\u0302b", "Z\u0351\u036ba\u0321l\u0348g\u0301o", "ﬁ ﬂ ﬀ", "ＡＢＣａｂｃ",
    "𝒳𝓎𝔷 𝟘𝟙𝟚", "𐍈𐌰𐌹", "𠜎𠜱𡿺", "ǅ ǈ ᾈ", "ªº", "µ μ Ω Ω",
]
SYMBOLS = [
    "🙂", "🙂🙂", "a🙂b", " 🙂", "👍🏽", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇫🇷🇩🇪", "1️⃣2️⃣", "☃️ ☀ ♥️", "🫠🫥", "→←↑↓⇒", "∑∏∫√∞≠≤≥±×÷",
    "αβγ ∈ ℝ", "!!!", "...", "?!?!", "---", "===", "***", "###", "___", "~~~", "``` ```", "\\n \\t",
    "!@#$%^&*()_+-=[]{};':\",./<>?`~|\\", "a/b\\c", "<html><b>x</b></html>", "&amp;&lt;", "©®™",
    "\x00", "a\x00b", "\x01\x02\x03", "\x1b[31mred\x1b[0m", "\x7f", "\ue000", "\ufffd", "\U0010ffff",
]
CODE = [
    "def f(x):\n    return x ** 2\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n",
    '{"key": [1, 2.5, null, true], "s": "a\\"b"}', "SELECT * FROM t WHERE a='b';", "x = y\n\n\n# c",
    "if(a&&b||!c){return a?b:c;}", "<div class=\"x\">\n  text\n</div>\n", "| a | b |\n|---|---|\n",
    "# Title\n\n- item\n  - sub\n\n1. one\n2. two\n", "$ ls -la | grep '\\.c$' > out.txt 2>&1",
    "let s = \"héllo\"; // ünïcode", "#include <stdio.h>\nint main(void) { return 0; }\n",
]
LONG = ["a" * 1000, "ab" * 500, "1" * 200, "é" * 300, "你" * 200, "🙂" * 60, "\n" * 100, "word " * 200, "-" * 300]
SPECIAL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>user\nHi<|im_end|>\n",
    "<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n",
    "a<|endoftext|>b", "a <|endoftext|> b", "<|im_start|><|im_start|>", "<|im_start", "|im_end|>",
    "<repo_name>x<file_sep>y", "<issue_start>", "<jupyter_code>print(1)", "<empty_output>", "<gh_stars>",
    "<|IM_END|>", "< |im_end|>", "  <|im_end|>  ", "\n<|im_end|>\n\n", "<|im_end|>'s", "1<|im_end|>2",
]
PIECES = [
    "the", " quick", "Brown ", "fox", "'s", "'LL", "1", "42", "2024", ",", ".", "!", " ", "  ", "   ", "\n", "\n\n",
    "\r\n", "\t", "é", "ß", "你", "好", "の", "한", "Ж", "ع", "ก", "्", "\u0301", "🙂", "👩‍👧", "½", "٣", "_", "-", "--",
    "\"", "'", "(", ")", "{\n", "}\n", "->", "==", "\u00a0", "\u3000", "\u200d", "İ", "ﬁ", "𝒳", "\x00", "://", "@", "#",
]
INVALID = [  # bytes that aren't UTF-8: alone, cut off, over-long, a surrogate, above the last code point
    b"\xff", b"a\xffb", b"\x80", b"\xc3", b"caf\xc3", b"\xe4\xbd", b"\xf0\x9f\x99", b"\xc0\xaf", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xfe\xfe\xff\xff", b"ok \xe2\x82 ok", b"\xe2\x28\xa1", b"x\xf0\x9f\x99y\xf0\x9f\x99\x82",
]


def make_texts() -> list[bytes]:
    """All texts, each once, in a fixed order."""
    texts = [*test_tokenizer.texts(), *ENGLISH, *DIGITS, *SPACES, *SCRIPTS, *SYMBOLS, *CODE, *LONG, *SPECIAL]
    draw = random.Random(SEED)
    for _ in range(MIXED_TEXTS):
        texts.append("".join(draw.choice(PIECES) for _ in range(draw.randint(*MIXED_PIECES))))
    return list(dict.fromkeys([*(text.encode() for text in texts), *test_tokenizer.BROKEN, *INVALID]))


def tokenize(program: Path, gguf: Path, text: bytes, parse_special: bool) -> list[int] | None:
    """The ids of one text, given byte for byte on standard input; None if llama-tokenize aborts."""
    command = [str(program), "-m", str(gguf), "--stdin", "--ids", "--no-escape", "--log-disable"]
    if not parse_special:
        command.append("--no-parse-special")
    done = subprocess.run(command, input=text, capture_output=True)
    if done.returncode == -signal.SIGABRT and b"invalid codepoint" in done.stderr:
        return None
    if done.returncode != 0 or not re.fullmatch(rb"\[[0-9, ]*\]\n", done.stdout):
        raise RuntimeError(f"llama-tokenize failed on {text!r}: {done.stdout!r} {done.stderr!r}")
    return json.loads(done.stdout)


def make_case(program: Path, gguf: Path, data: bytes) -> dict:
    """One text and its ids.

    `text`, `ids`, and `plain_ids` where those are others when special tokens aren't parsed. Bytes
    that aren't UTF-8: `hex`, `ids` (null: llama.cpp aborts) and `replaced_ids`, those of the text
    with U+FFFD as Python's decode("utf-8", "replace") puts it.
    """
    ids = tokenize(program, gguf, data, parse_special=True)
    text = data.decode("utf-8", "replace")
    if text.encode() != data:
        replaced = tokenize(program, gguf, text.encode(), parse_special=True)
        return {"hex": data.hex(), "ids": ids, "replaced_ids": replaced}
    plain = tokenize(program, gguf, data, parse_special=False) if "<" in text else ids
    return {"text": text, "ids": ids} | ({"plain_ids": plain} if plain != ids else {})


def peer_version() -> str:
    """Package and version of the pinned peer."""
    values = dict(re.findall(r"^(\w+)=(.*)$", (ROOT / "bench" / "peer.env").read_text(), re.M))
    return f"{values['PEER_PACKAGE']} {values['PEER_VERSION']}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", type=Path, default=TOKENIZE)
    parser.add_argument("--gguf", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    gguf = options.gguf or find_demo_gguf()
    head = {
        "made_by": "bench/make_tokenize_fixture.py",
        "program": f"llama-tokenize of {peer_version()}",
        "gguf": gguf.name,
        "gguf_sha256": hashlib.sha256(gguf.read_bytes()).hexdigest(),
    }
    cases = [make_case(options.program, gguf, text) for text in make_texts()]
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(f'{json.dumps(head, indent=1)[:-2]},\n "cases": [\n{lines}\n]}}\n')
    print(f"{options.output}: {len(cases)} texts", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
