# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Command lines, probes, quantities and texts: the small rules that parity with kubeadm rests on."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents, NodeFacts
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Arg
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.arguments import command_line, with_flags_of
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.control_plane import (
    Surroundings,
    api_server,
    controller_manager,
    scheduler,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.etcd import etcd
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.manifest_text import dump, load
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.pods import pod
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.settled import quantity

DEFAULTS = [("b", "2"), ("a", "1"), ("c", "3")]
EXTRA = (Arg("z", "9"), Arg("b", "8"), Arg("a-b", "7"), Arg("b", "6"))


def docs(version: str = "v1.37.1", address: str = "192.0.2.10", **cluster: Any) -> Documents:
    return resolve(
        {"ClusterConfiguration": {"kubernetesVersion": version, **cluster}},
        NodeFacts(hostname="cp1", advertise_address=address, cri_sockets=()),
    )


@pytest.mark.parametrize(
    ("keep_order", "expected"),
    [
        (True, ["x", "--a=1", "--c=3", "--z=9", "--b=8", "--a-b=7", "--b=6"]),
        (False, ["x", "--a=1", "--a-b=7", "--b=6", "--b=8", "--c=3", "--z=9"]),
    ],
)
def test_arguments(keep_order: bool, expected: list[str]) -> None:
    assert command_line("x", DEFAULTS, EXTRA, keep_order) == expected


@pytest.mark.parametrize(
    ("command", "other", "expected"),
    [
        (["e", "--a=1", "--m=2", "--z=3"], ["e", "--m=9"], ["e", "--a=1", "--m=9", "--z=3"]),
        (["e", "--a=1", "--z=3", "--b=own"], ["e", "--m=9"], ["e", "--a=1", "--m=9", "--z=3", "--b=own"]),
        (["e", "--a=1", "--m=2"], ["e"], ["e", "--a=1"]),
        (["e", "--a=1", "--b=2"], ["e", "--m=9"], ["e", "--a=1", "--b=2", "--m=9"]),
        (["e"], ["e", 7, "--m", "--m=a=b"], ["e", "--m=a=b"]),
    ],
)
def test_flags_are_taken_over(command: list[str], other: list[Any], expected: list[str]) -> None:
    assert with_flags_of(command, other, ["m"]) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.5, "500m"), ("1000m", "1"), (1, "1"), ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"), ("100Mi", "100Mi"), (1000000, "1M"),
        ("0", "0"), ("1e3", "1e3"), ("much", "much"), (None, None), (True, True), ("0.5Ki", "512"),
    ],
)  # fmt: skip
def test_quantities(given: Any, expected: Any) -> None:
    assert quantity(given) == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("true", '"true"'), ("y", '"y"'), ("12", '"12"'), ("1.5", '"1.5"'), ("12:30", '"12:30"'), ("2001-01-01", '"2001-01-01"'),
        ("", '""'), ("~", '"~"'), ("1.2.3", "1.2.3"), ("a: b", "'a: b'"), ("*x", "'*x'"), ("it's", "it's"), ("0x1f", '"0x1f"'),
        ("v1", "v1"), ("<<", '"<<"'), ("a\nb", "|-\n  a\n  b"), ("--a=true", "--a=true"), ("192.0.2.10", "192.0.2.10"), ("::1", "::1"),
    ],
)  # fmt: skip
def test_texts_are_quoted_as_kubeadm_does(value: str, written: str) -> None:
    assert dump({"k": value}) == f"k: {written}\n"
    assert yaml.safe_load(dump({"k": value})) == {"k": value} == load(dump({"k": value}).encode())


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\x00", b"a: 1\n---\nb: 2\n", b"a: &x [*x", b"a: 2001-99-99\n"])
def test_what_is_no_document(content: bytes) -> None:
    with pytest.raises(ValueError, match="not one YAML document"):
        load(content)


def test_what_kubeadm_writes_plainly_is_read() -> None:
    assert load(b"a: <<\nb: =\n") == {"a": "<<", "b": "="}


@pytest.mark.parametrize(
    ("urls", "host", "port", "scheme"),
    [
        (None, "127.0.0.1", 2381, "HTTP"),
        ("http://0.0.0.0:2399,http://x:1", "0.0.0.0", 2399, "HTTP"),
        ("https://metrics.example.test", "metrics.example.test", 2381, "HTTPS"),
        ("http://[::1]:99/x", "::1", 99, "HTTP"),
        ("nonsense", "127.0.0.1", 2381, "HTTP"),
        ("http://:2400", "127.0.0.1", 2400, "HTTP"),
    ],
)
def test_where_etcd_is_probed(urls: str | None, host: str, port: int, scheme: str) -> None:
    local = {"extraArgs": {"listen-metrics-urls": urls}} if urls else {}
    health = etcd(docs(etcd={"local": local}), Surroundings(), (), None).health
    assert (health.host, health.port, health.scheme) == (host, port, scheme)


@pytest.mark.parametrize(
    ("version", "tag", "flag"),
    [
        ("v1.33.1", "3.6.5-0", "--experimental-initial-corrupt-check=true"),
        ("v1.34.1", "3.6.5-0", "--feature-gates=InitialCorruptCheck=true"),
        ("v1.34.1", "3.6.0-0", "--experimental-initial-corrupt-check=true"),
        ("v1.34.1", "v3.6.0", "--feature-gates=InitialCorruptCheck=true"),
        ("v1.35.1", "latest", "--experimental-initial-corrupt-check=true"),
        ("v1.36.1", "3.5.9-0", "--feature-gates=InitialCorruptCheck=true"),
    ],
)
def test_flags_of_etcd_follow_release_and_tag(version: str, tag: str, flag: str) -> None:
    assert flag in etcd(docs(version, etcd={"local": {"imageTag": tag}}), Surroundings(), (), None).command


@pytest.mark.parametrize(
    ("version", "args", "expected"),
    [
        ("v1.29.1", {"authorization-mode": "Node,Strange,RBAC"}, ["--authorization-mode=Node,RBAC"]),
        ("v1.29.1", {"authorization-mode": "Strange"}, ["--authorization-mode=Node,RBAC"]),
        ("v1.30.1", {"authorization-mode": "Strange"}, ["--authorization-mode=Strange"]),
        ("v1.29.1", {"authorization-config": "/x"}, ["--authorization-config=/x", "--authorization-mode=Node,RBAC"]),
        ("v1.30.1", {"authorization-config": "/x"}, ["--authorization-config=/x"]),
    ],
)
def test_authorization(version: str, args: dict[str, str], expected: list[str]) -> None:
    command = api_server(docs(version, apiServer={"extraArgs": args}), Surroundings()).command
    assert [word for word in command if word.startswith("--authorization")] == expected


@pytest.mark.parametrize(
    ("address", "bind", "hosts"),
    [
        ("192.0.2.10", "", ("192.0.2.10", "127.0.0.1", "127.0.0.1")),
        ("2001:db8::10", "::", ("2001:db8::10", "", "127.0.0.1")),
        ("192.0.2.10", "0.0.0.0", ("192.0.2.10", "", "127.0.0.1")),
        ("192.0.2.10", "192.0.2.10", ("192.0.2.10", "192.0.2.10", "127.0.0.1")),
    ],
)
def test_where_components_are_probed(address: str, bind: str, hosts: tuple[str, ...]) -> None:
    subnet = "fd00:10:96::/112" if ":" in address else "10.96.0.0/12"
    given = docs(
        address=address, networking={"serviceSubnet": subnet}, controllerManager={"extraArgs": {"bind-address": bind} if bind else {}}
    )
    components = (api_server, controller_manager, scheduler)
    assert tuple(build(given, Surroundings()).health.host for build in components) == hosts


@pytest.mark.parametrize(
    ("version", "port", "ports"),
    [("v1.33.1", 6443, None), ("v1.34.1", "probe-port", [{"name": "probe-port", "containerPort": 6443, "protocol": "TCP"}])],
)
def test_ports_of_probes(version: str, port: int | str, ports: Any) -> None:
    given = docs(version)
    container = pod(api_server(given, Surroundings()), given.known_release)["spec"]["containers"][0]
    assert container["livenessProbe"]["httpGet"]["port"] == port
    assert container.get("ports") == ports
