# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mistakes that the code may find in documents, from the places that report them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from tools.documentation.error_texts import HOLE
from tools.documentation.markdown import ROOT
from tools.documentation.markup import escaped, plain
from tools.documentation.room_texts import RoomTexts

_PLUGINS = ROOT / "plugins"
_CONFIG = "module_utils._config."
_STREAM = "plugin_utils.document_stream"
_PROBLEMS = f"{_CONFIG}problems"
# Who is told of a mistake: what its arguments are.
TOLD = {
    "problem": ("where", "found", "expected", "hint"),
    f"{_PROBLEMS}.Problem": ("where", "found", "expected", "hint"),
    f"{_STREAM}._Refused": ("node", "found", "expected"),
}
# What these give is a value of a document, or its kind.
_SHOWING = (f"{_PROBLEMS}.shown", f"{_PROBLEMS}.shape", f"{_CONFIG}durations.format_duration")
# File: how it names a place, where that is not a path.
_PLACES = {_STREAM: f"{HOLE}, line {HOLE}"}
# File: the title of its part.
TOPICS = {
    _STREAM: "Files",
    f"{_CONFIG}sources": "Kinds and versions",
    f"{_CONFIG}resolve": "Kinds and versions",
    f"{_CONFIG}secrets": "Kinds and versions",
    f"{_CONFIG}fields": "Fields of every kind",
    f"{_CONFIG}components": "KubeletConfiguration and KubeProxyConfiguration",
    f"{_CONFIG}rules_release": "What a release knows",
    f"{_CONFIG}rules_networks": "Networks and addresses",
    f"{_CONFIG}rules_certificates": "Certificates, paths and etcd",
    f"{_CONFIG}rules_pods": "Pods of the control plane, arguments",
    f"{_CONFIG}rules_node": "The node",
    f"{_CONFIG}defaults": "The node",
    f"{_CONFIG}rules_tokens": "Tokens and discovery",
}
EXAMPLE = (
    "The kubeadm documents of cp1 are not valid:\n"
    "kubephase_cluster_configuration: ClusterConfiguration.clusterNam: found an unknown field; "
    "expected a field of this object. Did you mean clusterName?\n"
    "kubeadm.yaml: ClusterConfiguration.networking.podSubnet: found '10.244.0.0'; expected one network such as 10.96.0.0/12, "
    "or one IPv4 and one IPv6 network with a comma between them. A length after '/' is missing."
)
_HEAD = f"""\
## Mistakes in documents

All mistakes in the documents of a host are told at once, before the host is touched:

```text
{EXAMPLE}
```

A line says `source: where: found …; expected …. Hint`. The source is the file or the variable that gave the field, and where is
its path in the document. What was found is shown as it is; of a secret only its kind is told, such as "a text of 20 characters".
A few mistakes show only on the host, such as two container runtimes of which none is named: the first module that runs there
tells them.

In the tables `…` stands for whatever field, value or name, and `{{a, b}}` for each of these.
"""


@dataclass(frozen=True, order=True)
class Mistake:
    """What one place of the code says about a field."""

    topic: str
    where: str
    found: str
    expected: str
    hint: str = ""


def sources() -> dict[str, str]:
    """Read the files that judge documents, and those whose names they use, by their dotted names."""
    found = {}
    for path in sorted(_PLUGINS.rglob("*.py")):
        parts = path.relative_to(_PLUGINS).with_suffix("").parts
        name, text = ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text()
        if name.startswith((_CONFIG, "module_utils._release")) or f"{_PROBLEMS} import" in text:
            found[name] = text
    return found


@cache
def mistakes() -> list[Mistake]:
    """Collect what the code of the collection may say."""
    return mistakes_of(sources())


def mistakes_of(files: dict[str, str]) -> list[Mistake]:
    """Collect what the code of these files may say."""
    texts = RoomTexts(files, _SHOWING)
    found: set[Mistake] = set()
    for name, parts in TOLD.items():
        for call in texts.calls(name):
            if texts.file(call) != _PROBLEMS and len(call.args) + len(call.keywords) > 2:
                found.update(_of(texts, call, parts))
    return sorted(found)


def _of(texts: RoomTexts, call: ast.Call, parts: tuple[str, ...]) -> Iterator[Mistake]:
    given = dict(zip(parts, call.args), **{word.arg: word.value for word in call.keywords if word.arg})
    file = texts.file(call)
    topic = TOPICS.get(file, "Others")
    for scope in texts.scopes(call):
        if isinstance(scope.given.get("found", (None,))[0], ast.Attribute):
            continue  # passed on; it is told where it comes from
        said = {part: [plain(text) for text in texts.spell(value, scope)] for part, value in given.items()}
        places = [_PLACES[file]] if file in _PLACES else said["where"]
        for where, *words in product(places, said["found"], said["expected"], said.get("hint", [""])):
            yield Mistake(topic, where if any(map(str.isalpha, where)) else HOLE, *words)


def render() -> str:
    """Spell the part of the page."""
    rows = _rows(mistakes())
    parts = [_HEAD]
    for topic in dict.fromkeys([*TOPICS.values(), "Others"]):
        lines = [f"| {' | '.join(map(escaped, row))} |" for of, *row in rows if of == topic]
        if lines:
            parts.append("\n".join([f"### {topic}", "", "| where | found | expected | hint |", "|---|---|---|---|", *lines, ""]))
    return "\n".join(parts)


def _rows(found: list[Mistake]) -> list[tuple[str, str, str, str, str]]:
    """Put the hints of one mistake together, and the places where the same is said."""
    hints: dict[tuple[str, str, str, str], list[str]] = {}
    for each in found:
        hints.setdefault((each.topic, each.where, each.found, each.expected), []).append(each.hint)
    places: dict[tuple[str, str, str, str], list[str]] = {}
    for (topic, where, what, expected), some in hints.items():
        places.setdefault((topic, what, expected, " Or: ".join(filter(None, some))), []).append(where)
    return sorted((topic, _folded(where), what, expected, hint) for (topic, what, expected, hint), where in places.items())


def _folded(places: list[str]) -> str:
    """Spell paths that differ in one step as one, with all that may stand there in braces."""
    paths = [tuple(place.split(".")) for place in places if place != HOLE]
    for step in range(max(map(len, paths), default=0)):
        alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for path in paths:
            if len(path) > step:
                alike.setdefault((path[:step], path[step + 1 :]), []).append(path[step])
        paths = [path for path in paths if len(path) <= step]
        paths += [(*before, some[0] if len(some) == 1 else f"{{{', '.join(some)}}}", *after) for (before, after), some in alike.items()]
    return ", ".join(sorted(".".join(path) for path in paths)) or HOLE
