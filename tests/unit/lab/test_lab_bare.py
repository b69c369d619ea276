# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What bare nodes are offered: packages, a repository that a real apt believes, its server, a bundle, an inventory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from ipaddress import IPv4Network
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import lacking, parse
from lab import bare, bundle, cluster, inventory, layout, offers, recipes, repository, server
from lab.build import Built, Offered
from lab.cache import Artifact, Store
from lab.errors import LabError
from lab.images import references
from lab.instance import Instance, load, save
from lab.node_image import NODE_FILES
from lab.packages import DROP_IN, UNIT, Package, packages_of, write
from lab.toolchain import architecture

RELEASE = recipes.release("1.37.1")
SUBNET = IPv4Network("10.213.7.0/24")


def instance(is_bare: bool = True) -> Instance:
    return Instance("kp1", "1.37.1", str(SUBNET), layout.nodes("kp1", SUBNET, 1, 1), is_bare)


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, Path]:
    """Stand-ins for what the compiler makes."""
    found = {}
    for name in repository.PACKAGED:
        found[name] = tmp_path / "programs" / name
        found[name].mkdir(parents=True)
        for program in ("bridge", "loopback") if name == "cni-plugins" else (name,):
            (found[name] / program).write_text(f"#!/bin/sh\necho {program}\n")
            (found[name] / program).chmod(0o755)
    return found


def test_packages_are_laid_out_as_the_projects_own(programs: dict[str, Path]) -> None:
    packages = {package.name: package for package in packages_of(RELEASE, programs)}
    assert {name: package.full_version for name, package in packages.items()} == {
        "kubelet": "1.37.1-1.1",
        "kubectl": "1.37.1-1.1",
        "kubeadm": "1.37.1-1.1",
        "cri-tools": f"{recipes.CRICTL}-1.1",
        "kubernetes-cni": f"{recipes.CNI_PLUGINS}-1.1",
    }
    assert UNIT in packages["kubelet"].texts
    assert DROP_IN in packages["kubeadm"].texts
    assert DROP_IN not in packages["kubelet"].texts
    assert "kubernetes-cni" in packages["kubelet"].depends
    assert set(packages["kubernetes-cni"].programs) == {"opt/cni/bin/bridge", "opt/cni/bin/loopback"}


def test_a_package_holds_what_it_says(programs: dict[str, Path], tmp_path: Path) -> None:
    kubelet = packages_of(RELEASE, programs)[0]
    written = write(kubelet, tmp_path, tmp_path / "scratch")
    assert written.name == f"kubelet_1.37.1-1.1_{architecture()}.deb"
    listed = subprocess.run(["dpkg-deb", "--contents", str(written)], capture_output=True, text=True, check=True).stdout.splitlines()
    modes = {line.split()[5]: line.split()[:2] for line in listed}
    assert modes["./usr/bin/kubelet"] == ["-rwxr-xr-x", "root/root"]
    assert modes[f"./{UNIT}"] == ["-rw-r--r--", "root/root"]
    assert not (tmp_path / "scratch" / "kubelet").exists()


def test_index_and_release_file() -> None:
    entry = repository.entry("Package: a\nDescription: b\n more\n\n", "a_1_amd64.deb", 7, "f" * 64)
    assert entry == f"Package: a\nDescription: b\n more\nFilename: ./a_1_amd64.deb\nSize: 7\nSHA256: {'f' * 64}\n"
    date = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    text = repository.release_file("kubernetes", "amd64", date, {"Packages": b"abc"})
    assert "Date: Fri, 02 Jan 2026 03:04:05 UTC\n" in text
    assert text.endswith(f"SHA256:\n {hashlib.sha256(b'abc').hexdigest()} 3 Packages\n")


@pytest.fixture
def made(programs: dict[str, Path], tmp_path: Path) -> Path:
    """A whole repository of small packages."""
    store = Store(tmp_path / "cache")

    def artifact(name: str, source: Path) -> Artifact:
        built = Artifact(name, {}, lambda target: shutil.copytree(source, target, dirs_exist_ok=True) and None)
        store.ensure(built)
        return built

    parts = []
    for part, names in {"debs": ("socat", "conntrack"), "more-debs": ("ufw", "conntrack")}.items():
        (tmp_path / part).mkdir()
        for name in names:
            write(Package(name, "1.0", "a package of the distribution"), tmp_path / part, tmp_path / "scratch")
        parts.append(artifact(part, tmp_path / part))
    built = {name: artifact(name, place) for name, place in programs.items()}
    return store.ensure(repository.repository_artifact(store, RELEASE, built, parts))


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def served(made: Path, port: int) -> Iterator[str]:
    process = subprocess.Popen([sys.executable, str(server.SERVE), "127.0.0.1", str(port), str(made)], stderr=subprocess.DEVNULL)
    try:
        until_open(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def until_open(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


class Apt:
    """The machine's own apt on a root of its own, in which nothing is installed."""

    def __init__(self, root: Path, sources: str) -> None:
        for folder in ("etc/apt/sources.list.d", "etc/apt/preferences.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
            (root / folder).mkdir(parents=True)
        (root / "var/lib/status").write_text("")
        (root / "etc/apt/sources.list.d/lab.sources").write_text(sources)
        self._options = [
            f"Dir={root}", f"Dir::State::status={root}/var/lib/status", "APT::Sandbox::User=root", "Acquire::http::Proxy=false",
            "Acquire::Languages=none", f"APT::Architecture={architecture()}", "Acquire::Retries=0",
        ]  # fmt: skip

    def __call__(self, program: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        options = [word for option in self._options for word in ("-o", option)]
        return subprocess.run([program, *options, *arguments], capture_output=True, text=True, check=False, cwd=cwd)


def apt_for(made: Path, served: str, root: Path) -> Apt:
    key = made / repository.KUBERNETES / repository.KEY
    stanzas = [repository.distribution_sources(f"{served}/{archive}/", str(key)) for archive in repository.ARCHIVES]
    return Apt(root, "\n".join(stanzas))


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="a machine without apt")
def test_apt_believes_the_repository_and_finds_the_pinned_version(made: Path, served: str, tmp_path: Path) -> None:
    apt = apt_for(made, served, tmp_path / "root")
    updated = apt("apt-get", "update")
    assert updated.returncode == 0, updated.stderr
    assert "W:" not in updated.stderr
    assert "Candidate: 1.37.1-1.1" in apt("apt-cache", "policy", "kubelet").stdout
    for package in ("socat", "conntrack", "ufw"):
        assert "Candidate: 1.0-1.1" in apt("apt-cache", "policy", package).stdout
    fetched = apt("apt-get", "download", "kubelet=1.37.1-1.1", "cri-tools", cwd=tmp_path)
    assert fetched.returncode == 0, fetched.stderr
    assert (tmp_path / f"kubelet_1.37.1-1.1_{architecture()}.deb").is_file()


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="a machine without apt")
@pytest.mark.parametrize("tampered", ["InRelease", "Packages.gz", "kubelet"])
def test_apt_refuses_what_was_tampered_with(made: Path, served: str, tmp_path: Path, tampered: str) -> None:
    archive = made / repository.KUBERNETES
    target = archive / tampered if tampered != "kubelet" else next(archive.glob("kubelet_*.deb"))
    content = target.read_bytes()
    target.unlink()
    target.write_bytes(content.replace(b"kubephase lab", b"somebody else") if tampered == "InRelease" else content[:-1] + b"!")
    (archive / "Packages").unlink()
    apt = apt_for(made, served, tmp_path / "root")
    updated, fetched = apt("apt-get", "update"), apt("apt-get", "download", "kubelet", cwd=tmp_path)
    assert updated.returncode != 0 or fetched.returncode != 0
    assert not list(tmp_path.glob("kubelet_*.deb"))


def test_no_one_can_sign_with_the_key_afterwards(made: Path) -> None:
    files = [path for path in made.rglob("*") if path.is_file()]
    assert not [path for path in files if b"PRIVATE KEY" in path.read_bytes()]
    keys = {(made / archive / repository.KEY).read_text().splitlines()[0] for archive in repository.ARCHIVES}
    assert keys == {"-----BEGIN PGP PUBLIC KEY BLOCK-----"}


@pytest.fixture
def store(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(server, "PORT", port)
    found = Store(tmp_path / "cache")
    (tmp_path / "cache/instances/kp1").mkdir(parents=True)
    served = tmp_path / "served" / repository.KUBERNETES
    served.mkdir(parents=True)
    (served / "InRelease").write_text("signed")
    yield found
    server.end(found, "kp1")


def test_the_server_is_started_once_and_ended_by_its_id(store: Store, tmp_path: Path) -> None:
    served = tmp_path / "served"
    server.ensure(store, "kp1", "127.0.0.1", served)
    server.wait(store, "kp1")
    first = json.loads(server.record(store, "kp1").read_text())
    server.ensure(store, "kp1", "127.0.0.1", served)
    assert json.loads(server.record(store, "kp1").read_text()) == first
    (tmp_path / "other" / repository.KUBERNETES).mkdir(parents=True)
    (tmp_path / "other" / repository.KUBERNETES / "InRelease").write_text("other")
    server.ensure(store, "kp1", "127.0.0.1", tmp_path / "other")
    server.wait(store, "kp1")
    second = json.loads(server.record(store, "kp1").read_text())
    assert second["pid"] != first["pid"]
    assert not server.is_ours(first)
    server.end(store, "kp1")
    assert not server.is_ours(second)
    assert not server.record(store, "kp1").exists()


def test_a_process_that_got_the_id_since_is_left_alone(store: Store) -> None:
    somebody = subprocess.Popen(["sleep", "60"])
    try:
        noted = {"pid": somebody.pid, "started": "1", "arguments": []}
        server.record(store, "kp1").write_text(json.dumps(noted))
        server.end(store, "kp1")
        assert somebody.poll() is None
        assert not server.record(store, "kp1").exists()
    finally:
        os.kill(somebody.pid, signal.SIGKILL)
        somebody.wait()


def test_a_server_that_cannot_start_is_one_error(store: Store, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", server.PORT)):
        server.ensure(store, "kp1", "127.0.0.1", tmp_path / "served")
        with pytest.raises(LabError, match=r"the repository does not answer on 127\.0\.0\.1:\d+ .*server\.log"):
            server.wait(store, "kp1")


@pytest.mark.parametrize("version", sorted(recipes.RELEASES))
def test_the_bundles_list_is_one_that_the_collection_takes(version: str) -> None:
    of = recipes.release(version)
    plugins = [package.rpartition("/")[2] for package in recipes.cni_plugins().packages]
    files = [*(f"bin/{name}" for name in bundle.PROGRAMS), *(f"cni/{name}" for name in plugins)]
    files += [f"images/{component}.tar" for component in references(of)]
    found = parse(bundle.listing(of, "amd64", dict.fromkeys(files, "0" * 64)).encode(), "bundle.json")
    needed = ["bin/kubelet", "bin/kubectl", "bin/crictl", "cni/bridge", "cni/host-local", "cni/loopback", "cni/portmap"]
    assert lacking(found, needed, references(of).values(), "bundle") == ()


def test_bare_nodes_lose_what_prepares_and_keep_what_ansible_needs() -> None:
    text = bare.containerfile("base")
    assert not set(bare.KEPT) & {*recipes.FROM_DISTRIBUTION, "containernetworking-plugins", "python3-kubernetes"}
    assert {"openssh-server", "python3", "systemd-sysv", "iproute2"} <= set(bare.KEPT)
    assert "rm -rf /etc/apt/sources.list " in text
    places = {NODE_FILES[name] for name in bare.BARE_FILES}
    assert not [place for place in places if "kubelet" in place or "containerd" in place or "crictl" in place]


def test_the_inventory_of_bare_nodes_says_what_they_are_prepared_from(tmp_path: Path) -> None:
    store = Store(tmp_path)
    text = inventory.render(instance(), "key", [], offers.variables(store, instance()))
    read = yaml.safe_load(text)["all"]["vars"]
    assert read["kubephase_package_repository"] == f"http://10.213.7.1:{server.PORT}/kubernetes/"
    assert read["kubephase_package_key"] == str(tmp_path / "instances/kp1/manifests/repository.asc")
    assert read["kubephase_bundle"] == str(tmp_path / "instances/kp1/bundle")
    assert read["kubephase_package_source"] == "repository"
    assert read["kubephase_containerd_settings"]["plugins"]["io.containerd.grpc.v1.cri"] == {"restrict_oom_score_adj": True}
    assert offers.variables(store, instance(is_bare=False)) == {}


def test_key_bundle_and_sources_are_laid_out(made: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    for place in ("manifests", "nodes/kp1-cp1/lab", "nodes/kp1-w1/lab"):
        (tmp_path / "instances/kp1" / place).mkdir(parents=True)
    for target in ("first", "second"):
        (tmp_path / target).mkdir()
        offers.write(store, instance(), Offered(made, tmp_path / target))
    assert offers.bundle(store, "kp1").resolve() == tmp_path / "second"
    assert offers.key(store, "kp1").read_text() == (made / "kubernetes/Release.key").read_text()
    for node in ("kp1-cp1", "kp1-w1"):
        handed = tmp_path / "instances/kp1/nodes" / node / "lab"
        assert f"URIs: http://10.213.7.1:{server.PORT}/distribution/\n" in (handed / "distribution.sources").read_text()
        assert (handed / "repository.asc").read_text().startswith("-----BEGIN PGP PUBLIC KEY")


def test_an_instance_remembers_that_it_is_bare(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for is_bare in (True, False):
        save(store, instance(is_bare))
        assert load(store, "kp1") == instance(is_bare)
    record = tmp_path / "instances/kp1/instance.json"
    old = json.loads(record.read_text())
    del old["bare"]
    record.write_text(json.dumps(old))
    assert load(store, "kp1") == instance(is_bare=False)


@pytest.mark.parametrize(("was", "wanted"), [(True, False), (False, True)])
def test_nodes_do_not_become_bare_or_whole(was: bool, wanted: bool) -> None:
    cluster.refuse_other_kind(instance(was), "kp1", RELEASE, was)
    cluster.refuse_other_kind(None, "kp1", RELEASE, wanted)
    with pytest.raises(LabError, match="were made " + ("bare" if was else "whole")):
        cluster.refuse_other_kind(instance(was), "kp1", RELEASE, wanted)


def test_whole_nodes_are_offered_nothing() -> None:
    assert Built("image", Path("template")).offered is None
