# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files that all control planes of a cluster share: what upload-certs carries from one of them to the next."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable

_SHARED = ("ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key")
_LOCAL_ETCD = ("etcd/ca.crt", "etcd/ca.key")
# Keys of authorities may be kept away from the hosts; who does so brings every certificate that they sign.
_KEPT_AWAY = ("ca.key", "front-proxy-ca.key", "etcd-ca.key")
_AUTHORITIES = (("ca", "CA"), ("front-proxy-ca", "front-proxy CA"))


def carried(docs: Documents) -> dict[str, str]:
    """Name each value of the Secret and the file that it comes from; an external etcd may have no files."""
    base = docs.cluster.certificates_dir
    external = docs.cluster.etcd.external
    names = _SHARED if external is not None else (*_SHARED, *_LOCAL_ETCD)
    found = {name.replace("/", "-"): posixpath.join(base, name) for name in names}
    if external is not None:
        found["external-etcd-ca.crt"] = external.ca_file
        found["external-etcd.crt"] = external.cert_file
        found["external-etcd.key"] = external.key_file
    return found


def needed(docs: Documents) -> dict[str, str]:
    """The same without what a control plane can do without."""
    return {name: path for name, path in carried(docs).items() if path and name not in _KEPT_AWAY}


def keys_kept_away(docs: Documents) -> tuple[str, ...]:
    """The paths of the keys that a control plane can do without."""
    return tuple(path for name, path in carried(docs).items() if name in _KEPT_AWAY)


def contents_of(world: Any, docs: Documents) -> dict[str, bytes | None]:
    """Read the files that are carried, each by the name of its value."""
    return {name: _content(world, path) for name, path in carried(docs).items()}


def kept_away(paths: Mapping[str, str], files: Mapping[str, bytes | None]) -> list[Unusable]:
    """Find the authorities whose keys are not on this host: kubeadm hands none of the others on, either."""
    return [
        Unusable(
            paths[f"{base}.key"],
            f"it is not on this host (external {title}), so there is nothing to hand to other control planes",
            "Bring certificates and keys to each control plane by other means, and leave upload-certs out",
        )
        for base, title in _AUTHORITIES
        if files.get(f"{base}.crt") is not None and files.get(f"{base}.key") is None
    ]


def _content(world: Any, path: str) -> bytes | None:
    state = world.files.read(path) if path else None
    return None if state is None else state.content
