# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an instance of bare nodes can be prepared from, laid beside its inventory and told to its nodes."""

from __future__ import annotations

from pathlib import Path

from lab import manifests
from lab.build import Offered
from lab.cache import Store
from lab.identity import handed_in
from lab.instance import Instance, directory, write_whole
from lab.layout import gateway
from lab.repository import DISTRIBUTION, KEY, KUBERNETES, addresses, distribution_sources
from lab.server import PORT

# Where a node sees what it is handed in.
_KEY_ON_NODE = "/etc/lab/repository.asc"
# Lowering an OOM score needs a capability that a node in a container may lack.
_IN_A_CONTAINER = {"plugins": {"io.containerd.grpc.v1.cri": {"restrict_oom_score_adj": True}}}


def key(store: Store, instance: str) -> Path:
    """Say where the key of an instance's repository is."""
    return manifests.place(store, instance) / "repository.asc"


def bundle(store: Store, instance: str) -> Path:
    """Say where an instance's bundle is."""
    return directory(store, instance) / "bundle"


def write(store: Store, instance: Instance, offered: Offered) -> None:
    """Lay key and bundle beside the inventory, and give every node its distribution's source."""
    armored = (offered.repository / KUBERNETES / KEY).read_text()
    write_whole(key(store, instance.name), armored)
    _point(bundle(store, instance.name), offered.bundle)
    url = addresses(gateway(instance.network), PORT)[DISTRIBUTION]
    for node in instance.nodes:
        place = handed_in(store, instance.name, node)
        write_whole(place / "repository.asc", armored)
        write_whole(place / "distribution.sources", distribution_sources(url, _KEY_ON_NODE))


def variables(store: Store, instance: Instance) -> dict[str, object]:
    """Give the collection's variables with which these nodes can be prepared."""
    if not instance.bare:
        return {}
    return {
        "kubephase_package_source": "repository",
        "kubephase_package_repository": addresses(gateway(instance.network), PORT)[KUBERNETES],
        "kubephase_package_key": str(key(store, instance.name)),
        "kubephase_bundle": str(bundle(store, instance.name)),
        "kubephase_containerd_settings": _IN_A_CONTAINER,
    }


def _point(link: Path, target: Path) -> None:
    partial = link.with_name(link.name + ".partial")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.rename(link)
