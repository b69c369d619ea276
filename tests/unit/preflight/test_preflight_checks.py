# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every check on a host that is broken in one place: its name, how bad it is, and what a person is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from unit.preflight.preflight_cases import ADDRESS, FORWARD, HEALTHY, NOW, OPTIONS, SYSCTLS, documents, judged, observed, outcomes

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Cgroups
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.preflight import _JUDGES, PreflightPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._release import release_for

V1 = Cgroups(1, ("cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids", "hugetlb", "blkio"))
EXTERNAL = {"etcd": {"external": {"endpoints": ["https://e1:2379"], "caFile": "/e/ca", "certFile": "/e/crt", "keyFile": "/e/key"}}}


def services(**changed: Any) -> dict[str, Any]:
    known = {"kubelet": ServiceState("kubelet", known=True, active=True, enabled=True)}
    return {"services": {**known, **{name: ServiceState(name, **state) for name, state in changed.items()}}}


def without(*names: str) -> dict[str, Any]:
    return {"executables": {**HEALTHY.executables, **dict.fromkeys(names, "")}}


def setting(path: str, value: str | None) -> dict[str, Any]:
    return {"sysctls": {**HEALTHY.sysctls, path: value}}


@pytest.mark.parametrize("version", [f"v1.{minor}.{patch}" for minor in range(22, 38) for patch in (0, 20)])
@pytest.mark.parametrize("mode", ["init", "join", "join_control_plane"])
def test_a_healthy_host_passes_in_every_release_and_mode(version: str, mode: str) -> None:
    docs = documents(version, cluster={"controlPlaneEndpoint": "api.test"})
    checks, plan = judged(docs, observed(docs), mode=mode, certificate_key_given=True)
    assert {name: check for name, check in checks.items() if check["outcome"] != "passed"} == {}
    assert plan is not None
    assert (plan.changes, plan.warnings) == ((), ())
    assert ("ImagePull" in checks) == (mode != "join")


def test_every_check_of_every_release_has_a_judge() -> None:
    kinds = {check.name.partition("-")[0] for minor in range(22, 38) for check in release_for(f"1.{minor}.0").preflight_checks}
    assert kinds - {"ImagePull"} <= set(_JUDGES)


# Release, what is broken about the host, the checks that then do not pass, and words of the report.
BROKEN: list[tuple[str, dict[str, Any], dict[str, str], str]] = [
    ("v1.37.1", {"cpus": 1}, {"NumCPU": "failed"}, "1 CPU is available, a control plane needs 2"),
    ("v1.37.1", {"memory_mb": 1699}, {"Mem": "failed"}, "1699 MB"),
    ("v1.37.1", services(firewalld={"known": True, "active": True, "enabled": True}), {"Firewalld": "warned"}, "6443/tcp and 10250/tcp"),
    ("v1.37.1", services(firewalld={"known": True, "active": False, "enabled": True}), {}, ""),
    ("v1.37.1", services(kubelet={"known": True, "active": True, "enabled": False}), {"Service-kubelet": "warned"}, "systemctl enable"),
    ("v1.34.0", services(kubelet={"known": True, "active": True, "enabled": False}), {"Service-Kubelet": "warned"}, "not enabled"),
    ("v1.37.1", services(kubelet={"known": False, "active": False, "enabled": False}), {"Service-kubelet": "warned"}, "no service kubelet"),
    ("v1.37.1", {"services": None}, {"Service-kubelet": "warned"}, "no systemd"),
    ("v1.37.1", setting(FORWARD, "0\n"), {"FileContent--proc-sys-net-ipv4-ip_forward": "failed"}, "net.ipv4.ip_forward is 0 instead of 1"),
    ("v1.37.1", setting(FORWARD, None), {"FileContent--proc-sys-net-ipv4-ip_forward": "failed"}, "does not exist"),
    ("v1.37.1", setting(SYSCTLS[2], "0\n"), {}, ""),
    ("v1.29.0", setting(SYSCTLS[2], None), {"FileContent--proc-sys-net-bridge-bridge-nf-call-iptables": "failed"}, "br_netfilter"),
    ("v1.37.1", {"swaps": ("/dev/sda2",)}, {"Swap": "failed"}, "swap is on (/dev/sda2)"),
    ("v1.37.1", without("losetup"), {"FileExisting-losetup": "failed"}, "losetup is not in the system's path"),
    ("v1.32.0", without("losetup", "nsenter"), {"FileExisting-nsenter": "failed"}, "util-linux"),
    ("v1.37.1", without("conntrack", "ebtables", "socat", "tc"), {}, ""),
    ("v1.28.14", without("ebtables"), {"FileExisting-ebtables": "warned"}, "ebtables"),
    ("v1.28.15", without("ebtables"), {}, ""),
    ("v1.31.0", without("conntrack"), {"FileExisting-conntrack": "failed"}, "conntrack"),
    ("v1.37.1", without("crictl"), {"FileExisting-crictl": "failed"}, "cri-tools"),
    ("v1.37.1", {"kernel": "5.14.0-503.el9"}, {"SystemVerification": "warned"}, "5.14.0-503.el9"),
    ("v1.33.0", {"kernel": "5.14.0-503.el9"}, {}, ""),
    ("v1.33.0", {"kernel": "4.18.0-553.el8"}, {"SystemVerification": "failed"}, "4.18.0"),
    ("v1.22.0", {"kernel": "4.18.0-553.el8"}, {}, ""),
    ("v1.37.1", {"cgroups": V1}, {"SystemVerification": "failed"}, "cgroups of version 1"),
    ("v1.34.0", {"cgroups": V1}, {"SystemVerification": "warned"}, "cgroups of version 1"),
    ("v1.31.0", {"cgroups": V1}, {}, ""),
    ("v1.37.1", {"cgroups": Cgroups()}, {"SystemVerification": "failed"}, "no control group hierarchy"),
    (
        "v1.37.1",
        {"cgroups": Cgroups(2, ("cpu", "cpuset", "devices", "freezer", "pids", "io", "hugetlb"))},
        {"SystemVerification": "failed"},
        "memory",
    ),
    (
        "v1.37.1",
        {"cgroups": Cgroups(2, ("cpu", "cpuset", "devices", "freezer", "memory", "pids"))},
        {"SystemVerification": "warned"},
        "hugetlb, io",
    ),
    ("v1.37.1", {"kernel_config": {**dict.fromkeys(OPTIONS, "y"), "MEMCG": "n"}}, {"SystemVerification": "failed"}, "without MEMCG"),
    ("v1.37.1", {"kernel_config": {**dict.fromkeys(OPTIONS, "m"), "CGROUP_DEVICE": "n"}}, {}, ""),
    (
        "v1.31.0",
        {"kernel_config": {**dict.fromkeys(OPTIONS, "m"), "CGROUP_DEVICE": "n"}},
        {"SystemVerification": "failed"},
        "CGROUP_DEVICE",
    ),
    ("v1.37.1", {"kernel_config": None}, {"SystemVerification": "warned"}, "nowhere to be read"),
    ("v1.37.1", {"name_addresses": (), "name_problem": "Name or service not known"}, {"Hostname": "warned"}, "Name or service not known"),
    ("v1.37.1", {"default_route": False}, {"DefaultRoute": "warned"}, "no default route"),
    ("v1.37.1", {"file_dates": {"/usr/bin/kubelet": (NOW + timedelta(days=300)).timestamp()}}, {"Clock": "failed"}, "300 days after that"),
    ("v1.37.1", {"file_dates": {"/usr/bin/kubelet": (NOW + timedelta(minutes=50)).timestamp()}}, {}, ""),
    ("v1.37.1", {"privileged": False, "cpus": 1}, {"IsPrivilegedUser": "failed"}, "become"),
]


@pytest.mark.parametrize(("version", "broken", "expected", "words"), BROKEN)
def test_what_a_broken_host_is_told(version: str, broken: dict[str, Any], expected: dict[str, str], words: str) -> None:
    docs = documents(version)
    seen = observed(docs, broken)
    assert outcomes(docs, seen) == expected
    checks, _plan = judged(docs, seen)
    told = [f"{check['found']}. {check['fix']}" for name, check in checks.items() if name in expected]
    assert all(words in line for line in told), told
    assert all(checks[name]["fix"] for name in expected)


# Documents, what is broken about the host, and what does not pass.
ASKED: list[tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = [
    ({"kubelet": {"failSwapOn": False}}, {"swaps": ("/swap",)}, {"Swap": "warned"}),
    ({"node": {"kubeletExtraArgs": [{"name": "fail-swap-on", "value": "false"}]}}, {"swaps": ("/swap",)}, {"Swap": "warned"}),
    ({"cluster": {"networking": {"podSubnet": "10.0.0.0/16,fd00::/48", "serviceSubnet": "10.1.0.0/16,fd01::/112"}}},
     setting(SYSCTLS[1], "0"), {"FileContent--proc-sys-net-ipv6-conf-default-forwarding": "failed"}),
    ({"version": "v1.26.0", "cluster": {"networking": {"podSubnet": "10.0.0.0/16,fd00::/48", "serviceSubnet": "10.1.0.0/16,fd01::/112"}}},
     setting(SYSCTLS[1], "0"), {}),
    ({"node": {"name": "x" * 64}}, {}, {"Hostname": "warned"}),
    ({"node": {"ignorePreflightErrors": ["numcpu"]}}, {"cpus": 1}, {"NumCPU": "ignored"}),
    ({"node": {"ignorePreflightErrors": ["all"]}}, {"cpus": 1, "memory_mb": 1}, {"NumCPU": "ignored", "Mem": "ignored"}),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "broken", "expected"), ASKED)
def test_the_documents_decide(asked: dict[str, Any], broken: dict[str, Any], expected: dict[str, str]) -> None:
    docs = documents(**asked)
    assert outcomes(docs, observed(docs, broken)) == expected


@pytest.mark.parametrize(
    ("version", "kubelet", "mode", "outcome"),
    [
        ("v1.37.1", "v1.37.4", "init", None),
        ("v1.37.1", "v1.34.0", "init", None),
        ("v1.37.1", "v1.33.9", "init", "failed"),
        ("v1.28.0", "v1.26.0", "init", "failed"),
        ("v1.28.0", "v1.27.0", "init", None),
        ("v1.36.0", "v1.37.0", "init", "failed"),
        ("v1.36.0", "v1.37.0", "join", None),
        ("v1.37.1", "", "init", "failed"),
        ("v1.37.1", "unknown", "init", "failed"),
    ],
)
def test_versions_of_the_kubelet(version: str, kubelet: str, mode: str, outcome: str | None) -> None:
    docs = documents(version)
    assert outcomes(docs, observed(docs, kubelet_version=kubelet), mode=mode).get("KubeletVersion") == outcome


@pytest.mark.parametrize(("kubelet", "outcome"), [("v1.34.9", "warned"), ("v1.35.0", "failed"), ("", "failed")])
def test_the_kubelet_decides_how_bad_cgroups_of_version_1_are(kubelet: str, outcome: str) -> None:
    docs = documents("v1.36.0")
    assert outcomes(docs, observed(docs, {"cgroups": V1}, kubelet_version=kubelet))["SystemVerification"] == outcome


@pytest.mark.parametrize(
    ("version", "kubelet", "runtime", "expected"),
    [
        ("v1.37.1", {}, {"problem": "nobody listens on /run/x.sock"}, {"CRI": "failed", "ContainerRuntimeVersion": "failed"}),
        ("v1.34.0", {}, {"problem": "nobody listens on /run/x.sock"}, {"CRI": "failed"}),
        ("v1.37.1", {}, {"tells_config": False}, {"ContainerRuntimeVersion": "warned"}),
        ("v1.34.0", {}, {"tells_config": False}, {}),
        ("v1.37.1", {}, {"tells_config": None}, {}),
        ("v1.37.1", {}, {"tells_config": True, "cgroup_driver": "cgroupfs"}, {}),
        ("v1.37.1", {"featureGates": {"KubeletCgroupDriverFromCRI": False}}, {"cgroup_driver": "cgroupfs"}, {"CgroupDriver": "failed"}),
        ("v1.30.0", {}, {"tells_config": True, "cgroup_driver": "cgroupfs"}, {"CgroupDriver": "failed"}),
        ("v1.34.0", {}, {"tells_config": False, "cgroup_driver": "cgroupfs"}, {"CgroupDriver": "failed"}),
        ("v1.34.0", {"cgroupDriver": "cgroupfs"}, {"tells_config": False, "cgroup_driver": "cgroupfs"}, {}),
        ("v1.34.0", {"cgroupDriver": "cgroupfs"}, {"tells_config": False, "cgroup_driver": ""}, {}),
    ],
)
def test_runtimes(version: str, kubelet: dict[str, Any], runtime: dict[str, Any], expected: dict[str, str]) -> None:
    docs = documents(version, kubelet=kubelet)
    assert outcomes(docs, observed(docs, runtime=runtime)) == expected


def test_docker_of_old_releases_is_refused_with_advice() -> None:
    docs = documents("v1.22.0", node={"criSocket": "/var/run/dockershim.sock"})
    checks, _plan = judged(docs, observed(docs, services(docker={"known": True, "active": False, "enabled": False})))
    assert "Install containerd" in checks["CRI"]["fix"]
    assert checks["Service-Docker"]["outcome"] == "failed"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("3.5.24", None),
        ("3.6.0", None),
        ("3.5.23", "at least 3.5.24-0"),
        ("", "version unknown"),
        ("!it does not answer: Connection refused", "https://e1:2379: it does not answer"),
    ],
)
def test_an_external_etcd(said: str, words: str | None) -> None:
    docs = documents(cluster=EXTERNAL)
    files = dict.fromkeys(("/e/ca", "/e/crt", "/e/key"), "unread")
    checks, _plan = judged(docs, observed(docs, etcd_versions={"https://e1:2379": said}, files=files))
    assert checks["ExternalEtcdVersion"]["outcome"] == ("failed" if words else "passed")
    assert (words or "") in checks["ExternalEtcdVersion"]["found"]
    assert not {"Port-2379", "Port-2380", "DirAvailable--var-lib-etcd"} & set(checks)


def test_certificates_of_an_external_etcd() -> None:
    docs = documents(cluster=EXTERNAL)
    checks, _plan = judged(docs, observed(docs, files={"/e/ca": "unread"}))
    assert checks["ExternalEtcdClientCertificates"]["found"] == "/e/crt does not exist; /e/key does not exist"
    joining = {"mode": "join_control_plane", "ignore_errors": ["all"]}
    assert judged(docs, observed(docs), **joining)[0]["ExternalEtcdClientCertificates"]["outcome"] == "ignored"
    assert judged(docs, observed(docs), **joining, certificate_key_given=True)[0]["ExternalEtcdClientCertificates"]["outcome"] == "passed"


@pytest.mark.parametrize(
    ("minutes", "outcome"), [(0, None), (4, None), (-4, None), (6, "warned"), (-6, "warned"), (61, "failed"), (-100000, "failed")]
)
def test_the_controllers_clock(minutes: int, outcome: str | None) -> None:
    docs = documents()
    theirs = (NOW + timedelta(minutes=minutes)).isoformat()
    assert outcomes(docs, observed(docs), reference_time=theirs).get("Clock") == outcome
    assert outcomes(docs, observed(docs), reference_time=theirs.replace("+00:00", "Z")).get("Clock") == outcome
    assert outcomes(docs, observed(docs), reference_time=theirs.replace("+00:00", "")).get("Clock") == outcome


def test_a_reference_that_is_no_time() -> None:
    docs = documents()
    with pytest.raises(Unusable, match="'noon' is not a time"):
        PreflightPhase().plan(docs, observed(docs), {"reference_time": "noon"})


def test_everything_that_failed_is_told_at_once_and_the_rest_too() -> None:
    docs = documents()
    broken = {"cpus": 1, "memory_mb": 512, "swaps": ("/swap",), "default_route": False}
    with pytest.raises(ManyUnusable) as report:
        PreflightPhase().plan(docs, observed(docs, broken), {"ignore_errors": ["MEM"]})
    assert [finding.where for finding in report.value.findings] == ["NumCPU", "Swap"]
    told = {check["name"]: (check["outcome"], check["severity"]) for check in report.value.facts["checks"]}
    assert told["Mem"] == ("ignored", "error")
    assert told["DefaultRoute"] == ("warned", "warning")
    assert told["Port-6443"] == ("passed", "error")
    assert [line.partition(":")[0] for line in report.value.warnings] == ["preflight Mem", "preflight DefaultRoute"]  # type: ignore[attr-defined]


def test_join_knows_the_family_of_an_endpoint_that_is_an_address() -> None:
    broken = {"sysctls": dict.fromkeys(SYSCTLS, "0")}
    token = {"token": "abcdef.0123456789abcdef", "unsafeSkipCAVerification": True}
    families = {"192.0.2.1:6443": {"ipv4-ip_forward"}, "[2001:db8::1]:6443": {"ipv6-conf-default-forwarding"}, "api.test:6443": set()}
    for endpoint, expected in families.items():
        docs = documents(join={"discovery": {"bootstrapToken": {**token, "apiServerEndpoint": endpoint}}})
        failed = outcomes(docs, observed(docs, broken), mode="join")
        assert set(failed) == {f"FileContent--proc-sys-net-{name}" for name in expected}, endpoint


def test_an_address_that_is_not_of_this_host() -> None:
    docs = documents()
    checks, _plan = judged(docs, observed(docs, {"own_addresses": {ADDRESS: False}}))
    assert {name for name, check in checks.items() if check["outcome"] == "failed"} == {"Port-2379", "Port-2380"}
    assert f"{ADDRESS}, which is no address of this host" in checks["Port-2379"]["found"]
    assert outcomes(documents("v1.36.0"), observed(documents("v1.36.0"), {"own_addresses": {ADDRESS: False}})) == {}
