"""The tools of bench/: statistics, goals, limits, reports, charts, and the models they make."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import gguf
import numpy as np
import pytest
import tokenizers

from conftest import ROOT, Program

sys.path.insert(0, str(ROOT / "bench"))

import gguf_recipes as recipes
from children import BenchError, read_json, run_child
from compare import choose_rows, interleave, measure_models, measure_rows
from engines import LLAMA_CPP, MLXCEL, LONG_PROMPT, check_peer, fitting_context, only_test
from goals import Outcome, Processor, judge
from growth import depth_lines, make_charts
from idle import measure_idle
from limits import row_limit
from machine import BUSY_SHARE
from models import Model
from report import judge_model, make_markdown
from rows import PROMPT_TOKENS, Row, make_rows
from samples import fit_line, summarize
from svg import Series, line_chart, ticks

ROWS = {row.kind: row for row in reversed(make_rows())}  # of decode, the one without depth
AVX2 = Processor(avx512=False, amx=False)
AVX512 = Processor(avx512=True, amx=False)
AMX = Processor(avx512=True, amx=True)
TINY = recipes.Shape(64, 2, 4, 2, 16, 96, 600, 128)
SVG = "{http://www.w3.org/2000/svg}"


# --- statistics -----------------------------------------------------------------------------------


def test_a_summary_has_the_median_and_the_range() -> None:
    summary = summarize([5.0, 1.0, 2.0, 9.0])
    assert (summary.median, summary.low, summary.high) == (3.5, 1.0, 9.0)
    assert summary.samples == [5.0, 1.0, 2.0, 9.0]


def test_points_on_a_line_fit_it() -> None:
    line = fit_line([0, 1000, 4000], [5.0, 7.0, 13.0])
    assert (line.intercept, line.slope) == pytest.approx((5.0, 0.002))
    assert line.largest_deviation == pytest.approx(0.0, abs=1e-12)


def test_the_deviation_from_a_line_is_the_largest_share() -> None:
    line = fit_line([0, 1, 2], [10.0, 13.0, 10.0])  # flat at 11
    assert line.slope == pytest.approx(0.0)
    assert line.largest_deviation == pytest.approx(2 / 11)


def test_runs_are_interleaved_and_their_order_rotates() -> None:
    order: list[str] = []
    runs = [lambda name=name: order.append(name) or float(len(order)) for name in "abc"]
    samples = interleave(runs, 2)
    assert "".join(order) == "abc" + "abc" + "bca"
    assert samples == [[4.0, 9.0], [5.0, 7.0], [6.0, 8.0]]  # the warm-up isn't among them


# --- goals and limits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "kind", "processor", "ratio", "share", "verdict"),
    [
        ("smollm2-q4_1", "decode", AVX512, 1.5, 0.1, "met"),
        ("smollm2-q4_1", "decode", AVX512, 1.49, 0.9, "not met"),
        ("smollm2-q4_1", "decode", AVX2, 1.0, 0.1, "met"),
        ("smollm2-q4_1", "prefill", AVX512, 2.0, 0.1, "met"),
        ("smollm2-q4_1", "prefill", AVX512, 1.9, 0.9, "not met"),
        ("smollm2-q4_1", "prefill", AVX2, 0.8, 0.6, "met"),
        ("smollm2-q4_1", "prefill", AVX2, 0.8, 0.59, "not met"),
        ("smollm2-q4_1", "prefill", AVX2, 0.79, 0.7, "not met"),
        ("smollm2-q4_1", "prefill", AMX, 0.1, 0.6, "met"),
        ("smollm2-q4_1", "prefill", AMX, 3.0, 0.5, "not met"),
        ("smollm2-q4_1", "together", AVX512, 2.5, 0.1, "met"),
        ("smollm2-q4_1", "together", AVX512, 2.4, 0.9, "not met"),
        ("smollm2-q4_1", "together", AVX2, 9.0, 0.9, ""),
        ("llama1b-q4_1", "decode", AVX512, 1.3, 0.1, "met"),
        ("llama1b-q4_1", "decode", AVX2, 0.5, 0.8, "met"),
        ("llama1b-q4_1", "decode", AVX512, 1.29, 0.79, "not met"),
        ("llama1b-q4_0", "prefill", AVX512, 2.0, 0.1, "met"),
        ("llama1b-q4_1", "prefill", AVX2, 9.0, 0.9, ""),
        ("llama1b-bf16", "decode", AVX512, 1.0, 0.85, "met"),
        ("llama1b-bf16", "decode", AVX512, 0.9, 0.9, "not met"),
        ("llama1b-bf16", "decode", AVX512, 1.1, 0.84, "not met"),
        ("smollm2-f16", "decode", AVX512, 9.0, 0.9, ""),
    ],
)
def test_goals_of_rates(
    model: str, kind: str, processor: Processor, ratio: float, share: float, verdict: str
) -> None:
    outcome = Outcome(ratio * 100, 100.0, share)
    assert judge(model, ROWS[kind], outcome, processor, busy=False)[1] == verdict
    on_a_busy_machine = "not judged" if verdict else ""
    assert judge(model, ROWS[kind], outcome, processor, busy=True)[1] == on_a_busy_machine


def test_a_decode_at_depth_has_no_goal() -> None:
    row = next(row for row in make_rows((4096,)) if row.depth == 4096)
    assert judge("smollm2-q4_1", row, Outcome(1.0, 9.0, 0.1), AVX512, busy=False) == ("", "")


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize(("ours", "verdict"), [(128.6, "met"), (128.7, "not met")])
def test_memory_may_be_30_mb_more_on_any_machine(ours: float, verdict: str, busy: bool) -> None:
    outcome = Outcome(ours, 100.0)  # MiB: 30 MB are 28.61
    assert judge("smollm2-f16", ROWS["memory"], outcome, AVX2, busy)[1] == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(100.0, "met"), (100.1, "not met")])
def test_the_start_may_not_be_slower(ours: float, verdict: str) -> None:
    outcome = Outcome(ours, 100.0)
    assert judge("smollm2-f16", ROWS["start"], outcome, AVX2, busy=False)[1] == verdict


WEIGHTS = {
    "bytes": 1000,
    "decode_bytes": 1000,
    "prompt_weights": 400,
    "decode_weights": 500,
    "kv_elements": 2,
}


def test_the_limit_of_a_decode_counts_weights_and_cache() -> None:
    machine = {"read_bytes_s": 1e6, "fma_flop_s": 1e9}
    row = Row("", "", "", "decode", gen=20, depth=90)  # 100 tokens on average
    limit = row_limit(row, WEIGHTS, machine, "f32")
    assert limit.kind == "bandwidth"
    assert limit.value == pytest.approx(1e6 / (1000 + 100 * 2 * 4))
    assert row_limit(row, WEIGHTS, machine, "f16").value == pytest.approx(1e6 / 1400)


def test_sequences_together_share_the_weights_until_arithmetic_limits() -> None:
    row = Row("", "", "", "together", gen=0, depth=0, parallel=8)
    slow_memory = {"read_bytes_s": 1e3, "fma_flop_s": 1e9}
    assert row_limit(row, WEIGHTS, slow_memory, "f32").value == pytest.approx(8.0)
    slow_units = {"read_bytes_s": 1e9, "fma_flop_s": 1e3}
    limit = row_limit(row, WEIGHTS, slow_units, "f32")
    assert (limit.value, limit.kind) == (1.0, "f32 FMA")  # 2 operations for each of 500 weights


def test_the_limit_of_a_prompt_leaves_out_the_head() -> None:
    machine = {"read_bytes_s": 1.0, "fma_flop_s": 8000.0}
    assert row_limit(ROWS["prefill"], WEIGHTS, machine, "f32").value == pytest.approx(10.0)
    assert row_limit(ROWS["memory"], WEIGHTS, machine, "f32") is None


# --- running programs -----------------------------------------------------------------------------


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_program_that_ends_well_gives_output_and_time() -> None:
    finished = run_child(python("import sys; print('a'); print('b', file=sys.stderr)"))
    assert (finished.output, finished.errors) == ("a\n", "b\n")
    assert finished.first_byte_s > 0


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/nowhere/x"], "can't start /nowhere/x: No such file"),
        (python("import sys; sys.exit('no model')"), "(?s)ended with 1:.*no model"),
        (python("import os; os.kill(os.getpid(), 9)"), "ended by signal 9"),
        (python("import os, time; os.write(1, b'x'); time.sleep(60)"), "didn't end within"),
    ],
)
def test_a_program_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, command: list[str], words: str
) -> None:
    if "sleep" in command[-1]:
        monkeypatch.setattr("children.TIMEOUT_S", 0.5)
    with pytest.raises(BenchError, match=words):
        run_child(command)


def test_an_interrupt_leaves_no_program_running(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def interrupt(child: subprocess.Popen, _: float) -> None:
        started.append(child)
        raise KeyboardInterrupt

    monkeypatch.setattr("children._drain", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_child(python("import time; time.sleep(60)"))
    assert started[0].returncode == -9


def test_an_answer_that_is_no_json_is_quoted() -> None:
    assert read_json("[1]", "x") == [1]
    with pytest.raises(BenchError, match="x wrote something else than JSON: 'warning'"):
        read_json("warning", "x")


@pytest.mark.parametrize(
    ("version", "avx512", "words"),
    [
        ("system_info: AVX2 = 1 | AVX512 = 1 |", True, None),
        ("system_info: AVX2 = 1 |", False, None),
        ("system_info: AVX2 = 1 |", True, "wasn't built for this processor"),
        ("system_info: AVX2 = 1 | AVX512 = 1 |", False, "--avx2"),
    ],
)
def test_a_peer_built_for_another_processor_is_refused(
    version: str, avx512: bool, words: str | None
) -> None:
    if words is None:
        check_peer(version, avx512, Path("peer"))
        return
    with pytest.raises(BenchError, match=words):
        check_peer(version, avx512, Path("peer"))


class FailingEngine:
    """Measures rows until one whose key it fails at."""

    name = MLXCEL

    def __init__(self, key: str, error: BaseException) -> None:
        self._key, self._error = key, error

    def variants(self, row: Row) -> list[str]:
        return ["default"]

    def tool(self, row: Row) -> str:
        return "bench"

    def measure(self, row: Row, variant: str) -> float:
        if row.key == self._key:
            raise self._error
        return 1.0


@pytest.mark.parametrize("error", [BenchError("x ended with 1"), KeyboardInterrupt()])
def test_what_ends_a_run_early_leaves_the_finished_rows(error: BaseException) -> None:
    rows = make_rows(())
    results, failure = measure_rows(rows, [FailingEngine("tg128x8", error)], 1, "m")
    assert [result["row"] for result in results] == ["pp512", "tg128"]
    assert failure == f"m, {rows[2].title}: {str(error) or 'interrupted'}"
    with pytest.raises(type(error)):
        measure_rows(rows, [FailingEngine("pp512", error)], 1, "m")


def test_what_ends_a_run_early_leaves_the_finished_models() -> None:
    chosen = [Model(name, Path(), Path()) for name in "abc"]
    answers = {"a": ({"name": "a"}, None), "b": ({"name": "b"}, "b, pp512: interrupted")}
    found, failure = measure_models(chosen, lambda model: answers[model.name])
    assert ([one["name"] for one in found], failure) == (["a", "b"], "b, pp512: interrupted")

    def fail_at_b(model: Model) -> tuple[dict, None]:
        if model.name == "b":
            raise BenchError("no memory")
        return {"name": model.name}, None

    found, failure = measure_models(chosen, fail_at_b)
    assert ([one["name"] for one in found], failure) == (["a"], "b: no memory")
    with pytest.raises(BenchError, match="no memory"):
        measure_models(chosen[1:], fail_at_b)


# --- reading answers, reports ---------------------------------------------------------------------


def test_an_answer_about_another_test_is_refused() -> None:
    one = '[{"n_prompt": 512, "n_gen": 0, "samples_ts": [3.5]}]'
    assert only_test(one, "x", n_prompt=512, n_gen=0)["samples_ts"] == [3.5]
    for wrong in (one.replace("512", "256"), "[]", one.replace("3.5", "3.5, 3.6")):
        with pytest.raises(BenchError):
            only_test(wrong, "x", n_prompt=512, n_gen=0)


def test_contexts_hold_what_a_row_needs() -> None:
    assert fitting_context(Row("", "", "", "decode", gen=128, depth=128)) == 256
    assert fitting_context(Row("", "", "", "decode", gen=128, depth=129)) == 512


def test_unknown_rows_are_refused_with_the_known_ones() -> None:
    assert [row.key for row in choose_rows("start,pp512", ())] == ["start", "pp512"]
    with pytest.raises(BenchError, match="pp512, tg128"):
        choose_rows("pp511", ())


def make_outcome(other_load: float) -> dict:
    """A decode and a memory row, two variants of the peer; the second is the better one."""
    rows = [ROWS["decode"], ROWS["memory"]]
    samples = {
        ("mlxcel", "default"): [[150.0, 160.0, 155.0], [100.0]],
        ("llama.cpp", "-fa off"): [[90.0, 91.0, 92.0], [120.0]],
        ("llama.cpp", "-fa on"): [[100.0, 99.0, 101.0], [110.0]],
    }
    results = [
        {"row": row.key, "engine": engine, "variant": variant, "tool": "bench"}
        | dataclasses.asdict(summarize(values))
        for (engine, variant), lists in samples.items()
        for row, values in zip(rows, lists)
    ]
    model = {
        "name": "smollm2-q4_1",
        "weights": {MLXCEL: WEIGHTS, LLAMA_CPP: WEIGHTS},
        "limits": {"read_bytes_s": 310e3, "fma_flop_s": 1e9},
        "results": results,
    }
    described = {"cpu": "Some CPU", "processors": 2, "kernel": "6", "pinned_to": [0, 1]}
    return {
        "date": "2026-01-01",
        "machine": {**described, "load_average": [0.0, 0.0, 0.0]},
        "processor": dataclasses.asdict(AVX512),
        "other_load": other_load,
        "failure": None,
        "environment": {},
        "versions": {MLXCEL: "1", LLAMA_CPP: "system_info: x"},
        "device": "local-task",
        "threads": 2,
        "kv_dtype": "f16",
        "avx2": False,
        "repetitions": 3,
        "rows": [dataclasses.asdict(row) for row in rows],
        "models": [model],
    }


def judged(outcome: dict) -> dict[str, dict]:
    (model,) = outcome["models"]
    model["judged"] = judge_model(outcome, model)
    return {entry["row"]: entry for entry in model["judged"]}


def test_the_peers_best_variant_counts() -> None:
    entries = judged(make_outcome(0.0))
    decode, memory = entries["tg128"], entries["memory"]
    assert (decode["peer"]["variant"], memory["peer"]["variant"]) == ("-fa on", "-fa on")
    assert decode["ratio"] == pytest.approx(1.55)
    assert decode["shares"][MLXCEL] == pytest.approx(155 / (310e3 / (1000 + 64 * 2 * 2)))
    assert (decode["verdict"], memory["verdict"]) == ("met", "met")
    assert decode["cpu"] == "Some CPU"


def test_a_busy_machines_report_says_so_and_judges_no_time() -> None:
    outcome = make_outcome(BUSY_SHARE + 0.01)
    entries = judged(outcome)
    assert (entries["tg128"]["verdict"], entries["memory"]["verdict"]) == ("not judged", "met")
    assert "busy" in make_markdown(outcome)


def test_the_report_names_processor_settings_and_peer() -> None:
    outcome = make_outcome(0.0)
    judged(outcome)
    text = make_markdown(outcome)
    assert "busy" not in text
    for part in ("smollm2-q4_1 on Some CPU, 2 threads", "KV cache of both: f16", "system_info: x"):
        assert part in text
    (line,) = (line for line in text.splitlines() if line.startswith("| decode"))
    assert "155.0 (150.0 to 160.0) | 100.0 (99.0 to 101.0) | 1.55 | higher |" in line
    assert line.endswith("| ratio >= 1.5 | met | `bench -fa on` |")


def test_an_incomplete_report_says_so_and_has_what_was_measured() -> None:
    outcome = make_outcome(0.0) | {"failure": "m, memory: x\nended with 1"}
    outcome["environment"] = {"GGML_X": "1"}
    model = outcome["models"][0]
    model["results"] = [result for result in model["results"] if result["row"] != "memory"]
    assert list(judged(outcome)) == ["tg128"]
    text = make_markdown(outcome)
    assert "**Incomplete.** m, memory: x\n" in text and "`GGML_X=1`" in text
    assert "| decode" in text and "| peak memory" not in text


# --- charts ---------------------------------------------------------------------------------------


def test_ticks_begin_at_0_and_reach_the_largest_value() -> None:
    assert ticks(7168) == [0, 2000, 4000, 6000, 8000]
    assert ticks(10) == [0, 2, 4, 6, 8, 10]
    assert ticks(0) == [pytest.approx(0.2 * i) for i in range(6)]


def test_a_chart_is_well_formed_and_has_every_point() -> None:
    curves = [Series("a < b & 'c'", [(0, 1.5), (10, 2.5)]), Series("fit", [(0, 1), (10, 2)], False)]
    root = ElementTree.fromstring(line_chart('"Title" & <more>', "x", "y", curves))
    assert root.get("aria-label") == '"Title" & <more>'
    assert len(root.findall(f"{SVG}circle")) == 2
    assert len(root.findall(f"{SVG}polyline")) == 2
    texts = [element.text for element in root.findall(f"{SVG}text")]
    assert {'"Title" & <more>', "a < b & 'c'", "fit", "x", "y"} <= set(texts)
    places = [float(c.get("cy")) for c in root.findall(f"{SVG}circle")]
    assert places[0] > places[1]  # larger is higher


@pytest.mark.parametrize("points", [[], [(0, float("nan"))], [(0, float("inf"))], [(-1, 1)]])
def test_a_chart_of_impossible_values_is_refused(points: list) -> None:
    with pytest.raises(ValueError, match="finite"):
        line_chart("t", "x", "y", [Series("a", points)])


def test_growth_shows_each_curve() -> None:
    time = dataclasses.asdict(summarize([2.0]))
    depth = {
        "depths": [0, 1024],
        "ms": [time, time],
        "fit_ms": [2.0, 2.5],
        "line": dataclasses.asdict(fit_line([0, 1024], [2.0, 2.5])),
        "verdict": "met",
    }
    outcome = {
        "model": "m",
        "threads": 2,
        "machine": {"cpu": "Some CPU"},
        "depth": depth,
        "context_memory": {"contexts": [1, 2], "short": [1.0, 1.0], "full": [1.0, 2.0]},
        "slot_memory": {"slots": [1, 2], "context": 8, "full": [1.0, 2.0]},
    }
    charts = make_charts(outcome)
    assert sorted(charts) == ["context-memory.svg", "depth.svg", "slot-memory.svg"]
    for picture in charts.values():
        assert "Some CPU" in ElementTree.fromstring(picture).get("aria-label")
    assert "| 1024 | 2.00 (2.00 to 2.00) | 2.50 | -20.0 % |" in depth_lines(depth)


# --- a waiting process ----------------------------------------------------------------------------


def idle_share(after: str) -> float:
    """Of a program that answers a line and then does something else."""
    code = f"import sys\nsys.stdin.readline()\nprint('Hello', flush=True)\n{after}"
    return measure_idle([sys.executable, "-c", code], 0.5)


def test_a_sleeping_process_is_idle_and_a_spinning_one_is_not() -> None:
    assert idle_share("sys.stdin.readline()") < 0.01
    assert idle_share("while True: pass") > 0.1


def test_a_process_that_ends_was_not_waiting() -> None:
    with pytest.raises(BenchError, match="ended"):
        idle_share("")
    with pytest.raises(BenchError, match="(?s)ended.*no model"):
        measure_idle([sys.executable, "-c", "import sys; sys.exit('no model')"], 0.1)
    with pytest.raises(BenchError, match="can't start /nowhere/x"):
        measure_idle(["/nowhere/x"], 0.1)


# --- models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def import_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    name = os.environ.get("MLXCEL_BIN")
    if not name:
        pytest.skip("MLXCEL_BIN is not set: no program to test")

    def run(source: Path) -> Path:
        folder = tmp_path_factory.mktemp("import") / "model"
        command = [name, "import", str(source), "-o", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return folder

    return run


def tensors(path: Path) -> dict[str, gguf.ReaderTensor]:
    return {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}


def values(tensor: gguf.ReaderTensor) -> np.ndarray:
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type)


@pytest.mark.parametrize("kind", ["BF16", "F16", "Q8_0", "Q4_0", "Q4_1"])
def test_a_random_checkpoint_has_its_shape_and_scale(tmp_path: Path, kind: str) -> None:
    recipes.make_random(tmp_path / "a.gguf", TINY, kind, "tiny")
    found = tensors(tmp_path / "a.gguf")
    assert len(found) == 2 + 9 * TINY.layers
    down = found["blk.1.ffn_down.weight"]
    assert (down.tensor_type.name, list(down.shape)) == (kind, [TINY.inner, TINY.hidden])
    assert values(down).std() == pytest.approx(TINY.inner**-0.5, rel=0.05)
    assert np.all(values(found["output_norm.weight"]) == 1)
    assert found["blk.0.attn_k.weight"].data.shape[0] == TINY.kv_heads * TINY.head_dim


def test_a_random_checkpoint_is_the_same_again_and_in_other_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes.make_random(tmp_path / "a.gguf", TINY, "Q4_1", "tiny")
    monkeypatch.setattr(recipes, "PIECE_ELEMENTS", 1000)
    recipes.make_random(tmp_path / "b.gguf", TINY, "Q4_1", "tiny")
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()
    matrices = [t.data.tobytes() for t in tensors(tmp_path / "a.gguf").values() if len(t.shape) > 1]
    assert len(set(matrices)) == len(matrices)


@pytest.mark.parametrize("kind", ["BF16", "F16", "Q8_0"])
def test_another_storage_type_rounds_once_and_keeps_the_rest(tmp_path: Path, kind: str) -> None:
    recipes.make_random(tmp_path / "a.gguf", TINY, "Q4_1", "tiny")
    recipes.convert(tmp_path / "a.gguf", tmp_path / "b.gguf", kind)
    before, after = tensors(tmp_path / "a.gguf"), tensors(tmp_path / "b.gguf")
    assert list(before) == list(after)
    qtype = gguf.GGMLQuantizationType[kind]
    for name, tensor in before.items():
        if len(tensor.shape) == 1:
            assert after[name].tensor_type.name == "F32"
            assert np.array_equal(values(after[name]), values(tensor))
        else:
            wanted = np.ascontiguousarray(gguf.quants.quantize(values(tensor), qtype))
            assert after[name].data.tobytes() == wanted.tobytes()
    fields = [gguf.GGUFReader(tmp_path / name).fields for name in ("a.gguf", "b.gguf")]
    old, new = ({k: f.contents() for k, f in one.items()} for one in fields)
    assert new.pop("general.file_type") == recipes.FILE_TYPES[kind]
    del old["general.file_type"]
    assert new == old


def test_what_has_the_type_already_is_copied(tmp_path: Path) -> None:
    recipes.make_random(tmp_path / "a.gguf", TINY, "Q8_0", "tiny")
    recipes.convert(tmp_path / "a.gguf", tmp_path / "b.gguf", "Q8_0")
    before, after = tensors(tmp_path / "a.gguf"), tensors(tmp_path / "b.gguf")
    assert all(after[name].data.tobytes() == t.data.tobytes() for name, t in before.items())


def test_an_unfinished_file_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(recipes, "_encoded", fail)
    with pytest.raises(OSError, match="disk full"):
        recipes.make_random(tmp_path / "a.gguf", TINY, "Q4_1", "tiny")
    assert not (tmp_path / "a.gguf").exists()


@pytest.mark.parametrize("kind", ["Q4_1", "BF16"])
def test_a_random_checkpoint_runs(
    tmp_path: Path, program: Program, import_model: Callable[[Path], Path], kind: str
) -> None:
    recipes.make_random(tmp_path / "a.gguf", TINY, kind, "tiny")
    answer = program.generate(import_model(tmp_path / "a.gguf"), [5, 6, 7], 4, "--ignore-eos")
    assert answer.logits.shape == (4, TINY.vocab)
    assert np.all(np.isfinite(answer.logits))
    assert 0.3 < answer.logits.std() < 3


def test_the_full_vocabulary_takes_a_word_as_one_token(
    tmp_path: Path, import_model: Callable[[Path], Path]
) -> None:
    shape = dataclasses.replace(TINY, vocab=recipes.LLAMA_1B.vocab, layers=1)
    recipes.make_random(tmp_path / "a.gguf", shape, "Q4_0", "tiny")
    folder = import_model(tmp_path / "a.gguf")
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == shape.vocab
    ids = tokenizer.encode(LONG_PROMPT).ids
    assert len(ids) == PROMPT_TOKENS and len(set(ids)) == 2
    text = "Ünicode, 12 words\n\tand <|eot_id|>"
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text
