# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows a run to people: phase by phase and host by host while it lasts, and as a table when it is over."""

from __future__ import annotations

DOCUMENTATION = r"""
name: progress
type: stdout
version_added: 0.1.0
short_description: Shows phase by phase and host by host how a run goes
author:
  - The kubephase authors (@kubephase)
description:
  - In a terminal the phase that is under way is shown in a few lines at the bottom, with the hosts that are at it, for how long,
    and when they would give up. A phase that is over is one line. Elsewhere, such as in a log of continuous integration, every
    phase and every host that is through with a task has its line, and a long task gives a sign of life from time to time.
  - Failures are shown whole, with their host and task; so are warnings, diffs and what the module M(ansible.builtin.debug) says.
  - At the end there is a table of hosts and phases with seconds, and the usual recap.
  - Nothing of a task with C(no_log) is shown, not even why it failed. Of other results only messages, diffs and warnings are,
    unless more is asked for with C(-v).
  - Tasks that belong to no phase are shown by their name, so that it works for any playbook.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
options:
  live:
    description:
      - Whether lines are drawn again and again where standard output is a terminal that can do it.
      - They are not in any case with C(-vv), with C(--step), with the debugger of Ansible, or where the environment variable
        E(CI) is set.
    type: bool
    default: true
    env:
      - name: KUBEPHASE_PROGRESS_LIVE
    ini:
      - key: live
        section: kubephase_progress
  interval:
    description: After how many seconds without any other output a task that still runs gives a sign of life, where nothing is drawn.
    type: float
    default: 15
    env:
      - name: KUBEPHASE_PROGRESS_INTERVAL
    ini:
      - key: interval
        section: kubephase_progress
requirements:
  - set as stdout callback in the configuration
"""

import os
import time
from collections.abc import Mapping
from typing import Any

from ansible import constants as C
from ansible import context
from ansible.playbook.task_include import TaskInclude
from ansible.plugins.callback.default import CallbackModule as Default
from ansible.utils.color import stringc

from ansible_collections.kubephase.cluster.plugins.plugin_utils import progress_lines as lines
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_deadlines import Asked, limit, timeouts_of
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_model import (
    CHANGED,
    FAILED,
    IGNORED,
    OK,
    SKIPPED,
    UNREACHABLE,
    Step,
    step_of,
)
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_results import HIDDEN, hidden, item_name, reason, words
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_stage import Stage, is_terminal, is_unicode, size
from ansible_collections.kubephase.cluster.plugins.plugin_utils.progress_teller import Teller, Wishes

_TONES = {
    OK: "COLOR_OK",
    CHANGED: "COLOR_CHANGED",
    SKIPPED: "COLOR_SKIP",
    IGNORED: "COLOR_WARN",
    "rescued": "COLOR_WARN",
    FAILED: "COLOR_ERROR",
    UNREACHABLE: "COLOR_UNREACHABLE",
    lines.HEADING: "COLOR_HIGHLIGHT",
    lines.QUIET: "COLOR_VERBOSE",
    lines.LATE: "COLOR_WARN",
}
_FREE = ("free", "ansible.builtin.free", "ansible.legacy.free", "host_pinned", "ansible.builtin.host_pinned", "ansible.legacy.host_pinned")


class CallbackModule(Default):  # type: ignore[misc]  # ansible-core ships no types
    """Turns what Ansible reports into the state of the run, and that into lines."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "kubephase.cluster.progress"

    def __init__(self) -> None:
        super().__init__()
        self._stage = Stage(self._tick, self._frame)
        self._teller = Teller(self._put, self._stage, time.monotonic)
        self._begun = False
        self._last_play, self._batch = "", 1
        self._steps: dict[str, Step] = {}
        self._items: dict[tuple[str, str], int] = {}
        self._timeouts: dict[str, dict[str, dict[str, Any]]] = {}

    # The run as a whole.

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Begin, with what the default callback has to say of the call with -vv."""
        self._begin()
        super().v2_playbook_on_start(playbook)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Leave the last play; the next is announced when it has something to show."""
        self._begin()
        if play.strategy.rpartition(".")[2] == "debug":
            # A debugger talks to a person, who can do without lines that move.
            self._stage.pause(for_good=True)
        self._play = play
        with self._teller.state:
            closed = self._teller.progress.play_started(lockstep=play.strategy not in _FREE)
        self._teller.finished(closed)
        name = play.get_name().strip()
        self._batch = self._batch + 1 if name == self._last_play and play.serial else 1
        self._last_play = name
        self._teller.look = lines.style(is_unicode(), bool(play.check_mode))
        self._teller.play(f"{name or 'play'}{f', batch {self._batch}' if self._batch > 1 else ''}")

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Name a play that is for nobody."""
        self._teller.nobody()

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        """Say that nobody is left."""
        self._teller.all_finished()
        self._teller.say([lines.Line("no more hosts left", FAILED)])

    def v2_playbook_on_vars_prompt(self, *arguments: Any, **named: Any) -> None:
        """Make room for a question; the next play, or the next word, ends that."""
        self._teller.all_finished()
        self._stage.pause()

    def v2_playbook_on_include(self, included_file: Any) -> None:
        """Say what was included, as the default callback does, to who wants to know more."""
        if not self._display.verbosity:
            return
        self._teller.announce_play()
        super().v2_playbook_on_include(included_file)
        self._teller.settle()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """End with the table and the usual recap."""
        self._teller.all_finished()
        self._stage.end()
        with self._teller.state:
            totals = {host: stats.summarize(host) for host in stats.processed}
            self._teller.progress.rescue([host for host, total in totals.items() if not total["failures"]])
        columns = size()[0] if is_terminal() else max(self._display.columns, 100)
        for shown, logged in zip(self._teller.table(columns, _paint), self._teller.table(columns, lambda text, tone: text)):
            self._display.display(shown, screen_only=True)
            self._display.display(logged, log_only=True)
        super().v2_playbook_on_stats(stats)
        self._teller.settle()

    def _begin(self) -> None:
        if self._begun:
            self._stage.resume()
            return
        self._begun = True
        verbosity = self._display.verbosity
        wishes = Wishes(
            ok=self.get_option("display_ok_hosts"),
            skipped=self.get_option("display_skipped_hosts"),
            each_skipped=verbosity > 0,
            interval=self.get_option("interval"),
        )
        self._teller.begin(lines.style(is_unicode()), wishes)
        asks = context.CLIARGS.get("step") or C.config.get_config_value("ENABLE_TASK_DEBUGGER")
        may = self.get_option("live") and verbosity < 2 and not asks and not os.environ.get("CI")
        self._stage.start(bool(may and is_terminal()), self._teller.look_around, self._teller.last_words)

    # Tasks and hosts.

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Come to the next task."""
        self._come_to(task)

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        """Come to a handler."""
        self._come_to(task, handler=True)

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """Note that a host is at a task now."""
        step, patience = self._step(task), self._limit(host.get_name(), task)
        with self._teller.state:
            closed = self._teller.progress.host_started(host.get_name(), step, time.monotonic(), patience)
        self._teller.finished(closed)

    def v2_runner_on_ok(self, result: Any) -> None:
        """Tell of a task that did what it was asked."""
        outcome = CHANGED if result.is_changed() else OK
        self._learn(result)
        self._ended(result, outcome)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Tell of a task that was not needed."""
        self._ended(result, SKIPPED)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Tell of a failure in full."""
        self._ended(result, IGNORED if ignore_errors else FAILED)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Tell of a host that does not answer."""
        self._ended(result, IGNORED if result.task.ignore_unreachable else UNREACHABLE, unreachable=True)

    def v2_on_file_diff(self, result: Any) -> None:
        """Show what changed, or would."""
        found = result.result
        parts = found["results"] if result.task.loop and "results" in found else [found]
        diffs = [self._get_diff(part["diff"]) for part in parts if isinstance(part, dict) and part.get("diff") and part.get("changed")]
        shown = [diff for diff in diffs if diff]
        if not shown or _hidden(result):
            return
        step = self._step(result.task)
        self._teller.announce(step)
        self._teller.print(
            [f"{'    ' if step.phase else ''}{self._teller.look.word(CHANGED)}: {self.host_label(result)}, {step.title}"], lines.HEADING
        )
        for diff in shown:
            self._display.display(diff)
        self._teller.settle()

    # Parts of tasks.

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """Count an item, and pass on what it has to say."""
        self._item(result, CHANGED if result.is_changed() else OK)

    def v2_runner_item_on_skipped(self, result: Any) -> None:
        """Count an item that was not needed."""
        self._item(result, SKIPPED)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """Tell of an item that failed in full."""
        self._item(result, FAILED)

    def v2_runner_retry(self, result: Any) -> None:
        """Note another try; with -v in a line of its own, as the default callback does."""
        tries = f"try {result.result.get('attempts', 0) + 1} of {result.result.get('retries', 0)}"
        self._note(result, tries)
        if self._display.verbosity and not _hidden(result):
            super().v2_runner_retry(result)

    def v2_runner_on_async_poll(self, result: Any) -> None:
        """Note that a task in the background is still at it."""
        self._note(result, "in the background")
        if self._display.verbosity:
            super().v2_runner_on_async_poll(result)

    def v2_runner_on_async_ok(self, result: Any) -> None:
        """Leave it to what the task itself reports; with -v as the default callback does."""
        if self._display.verbosity:
            super().v2_runner_on_async_ok(result)

    def v2_runner_on_async_failed(self, result: Any) -> None:
        """Leave it to what the task itself reports; with -v as the default callback does."""
        if self._display.verbosity:
            super().v2_runner_on_async_failed(result)

    # From events to the state.

    def _come_to(self, task: Any, handler: bool = False) -> None:
        step = self._step(task, handler)
        if task.debugger not in (None, "never"):
            self._stage.pause(for_good=True)
        with self._teller.state:
            closed = self._teller.progress.task_started(step, time.monotonic())
        self._teller.finished(closed)
        if self._display.verbosity >= 2:
            self._teller.announce(step)
            self._print_task_path(task)

    def _step(self, task: Any, handler: bool = False) -> Step:
        known = self._steps.get(task._uuid)
        if known is None:
            full, name = task.get_name().strip(), (task.name or "").strip()
            role = full[: -len(name)].rpartition(" : ")[0] if name and full.endswith(name) else ""
            known = step_of(task._uuid, f"handler {name or full}" if handler else name or full, role or self._last_play or "play")
            self._steps[task._uuid] = known
        return known

    def _limit(self, host: str, task: Any) -> float | None:
        """Find out when a task would give up; it may be written in templates, and then nobody knows yet."""
        asked = Asked(
            task.action,
            task.args.get("timeout") if isinstance(task.args, Mapping) else None,
            task.async_val if task.poll else None,
            (task.retries or 3) if task.until else None,
            task.delay,
        )
        kind = "JoinConfiguration" if ".join : " in task.get_name() else "InitConfiguration"
        return limit(asked, self._timeouts.get(host, {}).get(kind, {}))

    def _learn(self, result: Any) -> None:
        """Keep the timeouts of documents that were read for a host."""
        if result.task.action == "kubephase.cluster.documents" and not _hidden(result):
            self._timeouts[result.host.get_name()] = timeouts_of(result.result.get("documents"))

    def _note(self, result: Any, note: str) -> None:
        with self._teller.state:
            self._teller.progress.noted(result.host.get_name(), self._step(result.task).key, note)

    def _item(self, result: Any, outcome: str) -> None:
        key = (result.host.get_name(), result.task._uuid)
        self._items[key] = self._items.get(key, 0) + 1
        label = item_name(self._get_item_label(result.result))
        self._note(result, f"item {self._items[key]}{f' ({label})' if label else ''}")
        if isinstance(result.task, TaskInclude):
            return
        self._warn(result)
        if outcome == FAILED:
            self._tell_failure(result, unreachable=False, ignored=bool(result.task.ignore_errors), item=label or f"item {self._items[key]}")
        else:
            self._tell_more(result, outcome, None, f"item {label or self._items[key]}")

    def _ended(self, result: Any, outcome: str, unreachable: bool = False) -> None:
        step, host = self._step(result.task), result.host.get_name()
        with self._teller.state:
            taken = self._teller.progress.host_ended(host, step, outcome, time.monotonic())
        items = self._items.pop((host, result.task._uuid), 0)
        counted = f"{items} item{'s' if items > 1 else ''}" if items else ""
        self._warn(result)
        if outcome in (FAILED, UNREACHABLE, IGNORED) and not (items and "results" in result.result):
            self._tell_failure(result, unreachable, outcome == IGNORED)
        if items:
            result.result.pop("results", None)
        self._tell_more(result, outcome, taken, counted, through=True)

    # From the state to lines.

    def _tell_more(self, result: Any, outcome: str, taken: float | None, note: str, through: bool = False) -> None:
        """Print what a task or an item has to say, and its line where it has one."""
        step, host, found = self._step(result.task), self.host_label(result), result.result
        wrong = outcome in (FAILED, IGNORED, UNREACHABLE)
        said = None if wrong or _hidden(result) or (through and note) else words(result.task.action, found)
        dumped = ""
        if self._run_is_verbose(result) and (self._display.verbosity or not (wrong or said)):
            self._clean_results(found, result.task.action)
            dumped = f" => {self._dump_results(found)}"
        own = through and not self._stage.drawing and self._teller.wishes.wants(outcome) and not (wrong and not note)
        if own or dumped:
            self._teller.announce(step)
            line = lines.host_line(host, outcome, taken, step.doing if step.phase else "", note, self._teller.look)
            self._teller.print([f"{line.text}{dumped}"], line.tone)
        if said is not None and not (dumped and self._display.verbosity):
            self._teller.announce(step)
            self._teller.print(lines.message(host, said), lines.PLAIN)
        self._teller.settle()

    def _tell_failure(self, result: Any, unreachable: bool, ignored: bool, item: str = "") -> None:
        step, host = self._step(result.task), self.host_label(result)
        self._teller.announce(step)
        doing = f"{step.doing} ({item})" if item else step.doing
        text = lines.failure(
            host, step.title if step.phase else doing, doing, HIDDEN if _hidden(result) else reason(result.result), unreachable, ignored
        )
        path = result.task.get_path()
        if path:
            text.append(f"    at {path}")
        self._teller.print(text, IGNORED if ignored else FAILED, stderr=self.get_option("display_failed_stderr"))

    def _warn(self, result: Any) -> None:
        """Show warnings; the exception of a failure, whose message we show, only with -v, and nothing of what is hidden."""
        if _hidden(result):
            for name in ("warnings", "deprecations", "exception"):
                result.result.pop(name, None)
        elif not self._display.verbosity:
            result.result.pop("exception", None)
        if any(result.result.get(name) for name in ("warnings", "deprecations", "exception")):
            self._teller.announce(self._step(result.task))
        self._handle_warnings_and_exception(result)

    def _tick(self, text: str) -> None:
        self._display.display(text, newline=False, screen_only=True)

    def _put(self, text: str, tone: str, stderr: bool) -> None:
        self._display.display(text, color=_color(tone), stderr=stderr)

    def _frame(self, columns: int, rows: int) -> list[tuple[str, int]]:
        return [(_paint(line.text, line.tone), lines.width(line.text)) for line in self._teller.frame(columns, rows)]


def _hidden(result: Any) -> bool:
    return hidden(result.task.no_log, result.result)


def _color(tone: str) -> str | None:
    name = _TONES.get(tone)
    return getattr(C, name, None) if name else None


def _paint(text: str, tone: str) -> str:
    color = _color(tone)
    return stringc(text, color) if color and text else text
