"""What a loaded model costs while nobody asks it anything: processor time and memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli_program import MODEL, Terminal, needs_chat_model, needs_program, open_terminal

pytest_plugins = ("cli_fixtures",)
pytestmark = [needs_program, needs_chat_model]

SETTLE_S = 2.0  # weights go on moving to huge pages for a moment after the prompt
IDLE_S = 5.0
IDLE_SHARE_MAX = 0.01  # of one processor
MEMORY_OVER_WEIGHTS_MAX = 64 << 20  # program, tokenizer, module, KV of a short text
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def processor_seconds(process: int) -> float:
    """User and system time of all threads, those that have ended too (proc(5))."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / TICKS_A_SECOND


def peak_memory(process: int) -> int:
    """Bytes: what getrusage calls ru_maxrss, of a process that still runs."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def expect_idle(process: int) -> None:
    """Fails if the process works although it has nothing to do."""
    time.sleep(SETTLE_S)
    start, before = time.monotonic(), processor_seconds(process)
    time.sleep(IDLE_S)
    share = (processor_seconds(process) - before) / (time.monotonic() - start)
    assert share < IDLE_SHARE_MAX


@pytest.fixture
def conversation(environment: dict[str, str]) -> Iterator[Terminal]:
    """A chat that has loaded its model and waits for the first line."""
    terminal = open_terminal(environment, "chat", "-m", MODEL, "-n", "16", "--temp", "0")
    terminal.read_until(r"> $")
    yield terminal
    terminal.write("\x04")
    assert terminal.wait() == 0


def test_waiting_for_input_uses_no_processor(conversation: Terminal) -> None:
    expect_idle(conversation.process)
    before = processor_seconds(conversation.process)
    conversation.write("Hello\n")
    conversation.read_until(r"> .*\n.*> $")
    assert processor_seconds(conversation.process) > before  # the meter counts
    expect_idle(conversation.process)


def test_peak_memory_is_the_weights_and_little_more(conversation: Terminal) -> None:
    weights = sum(path.stat().st_size for path in Path(MODEL).glob("*.safetensors"))
    conversation.write("Hello\n")
    conversation.read_until(r"> .*\n.*> $")
    time.sleep(SETTLE_S)
    peak = peak_memory(conversation.process)
    assert weights < peak <= weights + MEMORY_OVER_WEIGHTS_MAX


def test_peak_memory_of_one_answer_is_the_weights_and_little_more(
    environment: dict[str, str],
) -> None:
    weights = sum(path.stat().st_size for path in Path(MODEL).glob("*.safetensors"))
    program = os.environ["MLXCEL_BIN"]
    command = [program, "generate", "-m", MODEL, "-p", "Hello", "-n", "4", "--temp", "0"]
    sink = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, sink, 2)]
    process = os.posix_spawn(program, command, environment, file_actions=actions)
    os.close(sink)
    _, status, usage = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert usage.ru_maxrss << 10 <= weights + MEMORY_OVER_WEIGHTS_MAX
