# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What only the host knows: its name, its addresses, its kubelet, its container runtimes."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable
from typing import Any

_CRI_SOCKETS = ("/var/run/containerd/containerd.sock", "/var/run/crio/crio.sock", "/var/run/cri-dockerd.sock")

# Interfaces whose addresses say nothing of the host, or are the same on many.
_INNER = ("bridge", "dummy", "vxlan", "geneve", "ipip", "sit", "ip6tnl", "gre", "gretap", "wireguard", "tun", "ifb", "openvswitch")


class Host:
    """The machine that the module runs on."""

    def hostname(self) -> str:
        """Give the name that the node takes when the documents name none."""
        return socket.gethostname().strip().lower()

    def cri_sockets(self) -> tuple[str, ...]:
        """List the sockets of the container runtimes that are there."""
        return tuple(f"unix://{path}" for path in _CRI_SOCKETS if os.path.exists(path))

    def kubelet_version(self) -> str:
        """Ask the installed kubelet; nothing when there is none."""
        program = shutil.which("kubelet", path=f"{os.environ.get('PATH', '')}:/usr/bin:/usr/local/bin:/opt/bin")
        return _output([program, "--version"]).rpartition(" ")[2].strip() if program else ""

    def default_route_address(self) -> str:
        """Find the address that kubeadm would advertise: the first global one on the interface of the default route."""
        for family in ("-4", "-6"):
            for route in _ip(family, "route", "show", "default"):
                found = _first_global(_ip(family, "address", "show", "dev", str(route.get("dev", ""))))
                if found:
                    return found
        return ""

    def address_of(self, interface: str) -> str:
        """Find the first global address of an interface."""
        found = (_first_global(_ip(family, "address", "show", "dev", interface)) for family in ("-4", "-6"))
        return next((address for address in found if address), "")

    def addresses(self) -> tuple[str, ...]:
        """List the global addresses by which others reach this host; those of networks that live inside hosts are left out."""
        links = [link for link in _ip("-details", "address", "show") if not _is_inner(link)]
        found = [self.default_route_address(), *(address for link in links for address in _globals(link))]
        return tuple(dict.fromkeys(address for address in found if address))


def _is_inner(link: Any) -> bool:
    """Tell an interface of pods, tunnels and Services from one to the outside; a container's own one has no master."""
    kind = str((link.get("linkinfo") or {}).get("info_kind") or "")
    return kind in _INNER or (kind == "veth" and "master" in link)


def _globals(link: Any) -> list[str]:
    return [str(each.get("local", "")) for each in link.get("addr_info", ()) if each.get("scope") == "global" and not each.get("temporary")]


def _first_global(links: Iterable[Any]) -> str:
    for link in links:
        for address in link.get("addr_info", ()):
            if address.get("scope") == "global" and not address.get("deprecated") and not address.get("temporary"):
                return str(address.get("local", ""))
    return ""


def _ip(family: str, *words: str) -> list[Any]:
    program = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/bin")
    try:
        found = json.loads(_output([program, family, "-j", *words]) or "[]") if program else []
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=30)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""
