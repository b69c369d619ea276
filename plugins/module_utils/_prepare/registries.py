# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Registries: mirrors as the files that containerd reads at each pull, and credentials in its own terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare import toml
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.containerd import CERTIFICATES

# Where the registry of that name is really served.
_SERVED_AT = {"docker.io": "registry-1.docker.io"}
_NAME = re.compile(r"_default|[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
_URL = re.compile(r"https?://[^\s\"]+")
_KEYS = {"endpoints", "ca", "skip_verify", "override_path"}
_CREDENTIALS = {"username": "username", "password": "password", "auth": "auth", "identity_token": "identitytoken"}


def hosts_file(registry: str) -> str:
    """Where containerd looks for the mirrors of a registry."""
    return f"{CERTIFICATES}/{registry}/hosts.toml"


def hosts_files(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Write the mirrors of each registry; the registry itself is asked after them."""
    wrong: list[Unusable] = []
    found = {hosts_file(str(name)): _hosts(str(name), settings, wrong) for name, settings in sorted((given or {}).items())}
    if wrong:
        raise ManyUnusable(tuple(wrong))
    return found


def _hosts(registry: str, settings: Any, wrong: list[Unusable]) -> str:
    given = settings if isinstance(settings, Mapping) else {"endpoints": [settings] if isinstance(settings, str) else settings}
    wrong += _problems(registry, given)
    if wrong:
        return ""
    options: dict[str, Any] = {"capabilities": ["pull", "resolve"]}
    options.update({key: given[key] for key in ("ca", "skip_verify", "override_path") if given.get(key)})
    server = {} if registry == "_default" else {"server": f"https://{_SERVED_AT.get(registry, registry)}"}
    return toml.render({**server, "host": dict.fromkeys(given["endpoints"], options)})


def _problems(registry: str, given: Mapping[str, Any]) -> Iterator[Unusable]:
    where = f"registry_mirrors[{registry}]"
    if not _NAME.fullmatch(registry):
        yield Unusable(where, "it is no name of a registry", "Give one such as docker.io or registry.example.com:5000")
    endpoints = given.get("endpoints")
    if not isinstance(endpoints, (list, tuple)) or not endpoints or not all(_URL.fullmatch(str(url)) for url in endpoints):
        yield Unusable(where, "it names no mirrors", "Give a list of URLs that begin with https:// or http://")
    for key in sorted(set(given) - _KEYS):
        yield Unusable(where, f"{key!r} is no setting of a mirror", f"Give some of {', '.join(sorted(_KEYS))}")


def credentials(given: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """Give the credentials by the host that is asked; no value of them is ever shown."""
    wrong, found = [], {}
    for registry, settings in sorted((given or {}).items()):
        keys = set(settings) if isinstance(settings, Mapping) else set()
        if not _NAME.fullmatch(str(registry)) or keys not in ({"username", "password"}, {"auth"}, {"identity_token"}):
            fix = "Give the name of a registry, and username and password, or auth, or identity_token"
            wrong.append(Unusable(f"registry_credentials[{registry}]", "it is no name and credentials of a registry", fix))
            continue
        found[_SERVED_AT.get(str(registry), str(registry))] = {_CREDENTIALS[key]: str(settings[key]) for key in sorted(keys)}
    if wrong:
        raise ManyUnusable(tuple(wrong))
    return found
