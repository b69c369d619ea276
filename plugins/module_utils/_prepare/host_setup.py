# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host set-up: kernel modules and settings, swap, clock, name and firewall, as a node of the release needs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.addresses import parse_address, parse_networks
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.firewall import FIREWALLD, UFW, FirewallState, OpenPorts, Port
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import HostState, Questions
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.kernel import KernelState, LoadModule, SetSysctl, SwapOff
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.fstab import FSTAB, devices, swap_lines, without_swap
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.ports import needed_ports
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.privileges import must_be_root
from ansible_collections.kubephase.cluster.plugins.module_utils._release.host import IPV4, IPV6

MODULES_FILE = "/etc/modules-load.d/kubephase.conf"
SETTINGS_FILE = "/etc/sysctl.d/99-kubephase.conf"
# Applied after every file of the directory above that is named before it.
_LATER_SETTINGS = "/etc/sysctl.conf"
_UFW_CONFIG = "/etc/ufw/ufw.conf"
_TIME_SERVICES = ("systemd-timesyncd", "chrony", "chronyd", "ntp", "ntpd", "ntpsec", "openntpd")
_LOCAL_NAMES = ("localhost", "localhost.localdomain")
OPEN, LIST, IGNORE = "open", "list", "ignore"
AUTO, OFF, KEEP = "auto", "off", "keep"
_HEADER = "# Written by kubephase.cluster for Kubernetes; it is written anew when it differs.\n"


@dataclass(frozen=True)
class Observed:
    """The host, its kernel, the files that outlive a boot, and the firewall where it is to be opened."""

    host: HostState
    kernel: KernelState
    files: Mapping[str, FileState]
    firewall: FirewallState | None = None


class HostSetupPhase:
    """What a host needs before packages and container runtime matter, as read and plan."""

    name = "host-setup"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Look at all of it at once; a firewall is asked only where it is to be opened."""
        services = (*_TIME_SERVICES, FIREWALLD, UFW)
        found = (world.files.read(path) for path in (MODULES_FILE, SETTINGS_FILE, _LATER_SETTINGS, FSTAB, _UFW_CONFIG))
        files = {state.path: state for state in found if state is not None}
        host = world.probe.look(Questions(services=services, node_name=docs.node.name))
        active = _active_firewall(host, files)
        return Observed(
            host=host,
            kernel=world.kernel.look(_modules(docs), tuple(_settings(docs))),
            files=files,
            firewall=world.firewall.state(active) if active and options.get("firewall") == OPEN else _named(active),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Load, set, persist and turn off what differs; warn of what a person must see to."""
        must_be_root(seen.host.privileged)
        _refuse(docs, seen, options)
        ports = needed_ports(docs, options.get("extra_ports") or ())
        changes = [*_kernel_changes(docs, seen), *_swap_changes(docs, seen, options), *_firewall_changes(ports, seen, options)]
        facts = {
            "modules": list(_modules(docs)),
            "settings": dict(_settings(docs)),
            "ports": [{"port": port.text, "purpose": port.purpose} for port in ports],
            "firewall": seen.firewall.program if seen.firewall else "",
        }
        return Plan(tuple(changes), facts, tuple(_warnings(docs, ports, seen, options)))


def _modules(docs: Documents) -> tuple[str, ...]:
    release = docs.known_release
    mode = "" if docs.cluster.proxy.disabled else str(docs.kube_proxy.get("mode") or "")
    return (*release.kernel_modules, *release.proxy_mode_modules.get(mode, ()))


def _settings(docs: Documents) -> dict[str, str]:
    release = docs.known_release
    wanted = dict(release.bridge_settings)
    for family in _families(docs):
        wanted.update(release.forwarding_settings[family])
    if docs.kubelet.get("protectKernelDefaults"):
        wanted.update(release.protected_kernel_settings)
    return dict(sorted(wanted.items()))


def _families(docs: Documents) -> list[str]:
    """Tell the address families in use by the networks and the address that is advertised."""
    networking = docs.cluster.networking
    found = [network for text in (networking.service_subnet, networking.pod_subnet) if text for network in parse_networks(text) or ()]
    address = parse_address(docs.node.advertise_address)
    versions = {each.version for each in found} | ({address.version} if address else set())
    return [family for family, version in ((IPV4, 4), (IPV6, 6)) if version in versions] or [IPV4]


def _kernel_changes(docs: Documents, seen: Observed) -> list[Change]:
    changes = [
        Change(f"kernel module {name}", "it is not loaded", "loaded: no\n", "loaded: yes\n", LoadModule(name))
        for name, there in seen.kernel.modules.items()
        if not there
    ]
    changes += _file(seen, MODULES_FILE, "".join(f"{name}\n" for name in _modules(docs)))
    for name, value in _settings(docs).items():
        found = seen.kernel.settings.get(name)
        if found != value:
            reason = "the kernel has another value" if found is not None else "the kernel has no such setting yet"
            changes.append(Change(name, reason, f"{found or ''}\n".lstrip("\n"), f"{value}\n", SetSysctl(name, value)))
    changes += _file(seen, SETTINGS_FILE, "".join(f"{name} = {value}\n" for name, value in _settings(docs).items()))
    return changes


def _file(seen: Observed, path: str, lines: str) -> list[Change]:
    found, wanted = seen.files.get(path), (_HEADER + lines).encode()
    if found is not None and found.content == wanted:
        return []
    before = "" if found is None else found.content.decode(errors="replace")
    reason = "it does not exist, and the next boot would forget" if found is None else "it differs from what the documents need"
    return [Change(path, reason, before, wanted.decode(), WriteFile(path, wanted, 0o644))]


def _tolerated(docs: Documents) -> bool:
    return docs.kubelet.get("failSwapOn") is False


def _swap_changes(docs: Documents, seen: Observed, options: Mapping[str, Any]) -> list[Change]:
    if not _turned_off(docs, options):
        return []
    reason = "the kubelet does not start while swap is on"
    changes = [Change(f"swap {device}", reason, "on\n", "off\n", SwapOff(device)) for device in seen.host.swaps]
    fstab = seen.files.get(FSTAB)
    text = fstab.content.decode("utf-8", "surrogateescape") if fstab else ""
    if fstab is not None and swap_lines(text):
        content = without_swap(text)
        action = WriteFile(FSTAB, content.encode("utf-8", "surrogateescape"), fstab.mode)
        shown = text.encode("utf-8", "replace").decode(), content.encode("utf-8", "replace").decode()
        changes.append(Change(FSTAB, "it turns swap on at boot", *shown, action))
    return changes


def _turned_off(docs: Documents, options: Mapping[str, Any]) -> bool:
    wanted = options.get("swap") or AUTO
    return wanted == OFF or (wanted == AUTO and not _tolerated(docs))


def _active_firewall(host: HostState, files: Mapping[str, FileState]) -> str:
    services = host.services or {}
    if FIREWALLD in services and services[FIREWALLD].active:
        return FIREWALLD
    # The service of ufw is active where ufw is turned off, and is not where it was turned on since the boot: its file decides.
    config = files.get(_UFW_CONFIG)
    on = config is not None and any(line.strip().lower() == b"enabled=yes" for line in config.content.splitlines())
    return UFW if on and UFW in services and (services[UFW].active or services[UFW].enabled) else ""


def _named(program: str) -> FirewallState | None:
    return FirewallState(program) if program else None


def _closed(ports: tuple[Port, ...], firewall: FirewallState) -> tuple[Port, ...]:
    return tuple(port for port in ports if not any(opened.covers(port) for opened in firewall.opened))


def _firewall_changes(ports: tuple[Port, ...], seen: Observed, options: Mapping[str, Any]) -> list[Change]:
    if seen.firewall is None or options.get("firewall") != OPEN:
        return []
    closed = _closed(ports, seen.firewall)
    if not closed:
        return []
    after = "".join(f"{port.text}  {port.purpose}\n" for port in closed)
    action = OpenPorts(seen.firewall.program, closed)
    return [Change(f"{seen.firewall.program}", "it keeps others from ports of this node", "", after, action)]


def _refuse(docs: Documents, seen: Observed, options: Mapping[str, Any]) -> None:
    """Refuse what no change here could make right."""
    wrong = []
    if docs.node.name in _LOCAL_NAMES:
        fix = "Give the host a name of its own (hostnamectl set-hostname), or set nodeRegistration.name"
        wrong.append(Unusable("host name", f"the node would be called {docs.node.name}, as every other host", fix))
    if options.get("swap") == KEEP and seen.host.swaps and not _tolerated(docs):
        fix = "Set failSwapOn: false in KubeletConfiguration, or let swap be turned off"
        wrong.append(Unusable("swap", f"{', '.join(seen.host.swaps)} is to be kept, and the kubelet would not start with it", fix))
    if wrong:
        raise ManyUnusable(tuple(wrong))


def _warnings(docs: Documents, ports: tuple[Port, ...], seen: Observed, options: Mapping[str, Any]) -> list[str]:
    return [
        *_of_swap(docs, seen, options),
        *_of_settings(docs, seen),
        *_of_clock(seen),
        *_of_name(docs, seen),
        *_of_firewall(ports, seen, options),
    ]


def _of_swap(docs: Documents, seen: Observed, options: Mapping[str, Any]) -> list[str]:
    """Swap that fstab does not turn on comes back with the next boot, and who does that is not known here."""
    fstab = seen.files.get(FSTAB)
    named = devices(fstab.content.decode(errors="replace")) if fstab else set()
    strange = [device for device in seen.host.swaps if device not in named and not any("=" in name for name in named)]
    if not strange or not _turned_off(docs, options):
        return []
    return [f"swap {', '.join(strange)} is not in {FSTAB}; another unit turns it on at boot (systemctl list-units --type swap)"]


def _of_settings(docs: Documents, seen: Observed) -> list[str]:
    later = seen.files.get(_LATER_SETTINGS)
    found = {}
    for line in later.content.decode(errors="replace").splitlines() if later else ():
        name, equals, value = line.partition("=")
        if equals and not line.lstrip().startswith(("#", ";")):
            found[name.strip().lstrip("-").replace("/", ".")] = value.strip()
    return [
        f"{_LATER_SETTINGS} sets {name} to {found[name]} and is read after {SETTINGS_FILE}, so that the next boot brings that back"
        for name, value in _settings(docs).items()
        if found.get(name, value) != value
    ]


def _of_clock(seen: Observed) -> list[str]:
    services = seen.host.services or {}
    followed = any(service.active for name, service in services.items() if name in _TIME_SERVICES)
    if followed or seen.kernel.container or seen.kernel.clock_synchronised is not False:
        return []
    return ["the clock follows no other: certificates fail on hosts whose clocks differ; install chrony or systemd-timesyncd"]


def _of_name(docs: Documents, seen: Observed) -> list[str]:
    if seen.host.name_addresses:
        return []
    problem = seen.host.name_problem or "no address"
    return [f"the node name {docs.node.name!r} cannot be looked up on the host ({problem}); add it to /etc/hosts or to DNS"]


def _of_firewall(ports: tuple[Port, ...], seen: Observed, options: Mapping[str, Any]) -> list[str]:
    if seen.firewall is None or options.get("firewall") != LIST:
        return []
    needed = ", ".join(port.text for port in ports)
    return [f"{seen.firewall.program} is active; others must reach {needed}, and the ports of the network plugin"]
