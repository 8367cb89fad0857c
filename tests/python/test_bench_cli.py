"""`mlxcel bench` on tiny checkpoints: what it measures, in every format, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli_program import PROGRAM, Runner, needs_program, wait_for_bytes

import make_zoo

pytest_plugins = ("cli_fixtures",)
pytestmark = needs_program

PEER_FIELDS = [  # what llama-bench calls the same things
    "build_commit",
    "build_number",
    "cpu_info",
    "gpu_info",
    "backends",
    "model_filename",
    "model_type",
    "model_size",
    "model_n_params",
    "n_batch",
    "n_ubatch",
    "n_threads",
    "type_k",
    "type_v",
    "n_prompt",
    "n_gen",
    "n_depth",
    "test_time",
    "avg_ns",
    "stddev_ns",
    "avg_ts",
    "stddev_ts",
]
OWN_FIELDS = [
    "test",
    "n_parallel",
    "median_ts",
    "min_ts",
    "max_ts",
    "tokens_sha256",
    "roofline_read_gb_s",
    "roofline_fma_gflop_s",
    "read_gb_s",
    "fma_gflop_s",
    "read_share",
    "fma_share",
    "roofline_share",
    "device",
    "cpu_level",
    "profile",
    "contract_fingerprint",
    "context",
    "kv_bytes",
    "weight_bytes",
    "copied_weight_bytes",
    "peak_rss_bytes",
    "load_s",
    "compile_s",
]
LIST_FIELDS = ["sequence_sha256", "samples_ns", "samples_ts"]
ALL_FIELDS = PEER_FIELDS + OWN_FIELDS + LIST_FIELDS
SHORT = ("-p", "5", "-n", "3", "-r", "2", "-q")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zoo")


def make_model(zoo: Path, name: str) -> str:
    variant = next(variant for variant in make_zoo.VARIANTS if variant.name == name)
    return str(make_zoo.make_variant(variant, zoo))


@pytest.fixture(scope="module")
def model(zoo: Path) -> str:
    """4 bits in groups of 32, an untied head."""
    return make_model(zoo, "q4-g32-f32")


def bench(run: Runner, model: str, *arguments: str) -> list[dict]:
    """The records of a run."""
    result = run("bench", "-m", model, "-o", "json", *arguments)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)


def read_header(model: str) -> dict:
    """Names, dtypes and shapes of the model's one file."""
    data = (Path(model) / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return header


def bytes_of(entry: dict) -> int:
    begin, end = entry["data_offsets"]
    return end - begin


def test_json_has_the_fields_of_llama_bench_and_its_own(run: Runner, model: str) -> None:
    records = bench(run, model, *SHORT)
    assert [list(record) for record in records] == [ALL_FIELDS] * 2
    for record in records:
        assert record["model_filename"] == model
        assert record["backends"] == "CPU" and record["device"] == "local-task"
        assert record["type_k"] == record["type_v"] == "f32"
        assert len(record["contract_fingerprint"]) == 64
        assert len(record["samples_ns"]) == len(record["samples_ts"]) == 2
        assert record["context"] == 5 and record["peak_rss_bytes"] > 1 << 20
        assert record["kv_bytes"] > 0 and record["load_s"] > 0


def test_every_format_has_the_same_records(run: Runner, model: str) -> None:
    base = ("bench", "-m", model, *SHORT)
    lines = run(*base, "-o", "jsonl").stdout.decode().splitlines()
    assert [list(json.loads(line)) for line in lines] == [ALL_FIELDS] * 2
    rows = list(csv.reader(io.StringIO(run(*base, "-o", "csv").stdout.decode())))
    assert rows[0] == PEER_FIELDS + OWN_FIELDS
    assert [len(row) for row in rows] == [len(rows[0])] * 3
    assert [row[rows[0].index("test")] for row in rows[1:]] == ["pp5", "tg3"]
    for arguments in (base, (*base, "-o", "md")):
        table, paragraph = run(*arguments).stdout.decode().split("\n\n")
        cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
        assert [row[5] for row in cells] == ["test", "--------------:", "pp5", "tg3"]
        assert all("±" in row[6] and row[8].count(" to ") == 1 for row in cells[2:])
        for word in ("machine:", "contract: pinned-f32", "roofline:", "memory:", "load:", "peak:"):
            assert word in paragraph


def test_lists_make_every_combination(run: Runner, model: str) -> None:
    lists = ("-p", "5,9", "-n", "0", "-n", "3", "-pg", "4,2", "-d", "6,0", "-r", "1", "-q")
    records = bench(run, model, *lists, "--no-warmup")
    counts = [(r["n_prompt"], r["n_gen"], r["n_depth"]) for r in records]
    tests = [(5, 0), (9, 0), (0, 3), (4, 2)]
    assert counts == [(*test, depth) for depth in (6, 0) for test in tests]
    assert [r["test"] for r in records[:4]] == ["pp5 @ d6", "pp9 @ d6", "tg3 @ d6", "pp4+tg2 @ d6"]
    assert all(record["context"] == 15 for record in records)
    for record in records:
        tokens = record["n_prompt"] + record["n_gen"]
        rate = tokens * 1e9 / record["samples_ns"][0]
        assert record["samples_ts"][0] == pytest.approx(rate)
        assert record["avg_ts"] == record["median_ts"] == pytest.approx(rate)
        assert (record["tokens_sha256"] is None) == (record["n_gen"] == 0)


def test_statistics_are_those_of_the_samples(run: Runner, model: str) -> None:
    (record,) = bench(run, model, "-p", "4", "-n", "0", "-r", "4", "-q")
    rates = sorted(record["samples_ts"])
    mean = sum(rates) / 4
    assert record["avg_ts"] == pytest.approx(mean)
    deviation = (sum((rate - mean) ** 2 for rate in rates) / 3) ** 0.5
    assert record["stddev_ts"] == pytest.approx(deviation, rel=1e-6)
    assert record["median_ts"] == pytest.approx((rates[1] + rates[2]) / 2)
    assert (record["min_ts"], record["max_ts"]) == (rates[0], rates[-1])


def test_tokens_do_not_depend_on_what_runs_beside_them(run: Runner, model: str) -> None:
    pair = ("-p", "0", "-n", "0", "-pg", "20,6", "-d", "7", "-r", "2", "-q")
    (alone,) = bench(run, model, *pair)
    assert alone["sequence_sha256"] == [alone["tokens_sha256"]]
    together = bench(run, model, *pair, "-np", "2,4,9")
    for record, count in zip(together, (2, 4, 9), strict=True):
        assert record["n_parallel"] == count == len(record["sequence_sha256"])
        assert record["tokens_sha256"] == alone["tokens_sha256"]
        assert record["sequence_sha256"] == together[-1]["sequence_sha256"][:count]
    assert len(set(together[-1]["sequence_sha256"])) == 9
    for options in (("-b", "3"), ("-t", "1"), ("--device", "local-sync"), ("-c", "48")):
        (other,) = bench(run, model, *pair, *options)
        assert other["tokens_sha256"] == alone["tokens_sha256"], options


def test_engine_is_what_the_lists_say(run: Runner, model: str) -> None:
    records = bench(run, model, "-p", "4", "-n", "0", "-t", "1,2", "-b", "3,0", "-r", "1", "-q")
    sizes = [(record["n_threads"], record["n_ubatch"]) for record in records]
    assert sizes == [(1, 3), (1, 128), (2, 3), (2, 128)]
    (narrow,) = bench(run, model, "-p", "5", "-n", "0", "-r", "1", "-q", "-c", "32", "-np", "3")
    assert narrow["context"] == 32
    per_position = records[0]["kv_bytes"] / 4
    assert narrow["kv_bytes"] == 32 * 3 * per_position


def test_weights_are_counted_from_the_file(run: Runner, model: str) -> None:
    header = read_header(model)
    weights = 0
    for name, entry in header.items():
        shape, is_packed = entry["shape"], entry["dtype"] == "U32"
        count = shape[0] * (shape[1] * 32 // 4 if is_packed else shape[1] if shape[1:] else 1)
        if not name.endswith((".scales", ".biases")):
            weights += count
    (record,) = bench(run, model, "-p", "0", "-n", "4", "-r", "1", "-q")
    assert record["model_n_params"] == weights
    assert record["model_type"] == "llama 4-bit g32"
    assert record["model_size"] == sum(map(bytes_of, header.values()))
    table = sum(bytes_of(e) for name, e in header.items() if "embed_tokens" in name)
    step = record["model_size"] - table  # the head isn't tied: the table isn't read as a whole
    assert record["read_gb_s"] == pytest.approx(4 * step / record["samples_ns"][0])
    assert record["read_share"] == pytest.approx(record["read_gb_s"] / record["roofline_read_gb_s"])
    limits = (record["read_share"], record["fma_share"])
    assert record["roofline_share"] == max(limits) and min(limits) > 0


def test_several_models_are_measured_one_after_the_other(
    run: Runner, zoo: Path, model: str
) -> None:
    other = make_model(zoo, "tied-gqa-bf16")
    for lists in ((f"{model},{other}",), (model, "-m", other)):
        records = bench(run, lists[0], *lists[1:], "-p", "2", "-n", "0", "-r", "1", "-q")
        assert [record["model_filename"] for record in records] == [model, other]
    assert records[1]["model_type"] == "llama BF16"
    assert records[1]["model_size"] == 2 * records[1]["model_n_params"]


def test_dispatches_are_profiled_on_demand(run: Runner, model: str) -> None:
    arguments = ("-p", "0", "-n", "3", "-r", "1", "-q", "--profile-dispatches")
    (record,) = bench(run, model, *arguments)
    profile = record["dispatches"]
    assert profile["calls"] == sum(row["calls"] for row in profile["rows"]) > 0
    assert all(row["calls"] % 3 == 0 for row in profile["rows"])
    text = run("bench", "-m", model, *arguments).stdout.decode()
    assert "dispatches of tg3" in text


def test_the_machine_is_measured_only_where_it_is_wanted(run: Runner, model: str) -> None:
    limits = ["roofline_read_gb_s", "roofline_fma_gflop_s"]
    shares = ["read_share", "fma_share", "roofline_share"]
    arguments = ("-p", "4", "-n", "0", "-r", "1", "-q")
    (bare,) = bench(run, model, *arguments, "--no-roofline")
    assert list(bare) == ALL_FIELDS
    assert all(bare[key] is None for key in limits + shares) and bare["read_gb_s"] > 0
    text = run("bench", "-m", model, *arguments, "--no-roofline").stdout.decode()
    assert "roofline: not measured" in text
    (measured,) = bench(run, model, *arguments, "--roofline-bytes", "1000000")
    assert all(measured[key] > 0 for key in limits + shares)


def test_one_thread_is_held_against_one_processor(run: Runner, model: str) -> None:
    arguments = ("-p", "4", "-n", "0", "-r", "1", "-q", "--device", "local-sync")
    text = run("bench", "-m", model, *arguments).stdout.decode()
    assert "local-sync, 1 threads" in text and "f32 FMA (1 threads)" in text


def test_peak_memory_is_not_that_of_whoever_starts_it(
    environment: dict[str, str], model: str
) -> None:
    held = 400 << 20
    code = f"import subprocess, sys; held = b'x' * {held}; subprocess.run(sys.argv[1:], check=True)"
    command = [PROGRAM, "bench", "-m", model, "-p", "4", "-n", "0", "-r", "1", "-q", "-o", "json"]
    words = [sys.executable, "-c", code, *command, "--no-roofline"]
    done = subprocess.run(words, env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout)[0]["peak_rss_bytes"] < held


def test_roofline_alone_needs_no_model(run: Runner) -> None:
    arguments = ("bench", "--roofline", "--roofline-bytes", "1000000", "-r", "2", "-t", "1", "-q")
    report = json.loads(run(*arguments, "-o", "json").stdout)
    assert (report["buffer_bytes"], report["repetitions"]) == (1000000, 2)
    (row,) = report["rows"]
    assert row["threads"] == 1
    assert row["avx2"]["read_gb_s"] > 0 and row["avx2"]["f32_fma_gflop_s"] > 0
    (line,) = run(*arguments, "-o", "jsonl").stdout.splitlines()
    assert json.loads(line)["threads"] == 1
    for output in ("csv", "md"):
        text = run(*arguments, "-o", output).stdout.decode()
        assert "avx2" in text and "threads" in text.splitlines()[0]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["-p", "0", "-n", "0"], ["nothing to measure", "-p 0", "-n 0", "-pg"]),
        (["-p", "5,x"], ["-p", "'5,x'", "whole numbers"]),
        (["-n", "-1"], ["-n", "'-1'"]),
        (["-d", "1-"], ["-d", "'1-'"]),
        (["-b", "1.5"], ["-b", "'1.5'"]),
        (["-t", "257"], ["-t", "'257'", "256"]),
        (["-np", "0"], ["-np", "'0'", "from 1 to 1024"]),
        (["-np", "1025"], ["-np", "'1025'", "1024"]),
        (["-pg", "5"], ["-pg", "'5'", "PROMPT,GEN"]),
        (["-pg", "5,0"], ["-pg", "'5,0'"]),
        (["-pg"], ["-pg", "PP,TG"]),
        (["-r", "0"], ["-r", "'0'"]),
        (["-o", "xml"], ["-o", "'xml'", "md, csv, json, jsonl"]),
        (["-p", "1-64", "-n", "1-64", "-d", "0-63"], ["4096"]),
        (["-p", "1-65"], ["'1-65'", "64 values"]),
        (["-p", "4000"], ["-p 4000", "positions", "model"]),
        (["-p", "4", "-n", "0", "-d", "4000"], ["-d 4000", "4004 positions"]),
        (["-p", "20", "-n", "0", "-c", "19"], ["-p 20", "-c 19"]),
        (["-c", "9999"], ["-c 9999"]),
        (["-o", "csv", "--profile-dispatches"], ["--profile-dispatches", "csv"]),
        (["--roofline", "-t", "256"], ["-t", "256 threads"]),
        (["--roofline", "--roofline-bytes", "1"], ["--roofline-bytes", "'1'"]),
        (["--no-roofline", "--roofline"], ["--no-roofline", "--roofline;"]),
        (["--no-roofline", "--roofline-bytes", "1000000"], ["--no-roofline", "--roofline-bytes;"]),
        (["--quant", "dense"], ["dense", "packed"]),
        (["--chunk", "8"], ["'--chunk'"]),
    ],
)
def test_wrong_usage_is_named_and_exits_2(
    run: Runner, model: str, arguments: list[str], words: list[str]
) -> None:
    result = run("bench", "-m", model, "-q", *arguments)
    text = result.stderr.decode()
    assert (result.returncode, result.stdout) == (2, b""), text
    assert text.startswith("mlxcel bench: error: ") and text.count("\n") == 1
    for word in words:
        assert word in text


def test_failures_exit_1_without_output(run: Runner, tmp_path: Path) -> None:
    for output in ("md", "json"):
        result = run("bench", "-m", str(tmp_path / "nothing"), "-o", output)
        assert (result.returncode, result.stdout) == (1, b"")
        assert str(tmp_path / "nothing") in result.stderr.decode()
    result = run("bench")
    assert result.returncode == 2 and b"no model" in result.stderr


def test_interrupt_keeps_what_is_done(environment: dict[str, str], model: str) -> None:
    command = [PROGRAM, "bench", "-m", model, "-o", "json", "-p", "2", "-n", "0"]
    command += ["-pg", "20,40", "-r", "1000"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    begin = wait_for_bytes(process.stdout, 2)  # the first record; the second takes far longer
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and b"interrupted" in errors
    records = json.loads(begin + rest)
    assert records[0]["test"] == "pp2" and len(records[0]["samples_ns"]) == 1000
    assert len(records) == 1 or 0 < len(records[1]["samples_ns"]) < 1000
