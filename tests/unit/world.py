# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A world for phases: real files below a directory, a clock that stands, a host that says what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.clock import Clock
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.x509 import Issuer, generate_key, private_pem, sign
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.certificates import Profile
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import Outcome, execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World


@dataclass(frozen=True)
class Host:
    """What a host would say of itself."""

    name: str = "cp1"
    address: str = "192.0.2.10"
    kubelet: str = "v1.37.1"

    def hostname(self) -> str:
        return self.name

    def default_route_address(self) -> str:
        return self.address

    def kubelet_version(self) -> str:
        return self.kubelet

    def cri_sockets(self) -> tuple[str, ...]:
        return ("unix:///var/run/containerd/containerd.sock",)


@dataclass(frozen=True)
class StandingClock:
    """A clock that always shows the same time."""

    time: datetime

    def now(self) -> datetime:
        return self.time


def run(
    phase: Any,
    root: Path,
    cluster: Mapping[str, Any],
    options: Mapping[str, Any],
    check: bool = False,
    now: datetime | None = None,
    host: Host | None = None,
) -> Outcome:
    """Run a phase below root with a ClusterConfiguration."""
    files = Files(str(root))
    clock = StandingClock(now) if now else Clock()
    world = World(files=files, issuer=Issuer(files), clock=clock, host=host or Host())
    return execute(phase, world, {"ClusterConfiguration": dict(cluster)}, options, check)


def changes(outcome: Outcome) -> list[tuple[str, str, str, str]]:
    """The report of a run, as a person sees it."""
    return [(change.target, change.reason, change.before, change.after) for change in outcome.plan.changes]


def snapshot(root: Path) -> dict[str, tuple[bytes, int, int, int]]:
    """Everything about the files below root that a run could move."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def issue_by_hand(pki: Path, name: str, through_intermediate: bool = False, signed_by: str = "ca") -> None:
    """Replace a leaf by one that somebody else's tools made, with the names of the old one."""
    old = x509.load_pem_x509_certificate((pki / f"{name}.crt").read_bytes())
    names = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    later = datetime.now(timezone.utc) + timedelta(days=100)
    issuer = x509.load_pem_x509_certificate((pki / f"{signed_by}.crt").read_bytes())
    issuer_key: Any = load_pem_private_key((pki / f"{signed_by}.key").read_bytes(), None)
    chain = b""
    if through_intermediate:
        key = generate_key("ECDSA-P256")
        issuer, issuer_key = sign(Profile("middle", later, authority=True), key.public_key(), issuer, issuer_key), key
        chain = issuer.public_bytes(Encoding.PEM)
    profile = Profile(
        "by hand",
        later,
        dns_names=tuple(names.get_values_for_type(x509.DNSName)),
        ip_addresses=tuple(str(each) for each in names.get_values_for_type(x509.IPAddress)),
        server=True,
    )
    key = generate_key("ECDSA-P256")
    leaf = sign(profile, key.public_key(), issuer, issuer_key)
    (pki / f"{name}.crt").write_bytes(leaf.public_bytes(Encoding.PEM) + chain)
    (pki / f"{name}.key").write_bytes(private_pem(key))
