# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster whose first control plane stays, and whose other nodes are members or virgin as a test wants them."""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from live.fleet import Fleet
from live.node import KUBECTL, ROOT, Node, lab
from live.playbook import Playbook, Report
from live.running import Running, changed

from lab.nodes import remove as remove_containers
from lab.podman import podman

_PKI = "/etc/kubernetes/pki/etcd"
_BESIDE = "https://127.0.0.1:2379"
_ETCDCTL = (
    "crictl exec $(crictl ps -q --state Running --name '^etcd$' | head -1) etcdctl --command-timeout=5s "
    f"--endpoints {_BESIDE} --cacert {_PKI}/ca.crt --cert {_PKI}/healthcheck-client.crt --key {_PKI}/healthcheck-client.key"
)
_CANARY, _SONG = "/kubephase-test/canary", "sings"
_STAGE = Path(__file__).with_name("etcd_stage.py")
# What a node has from a join, whole or not.
_TRACES = "ls /etc/kubernetes/*.conf /etc/kubernetes/manifests/* /etc/kubernetes/pki/* /var/lib/kubelet/config.yaml 2>/dev/null"
# A node that has lost its power never says goodbye; without this, ssh would wait for it for ever.
_SSH = "-o ControlMaster=auto -o ControlPersist=60s -o ServerAliveInterval=5 -o ServerAliveCountMax=3"


@dataclass(frozen=True)
class Member:
    """A member of etcd as the cluster lists it."""

    identity: int
    name: str
    peer: str
    votes: bool


@dataclass(frozen=True)
class Cluster:
    """The nodes, and the cluster that the first of them has made."""

    fleet: Fleet

    def __getitem__(self, name: str) -> Node:
        return self.fleet[name]

    @property
    def first(self) -> Node:
        """The control plane that stays."""
        return self.fleet["cp1"]

    def names(self, *short: str) -> str:
        """Spell nodes as --limit takes them."""
        return ",".join(self[name].name for name in short)

    # What there is ---------------------------------------------------------------------------------------------------

    def etcdctl(self, arguments: str) -> str:
        """Ask etcd on the first control plane; what is read there, a majority has agreed to."""
        return self.first.run(f"{_ETCDCTL} {arguments}")

    def members(self) -> dict[str, Member]:
        """The members of etcd, by the node that each is on."""
        address = {f"https://{node.address}:2380": short for short, node in self.fleet.nodes.items()}
        found = json.loads(self.etcdctl("member list -w json"))["members"]
        listed = [Member(each["ID"], each.get("name", ""), each["peerURLs"][0], not each.get("isLearner", False)) for each in found]
        return {address[member.peer]: member for member in listed}

    def nodes(self) -> dict[str, str]:
        """The Node objects, with the state of their condition Ready."""
        found = json.loads(self.first.kubectl("get nodes -o json"))["items"]
        ready = {
            item["metadata"]["name"]: next((each["status"] for each in item["status"].get("conditions", ()) if each["type"] == "Ready"), "")
            for item in found
        }
        return {short: ready[node.name] for short, node in self.fleet.nodes.items() if node.name in ready}

    def joined(self) -> set[str]:
        """The nodes that have joined to the end."""
        nodes, members = self.nodes(), self.members()
        return {
            short
            for short in nodes
            if (not short.startswith("cp") or (short in members and members[short].votes))
            and self[short].attempt("test -e /etc/kubernetes/kubelet.conf -a ! -e /etc/kubernetes/bootstrap-kubelet.conf").returncode == 0
        }

    def secrets(self) -> dict[str, str]:
        """Every Secret with its resourceVersion."""
        items = json.loads(self.first.kubectl("get secrets -A -o json"))["items"]
        return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}

    def leftovers(self) -> set[str]:
        """The Secrets that a join has made for itself: tokens, and certificates that are handed over."""
        return {name for name in self.secrets() if name.startswith(("bootstrap-token-", "kubephase-", "kubeadm-certs"))}

    # How it becomes what a test wants --------------------------------------------------------------------------------

    def arrange(self, joined: Iterable[str] = (), virgin: Iterable[str] = ()) -> None:
        """Bring nodes to a state, from whatever an earlier test left."""
        self.power_on()
        self._sweep()
        there = self.joined()
        half = {name for name in self.fleet.nodes if name not in there and self._has_traces(name)}
        self.reset(*sorted((set(virgin) & (there | half)) | (set(joined) & half)))
        wanting = sorted(set(joined) - there)
        if wanting:
            self.join(*wanting).succeeded()
        self.etcdctl(f"put {_CANARY} {_SONG}")

    def _sweep(self) -> None:
        """Remove what the killed run of an earlier test left, before its half hour is over."""
        left = " ".join(sorted(self.leftovers()))
        if left:
            self.first.kubectl(f"-n kube-system delete secret --ignore-not-found {left}")

    def _has_traces(self, name: str) -> bool:
        return name in self.members() or name in self.nodes() or bool(self[name].run(f"{_TRACES} || true"))

    def reset(self, *names: str) -> None:
        """Make nodes virgin: out of etcd and out of the cluster, then a new machine each."""
        for name in names:
            member = self.members().get(name)
            if member is not None:
                self._expel(member)
            self.first.until(f"{KUBECTL} delete node {self[name].name} --ignore-not-found --wait=false")
        if names:
            self._hang_up(*names)
            remove_containers([self[name].name for name in names])
            self.power_on()

    def _expel(self, member: Member) -> None:
        """Remove a member; one of the others may hold the cluster for unhealthy for good after somebody had been away."""
        identity = f"{member.identity:x}"
        urls = [each.peer.replace(":2380", ":2379") for each in self.members().values() if each.identity != member.identity]
        tries = [f"{_ETCDCTL.replace(_BESIDE, url)} member remove {identity}" for url in urls]
        gone = f'{{ listed=$({_ETCDCTL} member list) && ! grep {identity} <<<"$listed"; }}'
        self.first.until(" || ".join([*tries, gone]))

    def power_off(self, *names: str) -> None:
        """Take the power from nodes."""
        podman("kill", "--signal", "KILL", *(self[name].name for name in names))
        self._hang_up(*names)

    def power_on(self) -> None:
        """Start what is off, make what is gone, and wait until the cluster answers."""
        lab("up", "--instance", self.first.instance)
        self.first.until(f"{KUBECTL} get --raw /readyz >/dev/null && {_ETCDCTL} get {_CANARY} >/dev/null", 180)

    def _hang_up(self, *names: str) -> None:
        """Close the connection that is kept open to a node, which would outlive it."""
        for name in names:
            node = self[name]
            subprocess.run(["ssh", *node.ssh, "-O", "exit", f"root@{node.address}"], capture_output=True, check=False, timeout=30)

    # Joins -----------------------------------------------------------------------------------------------------------

    def playbook(self, name: str = "join", hosts: Mapping[str, Mapping[str, Any]] | None = None) -> Playbook:
        """Give a playbook for the whole inventory, with variables of single hosts as a user would write them there."""
        inventory = None
        if hosts:
            inventory = self.first.inventory.parent / "more-inventory"
            inventory.mkdir(exist_ok=True)
            whole = inventory / "0-whole.yml"
            whole.write_text(self.first.inventory.read_text())
            content = {"all": {"hosts": {self[short].name: dict(variables) for short, variables in hosts.items()}}}
            (inventory / "1-more.yml").write_text(json.dumps(content))
        return Playbook(self.first, {}, {"ANSIBLE_SSH_ARGS": _SSH}, name, inventory)

    def start(self, *names: str, **variables: Any) -> Running:
        """Start a join of some nodes."""
        return Running(self.playbook().using(**variables), "--limit", self.names(*names))

    def join(self, *names: str, **variables: Any) -> Report:
        """Join some nodes, and wait for the end."""
        return self.start(*names, **variables).end()

    def module(self, name: str, module: str, **options: Any) -> Report:
        """Run one module on one node, outside of any playbook."""
        play = self.playbook()
        extra = play.command()[play.command().index("-e") + 1]
        command = ["ansible", self[name].name, "-i", str(self.first.inventory), "-e", extra, "-m", f"kubephase.cluster.{module}"]
        with tempfile.TemporaryDirectory() as place:
            environment = play.surroundings(Path(place, "record"))
            done = subprocess.run(
                [*command, "-a", json.dumps(options)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
        return Report(done.returncode, done.stdout + done.stderr, ())

    def freeze(self, name: str, stage: str, seconds: float = 170) -> None:
        """Wait on a joining node until its member of etcd is at a stage, and stop the module there at once."""
        arguments = f"{self.first.address} {self[name].address} {stage} {seconds:.0f}"
        self[name].run(f"python3 - {arguments}", _STAGE.read_bytes())

    def freeze_when(self, name: str, script: str, seconds: float = 170) -> None:
        """Wait on a node until a script succeeds there, and stop the module at once."""
        self[name].run(f"timeout {seconds:.0f} bash -c 'until {script}; do sleep 0.01; done'; pkill -STOP -xf /usr/bin/python3")

    def kill_modules(self, *names: str) -> None:
        """Kill the module that runs on a node, stopped or not."""
        for name in names:
            self[name].run("for p in $(pgrep -xf /usr/bin/python3); do kill -9 $p; done")

    # What must hold --------------------------------------------------------------------------------------------------

    def keeps_its_data(self) -> None:
        """See that a majority of etcd still knows the canary."""
        song = self.first.until(f"{_ETCDCTL} get --print-value-only {_CANARY}", 30)
        assert song.strip() == _SONG

    def converges(self, *names: str) -> None:
        """Run a join again, to its end, leaving no secret of its own; then once more, which must find nothing to do."""
        before = self.leftovers()
        self.join(*names).succeeded()
        assert self.leftovers() <= before
        self.settled(*names)

    def settled(self, *names: str) -> None:
        """See that nodes are members, that the cluster is well, and that another run changes nothing."""
        assert self.joined() >= set(names)
        before = self.secrets()
        again = self.join(*names).succeeded()
        assert changed(again) == {}
        assert self.secrets() == before
        self.keeps_its_data()
        members = self.members()
        assert all(member.votes and member.name == self[short].name for short, member in members.items())
        assert {name for name in names if name.startswith("cp")} <= set(members)
        self.etcdctl("endpoint health --cluster")

    def ends_by_itself(self, names: Iterable[str]) -> None:
        """See that Secrets which nobody was left to remove are tokens of half an hour at most, or are owned by such a token."""
        items = json.loads(self.first.kubectl("-n kube-system get secrets -o json"))["items"]
        for item in items:
            name, data = item["metadata"]["name"], item.get("data") or {}
            if name not in names:
                continue
            owners = [owner["name"] for owner in item["metadata"].get("ownerReferences") or ()]
            if owners:
                assert set(owners) <= set(names)
                continue
            assert base64.b64decode(data["description"]).startswith(b"kubephase join")
            end = datetime.fromisoformat(base64.b64decode(data["expiration"]).decode().replace("Z", "+00:00"))
            assert end - datetime.now(timezone.utc) <= timedelta(minutes=30)
