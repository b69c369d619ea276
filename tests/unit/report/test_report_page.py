# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page: well-formed, complete, and inert whatever it is given."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from typing import Any

import pytest
from unit.report.reported import EVIL, ILL, NOW, WELL, certificate, hostile, labelled

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_certificates import name_of, scale_of, urgency
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_data import collected
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_drift import diff_lines
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_html import Html, joined, tag, text
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_page import page
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_style import STYLE
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_time import size, until

VOID = {"meta", "link", "br", "hr", "col"}
MOMENT = datetime(2026, 11, 16, 12, tzinfo=timezone.utc)


class Reader(HTMLParser):
    """Reads a page, and complains of what does not close."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def drawn(hosts: Any) -> Reader:
    return Reader(page(collected(hosts, NOW)))


CASES = {
    "well": WELL,
    "ill": ILL,
    "hostile": labelled(hostile(ILL)),
    "nobody": [{"name": "cp1", "info": {"unreachable": True, "msg": "no route"}, "plan": None}],
    "none": [],
}


@pytest.mark.parametrize("case", CASES)
def test_the_page_is_whole_and_nothing_in_it_can_run_or_load(case: str) -> None:
    found = drawn(CASES[case])
    tags = {name for name, _attributes in found.seen}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "input", "base"}
    for name, attributes in found.seen:
        assert not [each for each in attributes if each.startswith("on") or each in ("src", "style")], (name, attributes)
        target = attributes.get("href") or "#"
        assert target.startswith("#") or (name == "link" and target.startswith("data:"))
    assert "@import" not in STYLE and "url(" not in STYLE


@pytest.mark.parametrize("case", CASES)
def test_every_link_leads_to_a_section_and_every_id_is_there_once(case: str) -> None:
    found = drawn(CASES[case])
    ids = [attributes["id"] for _name, attributes in found.seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = [str(attributes["href"])[1:] for name, attributes in found.seen if name == "a"]
    wanted += [str(attributes["aria-labelledby"]) for _name, attributes in found.seen if "aria-labelledby" in attributes]
    assert set(wanted) <= set(ids)


def test_harm_is_shown_as_the_text_that_it_is() -> None:
    source = page(collected(CASES["hostile"], NOW))
    assert "<script" not in source and "<img" not in source
    assert not re.search(r"[\x00-\x08\u202a-\u202e\u2066-\u2069]", source)
    shown = EVIL.replace("\x00", "\ufffd").replace("\u202e", "\ufffd")
    assert Reader(source).text.count(shown) > 50
    source.encode("utf-8")


def test_a_text_that_is_no_text_can_be_written() -> None:
    assert text("\ud800") == "\ufffd"


def test_only_what_was_built_is_markup() -> None:
    assert (
        tag("p", "<b>", Html("<i>"), None, class_='"x"', hidden=True, title=None, open=False)
        == '<p class="&quot;x&quot;" hidden>&lt;b&gt;<i></p>'
    )
    assert joined(["<", Html("<br>")], "&") == "&lt;&amp;<br>"


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (WELL, ["All is well", "staging", "https://api.example.test:6443", "2 of 2", "a run would change nothing", "There are none"]),
        (
            ILL,
            [
                "Needs attention",
                "✕ Not Ready",
                "cordoned",
                "not in the inventory",
                "learner",
                "leader",
                "connection refused",
                "3 days ago",
                "13 Nov 2026 · expired",
                "in 12 days",
                "in 9 years",
                "! never",
                "in 28 minutes",
                "+ - --audit-log-maxage=30",
                "- - --audit-log-maxage=7",
                "could not be planned",
                "its PEM certificate is corrupt",
                "No route to host",
                "1 of 2 ready",
                "Nothing to change on worker1.",
            ],
        ),
        (CASES["nobody"], ["Unknown cluster", "Needs attention", "not known", "no route"]),
    ],
)
def test_what_is_to_be_read(hosts: Any, words: list[str]) -> None:
    found = drawn(hosts).text
    assert [word for word in words if word not in found] == []


@pytest.mark.parametrize(
    ("left", "kind", "word"), [(-1, "bad", "expired"), (0, "bad", "renew"), (29, "bad", "renew"), (30, "warn", "soon"), (90, "ok", "")]
)
def test_urgency_is_a_colour_and_a_word(left: int, kind: str, word: str) -> None:
    assert urgency(left) == (kind, word)


def test_the_scale_is_that_of_what_is_renewed() -> None:
    scale = scale_of([certificate("/a.crt", 300), certificate("/ca.crt", 3000, authority=True)], MOMENT)
    assert timedelta(days=300) < scale.end - MOMENT < timedelta(days=320)
    assert scale.start < MOMENT
    assert 0 < scale.place(MOMENT) < 10
    assert (scale.place(MOMENT - timedelta(days=900)), scale.place(MOMENT + timedelta(days=900))) == (0, 100)
    assert scale_of([certificate("/a.crt", -400)], MOMENT).end == MOMENT + timedelta(days=60)


@pytest.mark.parametrize(
    "end", [*(certificate("/a.crt", days) for days in (1, 59, 200, 365, 3650, 36500)), {"not_after": "9999-12-31T23:59:59Z"}]
)
def test_marks_of_the_scale_are_few_and_in_order(end: dict[str, Any]) -> None:
    scale = scale_of([end], MOMENT)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 7
    assert ticks == sorted(ticks) and all(tick.day == 1 for tick in ticks)


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("/etc/kubernetes/pki/etcd/server.crt", "pki", "etcd/server"),
        ("/etc/kubernetes/admin.conf", "kubeconfig", "admin.conf"),
        ("/var/lib/kubelet/pki/kubelet-client-current.pem", "kubelet", "kubelet, client"),
        ("/var/lib/kubelet/pki/kubelet.crt", "kubelet", "kubelet, serving"),
        ("/elsewhere/ca.crt", "pki", "/elsewhere/ca"),
    ],
)
def test_names_of_certificates(path: str, kind: str, name: str) -> None:
    assert name_of(certificate(path, 1, kind)) == name


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("", "", []),
        ("a\n", "a\n", []),
        ("", "a\n", ["added"]),
        ("a\n", "", ["removed"]),
        ("a\nb\n", "a\nc\n", ["same", "removed", "added"]),
        ("+\n@@\n", "-\n@@\n", ["removed", "added", "same"]),
        ("".join(f"{each}\n" for each in range(20)), "x\n" + "".join(f"{each}\n" for each in range(1, 19)) + "y\n", None),
    ],
)
def test_differences_are_coloured_by_kind(before: str, after: str, kinds: list[str] | None) -> None:
    found = [str(re.search(r'class="(\w+)"', line)[1]) for line in diff_lines(before, after)]  # type: ignore[index]
    if kinds is not None:
        assert found == kinds
    else:
        assert found.count("place") == 1


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (30, "in less than a minute"),
        (60, "in 1 minute"),
        (-7200, "2 hours ago"),
        (86400 * 364, "in 364 days"),
        (86400 * 3650, "in 10 years"),
    ],
)
def test_how_far_away(seconds: int, said: str) -> None:
    assert until(MOMENT + timedelta(seconds=seconds), MOMENT) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 bytes"), (1023, "1023 bytes"), (3_518_464, "3.4 MiB"), (None, "0 bytes"), (2**50, "1024.0 TiB")]
)
def test_sizes(count: Any, said: str) -> None:
    assert size(count) == said
