"""`mlxcel generate` and `mlxcel inspect` as a user meets them: prompts, output, settings."""

from __future__ import annotations

import json
import re
from pathlib import Path

from cli_program import (
    MODEL,
    PROMPT,
    Runner,
    generate,
    needs_model,
    needs_program,
    read_npy,
)

pytest_plugins = ("cli_fixtures",)
pytestmark = needs_program


@needs_model
def test_generate_separates_text_from_everything_else(run: Runner) -> None:
    result = generate(run, "-p", PROMPT)
    assert result.returncode == 0, result.stderr.decode()
    report = json.loads(generate(run, "-p", PROMPT, "--json").stdout)
    assert result.stdout.decode() == report["text"]
    errors = result.stderr.decode()
    assert re.search(
        r"prompt eval time = +[\d.]+ ms / +\d+ tokens "
        r"\( *[\d.]+ ms per token, +[\d.]+ tokens per second\)",
        errors,
    )
    for name in (
        "load time",
        "compile time",
        "(cache ",
        "eval time",
        "first token time",
        "peak memory",
    ):
        assert name in errors
    assert "\x1b" not in errors and "\r" not in errors


@needs_model
def test_generate_quiet_prints_the_text_only(run: Runner) -> None:
    result = generate(run, "-p", PROMPT, "-q")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout
    assert generate(run, "-p", PROMPT, env={"MLXCEL_QUIET": "1"}).stderr == b""


@needs_model
def test_generate_json_is_one_object_with_the_documented_keys(run: Runner) -> None:
    result = generate(run, "-p", PROMPT, "--json")
    assert result.returncode == 0
    assert result.stdout.endswith(b"\n")
    report = json.loads(result.stdout)
    types = {
        "model": str,
        "device": str,
        "profile": str,
        "prompt_ids": list,
        "ids": list,
        "text": str,
        "finish_reason": str,
        "timings": dict,
        "peak_rss_bytes": int,
    }
    assert {key: type(value) for key, value in report.items()} == types
    assert set(report["timings"]) == {
        "load_s",
        "compile_s",
        "cache",
        "prefill_tokens",
        "prefill_s",
        "decode_tokens",
        "decode_s",
        "ttft_s",
    }
    timings = report["timings"]
    assert timings["cache"] in ("hit", "miss")
    assert all(
        isinstance(timings[key], (int, float)) and timings[key] >= 0
        for key in timings
        if key != "cache"
    )
    assert (
        report["model"] == Path(MODEL).name
        and report["device"] == "local-task"
        and report["profile"] == "pinned-f32"
    )
    assert report["finish_reason"] in ("stop", "length")
    assert 0 < len(report["ids"]) <= 6
    assert report["peak_rss_bytes"] > 1 << 20
    assert timings["prefill_tokens"] == len(report["prompt_ids"])


@needs_model
def test_compiling_ahead_serves_runs_without_a_compiler(run: Runner, tmp_path: Path) -> None:
    cache = ("--cache-dir", str(tmp_path / "cache"))
    absent = ("--compiler", str(tmp_path / "absent"))
    ahead = run("compile", "-m", MODEL, "-t", "2", "--json", *cache)
    assert json.loads(ahead.stdout)["cache"] == "miss", ahead.stderr.decode()
    same = generate(run, "-p", PROMPT, "-t", "2", *cache, *absent)
    assert same.returncode == 0, same.stderr.decode()
    other = generate(run, "-p", PROMPT, "-t", "5", *cache, *absent)  # served by the module for two
    assert (other.returncode, other.stdout) == (0, same.stdout)
    empty = generate(run, "-p", PROMPT, "--cache-dir", str(tmp_path / "empty"), *absent)
    assert empty.returncode == 1 and b"absent" in empty.stderr


@needs_model
def test_second_run_finds_the_module_in_the_cache(run: Runner) -> None:
    generate(run, "-p", PROMPT)
    timings = json.loads(generate(run, "-p", PROMPT, "--json").stdout)["timings"]
    assert timings["cache"] == "hit" and timings["compile_s"] == 0
    result = run("compile", "-m", MODEL, "--json")
    assert json.loads(result.stdout)["cache"] == "hit"
    entries = json.loads(run("cache", "ls", "--json").stdout)["entries"]
    assert entries


@needs_model
def test_compiling_for_a_number_of_threads_serves_that_number_without_a_compiler(run: Runner) -> None:
    assert run("compile", "-m", MODEL, "--threads", "1").returncode == 0
    result = generate(run, "-p", PROMPT, "--threads", "1", "--compiler", "/no/compiler", "--json")
    assert result.returncode == 0, result.stderr.decode()
    assert json.loads(result.stdout)["timings"]["cache"] == "hit"


@needs_model
def test_prompt_comes_from_text_stdin_file_and_ids_alike(run: Runner, tmp_path: Path) -> None:
    wanted = json.loads(generate(run, "-p", PROMPT, "--json").stdout)
    file = tmp_path / "prompt.txt"
    file.write_bytes(PROMPT.encode())
    others = {
        "stdin": generate(run, "-p", "-", "--json", stdin=PROMPT.encode()),
        "file": generate(run, "-f", str(file), "--json"),
        "ids": generate(run, "--prompt-ids", ", ".join(map(str, wanted["prompt_ids"])), "--json"),
        "environment": generate(run, "--json", env={"MLXCEL_PROMPT": PROMPT}),
        "stronger source": generate(run, "-p", PROMPT, "--json", env={"MLXCEL_PROMPT_IDS": "1"}),
    }
    for name, result in others.items():
        assert result.returncode == 0, (name, result.stderr.decode())
        report = json.loads(result.stdout)
        assert report["prompt_ids"] == wanted["prompt_ids"], name
        assert report["ids"] == wanted["ids"], name


@needs_model
def test_every_byte_of_a_prompt_file_counts(run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes(PROMPT.encode() + b"\n")
    with_line_feed = json.loads(generate(run, "-f", str(file), "--json").stdout)["prompt_ids"]
    assert with_line_feed != json.loads(generate(run, "-p", PROMPT, "--json").stdout)["prompt_ids"]
    assert (
        with_line_feed
        == json.loads(generate(run, "-p", PROMPT + "\n", "--json").stdout)["prompt_ids"]
    )


@needs_model
def test_command_line_wins_over_environment(run: Runner) -> None:
    settings = {
        "MLXCEL_MAX_TOKENS": "2",
        "MLXCEL_XLA_DEVICE": "local-sync",
        "MLXCEL_MODEL": MODEL,
        "MLXCEL_JSON": "1",
        "MLXCEL_IGNORE_EOS": "1",
    }
    report = json.loads(run("generate", "-p", PROMPT, env=settings).stdout)
    assert (len(report["ids"]), report["device"]) == (2, "local-sync")
    report = json.loads(
        run("generate", "-p", PROMPT, "-n", "3", "--device", "local-task", env=settings).stdout
    )
    assert (len(report["ids"]), report["device"]) == (3, "local-task")
    assert not run("generate", "-p", PROMPT, "--json=false", env=settings).stdout.startswith(
        b'{"model"'
    )


@needs_model
def test_unknown_and_impossible_token_ids_are_refused(run: Runner) -> None:
    result = generate(run, "--prompt-ids", "4000000")
    assert (result.returncode, result.stdout) == (1, b"")
    assert "4000000" in result.stderr.decode()


@needs_model
def test_prompt_longer_than_the_context_is_refused_with_both_numbers(run: Runner) -> None:
    result = generate(run, "-c", "16", "--prompt-ids", ",".join(["1"] * 40))
    assert (result.returncode, result.stdout) == (1, b"")
    assert "40" in result.stderr.decode() and "16" in result.stderr.decode()


@needs_model
def test_length_without_n_is_what_the_context_leaves(run: Runner) -> None:
    ids = "1,2,3,4,5,6"
    report = json.loads(
        run(
            "generate",
            "-m",
            MODEL,
            "--prompt-ids",
            ids,
            "-c",
            "24",
            "--ignore-eos",
            "--json",
            "--temp",
            "0",
        ).stdout
    )
    assert len(report["ids"]) in (18, 19)  # the last token drawn needs no place of its own
    assert report["finish_reason"] == "length"


@needs_model
def test_precisions_that_the_profile_lacks_are_refused(run: Runner) -> None:
    result = generate(run, "-p", PROMPT, env={"MLXCEL_XLA_PRECISION": "bf16"})
    assert (result.returncode, result.stdout) == (1, b"")
    assert "bf16" in result.stderr.decode()


@needs_model
def test_effective_sampler_is_shown_unless_greedy(run: Runner) -> None:
    result = generate(run, "-p", PROMPT, "--temp", "0.5", "--top-k", "7", "-s", "11")
    assert "sampler: temperature 0.5, top-k 7" in result.stderr.decode()
    assert "seed 11" in result.stderr.decode()
    assert "sampler:" not in generate(run, "-p", PROMPT).stderr.decode()
    assert "sampler: greedy" in generate(run, "-p", PROMPT, "--verbose").stderr.decode()
    assert "--top-k has no effect" in generate(run, "-p", PROMPT, "--top-k", "7").stderr.decode()


@needs_model
def test_logits_file_has_a_row_for_each_token(run: Runner, tmp_path: Path) -> None:
    target = tmp_path / "logits.npy"
    target.write_bytes(b"old")
    result = generate(run, "-p", PROMPT, "--json", "--logits", str(target))
    assert result.returncode == 0, result.stderr.decode()
    report = json.loads(result.stdout)
    (rows, columns), values = read_npy(target)
    assert rows == len(report["ids"]) and columns > max(report["ids"] + report["prompt_ids"])
    assert [path.name for path in tmp_path.iterdir()] == ["logits.npy"]
    again = tmp_path / "again.npy"
    generate(run, "-p", PROMPT, "--logits", str(again), "-t", "1")
    assert again.read_bytes() == target.read_bytes()
    assert any(value != values[0] for value in values)


@needs_model
def test_logit_bias_changes_the_choice(run: Runner) -> None:
    ids = json.loads(generate(run, "-p", PROMPT, "--json", "-n", "1").stdout)["ids"]
    other = json.loads(
        generate(run, "-p", PROMPT, "--json", "-n", "1", "--logit-bias", f"{ids[0]}=-1e9").stdout
    )["ids"]
    assert other[0] != ids[0]


@needs_model
def test_inspect_shows_every_tensor_of_the_report(run: Runner) -> None:
    report = json.loads(run("inspect", MODEL, "--json").stdout)
    assert report["tensors"] and report["supported"] is True
    table = run("inspect", "-m", MODEL).stdout.decode()
    assert all(tensor["name"] in table for tensor in report["tensors"])


@needs_model
def test_environment_of_other_calls_yields_to_the_flags(run: Runner) -> None:
    common = ("generate", "-m", MODEL, "-n", "1", "--temp", "0", "-q")
    assert run(*common, "-p", "x", env={"MLXCEL_SYSTEM": "Be brief."}).returncode == 0
    assert run(*common, "--prompt-ids", "1", env={"MLXCEL_CHAT": "1"}).returncode == 0
    refused = run(*common, "-p", "x", "--system", "Be brief.")
    assert refused.returncode == 2 and b"--system" in refused.stderr
