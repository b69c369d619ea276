# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Node packages: what is missing on a host, where it comes from, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from unit.prepare.prepare_cases import DEBIAN, bare, docs, held, installed, refusals, targets

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Plan
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, WriteFile
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
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.images import required
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle_images import BundleImagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle_images import Observed as Images
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.node_packages import NodePackagesPhase
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.requirements import Installed

SOURCE = "/etc/apt/sources.list.d/kubernetes.sources"
KEYRING = "/etc/apt/keyrings/kubephase-kubernetes.asc"
DROP_IN = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
UNIT = "/etc/systemd/system/kubelet.service"
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n-----END PGP PUBLIC KEY BLOCK-----"
PROJECT = "https://pkgs.k8s.io/core:/stable:/v1.37/deb/"


def plan(seen: Installed, documents: Documents | None = None, **options: Any) -> Plan:
    return NodePackagesPhase().plan(documents or docs(), seen, options)


def action(made: Plan, kind: type) -> Any:
    """The one action of a kind."""
    (found,) = [change.action for change in made.changes if isinstance(change.action, kind)]
    return found


@pytest.mark.parametrize("source", ["auto", "none"])
def test_a_ready_host_is_left_alone(source: str) -> None:
    made = plan(installed(), source=source)
    assert (made.changes, made.warnings) == ((), ())


def test_everything_for_a_bare_host_from_the_projects_repository() -> None:
    made = plan(bare())
    assert targets(made) == [KEYRING, SOURCE, "packages", "held packages", DROP_IN, "kubelet.service"]
    assert action(made, FetchKey) == FetchKey(f"{PROJECT}Release.key", KEYRING)
    assert action(made, InstallPackages) == InstallPackages(
        "apt",
        ("kubelet", "kubectl", "cri-tools", "containerd", "kubernetes-cni", "python3-yaml", "python3-cryptography"),
        {"kubelet": "1.37.1-*", "kubectl": "1.37.1-*"},
        PROJECT,
    )
    assert action(made, HoldPackages) == HoldPackages(("kubelet", "kubectl"))
    assert action(made, RequireLibraries) == RequireLibraries(("yaml", "cryptography"))
    written = {change.action.path: change.action.content.decode() for change in made.changes if isinstance(change.action, WriteFile)}
    assert written[SOURCE].splitlines()[1:] == ["Types: deb", f"URIs: {PROJECT}", "Suites: /", f"Signed-By: {KEYRING}"]
    assert "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf" in written[DROP_IN]


def test_a_repository_of_ones_own() -> None:
    given = {"repository": "http://192.0.2.1/k8s/", "repository_suite": "stable", "repository_components": ["main"]}
    made = plan(bare(), **given, repository_key=KEY)
    files = {change.action.path: change.action for change in made.changes if isinstance(change.action, WriteFile)}
    assert files[KEYRING].content.decode() == f"{KEY}\n"
    assert "Suites: stable\nComponents: main\n" in files[SOURCE].content.decode()
    trusted = plan(bare(), **given, repository_key="trusted")
    assert "Trusted: yes" in trusted.changes[0].after
    assert refusals(lambda: plan(bare(), **given, repository_key="\x99binary"))[0].startswith(
        "repository_key: it is not an armoured public key."
    )


@pytest.mark.parametrize(
    ("changes", "packages"),
    [
        ({"libraries": {"yaml": False, "cryptography": True}}, ("python3-yaml",)),
        ({"plugins": ("loopback",)}, ("kubernetes-cni",)),
        ({"programs": {**installed().programs, "containerd": "", "losetup": ""}}, ("containerd", "mount")),
        ({"kubelet_version": ""}, ("kubelet",)),
        ({"kubelet_version": "v1.33.4"}, ("kubelet",)),
        ({"kubelet_version": "v1.38.0"}, ("kubelet",)),
        ({"kubelet_version": "v1.33.4", "packages": held("1.33.4-1.1")}, ("kubelet", "kubectl")),
        ({"kubelet": ServiceState("kubelet", known=False, active=False, enabled=False)}, ("kubelet",)),
    ],
)
def test_only_what_is_missing_is_installed(changes: dict[str, Any], packages: tuple[str, ...]) -> None:
    made = plan(installed(**changes))
    assert action(made, InstallPackages).packages == packages
    # The distribution's own packages need no other source.
    assert (SOURCE in targets(made)) == bool(set(packages) & {"kubelet", "kubernetes-cni"})


@pytest.mark.parametrize(
    ("source", "exchanged"), [({"source": "auto"}, False), ({"source": "none"}, False), ({"source": "repository"}, True)]
)
def test_a_kubelet_that_the_release_takes_is_exchanged_only_when_told(source: dict[str, str], exchanged: bool) -> None:
    made = plan(installed(kubelet_version="v1.36.4"), **source)
    assert ("packages" in targets(made)) == exchanged
    assert made.warnings == (() if exchanged else ("the kubelet is v1.36.4, not v1.37.1, and left as it is",))


def test_programs_that_preflight_asks_for_by_release() -> None:
    seen = installed(kubelet_version="v1.28.15")
    made = plan(seen, docs("v1.28.15"))
    assert set(action(made, InstallPackages).packages) == {"conntrack", "iproute2", "iptables", "util-linux"}


def test_an_explicit_repository_keeps_source_key_and_hold() -> None:
    seen = installed(packages={name: PackageState("1.37.1-1.1") for name in ("kubelet", "kubectl")})
    made = plan(seen, source="repository", repository_key=KEY)
    assert targets(made) == [KEYRING, SOURCE, "held packages"]
    files = {change.action.path: change.action.content for change in made.changes if isinstance(change.action, WriteFile)}
    done = installed(packages=held("1.37.1-1.1"), files={path: FileState(path, text, 0o644, 1.0) for path, text in files.items()})
    assert plan(done, source="repository", repository_key=KEY).changes == ()


def test_without_a_source_everything_that_is_missing_is_told() -> None:
    found = refusals(lambda: plan(bare(), source="none"))
    assert [each.partition(":")[0] for each in found] == [
        "kubelet",
        "kubectl",
        "crictl",
        "containerd",
        "CNI plugins",
        "yaml",
        "cryptography",
    ]


JOINED = installed(joined=True, kubelet_version="v1.37.0")


def test_the_kubelet_of_a_node_is_never_exchanged() -> None:
    made = plan(JOINED)
    assert made.changes == ()
    assert made.warnings == ("this host is a node and its kubelet is v1.37.0, while the documents ask for v1.37.1; it is left as it is",)
    assert "although the release does not take it" in plan(replace(JOINED, kubelet_version="v1.30.0")).warnings[0]
    for options in ({"source": "repository"}, {"source": "offline", "bundle_list": bundle()}):
        assert (
            "going to another version is an upgrade, which prepare does not do" in refusals(lambda given=options: plan(JOINED, **given))[0]
        )


def test_an_unsupported_system_is_told() -> None:
    found = refusals(lambda: plan(bare(system=System("Alpine Linux v3.20", "", "amd64"))))
    assert found[0].startswith("operating system: Alpine Linux v3.20 has neither apt nor dnf")
    assert plan(installed(system=System("Alpine Linux v3.20", "", "amd64"))).changes == ()


def test_no_root() -> None:
    assert refusals(lambda: plan(bare(privileged=False)))[0].startswith("privileges: ")


def test_dnf() -> None:
    made = plan(bare(system=System("Rocky Linux 9", "dnf", "amd64")))
    source = next(change for change in made.changes if change.target == "/etc/yum.repos.d/kubernetes.repo")
    assert "baseurl=https://pkgs.k8s.io/core:/stable:/v1.37/rpm/\n" in source.after
    assert "exclude=kubelet kubectl cri-tools kubernetes-cni\n" in source.after
    assert "held packages" not in targets(made)
    assert action(made, InstallPackages).versions == {"kubelet": "1.37.1-*", "kubectl": "1.37.1-*"}


# Offline


def bundle(
    version: str = "1.37.1", architecture: str = "amd64", without: tuple[str, ...] = (), images: dict[str, list[str]] | None = None
) -> str:
    """A bundle's list; the checksum of a file is made of its place among them."""
    names = ["bin/kubelet", "bin/kubectl", "bin/crictl", "cni/bridge", "cni/loopback", "cni/host-local", "cni/portmap"]
    names += ["debs/containerd_1.7_amd64.deb", "debs/runc_1.1_amd64.deb", "debs/python3-yaml_6_amd64.deb"]
    names += ["debs/python3-cryptography_38_amd64.deb", *(images or {})]
    files = {name: f"{position:064x}" for position, name in enumerate(names) if name not in without}
    return json.dumps({"kubernetes": version, "architecture": architecture, "files": files, "images": images or {}})


def digests(text: str) -> dict[str, str]:
    """The checksums of a host on which all of a bundle's programs are."""
    places = {"bin": "/usr/bin", "cni": "/opt/cni/bin"}
    parts = {path: path.split("/") for path in json.loads(text)["files"]}
    return {f"{places[kind]}/{name}": json.loads(text)["files"][path] for path, (kind, name) in parts.items() if kind in places}


def test_a_bare_host_gets_all_of_a_bundle() -> None:
    made = plan(bare(), bundle_list=bundle(), staged="/tmp/staged")
    assert made.facts["source"] == "offline"
    assert set(made.facts["lacking"]) == set(json.loads(bundle())["files"])
    assert isinstance(made.changes[0].action, VerifyStaged)
    assert made.changes[0].action.files["/tmp/staged/bin__kubelet"] == ("bin/kubelet", f"{0:064x}")
    assert InstallFile("/tmp/staged/bin__kubelet", "/usr/bin/kubelet", 0o755) in [change.action for change in made.changes]
    assert len(action(made, InstallPackageFiles).paths) == 4
    assert targets(made)[-3:] == [UNIT, DROP_IN, "kubelet.service"]


def test_only_files_with_other_checksums_are_asked_for() -> None:
    seen = installed(digests={**digests(bundle()), "/usr/bin/crictl": "0" * 64})
    made = plan(seen, bundle_list=bundle())
    assert made.facts["lacking"] == ["bin/crictl"]
    assert plan(installed(digests=digests(bundle())), bundle_list=bundle()).changes == ()


def test_packages_of_a_bundle_only_where_something_of_theirs_is_missing() -> None:
    seen = installed(digests=digests(bundle()), libraries={"yaml": False, "cryptography": True})
    made = plan(seen, bundle_list=bundle())
    # A containerd of other packages is not pushed out.
    assert made.facts["lacking"] == ["debs/python3-cryptography_38_amd64.deb", "debs/python3-yaml_6_amd64.deb"]
    known = replace(seen, packages={"python3-cryptography": PackageState("38")})
    assert plan(known, bundle_list=bundle()).facts["lacking"] == ["debs/python3-yaml_6_amd64.deb"]


def test_the_kubelet_of_a_node_stays_whatever_the_bundle_has() -> None:
    other = {**digests(bundle()), "/usr/bin/kubelet": "f" * 64}
    assert plan(installed(joined=True, digests=other), bundle_list=bundle()).changes == ()
    assert plan(installed(joined=True, kubelet_version="v1.37.0", digests=other), bundle_list=bundle()).changes == ()


@pytest.mark.parametrize(
    ("text", "seen", "word"),
    [
        (bundle("1.36.4"), bare(), "it is for Kubernetes 1.36.4, and the documents ask for 1.37.1"),
        (bundle(architecture="arm64"), bare(), "it is for arm64, and the host is amd64"),
        (bundle(without=("bin/crictl",)), bare(), "crictl: it is not installed, and the bundle has no bin/crictl"),
        (bundle(without=("debs/python3-yaml_6_amd64.deb",)), bare(), "the bundle has no package python3-yaml in debs/"),
        (bundle(), bare(system=replace(DEBIAN, manager="")), "the bundle has no package containerd in debs/"),
        ("{", bare(), "it is not JSON"),
    ],
)
def test_a_bundle_that_will_not_do_is_refused_before_anything_is_sent(text: str, seen: Installed, word: str) -> None:
    found = refusals(lambda: plan(seen, bundle_list=text, bundle="/srv/b"))
    assert [each for each in found if word in each]


def test_offline_without_a_bundle() -> None:
    assert refusals(lambda: plan(bare(), source="offline"))[0].startswith("bundle: none is given")


# Images

NEEDED = required(docs())
ARCHIVES = {f"images/{position}.tar": [name] for position, name in enumerate([*NEEDED, "docker.io/flannel/flannel:v0.26.7"])}


def images(seen: Images, becomes: str = "init", archives: dict[str, list[str]] | None = None) -> Plan:
    options = {"parts": ["images"], "bundle_list": bundle(images=ARCHIVES if archives is None else archives), "staged": "/s"}
    return BundleImagesPhase().plan(docs(becomes=becomes), seen, options)


def test_a_control_plane_gets_all_images_and_a_worker_those_that_it_runs() -> None:
    assert images(Images()).facts["imported"] == sorted(ARCHIVES)
    found = [ARCHIVES[path][0] for path in images(Images(), "worker").facts["imported"]]
    assert [name.rpartition("/")[2].partition(":")[0] for name in found] == ["kube-proxy", "coredns", "pause", "flannel"]


def test_only_archives_with_a_missing_image_are_imported() -> None:
    there = (*NEEDED[1:], "docker.io/flannel/flannel:v0.26.7")
    made = images(Images(images=there))
    assert made.facts["lacking_images"] == ["images/0.tar"]
    assert action(made, ImportImages) == ImportImages(
        {"/s/images__0.tar": ("images/0.tar", (NEEDED[0],))}, "/run/containerd/containerd.sock"
    )
    assert images(Images(images=(*there, NEEDED[0]))).changes == ()


def test_an_image_that_nobody_has_is_warned_of() -> None:
    made = images(Images(), archives={"images/0.tar": [NEEDED[0]]})
    assert NEEDED[-1] in made.warnings[0]
    assert NEEDED[0] not in made.warnings[0]
    assert images(Images(images=NEEDED), archives={"images/0.tar": [NEEDED[0]]}).warnings == ()


def test_parts_that_were_not_asked_for_do_nothing() -> None:
    assert NodePackagesPhase().plan(docs(), bare(), {"parts": ["images"]}) == Plan()
    assert BundleImagesPhase().plan(docs(), Images(), {"bundle_list": bundle(images=ARCHIVES)}) == Plan()
