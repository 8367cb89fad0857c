"""The models of the comparison: their names, where they lie, what a name says.

A model NAME is FOLDER/NAME.gguf for llama.cpp and FOLDER/NAME for mlxcel, which imported it from
that file. make_models.py makes them. No NumPy here: compare.py's own memory must stay small.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from children import BenchError

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "models" / "bench"

# Name: what it is made from, and the storage type of its matrices (gguf's names).
NAMES = {
    "smollm2-q4_1": ("smollm2", "Q4_1"),
    "smollm2-bf16": ("smollm2", "BF16"),
    "smollm2-f16": ("smollm2", "F16"),
    "smollm2-q8_0": ("smollm2", "Q8_0"),
    "llama1b-q4_1": ("llama1b", "Q4_1"),
    "llama1b-q4_0": ("llama1b", "Q4_0"),
    "llama1b-bf16": ("llama1b", "BF16"),
}


@dataclass(frozen=True)
class Model:
    """One model in both forms."""

    name: str
    gguf: Path
    folder: Path

    def exists(self) -> bool:
        return self.gguf.is_file() and (self.folder / "config.json").is_file()


def at(name: str, folder: Path) -> Model:
    """A model by its name, made or not."""
    if name not in NAMES:
        raise BenchError(f"no model is called '{name}'; there are {', '.join(NAMES)}")
    return Model(name, folder / f"{name}.gguf", folder / name)


def select(names: str | None, folder: Path) -> list[Model]:
    """The named ones (with commas between them), or all that were made."""
    if names is None:
        found = [model for name in NAMES if (model := at(name, folder)).exists()]
        if not found:
            raise BenchError(f"no models in {folder}; run bench/make_models.py")
        return found
    chosen = [at(name, folder) for name in names.split(",")]
    for model in chosen:
        if not model.exists():
            raise BenchError(f"{model.name} isn't in {folder}; run bench/make_models.py")
    return chosen


def find_demo_gguf() -> Path:
    """The file that scripts/demo-model.sh imports, from which the smollm2 models are made."""
    pins = (ROOT / "scripts" / "pins.env").read_text().splitlines()
    name = next(line.partition("=")[2] for line in pins if line.startswith("SMOLLM2_GGUF="))
    found = sorted((ROOT / ".toolchain" / "venv").glob(f"lib/python*/site-packages/**/{name}"))
    if not found:
        raise BenchError(f"{name} isn't in .toolchain/venv; run scripts/setup.sh")
    return found[0]
