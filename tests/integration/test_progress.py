# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The progress callback in real runs of Ansible: in a terminal, in a pipe, interrupted; what is shown and what never is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from integration.play import ROOT, Played, cluster
from integration.terminal import Terminal

CANARY = "canary.t0k3nt0k3nt0k3n1"
PROGRESS = "kubephase.cluster.progress"
_CODES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


def sleep(name: str, seconds: float | str, **more: Any) -> dict[str, Any]:
    return {"name": name, "ansible.builtin.command": f"sleep {seconds}", **more}


def say(name: str, msg: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "ansible.builtin.debug": {"msg": msg}, **more}


class Run:
    """Plays on hosts that all are this machine, ready to be run."""

    def __init__(self, place: Path, *plays: dict[str, Any], hosts: tuple[str, ...] = ("cp1", "w1"), **environment: str) -> None:
        self.place = place
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        inventory = {"all": {"hosts": {host: {} for host in hosts}, "vars": common}}
        (place / "inventory.yml").write_text(yaml.safe_dump(inventory))
        (place / "play.yml").write_text(
            yaml.safe_dump([{"hosts": "all", "gather_facts": False, **play} for play in plays], sort_keys=False)
        )
        (place / "ansible.cfg").touch()
        # What would change how a run looks, or hide that nothing is flushed.
        others = ("CI", "NO_COLOR", "PYTHONUNBUFFERED")
        kept = {name: value for name, value in os.environ.items() if name not in others and not name.startswith("ANSIBLE_")}
        self.environment = {
            **kept,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible" / "collections"),
            "ANSIBLE_CONFIG": str(place / "ansible.cfg"),
            "ANSIBLE_REMOTE_TMP": str(place / "remote-tmp"),
            "ANSIBLE_LOCAL_TEMP": str(place / "local-tmp"),
            "ANSIBLE_STDOUT_CALLBACK": PROGRESS,
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm",
            **environment,
        }

    def command(self, *arguments: str) -> list[str]:
        return ["ansible-playbook", "-i", "inventory.yml", "play.yml", *arguments]

    def piped(self, *arguments: str) -> Played:
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Played(done.returncode, done.stdout)

    def terminal(self, *arguments: str, columns: int = 80, rows: int = 24) -> Terminal:
        return Terminal(self.command(*arguments), self.place, self.environment, columns, rows)


def tasks(*found: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "A play", "tasks": list(found), **more}


PHASES = tasks(
    sleep("Certs | make them", "{{ 0.2 if inventory_hostname == 'cp1' else 1 }}"),
    say("Etcd | not needed", "x", when="false"),
    say("Addon | not needed", "x", when="false"),
    sleep("Wait | until it is healthy", 2, changed_when=False),
    say("Summary | what came of it", ["Cluster: here", "Next: go on"], run_once=True),
)


def test_a_terminal_shows_what_is_under_way_and_keeps_a_line_for_what_is_over(tmp_path: Path) -> None:
    terminal = Run(tmp_path, PHASES).terminal()
    assert terminal.end() == 0, terminal.text
    frames = ["\n".join(frame[-6:]) for frame in terminal.frames()]
    assert any(
        re.search(r"wait: until it is healthy\n    cp1  \ds\n    w1   \ds\n  \d+s in all · changed 2\n", frame) for frame in frames
    ), frames
    assert any("done: changed cp1" in frame for frame in frames), frames
    screen = terminal.screen()
    shown = "\n".join(screen.shown())
    assert re.search(
        r"^A play\n✓ +\d+\.\ds  certs +changed cp1, w1\n- +skipped: etcd, addon\n✓ +\d+\.\ds  wait +ok cp1, w1$", shown, re.MULTILINE
    ), shown
    assert "    cp1:\n      Cluster: here\n      Next: go on\n" in shown
    assert re.search(
        r"^took \d+\.\ds +cp1 +w1\ncerts +changed \d+\.\ds +changed \d+\.\ds\nwait +ok \d+\.\ds +ok \d+\.\ds$", shown, re.MULTILINE
    ), shown
    assert "skipped everywhere: etcd, addon" in shown
    assert "in all ·" not in shown
    assert screen.strange == set()
    assert "\x1b[" in terminal.text


def test_the_recap_is_that_of_the_default_callback(tmp_path: Path) -> None:
    found = []
    for callback in (PROGRESS, "default"):
        played = Run(tmp_path, PHASES, ANSIBLE_STDOUT_CALLBACK=callback).piped()
        assert played.code == 0, played.output
        found.append(played.output[played.output.index("PLAY RECAP") :])
    assert found[0] == found[1]
    assert re.search(
        r"^cp1 +: ok=3    changed=1    unreachable=0    failed=0    skipped=2    rescued=0    ignored=0 *$", found[0], re.MULTILINE
    )


def test_a_pipe_gets_plain_lines_and_signs_of_life(tmp_path: Path) -> None:
    play = tasks(sleep("Wait | until it is healthy", 4, timeout=30), say("Summary | done", "all well"))
    played = Run(tmp_path, play, hosts=("cp1",), KUBEPHASE_PROGRESS_INTERVAL="1").piped()
    assert played.code == 0, played.output
    assert "\x1b" not in played.output
    assert "\r" not in played.output
    signs = re.findall(r"^(\[0:\d\d\])     still at it: wait: until it is healthy on cp1 \(\d+s", played.output, re.MULTILINE)
    assert 2 <= len(signs) == len(set(signs)), played.output
    assert played.output.index("> wait") < played.output.index("still at it")
    assert re.search(r"^\[0:\d\d\] > wait$", played.output, re.MULTILINE)
    assert re.search(r"^\[0:\d\d\]     changed  cp1  \d+\.\ds  until it is healthy$", played.output, re.MULTILINE)
    assert re.search(r"^\[0:\d\d\] ✓ +\d+\.\ds  wait +changed cp1$", played.output, re.MULTILINE)
    assert "    cp1: all well\n" in played.output


def test_a_pipe_is_not_kept_waiting(tmp_path: Path) -> None:
    run = Run(tmp_path, tasks(say("Before", "x"), sleep("Long", 30)), hosts=("cp1",))
    began = time.monotonic()
    with subprocess.Popen(run.command(), cwd=tmp_path, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as started:
        try:
            assert started.stdout is not None
            found = b""
            while b"> Long" not in found:
                piece = os.read(started.stdout.fileno(), 4096)
                assert piece, found
                found += piece
            # While the task still runs, not when all is over.
            assert time.monotonic() - began < 25
        finally:
            started.terminate()
    assert b"cp1: x" in found


@pytest.mark.parametrize("columns", [20, 40])
def test_a_narrow_terminal_is_not_garbled(tmp_path: Path, columns: int) -> None:
    play = tasks(sleep("Wait | until everything that there is has become healthy", 1), sleep("Certs | make them", 0.5))
    terminal = Run(tmp_path, play, hosts=("a-host-with-quite-a-long-name", "w1")).terminal(columns=columns, rows=10)
    assert terminal.end() == 0, terminal.text
    for frame in terminal.frames():
        drawn = [line for line in frame if "in all" in line and "s in all" in line]
        assert len(drawn) <= 1, frame
    shown = "".join(terminal.screen().shown())
    assert shown.count("wait ") >= 1
    assert "s in all" not in shown


def test_a_window_that_changes_its_size(tmp_path: Path) -> None:
    terminal = Run(tmp_path, tasks(sleep("Wait | until everything that there is has become healthy", 3)), hosts=("cp1",)).terminal(
        columns=100
    )
    terminal.until(lambda text: "until everything that there is" in text)
    terminal.resize(30, 10)
    began = len(terminal.pieces)
    assert terminal.end() == 0, terminal.text
    drawn = _CODES.sub("", "".join(piece for _when, piece in terminal.pieces[began + 2 :]))
    assert re.search(r"^.?.? wait: until everyth\w*( \w+)*…\r$", drawn, re.MULTILINE)
    assert "wait: until everything that there is" not in drawn


FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "message": (
        {"name": "Certs | fail", "ansible.builtin.fail": {"msg": "pki/ca.crt: it is broken\n  in two ways\nMend it"}},
        "FAILED message, certs: fail\n    pki/ca.crt: it is broken\n      in two ways\n    Mend it\n    at ",
    ),
    "program": (
        {"name": "A program", "ansible.builtin.command": "sh -c 'echo it is gone >&2; exit 3'"},
        r"FAILED program, A program\n    .*non-zero return code.*\n    it is gone\n    at ",
    ),
    "items": (
        {"name": "Items", "ansible.builtin.command": "test {{ item }} = a", "loop": ["a", "b"]},
        r"FAILED items, Items \(b\)\n    .*non-zero return code.*\n    at ",
    ),
    "ignored": (
        {"name": "Ignored", "ansible.builtin.fail": {"msg": "never mind"}, "ignore_errors": True},
        r"FAILED \(ignored\) ignored, Ignored\n    never mind\n    at ",
    ),
    "undefined": ({"name": "Undefined", "ansible.builtin.debug": {"msg": "{{ nowhere }}"}}, "'nowhere' is undefined\n    at "),
    "tries": (
        {"name": "Again", "ansible.builtin.command": "sh -c 'exit 1'", "retries": 2, "delay": 0, "until": "false"},
        r"FAILED tries, Again\n    .*non-zero return code.*\n    after 2 tries\n    at ",
    ),
    "gone": (
        {
            "name": "Gone",
            "ansible.builtin.command": "id",
            "vars": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1},
        },
        "UNREACHABLE gone, Gone\n",
    ),
}


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, str]:
    """What runs with a failure of every kind have shown, in a pipe and in a terminal; a host that is well keeps them going."""
    place = tmp_path_factory.mktemp("failures")
    plays = [tasks({**task, "when": f"inventory_hostname == '{host}'"}, name=host) for host, (task, _said) in FAILURES.items()]
    run = Run(place, *plays, hosts=("well", *FAILURES))
    terminal = run.terminal(columns=160)
    assert terminal.end() != 0
    return {False: run.piped().output, True: "\n".join(terminal.screen().shown()) + "\n"}


@pytest.mark.parametrize("host", FAILURES)
@pytest.mark.parametrize("drawn", [False, True])
def test_a_failure_is_shown_in_full_with_its_host_and_task(failed: dict[bool, str], host: str, drawn: bool) -> None:
    assert len(re.findall(FAILURES[host][1], failed[drawn])) == 1, failed[drawn]
    assert "Traceback" not in failed[drawn]


def test_a_failure_that_was_made_good_is_told_from_one_that_was_not(tmp_path: Path) -> None:
    block = {
        "name": "Try",
        "block": [{"name": "Risk | it", "ansible.builtin.fail": {"msg": "oh"}}],
        "rescue": [say("Rescue | make it good", "good")],
    }
    bad = {"name": "Risk | again", "ansible.builtin.fail": {"msg": "no"}, "when": "inventory_hostname == 'w1'"}
    played = Run(tmp_path, tasks(block), tasks(bad, name="Another")).piped()
    assert re.search(r"^risk +rescued \d+\.\ds +failed \d+\.\ds$", played.output, re.MULTILINE), played.output
    assert played.recap("cp1")["rescued"] == 1
    assert played.recap("w1")["failed"] == 1


NO_LOG = tasks(
    {"name": "Fails", "ansible.builtin.fail": {"msg": CANARY}, "no_log": True, "ignore_errors": True},
    {"name": "Template", "ansible.builtin.fail": {"msg": CANARY}, "no_log": "{{ true }}", "ignore_errors": True},
    {"name": "Says", "ansible.builtin.debug": {"msg": CANARY}, "no_log": True},
    {"name": "Items", "ansible.builtin.command": "echo {{ item }}", "loop": [CANARY], "no_log": True},
    {"name": "Bad items", "ansible.builtin.command": "false {{ item }}", "loop": [CANARY], "no_log": True, "ignore_errors": True},
    {"name": "Writes", "ansible.builtin.copy": {"content": CANARY, "dest": "{{ playbook_dir }}/secret"}, "no_log": True, "diff": True},
    {
        "name": "Tries",
        "ansible.builtin.command": f"false {CANARY}",
        "retries": 2,
        "delay": 0,
        "until": "false",
        "no_log": True,
        "ignore_errors": True,
    },
    {"name": "Warns", "ansible.builtin.command": f"rm -f {CANARY}", "no_log": True},
    {"name": "Late", "ansible.builtin.command": f"echo {CANARY}", "async": 10, "poll": 1, "no_log": True},
)


@pytest.mark.parametrize(("arguments", "drawn"), [((), True), (("--diff",), False), (("-v", "--diff"), True), (("-vv", "--diff"), False)])
def test_nothing_of_a_task_with_no_log_is_shown(tmp_path: Path, arguments: tuple[str, ...], drawn: bool) -> None:
    run = Run(tmp_path, NO_LOG, hosts=("cp1",))
    if drawn:
        terminal = run.terminal(*arguments)
        assert terminal.end() == 0, terminal.text
        output = terminal.text
    else:
        played = run.piped(*arguments)
        assert played.code == 0, played.output
        output = played.output
    assert "canary" not in output
    assert "hidden, because the task has no_log" in output


def test_results_are_shown_only_when_asked_for(tmp_path: Path) -> None:
    run = Run(tmp_path, tasks({"name": "Echo", "ansible.builtin.command": "echo from the host"}, sleep("Sleep", 0.1)), hosts=("cp1",))
    assert "from the host" not in run.piped().output.replace("echo from the host", "")
    assert "stdout" in run.piped("-v").output
    assert "task path:" in run.piped("-vv").output


@pytest.mark.parametrize("drawn", [False, True])
def test_diffs_are_shown_in_check_mode(tmp_path: Path, drawn: bool) -> None:
    path = tmp_path / "file"
    path.write_text("old\n")
    play = tasks({"name": "Certs | write", "ansible.builtin.copy": {"content": "new\n", "dest": str(path), "mode": "0644"}})
    run = Run(tmp_path, play, hosts=("cp1",))
    if drawn:
        terminal = run.terminal("--check", "--diff", columns=200)
        assert terminal.end() == 0
        output = "\n".join(terminal.screen().shown())
    else:
        output = run.piped("--check", "--diff").output
    assert f"--- before: {path}" in output
    assert "\n-old\n+new\n" in output
    assert "A play · check mode" in output
    assert "would change: cp1, certs" in output
    assert re.search(r"certs +would change cp1", output)
    assert path.read_text() == "old\n"


def test_diffs_of_the_collection_are_whole(tmp_path: Path) -> None:
    play = {
        "name": "Certs",
        "vars": {
            "kubephase_cluster_configuration": cluster(tmp_path),
            "kubephase_init_configuration": {"localAPIEndpoint": {"advertiseAddress": "192.0.2.10"}},
        },
        "tasks": [{"name": "Certs | make them", "kubephase.cluster.pki_cert": {"names": ["ca"]}}],
    }
    output = Run(tmp_path, play, hosts=("cp1",)).piped("--check", "--diff").output
    assert f"+++ after: {tmp_path}/pki/ca.crt" in output, output


def test_everything_that_a_play_may_say_stays_visible(tmp_path: Path) -> None:
    (tmp_path / "more.yml").write_text(yaml.safe_dump([say("Included | task", "from the included file")]))
    play = tasks(
        {"name": "Include", "ansible.builtin.include_tasks": "more.yml"},
        say("Variable", None) | {"ansible.builtin.debug": {"var": "inventory_hostname"}},
        say("Loop", "item is {{ item }}", loop=["a", "b"]),
        say("Elsewhere", "delegated", delegate_to="w1", run_once=True),
        {
            "name": "Warn",
            "ansible.builtin.debug": {"msg": "x"},
            "vars": {"unused": "{{ lookup('file', '/nowhere', errors='warn') }}"},
            "when": "unused is none",
        },
        {"name": "Notify", "ansible.builtin.command": "true", "notify": "Restart"},
        handlers=[say("Restart", "restarted")],
        serial=1,
    )
    played = Run(tmp_path, play).piped()
    assert played.code == 0, played.output
    assert "included: " not in played.output
    for said in (
        "cp1: from the included file",
        '"inventory_hostname": "w1"',
        "cp1: item is a",
        "w1: item is b",
        "cp1 -> w1: delegated",
        "[WARNING]: ",
        "> handler Restart",
        "w1: restarted",
        "A play, batch 2",
        "2 items",
    ):
        assert said in played.output, said


def test_what_was_included_is_told_to_who_asks_for_more(tmp_path: Path) -> None:
    (tmp_path / "more.yml").write_text(yaml.safe_dump([say("Included | task", "from the included file")]))
    play = tasks({"name": "Include", "ansible.builtin.include_tasks": "more.yml"})
    assert "included: " in Run(tmp_path, play).piped("-v").output


def test_hosts_may_go_each_at_its_own_pace(tmp_path: Path) -> None:
    slow = "sleep {{ 1.5 if inventory_hostname == 'w1' else 0 }}"
    play = tasks({"name": "Certs | make", "ansible.builtin.command": slow}, sleep("Etcd | start", 0.1), strategy="free")
    played = Run(tmp_path, play).piped()
    assert played.code == 0, played.output
    assert re.search(r"^certs +changed \d+\.\ds +changed \d+\.\ds$", played.output, re.MULTILINE), played.output
    assert len(re.findall(r"✓ .* certs +changed cp1, w1", played.output)) == 1


def test_somebody_who_is_asked_sees_the_question(tmp_path: Path) -> None:
    play = tasks(
        sleep("Certs | make", 0.5),
        {"name": "Ask", "ansible.builtin.pause": {"prompt": "Shall we go on"}, "register": "answer"},
        say("Answered", "the answer was {{ answer.user_input }}"),
        sleep("Etcd | start", 0.5),
        vars_prompt=[{"name": "given", "prompt": "What is it called", "private": False}],
    )
    terminal = Run(tmp_path, play, hosts=("cp1",)).terminal()
    terminal.until(lambda text: "What is it called" in text)
    terminal.send("name\n")
    terminal.until(lambda text: "Shall we go on" in text)
    asked = time.monotonic()
    terminal.until(lambda text: time.monotonic() - asked > 1.5)
    waiting = terminal.text[terminal.text.index("Shall we go on") :]
    terminal.send("certainly\r")
    assert terminal.end() == 0, terminal.text
    assert "in all" not in waiting
    assert "cp1: the answer was certainly" in "\n".join(terminal.screen().shown())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_the_terminal_usable(tmp_path: Path, number: signal.Signals) -> None:
    terminal = Run(tmp_path, tasks(sleep("Wait | for long", 20)), hosts=("cp1",)).terminal()
    terminal.until(lambda text: re.search(r"cp1  1s", text))
    if number == signal.SIGINT:
        terminal.send("\x03")
    else:
        os.kill(terminal.pid, number)
    code = terminal.end(30)
    assert code != 0
    assert "\x1b[?" not in terminal.text
    screen = terminal.screen()
    assert screen.column == 0
    assert screen.row == len(screen.lines) - 1
    if number == signal.SIGINT:
        shown = "\n".join(screen.shown())
        assert "User interrupted execution" in shown
        assert "in all" not in shown
        assert "stopped at: wait: for long on cp1" in shown


@pytest.mark.parametrize(
    ("environment", "arguments"),
    [
        ({"TERM": "dumb"}, ()),
        ({"CI": "true"}, ()),
        ({"KUBEPHASE_PROGRESS_LIVE": "false"}, ()),
        ({}, ("-vv",)),
        ({"ANSIBLE_ENABLE_TASK_DEBUGGER": "1"}, ()),
    ],
)
def test_nothing_is_drawn_where_it_should_not_be(tmp_path: Path, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    terminal = Run(tmp_path, tasks(sleep("Certs | make", 1)), hosts=("cp1",), **environment).terminal(*arguments)
    assert terminal.end() == 0, terminal.text
    assert not re.search(r"\x1b\[\d*[AJK]", terminal.text)
    assert "> certs" in terminal.text


def test_colours_are_left_out_on_request(tmp_path: Path) -> None:
    run = Run(tmp_path, PHASES, hosts=("cp1",), NO_COLOR="1")
    terminal = run.terminal()
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.text)
    assert re.search(r"\x1b\[\d+A", terminal.text)


def test_output_and_errors_may_go_different_ways(tmp_path: Path) -> None:
    run = Run(
        tmp_path, tasks({"name": "Fail", "ansible.builtin.fail": {"msg": "broken"}}), hosts=("cp1",), ANSIBLE_DISPLAY_FAILED_STDERR="1"
    )
    done = subprocess.run(run.command(), cwd=tmp_path, env=run.environment, capture_output=True, text=True, check=False)
    assert "FAILED cp1, Fail" in done.stderr
    assert "FAILED cp1" not in done.stdout
    assert "PLAY RECAP" in done.stdout
