"""Fixtures of the end-to-end tests.

The environment names what is tested: MLXCEL_BIN (the program) and MLXCEL_MODELS (a folder with
real checkpoints). Without them the tests that need them skip and say so; MLXCEL_CACHE_DIR is set
to a folder of the test run unless the caller chose one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
RUN_TIMEOUT_S = 600
sys.path.insert(0, str(ROOT / "tools"))


@dataclass(frozen=True)
class Answer:
    """What one `mlxcel generate` printed (--json) and wrote (--logits, float32 [n, vocab])."""

    report: dict
    logits: np.ndarray

    @property
    def ids(self) -> list[int]:
        return self.report["ids"]


class Program:
    """Runs `mlxcel generate`, greedily."""

    def __init__(self, binary: Path, scratch: Path, **environment: str) -> None:
        self._binary = binary
        self._scratch = scratch
        self._environment = {
            "MLXCEL_CACHE_DIR": str(scratch / "cache"), **os.environ, **environment
        }

    def generate(
        self,
        model: Path,
        prompt: list[int] | str,
        count: int,
        *options: str,
        level: str | None = None,
    ) -> Answer:
        """Generates `count` tokens from ids or text; fails with the program's own message."""
        logits = self._scratch / "logits.npy"
        logits.unlink(missing_ok=True)
        source = ["-p", prompt] if isinstance(prompt, str) else ["--prompt-ids", join_ids(prompt)]
        command = [str(self._binary), "generate", "-m", str(model), *source, "-n", str(count)]
        command += ["--temp", "0", "--json", "--logits", str(logits), *options]
        environment = {**self._environment, **({"MLXCEL_CPU_LEVEL": level} if level else {})}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=RUN_TIMEOUT_S
        )
        if done.returncode != 0:
            pytest.fail(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}")
        return Answer(json.loads(done.stdout), np.load(logits))


def join_ids(ids: list[int]) -> str:
    """[1, 2] to '1,2'."""
    return ",".join(map(str, ids))


def assert_same_bits(left: np.ndarray, right: np.ndarray) -> None:
    """Compares float32 arrays as bit patterns; says where they part."""
    assert left.dtype == right.dtype == np.float32
    assert left.shape == right.shape
    differs = np.argwhere(left.view(np.uint32) != right.view(np.uint32))
    assert len(differs) == 0, f"{len(differs)} of {left.size} differ, first at {differs[0]}"


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """The program under test."""
    name = os.environ.get("MLXCEL_BIN")
    if not name:
        pytest.skip("MLXCEL_BIN is not set: no program to test")
    binary = Path(name).resolve()
    assert binary.is_file(), f"MLXCEL_BIN={name} is not a file"
    return Program(binary, tmp_path_factory.mktemp("mlxcel"))


@pytest.fixture(scope="session")
def model_folder() -> Callable[[str], Path]:
    """Finds a real checkpoint under MLXCEL_MODELS, or skips."""

    def find(name: str) -> Path:
        folder = Path(os.environ.get("MLXCEL_MODELS", ROOT / "models")) / name
        if not (folder / "config.json").is_file():
            pytest.skip(f"{folder} is not there: run `make demo` or set MLXCEL_MODELS")
        return folder

    return find
