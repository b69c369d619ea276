# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Corefiles: the ones that kubeadm wrote itself, and what a newer CoreDNS would choke on in those of others."""

from __future__ import annotations

import re
from dataclasses import dataclass

_DOMAIN = "@domain@"
_PLUGINS = """\
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes @domain@ in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
"""
_CACHE = "    cache 30\n"
_CACHE_WITHOUT_CLUSTER = """\
    cache 30 {
       disable success @domain@
       disable denial @domain@
    }
"""
_TAIL = """\
    loop
    reload
    loadbalance
"""
_LIMIT = " {\n       max_concurrent 1000\n    }"
_LAMEDUCK = " {\n       lameduck 5s\n    }"


def _served(plugins: str) -> str:
    return f".:53 {{\n{plugins}}}\n"


_BEFORE_LIMIT = _PLUGINS.replace(_LIMIT, "")
# What kubeadm has written over the years, newest first.
_DEFAULTS = tuple(
    _served(plugins + _TAIL)
    for plugins in (
        _PLUGINS + _CACHE_WITHOUT_CLUSTER,
        _PLUGINS + _CACHE,
        _BEFORE_LIMIT + _CACHE,
        _BEFORE_LIMIT.replace(_LAMEDUCK, "") + _CACHE,
    )
)

# Since which CoreDNS a plugin, or an option of one, keeps it from starting.
_REMOVED = {
    ("proxy", ""): (1, 5, 0),
    ("kubernetes", "resyncperiod"): (1, 7, 0),
    ("kubernetes", "upstream"): (1, 7, 0),
    ("kubernetes", "transfer"): (1, 8, 0),
}
# Since which CoreDNS one that lacks them may not work as it should.
_ADDED = {
    ("loop", ""): (1, 2, 1),
    ("ready", ""): (1, 5, 0),
    ("health", "lameduck"): (1, 6, 5),
    ("forward", "max_concurrent"): (1, 7, 0),
}
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')

Line = tuple[str, ...]


@dataclass(frozen=True)
class Plugin:
    """One plugin of a server block: its line, and the lines of its options."""

    line: Line
    options: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Server:
    """One server block: its addresses and its plugins."""

    line: Line
    plugins: tuple[Plugin, ...] = ()


def default_corefile(domain: str, cluster_uncached: bool) -> str:
    """Write the Corefile of a fresh cluster; since 1.32 the cache leaves out the cluster's own names."""
    plugins = _PLUGINS + (_CACHE_WITHOUT_CLUSTER if cluster_uncached else _CACHE) + _TAIL
    return _served(plugins).replace(_DOMAIN, domain)


def is_default(corefile: str) -> bool:
    """Say whether a Corefile is one that kubeadm wrote and nobody touched, whatever its layout; an empty one counts."""
    servers = parse(corefile)
    if not servers:
        return True
    domain = next((plugin.line[1] for plugin in servers[0].plugins if plugin.line[0] == "kubernetes" and len(plugin.line) > 1), "")
    return any(_shuffled(servers) == _shuffled(parse(text.replace(_DOMAIN, domain))) for text in _DEFAULTS)


def migration_reason(corefile: str, installed: str, wanted: str) -> str:
    """Say why a Corefile that works with one CoreDNS must be rewritten for another, or nothing."""
    since, until = _version(installed), _version(wanted)
    if installed == wanted or until is None:
        return ""

    def between(version: tuple[int, ...]) -> bool:
        # A tag that is no version may be any age.
        return (since is None or since < version) and version <= until

    reasons = []
    for server in parse(corefile):
        has = {(plugin.line[0], "") for plugin in server.plugins}
        has |= {(plugin.line[0], option[0]) for plugin in server.plugins for option in plugin.options}
        reasons += [
            f"{_named(key)} is gone since {_dotted(version)}" for key, version in _REMOVED.items() if key in has and between(version)
        ]
        for key, version in _ADDED.items():
            applies = not key[1] or (key[0], "") in has
            if applies and key not in has and between(version):
                reasons.append(f"{_named(key)} is expected since {_dotted(version)}")
    return ", ".join(dict.fromkeys(reasons))


def parse(corefile: str) -> tuple[Server, ...]:
    """Read server blocks, plugins and options; comments and layout do not count."""
    servers: list[Server] = []
    depth = 0
    for line in _lines(corefile):
        words = line
        while words and words[0] == "}":
            depth, words = max(depth - 1, 0), words[1:]
        opens = bool(words) and words[-1] == "{"
        content = words[:-1] if opens else words
        if content:
            _add(servers, depth, content)
        depth += opens
    return tuple(servers)


def _add(servers: list[Server], depth: int, line: Line) -> None:
    if depth == 0 or not servers:
        servers.append(Server(line))
        return
    server = servers[-1]
    if depth == 1 or not server.plugins:
        servers[-1] = Server(server.line, (*server.plugins, Plugin(line)))
        return
    last = server.plugins[-1]
    servers[-1] = Server(server.line, (*server.plugins[:-1], Plugin(last.line, (*last.options, line))))


def _lines(corefile: str) -> list[Line]:
    found = []
    for text in corefile.splitlines():
        words: list[str] = []
        for match in _TOKEN.finditer(text):
            if match[1] is None and match[2].startswith("#"):
                break
            words.append(match[1] if match[1] is not None else match[2])
        if words:
            found.append(tuple(words))
    return found


def _shuffled(servers: tuple[Server, ...]) -> list[tuple[Line, list[tuple[Line, list[Line]]]]]:
    """Put blocks, plugins and options in one order: CoreDNS runs plugins in an order of its own."""
    return sorted((server.line, sorted((plugin.line, sorted(plugin.options)) for plugin in server.plugins)) for server in servers)


def _version(tag: str) -> tuple[int, ...] | None:
    match = _VERSION.match(tag)
    return tuple(int(part) for part in match.groups()) if match else None


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)


def _named(key: tuple[str, str]) -> str:
    return f"option {key[1]} of plugin {key[0]}" if key[1] else f"plugin {key[0]}"
