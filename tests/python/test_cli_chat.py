"""`mlxcel chat` over a pipe and on a terminal."""

from __future__ import annotations

import signal
import subprocess

from cli_program import (
    MODEL,
    PROGRAM,
    Runner,
    needs_chat_model,
    needs_program,
    open_terminal,
    wait_for_bytes,
)

pytest_plugins = ("cli_fixtures",)
pytestmark = needs_program


def chat(run: Runner, lines: str, *arguments: str) -> subprocess.CompletedProcess:
    """A conversation over a pipe, with short greedy answers."""
    return run("chat", "-m", MODEL, "-n", "8", "--temp", "0", *arguments, stdin=lines.encode())


@needs_chat_model
def test_chat_answers_each_line_and_ends_with_its_input(run: Runner) -> None:
    one = chat(run, "Hello\n")
    assert one.returncode == 0, one.stderr.decode()
    assert one.stdout.strip() and b"> " not in one.stdout + one.stderr
    assert chat(run, "Hello").stdout == one.stdout
    two = chat(run, "Hello\n\nAnd more?\n")
    assert two.stdout.startswith(one.stdout) and len(two.stdout) > len(one.stdout)


@needs_chat_model
def test_chat_first_turn_equals_generate_with_the_template(run: Runner) -> None:
    answer = chat(run, "Name a colour.\n", "--system", "Be brief.").stdout.decode()
    wanted = run(
        "generate",
        "-m",
        MODEL,
        "-n",
        "8",
        "--temp",
        "0",
        "--chat",
        "-p",
        "Name a colour.",
        "--system",
        "Be brief.",
    )
    assert answer == wanted.stdout.decode() + "\n"


@needs_chat_model
def test_chat_reset_forgets_and_exit_ends(run: Runner) -> None:
    once = chat(run, "Hello\n").stdout
    assert chat(run, "Hello\n/reset\nHello\n").stdout == once + once
    ended = chat(run, "/help\nHello\n/exit\nHello\n")
    assert (ended.returncode, ended.stdout) == (0, once)
    assert b"/reset" in ended.stderr


@needs_chat_model
def test_chat_refuses_unknown_commands(run: Runner) -> None:
    result = chat(run, "/rest\n")
    assert (result.returncode, result.stdout) == (0, b"")
    assert "'/rest'" in result.stderr.decode() and "/reset" in result.stderr.decode()


@needs_chat_model
def test_chat_with_full_context_says_how_to_go_on(run: Runner) -> None:
    message = "word " * 80
    result = chat(run, f"{message}\n/reset\nHello\n", "-c", "64")
    assert result.returncode == 1  # a script learns that a message wasn't answered
    text = result.stderr.decode()
    assert "context" in text and "64" in text and "/reset" in text
    assert result.stdout.strip()  # the short message after it is answered


@needs_chat_model
def test_chat_invalid_utf8_is_refused_and_the_conversation_goes_on(run: Runner) -> None:
    result = run("chat", "-m", MODEL, "-n", "8", "--temp", "0", stdin=b"\xff\xfe\nHello\n")
    assert result.returncode == 1
    assert "UTF-8" in result.stderr.decode()
    assert result.stdout == chat(run, "Hello\n").stdout


@needs_chat_model
def test_chat_on_a_terminal_has_a_prompt_and_ends_with_ctrl_d(environment: dict[str, str]) -> None:
    terminal = open_terminal(environment, "chat", "-m", MODEL, "-n", "4", "--temp", "0")
    terminal.read_until(r"> $")
    terminal.write("Hello\n")
    terminal.read_until(r"> .*\n.*> $")
    terminal.write("\x04")
    assert terminal.wait() == 0


@needs_chat_model
def test_chat_terminate_during_an_answer_ends_the_conversation(environment: dict[str, str]) -> None:
    command = [PROGRAM, "chat", "-m", MODEL, "--temp", "0", "--ignore-eos"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    process.stdin.write(b"Tell a long story.\n")
    process.stdin.flush()
    wait_for_bytes(process.stdout, 8)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 130  # although its input is still open
    process.communicate()


@needs_chat_model
def test_chat_ctrl_c_stops_the_answer_and_at_the_prompt_leaves(environment: dict[str, str]) -> None:
    terminal = open_terminal(environment, "chat", "-m", MODEL, "--temp", "0", "--ignore-eos")
    terminal.read_until(r"> $")
    terminal.write("Tell a long story.\n")
    terminal.read_until(r"story\.\r\n.{8}")
    terminal.write("\x03")
    terminal.read_until(r"answer stopped\r\n> $")
    terminal.write("Another one.\n")  # the conversation goes on
    terminal.read_until(r"Another one\.\r\n.{8}")
    terminal.write("\x03")
    terminal.read_until(r"answer stopped.*answer stopped\r\n> $")
    terminal.write("\x03")
    assert terminal.wait() == 130
