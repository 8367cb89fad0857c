#!/usr/bin/env python3
"""Makes the small tokenizers of tests/data/tokenizer. Developer tool: run it after a change here and commit what it writes.

    tools/make_tokenizers.py [tests/data/tokenizer]

One folder for each kind of tokenizer that checkpoints have: byte-level BPE (with and without ignore_merges), sentencepiece-style BPE with byte fallback,
Unigram. Only the standard library, no randomness, ties broken by text: the same bytes on every run.
"""

import collections
import json
import math
import pathlib
import re
import sys

TEXT = """
The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's asleep, and they'll let it be. I'd say we've seen this before, haven't we?
In the beginning there was a word, and the word was not in the vocabulary, so it was cut into pieces, and the pieces were many.
for (int i = 0; i < 10; ++i) {\n    total += values[i] * 3.14159;\n}\nreturn total;\n
He said: "Hello, world!" She said: 'Hello to you, too.' 12345 67890 2024-01-31 1,000,000.00
Der Fluß führt über große Höhen. Le café était fermé à l'été. El niño comió piñas. Việt Nam, tiếng Việt, Việt Nam.
日本語のテキスト、日本語の文章。中文文本,中文句子。한국어 텍스트. Русский текст, русские слова. نص عربي
😀😃😄 emoji 😀 and 👩‍👩‍👧 family ❤️
"""

# The bytes that print as themselves in the byte-level alphabet; the others get the characters from U+0100 on.
PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]


def byte_alphabet():
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in PRINTABLE else next(others)) for byte in range(256)]


def train_bpe(words, count):
    """The |count| most useful merges of |words|, tuples of symbols; most frequent pair first, ties by text."""
    merges = []
    words = collections.Counter(words)
    while len(merges) < count:
        pairs = collections.Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = collections.Counter({merge(word, best): times for word, times in words.items()})
    return merges


def merge(word, pair):
    out = []
    for symbol in word:
        if out and (out[-1], symbol) == pair:
            out[-1] += symbol
        else:
            out.append(symbol)
    return tuple(out)


def added(id_, content, special=True, **flags):
    token = {"id": id_, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": not special, "special": special}
    return {**token, **flags}


def tokenizer(model, added_tokens, **parts):
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens}
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        whole[part] = parts.get(part)
    return {**whole, "model": model}


def bpe_model(vocabulary, merges, **options):
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None}
    model |= {"fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    return {**model, **options, "vocab": {token: id_ for id_, token in enumerate(vocabulary)}, "merges": [list(pair) for pair in merges]}


def adds_bos(token, id_):
    """A post-processor that puts one BOS in front."""
    sequence = lambda name: {"Sequence": {"id": name, "type_id": 0}}
    special = {"SpecialToken": {"id": token, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [special, sequence("A")],
        "pair": [special, sequence("A"), special, sequence("B")],
        "special_tokens": {token: {"id": token, "ids": [id_], "tokens": [token]}},
    }


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True, **options}


def byte_level_words(pattern):
    alphabet = byte_alphabet()
    return [tuple(alphabet[byte] for byte in word.encode()) for word in re.findall(pattern, TEXT)]


def plain_byte_level():
    """As SmolLM2 and GPT-2 have it: digits apart, ChatML, no BOS."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    merges = train_bpe(byte_level_words(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+|\d| ?[^\s\w]+|\s+"), 400)
    vocabulary = special + byte_alphabet() + [a + b for a, b in merges]
    extra = len(vocabulary)
    tokens = [added(id_, token) for id_, token in enumerate(special)]
    tokens.append(added(extra, "<tool>", special=False, normalized=False))
    tokens.append(added(extra + 1, "[PAD]", special=True, lstrip=True, rstrip=True))
    digits = {"type": "Digits", "individual_digits": True}
    return tokenizer(
        bpe_model(vocabulary, merges),
        tokens,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [digits, byte_level()]},
        decoder=byte_level(add_prefix_space=True),
    )


LLAMA_LIKE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def whole_words_byte_level():
    """As Llama 3 has it: whole words before merges, a BOS. "Ġtiếng", "ĠViệt" are in the vocabulary, but no merge leads to them."""
    merges = train_bpe(byte_level_words(r"[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?[^\s\w]+|\s+"), 300)
    vocabulary = byte_alphabet() + [a + b for a, b in merges]
    alphabet = byte_alphabet()
    for word in (" Việt", " tiếng", "vocabulary", "日本語"):
        spelled = "".join(alphabet[byte] for byte in word.encode())
        if spelled not in vocabulary:
            vocabulary.append(spelled)
    special = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    first = len(vocabulary)
    split = {"type": "Split", "pattern": {"Regex": LLAMA_LIKE}, "behavior": "Isolated", "invert": False}
    return tokenizer(
        bpe_model(vocabulary, merges, ignore_merges=True),
        [added(first + i, token) for i, token in enumerate(special)],
        pre_tokenizer={"type": "Sequence", "pretokenizers": [split, byte_level(use_regex=False)]},
        post_processor={"type": "Sequence", "processors": [byte_level(), adds_bos(special[0], first)]},
        decoder=byte_level(add_prefix_space=True),
    )


def sentencepiece_bpe():
    """As Llama 2 has it: no pre-tokenizer, "▁" for spaces and one in front, bytes for unknown characters."""
    text = re.sub(r"[^\x00-\x7féüßñ]", "", TEXT)
    words = [tuple("▁" + word) for word in text.split()]
    merges = train_bpe(words, 300)
    special = ["<unk>", "<s>", "</s>"]
    symbols = sorted({symbol for word in words for symbol in word})
    vocabulary = special + [f"<0x{byte:02X}>" for byte in range(256)] + symbols
    vocabulary += [piece for piece in dict.fromkeys(a + b for a, b in merges) if piece not in vocabulary]
    replace = lambda a, b: {"type": "Replace", "pattern": {"String": a}, "content": b}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return tokenizer(
        bpe_model(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        [added(id_, token) for id_, token in enumerate(special)],
        normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")]},
        post_processor=adds_bos("<s>", 1),
        decoder={"type": "Sequence", "decoders": [replace("▁", " "), {"type": "ByteFallback"}, {"type": "Fuse"}, strip]},
    )


def unigram():
    """As T5 and its kin have it: NFKC, Metaspace, scores of pieces, an unknown token."""
    counts = collections.Counter()
    for word in TEXT.split():
        word = "▁" + word
        for start in range(len(word)):
            for end in range(start + 1, min(start + 8, len(word)) + 1):
                counts[word[start:end]] += 1
    pieces = sorted(p for p, times in counts.items() if len(p) == 1 or times >= 3)
    total = sum(counts[p] for p in pieces)
    score = lambda p: round(math.log(counts[p] / total) + 2.0 * (len(p) - 1), 6)
    vocabulary = [["<unk>", 0.0], ["</s>", 0.0]] + [[p, score(p)] for p in pieces]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return tokenizer(
        {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": False},
        [added(0, "<unk>"), added(1, "</s>")],
        normalizer={"type": "NFKC"},
        pre_tokenizer=metaspace,
        decoder=metaspace,
    )


WITH_BOS = "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}\n{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
WITHOUT_BOS = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def folders():
    content = lambda token: {"__type": "AddedToken", "content": token, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    yield "bytelevel", plain_byte_level(), {"eos_token": "<|im_end|>", "chat_template": CHATML}, {}
    config = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "chat_template": "{{ raise_exception('the file wins') }}"}
    yield "ignore_merges", whole_words_byte_level(), config, {"chat_template.jinja": WITHOUT_BOS}
    templates = [{"name": "default", "template": WITH_BOS}, {"name": "tool_use", "template": "{{ bos_token }}{{ tools | tojson }}"}]
    config = {"add_bos_token": True, "bos_token": content("<s>"), "eos_token": content("</s>"), "chat_template": templates}
    special = json.dumps({"unk_token": {"content": "<unk>"}, "eos_token": "<unk>"}, indent=2) + "\n"
    yield "sentencepiece", sentencepiece_bpe(), config, {"special_tokens_map.json": special}
    yield "unigram", unigram(), None, {}


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "tests/data/tokenizer")
    for name, whole, config, files in folders():
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
        if config is not None:
            (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
