# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What bare machines bring along: firewalls, a control plane with ufw and a worker with firewalld, swap in fstab, containerd 2."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from live.fleet import Fleet, bare_fleet
from live.node import KUBECTL, Node, remove
from live.playbook import Playbook, Report
from live.running import changed

from lab.cache import Store, cache_root
from lab.gobuild import program_artifact
from lab.recipes import CONTAINERD_2, containerd
from lab.toolchain import ensure

# Logins must get through before everything else is shut out.
_UFW = "apt-get -qq update && apt-get -qq install -y ufw >/dev/null && ufw allow 22/tcp && ufw --force enable"
_FIREWALLD = "apt-get -qq update && apt-get -qq install -y firewalld >/dev/null && systemctl start firewalld && firewall-cmd --state"
_OF_EACH_NODE = {"10250/tcp", "10256/tcp", "30000-32767/tcp", "30000-32767/udp", "8472/udp"}
_OF_CONTROL_PLANES = {"6443/tcp", "2379-2380/tcp"}
_SWAP = "# what was there\n/dev/mapper/left none swap sw 0 0\n/dev/vda1 / ext4 defaults 0 1\n"


def ufw_lets(node: Node) -> set[str]:
    """Tell what ufw lets through, written as firewalld would."""
    rules = re.findall(r"^(\S+) +ALLOW +Anywhere *$", node.run("ufw status"), re.MULTILINE)
    return {rule.replace(":", "-") for rule in rules}


def firewalld_lets(node: Node, *words: str) -> set[str]:
    """Tell what firewalld lets through besides the services of its zone."""
    return set(node.run(f"firewall-cmd {' '.join(words)} --list-ports").split())


@dataclass(frozen=True)
class Guarded:
    """Two machines behind firewalls, made ready by a run that was not asked to open any."""

    fleet: Fleet
    listed: Report
    left: dict[str, set[str]]

    def prepare(self, **variables: object) -> Playbook:
        """Give the playbook that prepares them."""
        return Playbook(self.fleet["cp1"], name="prepare").using(kubephase_firewall_ports=["8472/udp"], **variables)

    def lets(self) -> dict[str, set[str]]:
        """Tell what each firewall lets through."""
        return {"cp1": ufw_lets(self.fleet["cp1"]), "w1": firewalld_lets(self.fleet["w1"])}


@pytest.fixture(scope="module")
def guarded(place: str) -> Iterator[Guarded]:
    """A control plane with ufw and a worker with firewalld, on which the role has run once."""
    instance = f"live-{place}-f"
    try:
        fleet = bare_fleet(instance, 1, 1)
        fleet["cp1"].run(_UFW)
        fleet["w1"].run(_FIREWALLD)
        waiting = Guarded(fleet, Report(0, "", ()), {})
        listed = waiting.prepare().play().succeeded()
        yield Guarded(fleet, listed, waiting.lets())
    finally:
        remove(instance)


def warning(report: Report, firewall: str) -> str:
    """Give the line that warns of a firewall, if there is one."""
    found = re.search(rf"^.*{firewall} is active; others must reach .*$", report.output, re.MULTILINE)
    return found[0] if found else ""


def test_ports_are_listed_and_not_opened_unless_asked(guarded: Guarded) -> None:
    assert guarded.left == {"cp1": {"22/tcp"}, "w1": set()}
    of_first, of_worker = (warning(guarded.listed, firewall) for firewall in ("ufw", "firewalld"))
    for port in _OF_EACH_NODE:
        assert f" {port}" in of_first and f" {port}" in of_worker
    for port in _OF_CONTROL_PLANES:
        assert f" {port}" in of_first and f" {port}" not in of_worker


def test_ports_of_the_role_are_opened_once(guarded: Guarded) -> None:
    asked = guarded.prepare(kubephase_firewall="open")
    first, worker = guarded.fleet["cp1"], guarded.fleet["w1"]
    checked = asked.play("--check", "--diff").succeeded()
    assert {(first.name, "ufw"), (worker.name, "firewalld")} <= checked.changes
    assert guarded.lets() == guarded.left

    done = asked.play().succeeded()
    assert changed(done) == {first.name: 1, worker.name: 1}
    assert guarded.lets() == {"cp1": {"22/tcp", *_OF_EACH_NODE, *_OF_CONTROL_PLANES}, "w1": _OF_EACH_NODE}
    assert firewalld_lets(worker, "--permanent") == _OF_EACH_NODE

    again = asked.play().succeeded()
    assert changed(again) == {}
    assert not warning(again, "ufw") and not warning(again, "firewalld")

    # What a restart brings back is what was opened.
    first.run("ufw reload")
    worker.run("systemctl restart firewalld && firewall-cmd --state")
    assert changed(asked.play().succeeded()) == {}


# Turning swap off would turn it off for the machine that the nodes share, so that there must be none.
@pytest.mark.skipif(len(Path("/proc/swaps").read_text().splitlines()) > 1, reason="this machine swaps")
def test_swap_is_taken_out_of_fstab_where_it_is_not_wanted(guarded: Guarded) -> None:
    node = guarded.fleet["cp1"]
    node.run("cat > /etc/fstab && chmod 0600 /etc/fstab", _SWAP.encode())
    # The documents of the lab let the kubelet run with swap.
    kept = guarded.prepare().play("--limit", node.name).succeeded()
    assert changed(kept) == {}

    off = guarded.prepare(kubephase_swap="off")
    checked = off.play("--limit", node.name, "--check", "--diff").succeeded()
    assert "/etc/fstab" in checked.output
    assert node.run("cat /etc/fstab") == _SWAP

    off.play("--limit", node.name).succeeded()
    lines = node.run("cat /etc/fstab").splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["/dev/vda1 / ext4 defaults 0 1"]
    assert any(line.startswith("#") and line.endswith("/dev/mapper/left none swap sw 0 0") for line in lines)
    assert node.run("stat -c %a /etc/fstab").strip() == "600"
    assert changed(off.play("--limit", node.name).succeeded()) == {}


@pytest.fixture
def machine(place: str) -> Iterator[Node]:
    """A machine on which nothing has been done yet."""
    instance = f"live-{place}-c"
    try:
        yield bare_fleet(instance, 1, 0)["cp1"]
    finally:
        remove(instance)


@pytest.mark.long
def test_containerd_2_gets_a_configuration_in_its_own_words(machine: Node) -> None:
    """Prepared with the containerd of the distribution, which somebody then exchanges: the next run makes a cluster with it."""
    # What the lab's inventory says in the words of the distribution's: nodes in containers may not lower an OOM score.
    settings = {"plugins": {"io.containerd.cri.v1.runtime": {"restrict_oom_score_adj": True}}}
    site = Playbook(machine, name="site")
    Playbook(machine, name="prepare").play().succeeded()
    assert "\nversion = 2\n" in machine.run("cat /etc/containerd/config.toml")

    store = Store(cache_root(os.environ))
    programs = store.ensure(program_artifact(store, ensure(store), containerd()))
    for program in sorted(programs.iterdir()):
        machine.run(f"cat > /usr/bin/new && chmod 0755 /usr/bin/new && mv /usr/bin/new /usr/bin/{program.name}", program.read_bytes())

    credentials = {"r.example.test": {"username": "jane", "password": "hers"}}
    renewed = site.using(kubephase_containerd_settings=settings, kubephase_registry_credentials=credentials)
    renewed.play().succeeded()
    assert "\nversion = 3\n" in machine.run("cat /etc/containerd/config.toml")
    machine.until(f"{KUBECTL} wait --for=condition=Ready node --all --timeout=9s", 120)
    runtime = machine.kubectl("get nodes -o jsonpath='{.items[*].status.nodeInfo.containerRuntimeVersion}'")
    assert runtime == f"containerd://{CONTAINERD_2}"
    pinned = machine.run("crictl inspecti $(crictl images --quiet registry.k8s.io/pause) | grep -c '\"pinned\": true'")
    assert int(pinned) == 1
    # Nothing in it is a word that this containerd does not know; it goes on without those.
    assert "unknown key in TOML" not in machine.run("journalctl -u containerd --no-pager -o cat")
    assert changed(renewed.play().succeeded()) == {}
