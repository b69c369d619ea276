# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One look at a host: files of /proc as kernels write them, and real sockets of this machine."""

from __future__ import annotations

import gzip
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from unit.preflight.preflight_cases import NOW, documents
from unit.world import Host, StandingClock

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.cri import Cri
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.listeners import listeners
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.probe import Probe
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.host import Cgroups, Questions
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.preflight import PreflightPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World

V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
V1 = "tmpfs /sys/fs/cgroup tmpfs ro 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"
CGROUPS = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t5\t1\nmemory\t4\t3\t1\npids\t0\t1\t0\n"


def host(root: Path, **files: str) -> Probe:
    """A host whose /proc and /sys have these files; double underscores stand for slashes."""
    (root / "proc").mkdir(exist_ok=True)
    for name, content in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Probe(str(root), services="no-such-program")


def test_memory_swap_and_settings(tmp_path: Path) -> None:
    probe = host(
        tmp_path,
        proc__meminfo="MemTotal:        2048000 kB\nMemFree: 1 kB\n",
        proc__swaps="Filename\tType\tSize\tUsed\tPriority\n/dev/dm-1 partition 1 0 -2\n",
        proc__sys__net__x="1\n",
    )
    found = probe.look(Questions(sysctls=("/proc/sys/net/x", "/proc/sys/net/y"), executables=("sh", "no-such-program")))
    assert (found.memory_mb, found.swaps, found.services) == (2000, ("/dev/dm-1",), None)
    assert found.sysctls == {"/proc/sys/net/x": "1\n", "/proc/sys/net/y": None}
    assert found.executables["sh"].endswith("/sh")
    assert found.executables["no-such-program"] == ""
    assert found.cpus == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("mounts", "extra", "expected"),
    [
        (V2, {"sys__fs__cgroup__cgroup.controllers": "cpu memory\n"}, Cgroups(2, ("devices", "cpu", "memory"))),
        (
            V2,
            {"sys__fs__cgroup__cgroup.controllers": "cpu\n", "sys__fs__cgroup__system.slice__cgroup.freeze": "0"},
            Cgroups(2, ("devices", "freezer", "cpu")),
        ),
        (V1, {"proc__cgroups": CGROUPS, "sys__fs__cgroup__memory__tasks": ""}, Cgroups(1, ("cpu", "memory"))),
        ("cgroup /cg/cpu cgroup rw 0 0\n", {"proc__cgroups": CGROUPS}, Cgroups(1, ("cpu", "memory"))),
        (
            "cgroup /cg/cpu cgroup rw 0 0\ncgroup2 /cg/u cgroup2 rw 0 0\n",
            {"cg__u__cgroup.controllers": "cpu"},
            Cgroups(2, ("devices", "cpu")),
        ),
        ("proc /proc proc rw 0 0\n", {}, Cgroups()),
    ],
)
def test_control_groups(tmp_path: Path, mounts: str, extra: dict[str, str], expected: Cgroups) -> None:
    assert host(tmp_path, proc__mounts=mounts, **extra).look(Questions()).cgroups == expected


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"proc__net__route": "Iface Destination Gateway\neth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n"}, True),
        ({"proc__net__route": "Iface Destination Gateway\neth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"}, False),
        ({"proc__net__ipv6_route": f"{'0' * 32} 00 {'0' * 32} 00 {'f' * 32} 00000400 00000001 00000000 00000003 eth0\n"}, True),
        ({"proc__net__ipv6_route": f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 00000001 00000000 00200200 lo\n"}, False),
        ({}, False),
    ],
)
def test_default_routes(tmp_path: Path, files: dict[str, str], found: bool) -> None:
    assert host(tmp_path, **files).look(Questions()).default_route is found


def test_kernel_options(tmp_path: Path) -> None:
    probe = host(tmp_path)
    assert probe.look(Questions()).kernel_config is None
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b'# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=m\nCONFIG_D="x"\n'))
    assert probe.look(Questions()).kernel_config == {"B": "y", "C": "m", "D": '"'}


def test_names_are_looked_up() -> None:
    found = Probe(services="no-such-program").look(Questions(node_name="localhost", addresses=("127.0.0.1", "192.0.2.123")))
    assert {"127.0.0.1", "::1"} & set(found.name_addresses)
    assert found.own_addresses == {"127.0.0.1": True, "192.0.2.123": False}
    unknown = Probe(services="no-such-program").look(Questions(node_name="no such name."))
    assert unknown.name_addresses == ()
    assert unknown.name_problem


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"), (socket.AF_INET6, "::")])
def test_a_listener_is_found_with_its_process(family: Any, address: str) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind((address, 0))
        port = server.getsockname()[1]
        assert listeners([port]) == ()
        server.listen()
        (found,) = listeners([port, 1])
    assert (found.port, found.address) == (port, address)
    assert found.process is not None
    assert found.process.pid == os.getpid()
    assert found.process.program == os.path.basename(os.path.realpath(sys.executable))
    own = Path("/proc/self/cmdline").read_bytes().decode().rstrip("\0").split("\0")
    assert list(found.process.arguments) == own
    assert own[-1] not in repr(found)


def test_a_listener_whose_process_cannot_be_seen(tmp_path: Path) -> None:
    header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    row = "   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 100 0 0 10 0\n"
    other = row.replace(" 0A ", " 01 ").replace("192B", "192C")
    host(tmp_path, proc__net__tcp=header + row + other)
    (found,) = listeners([6443, 6444], str(tmp_path))
    assert (found.port, found.process) == (6443, None)


def test_directories_and_large_files(tmp_path: Path) -> None:
    probe = host(tmp_path, d__b="x", d__a="y", big="-" * 100000 + "needle" + "-" * 100000, empty="")
    assert probe.entries("/d") == ("a", "b")
    assert probe.entries("/none") is None
    assert probe.entries("/big") == ("big",)
    assert probe.holds("/big", b"needle")
    assert not any(probe.holds(path, b"other") for path in ("/big", "/empty", "/none"))


def test_a_whole_look_asks_for_what_the_checks_are_about(tmp_path: Path) -> None:
    authority = "-----BEGIN CERTIFICATE-----\nMIIBabc\ndef\n-----END CERTIFICATE-----\n"
    probe = host(
        tmp_path,
        proc__sys__net__ipv4__ip_forward="1",
        var__lib__etcd__member__snap__db="..MIIBabc\ndef..",
    )
    (tmp_path / "etc/kubernetes/pki").mkdir(parents=True)
    (tmp_path / "etc/kubernetes/pki/ca.crt").write_text(authority)
    (tmp_path / "etc/kubernetes/manifests/etcd.yaml").mkdir(parents=True)
    world = World(files=Files(str(tmp_path)), probe=probe, cri=Cri("/none"), clock=StandingClock(NOW), host=Host())
    seen = PreflightPhase().read(documents(node={"criSocket": f"unix://{tmp_path}/none.sock"}), world, {})
    assert seen.etcd_data_is_ours
    assert seen.directories == {"/var/lib/etcd": ("member",)}
    assert seen.files["/etc/kubernetes/manifests/etcd.yaml"] == "a directory is where a file should be"
    assert seen.host.sysctls == {"/proc/sys/net/ipv4/ip_forward": "1"}
    assert set(seen.host.executables) == {"losetup", "mount", "cp", "crictl"}
    assert seen.host.own_addresses == {"192.0.2.10": False}
    assert seen.runtime.problem.endswith("none.sock does not exist")
    (tmp_path / "etc/kubernetes/pki/ca.crt").write_text(authority.replace("def", "xyz"))
    assert not PreflightPhase().read(documents(), world, {}).etcd_data_is_ours
