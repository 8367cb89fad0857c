"""Makes the models of the comparison, as GGUF and as the folder that mlxcel imports. See README.md.

    make_models.py [--models NAME,...] [-o FOLDER] [--force] [--check]

smollm2-*: the demo model, its matrices stored as another type. llama1b-*: random weights of
Llama-3.2-1B's shape, for what memory bandwidth limits. Existing models stay unless --force is
given. --check runs each in both engines and shows whether they say the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import gguf_recipes as recipes
import models
from children import BenchError, run_child
from models import ROOT, Model

CHECK_PROMPT = "The capital of France is"
CHECK_TOKENS = 16
CHECK_CONTEXT = 256


def make_gguf(model: Model) -> None:
    """The demo model's own file is linked, the others are written."""
    source, kind = models.NAMES[model.name]
    if source == "llama1b":
        recipes.make_random(model.gguf, recipes.LLAMA_1B, kind, model.name)
        return
    demo = models.find_demo_gguf()
    if kind == "Q4_1":
        model.gguf.unlink(missing_ok=True)
        model.gguf.symlink_to(demo)
    else:
        recipes.convert(demo, model.gguf, kind)


def make(model: Model, program: Path, force: bool) -> None:
    """What of the model isn't there yet, or all of it."""
    begin = time.monotonic()
    model.gguf.parent.mkdir(parents=True, exist_ok=True)
    if force or not model.gguf.is_file():
        make_gguf(model)
    if force or not model.exists():
        run_child([program, "import", model.gguf, "-o", model.folder, "--force", "-q"])
    size = model.gguf.stat().st_size / 1e6
    print(f"{model.name}: {size:.0f} MB, {time.monotonic() - begin:.0f} s", file=sys.stderr)


def continuations(model: Model, program: Path, peer: Path) -> dict[str, str]:
    """The likeliest continuation of a prompt according to each engine."""
    words = ["-p", CHECK_PROMPT, "-n", CHECK_TOKENS, "-c", CHECK_CONTEXT, "--temp", 0]
    ours = run_child([program, "generate", "-m", model.folder, *words, "--ignore-eos", "--json"])
    theirs = run_child(
        [peer / "llama-completion", "-m", model.gguf, *words, "--ignore-eos", "--no-warmup"]
        + ["-no-cnv", "--simple-io", "--no-display-prompt", "-ctk", "f32", "-ctv", "f32"]
    )
    return {"mlxcel": json.loads(ours.output)["text"], "llama.cpp": theirs.output.rstrip("\n")}


def check(model: Model, program: Path, peer: Path) -> bool:
    """Prints both continuations; true if they are the same.

    They needn't be: llama.cpp rounds activations to 8 bits, or f16 and bf16, before it multiplies,
    and two tokens can be nearly as likely as each other, above all with random weights.
    """
    texts = continuations(model, program, peer)
    is_same = texts["mlxcel"].rstrip("\n") == texts["llama.cpp"]
    print(f"{model.name}: {'same' if is_same else 'different'} continuation")
    for name, text in texts.items():
        print(f"  {name}: {text!r}")
    return is_same


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", default=",".join(models.NAMES), help="default: all")
    parser.add_argument("-o", "--output", type=Path, default=models.FOLDER)
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "mlxcel")
    parser.add_argument("--peer", type=Path, default=ROOT / ".toolchain" / "peer" / "build" / "bin")
    parser.add_argument("--force", action="store_true", help="make them anew")
    parser.add_argument("--check", action="store_true", help="run each in both engines")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    try:
        chosen = [models.at(name, options.output) for name in options.models.split(",")]
        for model in chosen:
            make(model, options.program, options.force)
        for model in chosen if options.check else []:
            check(model, options.program, options.peer)
    except BenchError as error:
        print(f"make_models: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
