"""Fixtures of the command-line tests (a pytest plugin of test_cli*.py)."""

from __future__ import annotations

import os
import subprocess

import pytest

from cli_program import PROGRAM, TIMEOUT_S, Runner


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One cache of compiled modules for all tests; the outer MLXCEL_CACHE_DIR if it is set."""
    return os.environ.get("MLXCEL_CACHE_DIR") or str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def environment(cache: str) -> dict[str, str]:
    """The outer environment without options of mlxcel."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MLXCEL_")}
    if "MLXCEL_XLA_IREE_COMPILE" in os.environ:
        kept["MLXCEL_XLA_IREE_COMPILE"] = os.environ["MLXCEL_XLA_IREE_COMPILE"]
    kept["MLXCEL_CACHE_DIR"] = cache
    return kept


@pytest.fixture
def run(environment: dict[str, str]) -> Runner:
    """Runs mlxcel to its end; `env` is laid over the environment."""

    def run_program(
        *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess:
        return subprocess.run(
            [PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_S,
            env={**environment, **(env or {})},
            check=False,
        )

    return run_program
