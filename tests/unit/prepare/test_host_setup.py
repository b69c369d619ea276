# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Host set-up: documents and what was seen, against what is loaded, set, written, turned off and opened."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from unit.prepare.prepare_cases import docs, refusals, targets

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.firewall import FirewallState, OpenPorts, Port
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import HostState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.kernel import KernelState, LoadModule, SetSysctl, SwapOff
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.host_setup import (
    MODULES_FILE,
    SETTINGS_FILE,
    HostSetupPhase,
    Observed,
)

OPTIONS = {"swap": "auto", "firewall": "list", "extra_ports": []}
SETTINGS = {"net.bridge.bridge-nf-call-ip6tables": "1", "net.bridge.bridge-nf-call-iptables": "1", "net.ipv4.ip_forward": "1"}
HEADER = b"# Written by kubephase.cluster for Kubernetes; it is written anew when it differs.\n"
FILES = {
    MODULES_FILE: FileState(MODULES_FILE, HEADER + b"overlay\nbr_netfilter\n", 0o644, 1.0),
    SETTINGS_FILE: FileState(SETTINGS_FILE, HEADER + b"".join(f"{n} = {v}\n".encode() for n, v in SETTINGS.items()), 0o644, 1.0),
}
HOST = HostState(name_addresses=("192.0.2.10",), services={})
READY = Observed(HOST, KernelState({"overlay": True, "br_netfilter": True}, SETTINGS, clock_synchronised=True), FILES)


def plan(seen: Observed, documents: Documents | None = None, **options: Any) -> Plan:
    return HostSetupPhase().plan(documents or docs(), seen, {**OPTIONS, **options})


def fstab(text: str) -> dict[str, FileState]:
    return {**FILES, "/etc/fstab": FileState("/etc/fstab", text.encode(), 0o644, 1.0)}


def test_a_ready_host_is_left_alone() -> None:
    assert plan(READY).changes == ()
    assert plan(READY).warnings == ()


def test_what_is_missing_is_loaded_set_and_written_in_order() -> None:
    kernel = KernelState({"overlay": True, "br_netfilter": False}, {"net.ipv4.ip_forward": "0"}, clock_synchronised=True)
    found = plan(Observed(HOST, kernel, {}))
    assert targets(found) == [
        "kernel module br_netfilter",
        MODULES_FILE,
        "net.bridge.bridge-nf-call-ip6tables",
        "net.bridge.bridge-nf-call-iptables",
        "net.ipv4.ip_forward",
        SETTINGS_FILE,
    ]
    actions = [change.action for change in found.changes]
    assert actions[0] == LoadModule("br_netfilter")
    assert SetSysctl("net.ipv4.ip_forward", "1") in actions
    assert {action.path: action.content for action in actions if isinstance(action, WriteFile)} == {
        path: state.content for path, state in FILES.items()
    }


@pytest.mark.parametrize(
    ("kinds", "more"),
    [
        ({}, set()),
        (
            {"cluster": {"networking": {"serviceSubnet": "10.96.0.0/16,fd00:1::/112", "podSubnet": "10.1.0.0/16,fd00:2::/48"}}},
            {"net.ipv6.conf.all.forwarding", "net.ipv6.conf.default.forwarding"},
        ),
        ({"kubelet": {"protectKernelDefaults": True}}, {"vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops"}),
    ],
    ids=["IPv4", "dual stack", "protected kernel"],
)
def test_settings_by_the_documents(kinds: dict[str, Any], more: set[str]) -> None:
    facts = plan(READY, docs(**kinds)).facts["settings"]
    assert set(SETTINGS) | more <= set(facts)
    assert ("net.ipv6.conf.all.forwarding" in facts) == ("net.ipv6.conf.all.forwarding" in more)


def test_only_ipv6_needs_no_forwarding_of_ipv4() -> None:
    networks = {"serviceSubnet": "fd00:1::/112", "podSubnet": "fd00:2::/48"}
    facts = plan(READY, docs(address="2001:db8::10", cluster={"networking": networks})).facts["settings"]
    assert "net.ipv4.ip_forward" not in facts
    assert facts["net.ipv6.conf.default.forwarding"] == "1"


@pytest.mark.parametrize(("mode", "modules"), [("", 2), ("iptables", 2), ("ipvs", 7), ("nftables", 3)])
def test_modules_by_the_mode_of_kube_proxy(mode: str, modules: int) -> None:
    documents = docs(proxy={"mode": mode} if mode else {})
    assert len(plan(READY, documents).facts["modules"]) == modules


SWAPPING = replace(
    READY, host=replace(HOST, swaps=("/dev/sda2",)), files=fstab("/dev/sda1 / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n")
)


@pytest.mark.parametrize(
    ("swap", "tolerated", "off"),
    [("auto", None, True), ("auto", True, True), ("auto", False, False), ("off", False, True), ("keep", False, False)],
)
def test_swap(swap: str, tolerated: bool | None, off: bool) -> None:
    kubelet = {} if tolerated is None else {"failSwapOn": tolerated}
    found = plan(SWAPPING, docs(kubelet=kubelet), swap=swap)
    assert [change.action for change in found.changes if isinstance(change.action, SwapOff)] == ([SwapOff("/dev/sda2")] if off else [])
    written = [change.action.content for change in found.changes if isinstance(change.action, WriteFile)]
    expected = b"/dev/sda1 / ext4 defaults 0 1\n# kubephase turned swap off for the kubelet; before: /dev/sda2 none swap sw 0 0\n"
    assert written == ([expected] if off else [])


def test_swap_that_is_off_already_goes_from_fstab_and_stays_a_comment() -> None:
    once = plan(replace(SWAPPING, host=HOST))
    assert targets(once) == ["/etc/fstab"]
    action = once.changes[0].action
    assert isinstance(action, WriteFile)
    assert plan(replace(SWAPPING, host=HOST, files=fstab(action.content.decode()))).changes == ()


def test_swap_that_something_else_turns_on_is_warned_of() -> None:
    found = plan(replace(READY, host=replace(HOST, swaps=("/dev/zram0",)), files=FILES))
    assert targets(found) == ["swap /dev/zram0"]
    assert "is not in /etc/fstab" in found.warnings[0]


def test_swap_to_be_kept_that_the_kubelet_does_not_take_is_refused() -> None:
    found = refusals(HostSetupPhase().plan, docs(), SWAPPING, {**OPTIONS, "swap": "keep"})
    assert found == [
        "swap: /dev/sda2 is to be kept, and the kubelet would not start with it. "
        "Set failSwapOn: false in KubeletConfiguration, or let swap be turned off"
    ]


def test_no_root_is_told_first() -> None:
    found = refusals(plan, replace(READY, host=replace(HOST, privileged=False)))
    assert found == ["privileges: the module does not run as root. Set become: true, or log in as root"]


def test_a_node_called_localhost_is_refused() -> None:
    assert "as every other host" in refusals(plan, READY, docs(name="localhost"))[0]


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (
            replace(READY, host=replace(HOST, name_addresses=(), name_problem="no such name")),
            "cannot be looked up on the host (no such name)",
        ),
        (replace(READY, kernel=replace(READY.kernel, clock_synchronised=False)), "the clock follows no other"),
        (
            replace(READY, files={**FILES, "/etc/sysctl.conf": FileState("/etc/sysctl.conf", b"net.ipv4.ip_forward=0\n", 0o644, 1.0)}),
            "/etc/sysctl.conf sets net.ipv4.ip_forward to 0",
        ),
        (replace(READY, firewall=FirewallState("ufw")), "ufw is active; others must reach 10250/tcp, 6443/tcp, 2379-2380/tcp"),
    ],
    ids=["name", "clock", "later settings", "firewall"],
)
def test_what_a_person_must_see_to_is_warned_of(seen: Observed, word: str) -> None:
    found = plan(seen)
    assert found.changes == ()
    assert [warning for warning in found.warnings if word in warning]


@pytest.mark.parametrize(
    "seen",
    [
        replace(READY, kernel=replace(READY.kernel, clock_synchronised=False, container=True)),
        replace(READY, kernel=replace(READY.kernel, clock_synchronised=None)),
        replace(
            READY,
            kernel=replace(READY.kernel, clock_synchronised=False),
            host=replace(HOST, services={"chrony": ServiceState("chrony", known=True, active=True, enabled=True)}),
        ),
    ],
    ids=["a container's clock", "unknown", "a service sees to it"],
)
def test_a_clock_that_is_seen_to(seen: Observed) -> None:
    assert plan(seen).warnings == ()


WORKER_PORTS = ["10250/tcp", "10256/tcp", "30000-32767/tcp", "30000-32767/udp"]


@pytest.mark.parametrize(
    ("becomes", "kinds", "ports"),
    [
        ("worker", {}, WORKER_PORTS),
        ("control_plane", {}, ["10250/tcp", "6443/tcp", "2379-2380/tcp", *WORKER_PORTS[1:]]),
        (
            "init",
            {"cluster": {"etcd": {"external": {"endpoints": ["https://192.0.2.1:2379"]}}}, "kubelet": {"port": 11250}},
            ["11250/tcp", "6443/tcp", *WORKER_PORTS[1:]],
        ),
        (
            "worker",
            {
                "cluster": {
                    "apiServer": {"extraArgs": [{"name": "service-node-port-range", "value": "20000-20100"}]},
                    "proxy": {"disabled": True},
                }
            },
            ["10250/tcp", "20000-20100/tcp", "20000-20100/udp"],
        ),
    ],
)
def test_ports_by_role(becomes: str, kinds: dict[str, Any], ports: list[str]) -> None:
    assert [each["port"] for each in plan(READY, docs(becomes=becomes, **kinds)).facts["ports"]] == ports


def test_only_ports_that_are_closed_are_opened() -> None:
    firewall = FirewallState("firewalld", (Port(10000, "tcp", "", 11000), Port(30000, "udp", "", 32767)))
    found = plan(replace(READY, firewall=firewall), docs(becomes="worker"), firewall="open", extra_ports=["8472/udp"])
    action = found.changes[0].action
    assert isinstance(action, OpenPorts)
    assert [port.text for port in action.ports] == ["30000-32767/tcp", "8472/udp"]
    opened = FirewallState("firewalld", (*firewall.opened, *action.ports))
    assert plan(replace(READY, firewall=opened), docs(becomes="worker"), firewall="open", extra_ports=["8472/udp"]).changes == ()


def service(name: str, active: bool, enabled: bool = True) -> dict[str, ServiceState]:
    return {name: ServiceState(name, known=True, active=active, enabled=enabled)}


@pytest.mark.parametrize(
    ("services", "config", "firewall"),
    [
        ({}, b"", ""),
        ({}, b"ENABLED=yes\n", ""),
        (service("firewalld", active=True), b"", "firewalld"),
        (service("firewalld", active=False), b"", ""),
        (service("ufw", active=True), b"LOGLEVEL=low\nENABLED=no\n", ""),
        (service("ufw", active=True), b"# ENABLED=yes\n", ""),
        (service("ufw", active=True), b"ENABLED=yes\n", "ufw"),
        # As it is after `ufw enable`, before any boot.
        (service("ufw", active=False), b"LOGLEVEL=low\nENABLED=yes\n", "ufw"),
        (service("ufw", active=False, enabled=False), b"ENABLED=yes\n", ""),
        ({**service("firewalld", active=True), **service("ufw", active=True)}, b"ENABLED=yes\n", "firewalld"),
    ],
)
def test_which_firewall_is_active(services: dict[str, ServiceState], config: bytes, firewall: str) -> None:
    files = {"/etc/ufw/ufw.conf": FileState("/etc/ufw/ufw.conf", config, 0o644, 1.0)} if config else {}
    world = SimpleNamespace(
        files=SimpleNamespace(read=files.get),
        probe=SimpleNamespace(look=lambda questions: replace(HOST, services=services)),
        kernel=SimpleNamespace(look=lambda modules, settings: READY.kernel),
        firewall=SimpleNamespace(state=lambda program: FirewallState(program, (Port(1),))),
    )
    for option, opened in (("list", ()), ("open", (Port(1),))):
        seen = HostSetupPhase().read(docs(), world, {**OPTIONS, "firewall": option})
        assert seen.firewall == (FirewallState(firewall, opened) if firewall else None)


def test_a_firewall_is_ignored_when_told_so() -> None:
    found = plan(replace(READY, firewall=FirewallState("ufw")), firewall="ignore")
    assert (found.changes, found.warnings) == ((), ())


def test_every_port_that_is_none_is_told() -> None:
    options = {**OPTIONS, "extra_ports": ["http", "0/tcp", "70000/tcp", "20-10/tcp", "1/icmp", "53/udp"]}
    assert len(refusals(HostSetupPhase().plan, docs(), READY, options)) == 5
