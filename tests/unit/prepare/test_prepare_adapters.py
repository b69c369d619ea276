# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The adapters of prepare against directories that look like a host, and programs that answer as a host's own do."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from unit.prepare.prepare_cases import Programs, refusals

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import programs as programs_module
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters import systemd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.boot import Boot
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.bundle_files import BundleFiles
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.containerd import Containerd
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.files import Files
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.firewall import Firewall
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.kernel import Kernel
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.packages import Packages
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.firewall import OpenPorts, Port
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.kernel import LoadModule, SetSysctl, SwapOff
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.offline import ImportImages, InstallFile, VerifyStaged
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.packages import (
    FetchKey,
    HoldPackages,
    InstallPackageFiles,
    InstallPackages,
    PackageState,
    RequireLibraries,
    System,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import EnableService

REPOSITORY = "http://192.0.2.1/k8s/"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path, monkeypatch, programs_module)


def put(root: Path, path: str, content: str = "") -> Path:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)
    return target


# The kernel


def test_modules_that_are_loaded_built_in_or_show_themselves(tmp_path: Path) -> None:
    put(tmp_path, "/proc/modules", "br_netfilter 32768 0 - Live 0x0\nveth 1 0 - Live 0x0\n")
    put(tmp_path, f"/lib/modules/{os.uname().release}/modules.builtin", "kernel/net/ip-vs.ko\nkernel/net/nf_tables.ko\n")
    put(tmp_path, "/proc/filesystems", "nodev\toverlay\n\text4\n")
    put(tmp_path, "/proc/sys/net/netfilter/nf_conntrack_max", "1\n")
    names = ("br_netfilter", "ip_vs", "nf_tables", "overlay", "nf_conntrack", "ip_vs_rr")
    found = Kernel(str(tmp_path)).look(names, ()).modules
    assert found == {**dict.fromkeys(names, True), "ip_vs_rr": False}


def test_settings_are_read_and_written(tmp_path: Path) -> None:
    place = put(tmp_path, "/proc/sys/net/ipv4/ip_forward", "0\n")
    kernel = Kernel(str(tmp_path))
    assert kernel.look((), ("net.ipv4.ip_forward", "net.bridge.bridge-nf-call-iptables")).settings == {
        "net.ipv4.ip_forward": "0",
        "net.bridge.bridge-nf-call-iptables": None,
    }
    kernel.apply(SetSysctl("net.ipv4.ip_forward", "1"))
    assert place.read_text() == "1\n"


def test_a_kernel_that_refuses_is_told(tmp_path: Path, programs: Programs) -> None:
    assert refusals(Kernel(str(tmp_path)).apply, SetSysctl("net.ipv4.ip_forward", "1"))[0].startswith(
        "net.ipv4.ip_forward: the kernel refuses the value 1: No such file or directory. In a container, set it on the machine"
    )
    programs.have("modprobe", "echo 'modprobe: FATAL: Module br_netfilter not found' >&2", 1)
    assert "it cannot be loaded: modprobe: FATAL: Module br_netfilter not found" in refusals(Kernel().apply, LoadModule("br_netfilter"))[0]
    programs.have("swapoff", "echo 'swapoff: failed: Cannot allocate memory' >&2", 1)
    assert "Free memory" in refusals(Kernel().apply, SwapOff("/dev/sda2"))[0]


def test_the_clock_of_this_machine_can_be_asked() -> None:
    assert Kernel().look((), ()).clock_synchronised in (True, False)


# Firewalls


def test_firewalld(programs: Programs) -> None:
    programs.have(
        "firewall-cmd", 'case "$*" in --permanent*) echo 6443/tcp 30000-32767/tcp;; *) echo 6443/tcp 10250/tcp 30000-32767/tcp;; esac'
    )
    assert Firewall().state("firewalld").opened == (Port(6443), Port(30000, "tcp", "", 32767))
    Firewall().apply(OpenPorts("firewalld", (Port(10250), Port(2379, "tcp", "", 2380))))
    assert programs.asked()[2:] == [
        "firewall-cmd --add-port=10250/tcp --add-port=2379-2380/tcp",
        "firewall-cmd --permanent --add-port=10250/tcp --add-port=2379-2380/tcp",
    ]


def test_ufw(programs: Programs) -> None:
    rules = "Status: active\n\n6443/tcp   ALLOW       Anywhere\n30000:32767/udp  ALLOW IN  Anywhere\n"
    rules += "22/tcp  ALLOW  10.0.0.0/8\n80/tcp DENY Anywhere"
    programs.have("ufw", f"cat <<'X'\n{rules}\nX")
    assert Firewall().state("ufw").opened == (Port(6443), Port(30000, "udp", "", 32767))
    Firewall().apply(OpenPorts("ufw", (Port(2379, "tcp", "", 2380),)))
    assert programs.asked()[-1] == "ufw allow 2379:2380/tcp"


def test_a_firewall_that_fails_is_told(programs: Programs) -> None:
    programs.have("ufw", "echo 'ERROR: problem running' >&2", 1)
    assert "ERROR: problem running" in refusals(Firewall().state, "ufw")[0]


# Packages


@pytest.mark.parametrize(
    ("release", "have", "manager"),
    [
        ('ID=debian\nPRETTY_NAME="Debian GNU/Linux 12"\n', "apt-get", "apt"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n', "apt-get", "apt"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\nPRETTY_NAME="Debian GNU/Linux 12"\n', "dnf", "dnf"),
        ("ID=alpine\nPRETTY_NAME='Debian GNU/Linux 12'\n", "apk", ""),
        ("ID=debian\nPRETTY_NAME='Debian GNU/Linux 12'\n", "nothing", ""),
    ],
)
def test_systems(tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch, release: str, have: str, manager: str) -> None:
    monkeypatch.setattr(programs_module, "PLACES", "")
    programs.have(have)
    put(tmp_path, "/etc/os-release", release)
    found = Packages(Files(str(tmp_path))).system()
    assert found == System("Debian GNU/Linux 12", manager, found.architecture)
    assert found.architecture in ("amd64", "arm64")


def test_installed_and_held(programs: Programs) -> None:
    programs.have(
        "dpkg-query", r"printf 'kubelet\t1.37.1-1.1\tinstalled\thold\nrunc\t1.1\tinstalled\tinstall\nold\t1\tconfig-files\tdeinstall\n'", 1
    )
    assert Packages(Files()).installed("apt", ["kubelet", "runc", "old", "absent"]) == {
        "kubelet": PackageState("1.37.1-1.1", held=True),
        "runc": PackageState("1.1"),
    }


WANTED = InstallPackages("apt", ("kubelet", "containerd"), {"kubelet": "1.37.1-*"}, REPOSITORY)


def test_apt_is_patient_and_never_asks(programs: Programs) -> None:
    programs.have("apt-get", 'echo "$DEBIAN_FRONTEND" >&2')
    Packages(Files()).apply(WANTED)
    updated, done = programs.asked("apt-get")
    assert updated.endswith(" update")
    assert done.endswith(" install --no-install-recommends --allow-downgrades --allow-change-held-packages kubelet=1.37.1-* containerd")
    assert "DPkg::Lock::Timeout=" in done
    programs.have("apt-mark")
    Packages(Files()).apply(HoldPackages(("kubelet", "kubectl")))
    assert programs.asked("apt-mark") == ["apt-mark hold kubelet kubectl"]


def apt(update: str = "", install: str = "", status: int = 100) -> str:
    cases = f'case "$*" in *" update"*) {update or "true"}; exit 0;; *" install "*) {install or "true"}; exit {status};; esac'
    return f"{cases}"


@pytest.mark.parametrize(
    ("script", "where", "words"),
    [
        (
            apt(f"echo 'W: Failed to fetch {REPOSITORY}InRelease  Could not connect to 192.0.2.1:80'"),
            REPOSITORY,
            "the repository does not answer as one: W: Failed to fetch",
        ),
        (
            apt(f"echo 'Err:2 {REPOSITORY} InRelease' ; echo 'W: GPG error: {REPOSITORY} InRelease: NO_PUBKEY 1' >&2"),
            REPOSITORY,
            "NO_PUBKEY",
        ),
        (
            apt(install="echo \"E: Version '1.37.1-*' for 'kubelet' was not found\" >&2"),
            "kubelet 1.37.1-*",
            f"{REPOSITORY} does not have it; there are 1.37.0-1.1, 1.36.4-1.1",
        ),
        (apt(install="echo 'E: Unable to locate package kubelet' >&2"), "kubelet 1.37.1-*", "does not have it"),
        (
            apt(install='echo "E: You don\'t have enough free space in /var/cache/apt/archives/." >&2'),
            "apt-get install",
            "there is no space: E: You don't have enough free space",
        ),
        (
            apt(install="echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1' >&2"),
            "apt-get install",
            "another program has held the lock of the packages for 300 s",
        ),
        (apt(install="echo 'E: dpkg was interrupted, you must manually run' >&2"), "dpkg", "it was interrupted before"),
        (apt(install="echo 'E: Unable to correct problems, you have held broken packages.' >&2"), "apt-get install", "broken packages"),
    ],
    ids=["no answer", "no key", "no version", "no package", "no space", "lock", "interrupted", "other"],
)
def test_what_apt_fails_with_is_explained(programs: Programs, script: str, where: str, words: str) -> None:
    programs.have("apt-get", script)
    programs.have("apt-cache", "echo ' kubelet | 1.37.0-1.1 | x'; echo ' kubelet | 1.36.4-1.1 | x'")
    found = refusals(Packages(Files()).apply, WANTED)
    assert len(found) == 1
    assert found[0].startswith(f"{where}: ")
    assert words in found[0]


def test_a_repository_that_is_not_ours_may_be_down(programs: Programs) -> None:
    programs.have("apt-get", apt("echo 'W: Failed to fetch http://elsewhere.example/dists'", status=0))
    Packages(Files()).apply(WANTED)


def test_package_files_are_installed_without_any_source(programs: Programs) -> None:
    programs.have("apt-get")
    Packages(Files()).apply(InstallPackageFiles(("/s/a.deb", "/s/b.deb")))
    assert "Dir::Etc::SourceParts=/dev/null install" in programs.asked()[0]
    assert programs.asked()[0].endswith("/s/a.deb /s/b.deb")
    programs.have("apt-get", "echo 'E: Unmet dependencies: libx' >&2", 100)
    assert (
        "Add the packages that it names to the directory debs" in refusals(Packages(Files()).apply, InstallPackageFiles(("/s/a.deb",)))[0]
    )


def test_dnf(programs: Programs) -> None:
    programs.have("dnf")
    Packages(Files()).apply(InstallPackages("dnf", ("kubelet", "runc"), {"kubelet": "1.37.1-*"}))
    assert programs.asked()[0].endswith("--disableexcludes=kubernetes kubelet-1.37.1-* runc")


def test_libraries() -> None:
    packages = Packages(Files())
    packages.apply(RequireLibraries(("json",)))
    found = refusals(packages.apply, RequireLibraries(("json", "no_such_library")))
    assert found[0].startswith(f"Python library no_such_library: its package is installed, and {sys.executable} does not find it.")


KEY = b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n"


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if "none" in self.path else 200)
            self.end_headers()
            self.wfile.write(b"<html>" if "page" in self.path else KEY)

        def log_message(self, format: str, *words: Any) -> None:
            """Say nothing."""

    made = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.shutdown()
    made.server_close()


def test_a_key_is_fetched_from_a_real_server(tmp_path: Path, server: str) -> None:
    packages = Packages(Files(str(tmp_path)))
    packages.apply(FetchKey(f"{server}/Release.key", "/etc/apt/keyrings/k.asc"))
    assert (tmp_path / "etc/apt/keyrings/k.asc").read_bytes() == KEY
    assert "404" in refusals(packages.apply, FetchKey(f"{server}/none", "/k"))[0]
    assert "no armoured public key" in refusals(packages.apply, FetchKey(f"{server}/page", "/k"))[0]
    assert "refused" in refusals(packages.apply, FetchKey("http://127.0.0.1:1/Release.key", "/k"))[0]
    assert not (tmp_path / "k").exists()


# Files of a bundle


def test_files_of_a_bundle(tmp_path: Path) -> None:
    staged = put(tmp_path, "staged/bin__kubelet", "new")
    root = tmp_path / "root"
    old = put(root, "/usr/bin/kubelet", "old")
    running = old.open("rb")
    files = BundleFiles(str(root))
    digest = hashlib.sha256(b"new").hexdigest()
    files.apply(VerifyStaged({str(staged): ("bin/kubelet", digest)}))
    (old.parent / ".kubelet.kubephase-left").touch()
    files.apply(InstallFile(str(staged), "/usr/bin/kubelet", 0o755))
    assert (old.read_text(), old.stat().st_mode & 0o777, running.read()) == ("new", 0o755, b"old")
    running.close()
    assert [path.name for path in old.parent.iterdir()] == ["kubelet"]
    assert files.digests(["/usr/bin/kubelet", "/usr/bin/none"]) == {"/usr/bin/kubelet": digest}


def test_every_checksum_that_does_not_match_is_told(tmp_path: Path) -> None:
    staged = put(tmp_path, "a", "new")
    wanted = {str(staged): ("bin/kubelet", "0" * 64), str(tmp_path / "b"): ("bin/kubectl", "1" * 64)}
    found = refusals(BundleFiles().apply, VerifyStaged(wanted))
    assert found[0].startswith(f"bin/kubelet of the bundle: its SHA-256 is {hashlib.sha256(b'new').hexdigest()}, and bundle.json says 000")
    assert found[1].startswith("bin/kubectl of the bundle: it was not brought to the host.")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "s", "new")
    old = put(tmp_path, "/usr/bin/kubelet", "old")

    def full(*_words: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    found = refusals(BundleFiles(str(tmp_path)).apply, InstallFile(str(tmp_path / "s"), "/usr/bin/kubelet", 0o755))
    assert found == ["/usr/bin/kubelet: the file system is full. Free some space there and run again"]
    assert (old.read_text(), len(list(old.parent.iterdir()))) == ("old", 1)


# containerd


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3", "1.6.20~ds1"),
        ("containerd github.com/containerd/containerd/v2 v2.4.2 abcdef", "2.4.2"),
        ("containerd containerd.io 1.7.24 88bf19b2105c8b17560993bee28a01ddc2f97182", "1.7.24"),
        ("something else", "unknown"),
    ],
)
def test_versions(programs: Programs, text: str, version: str) -> None:
    programs.have("containerd", f"echo '{text}'")
    assert Containerd().version() == version


def test_no_containerd(programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs_module, "PLACES", "")
    assert Containerd().version() == ""
    assert Containerd().images("/run/none") is None


def test_whose_configuration_it_is(programs: Programs) -> None:
    content = b"version = 2\n"
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    programs.have("dpkg-query", f"echo ' /etc/containerd/config.toml {digest}'", 1)
    programs.have("containerd", "echo default = true")
    assert Containerd().is_pristine("/etc/containerd/config.toml", content)
    assert Containerd().is_pristine("/etc/containerd/config.toml", b"default = true\n")
    assert not Containerd().is_pristine("/etc/containerd/config.toml", content + b"# edited\n")
    assert not Containerd().is_pristine("/etc/other.toml", content)


def test_images(tmp_path: Path, programs: Programs) -> None:
    socket, archive = put(tmp_path, "containerd.sock"), put(tmp_path, "images__pause.tar")
    programs.have("ctr", 'case "$*" in *list*) echo registry.k8s.io/pause:3.10.2;; esac')
    wanted = {str(archive): ("images/pause.tar", ("registry.k8s.io/pause:3.10.2",))}
    Containerd().apply(ImportImages(wanted, str(socket)))
    assert programs.asked()[0] == f"ctr --address {socket} --namespace k8s.io images import {archive}"
    assert not archive.exists()
    lacking = {str(archive): ("images/pause.tar", ("registry.k8s.io/pause:3.10.2", "registry.k8s.io/other:1"))}
    assert refusals(Containerd().apply, ImportImages(lacking, str(socket)))[0].startswith(
        "images/pause.tar of the bundle: it was imported, and lacks registry.k8s.io/other:1, which bundle.json promises."
    )
    programs.have("ctr", "echo 'ctr: failed to ingest: no space left on device' >&2", 1)
    assert "Free some space" in refusals(Containerd().apply, ImportImages(wanted, str(socket)))[0]


# Boot


def test_a_service_is_enabled(tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "_PLACES", "/usr/bin:/bin")
    programs.have("systemctl")
    Boot().apply(EnableService("kubelet"))
    assert programs.asked() == ["systemctl daemon-reload", "systemctl enable kubelet.service"]
    programs.have("systemctl", "echo 'Unit file kubelet.service does not exist.' >&2", 1)
    assert "it cannot be enabled: Unit file kubelet.service does not exist." in refusals(Boot().apply, EnableService("kubelet"))[0]
