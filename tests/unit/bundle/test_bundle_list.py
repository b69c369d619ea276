# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""bundle.json and what is inside image archives: what is taken, what is refused, and which archives a host imports."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bundles import FILES, IMAGES, PAUSE, contents, docker_manifest, listing

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.bundle import (
    Bundle,
    Contents,
    broken,
    held,
    lacking,
    parse,
    render,
    to_import,
    unfit,
    unkept,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import control_plane_only, full_name

DIGEST = "a" * 64


def listed(**different: Any) -> bytes:
    return json.dumps(listing(contents(), **different)).encode()


def test_a_list_is_read_and_written_back() -> None:
    bundle = parse(listed(), "bundle.json")
    assert (bundle.kubernetes, bundle.architecture) == ("1.37.1", "amd64")
    assert bundle.below("bin") == {"crictl": "bin/crictl", "kubectl": "bin/kubectl", "kubelet": "bin/kubelet"}
    assert bundle.image_names == set(IMAGES)
    assert parse(render(bundle).encode(), "bundle.json") == bundle


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b"{}", "kubernetes is not a version"),
        (listed(kubernetes=137), "kubernetes is not a version"),
        (listed(kubernetes="stable"), "kubernetes is not a version"),
        (listed(architecture="../x"), "architecture is not one"),
        (listed(files=[]), "files is not an object"),
        (listed(images=[]), "images is not an object"),
        (listed(files={"bin/kubelet": "abc"}), "no SHA-256 in 64 small hexadecimal digits for bin/kubelet"),
        (listed(files={"bin/kubelet": DIGEST.upper()}), "no SHA-256"),
        (listed(files={"bin/kubelet": None}), "no SHA-256"),
        (listed(images={"images/x.tar": []}), "no list of names for 'images/x.tar'"),
        (listed(images={"images/x.tar": [1]}), "no list of names"),
        (listed(images={"images/x.tar": PAUSE}), "no list of names"),
        (listed(images={"images/x.tar": [PAUSE]}), "images names images/x.tar, which files does not list"),
        (listed(sha256={}), "it has a field 'sha256' that no bundle has"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_with_what_is_wrong(content: bytes, said: str) -> None:
    with pytest.raises((Unusable, ManyUnusable)) as refusal:
        parse(content, "b/bundle.json")
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("b/bundle.json: ")


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "", ".", "..", "a/", "a\nb", "a\\b", "bundle.json"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ManyUnusable, match="not a plain path inside the bundle"):
        parse(listed(files={path: DIGEST}, images={}), "bundle.json")


def test_everything_that_is_wrong_with_a_list_is_said_at_once() -> None:
    with pytest.raises(ManyUnusable) as refusal:
        parse(json.dumps({"files": {"/x": DIGEST, "y": "z"}, "images": {"w": []}}).encode(), "bundle.json")
    assert len(refusal.value.findings) == 6


BUNDLE = Bundle("1.37.1", "amd64", {"bin/kubelet": DIGEST, "images/a.tar": DIGEST}, {"images/a.tar": (PAUSE, "busybox")})
WHOLE = Contents({"bin/kubelet": DIGEST, "images/a.tar": DIGEST}, {"images/a.tar": (PAUSE, "docker.io/library/busybox:latest", "more:1")})


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (WHOLE, []),
        (Contents({"images/a.tar": DIGEST}, WHOLE.images), ["b/bin/kubelet: bundle.json lists it, and it is not there"]),
        (Contents({**WHOLE.digests, "bin/kubelet": "b" * 64}, WHOLE.images), [f"b/bin/kubelet: its SHA-256 is {'b' * 64}, and"]),
        (Contents(WHOLE.digests, {"images/a.tar": (PAUSE,)}), ["b/images/a.tar: it lacks busybox, which bundle.json promises"]),
        (Contents(WHOLE.digests, {"images/a.tar": ()}), [f"b/images/a.tar: it lacks {PAUSE}, busybox"]),
        (Contents({}, {}), ["b/bin/kubelet", "b/images/a.tar"]),
    ],
    ids=["whole", "missing", "other", "lacks", "empty", "nothing"],
)
def test_broken_promises(seen: Contents, said: list[str]) -> None:
    found = [str(problem) for problem in broken(BUNDLE, seen, "b")]
    assert len(found) == len(said)
    assert all(text.startswith(start) for text, start in zip(found, said))


@pytest.mark.parametrize(
    ("version", "architecture", "said"),
    [
        ("v1.37.1", "amd64", ""),
        ("1.37.1", "", ""),
        ("v1.36.0", "amd64", "it is for Kubernetes 1.37.1, and the documents ask for 1.36.0"),
        ("v1.37.1", "arm64", "it is for amd64, and the host is arm64"),
    ],
)
def test_a_bundle_for_something_else(version: str, architecture: str, said: str) -> None:
    assert [problem.found for problem in unfit(BUNDLE, version, architecture, "b")] == ([said] if said else [])


def test_what_the_documents_need_and_the_bundle_lacks() -> None:
    found = lacking(BUNDLE, ("bin/kubelet", "bin/crictl"), (PAUSE, "registry.k8s.io/etcd:3.7.0-0"), "b")
    assert [problem.found for problem in found] == [
        "it lists no bin/crictl",
        "no archive of it promises the image registry.k8s.io/etcd:3.7.0-0",
    ]
    assert lacking(parse(listed(), "b"), FILES, IMAGES, "b") == ()


ARCHIVES = Bundle(
    "1.37.1",
    "amd64",
    {},
    {"api": (IMAGES[0],), "both": (IMAGES[6], IMAGES[3]), "net": ("example.org/etcd-like/etcd:1",), "pause": (PAUSE,)},
)


@pytest.mark.parametrize(
    ("present", "control_plane", "imported"),
    [
        ((), True, ("api", "both", "net", "pause")),
        ((), False, ("both", "net", "pause")),
        ((IMAGES[3], PAUSE), False, ("net",)),
        ((IMAGES[3], PAUSE), True, ("api", "both", "net")),
        ((*IMAGES, "example.org/etcd-like/etcd:1"), True, ()),
    ],
    ids=["new control plane", "new worker", "worker", "becomes control plane", "all there"],
)
def test_a_host_imports_only_what_it_needs_and_does_not_have(
    present: tuple[str, ...], control_plane: bool, imported: tuple[str, ...]
) -> None:
    # An image that only looks like one of the control plane's is not in the documents, and so is for every host.
    assert to_import(ARCHIVES, present, IMAGES, control_plane) == imported


def oci(*annotations: dict[str, str]) -> dict[str, bytes]:
    return {"oci-layout": b"{}", "index.json": json.dumps({"manifests": [{"annotations": each} for each in annotations]}).encode()}


@pytest.mark.parametrize(
    ("members", "names"),
    [
        ({"manifest.json": docker_manifest([PAUSE])}, (PAUSE,)),
        ({"manifest.json": b'[{"RepoTags": null}, {}]'}, ()),
        ({"manifest.json": docker_manifest(["busybox"])}, ("docker.io/library/busybox:latest",)),
        (oci({"org.opencontainers.image.ref.name": PAUSE}), (PAUSE,)),
        (oci({"io.containerd.image.name": PAUSE, "org.opencontainers.image.ref.name": "3.10.2"}), (PAUSE,)),
        (oci({"org.opencontainers.image.ref.name": "3.10.2"}, {}), ()),
        # Some tools write both; containerd looks at the index then.
        ({**oci({"io.containerd.image.name": PAUSE}), "manifest.json": docker_manifest(["other/x:1"])}, (PAUSE,)),
    ],
)
def test_names_in_an_archive(members: dict[str, bytes], names: tuple[str, ...]) -> None:
    assert held(members, "a.tar") == names


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "it is no image archive"),
        ({"index.json": b"{}"}, "it is no image archive"),
        ({"oci-layout": b"{}"}, "it is no image archive"),
        ({"manifest.json": b"{"}, "its manifest.json is not"),
        ({"manifest.json": b"[1]"}, "its manifest.json is not"),
        ({"manifest.json": b"7"}, "its manifest.json is not"),
        ({"oci-layout": b"", "index.json": b"{}"}, "its index.json is not"),
        ({"oci-layout": b"", "index.json": b'{"manifests": [[]]}'}, "its index.json is not"),
    ],
)
def test_what_is_no_image_archive_is_said_to_be_none(members: dict[str, bytes], said: str) -> None:
    with pytest.raises(Unusable, match=said):
        held(members, "a.tar")


def test_an_archive_that_keeps_its_promise_is_no_finding() -> None:
    assert unkept("a.tar", [PAUSE], [PAUSE, "other/x:1"]) == ()


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("busybox", "docker.io/library/busybox:latest"),
        ("busybox:1", "docker.io/library/busybox:1"),
        ("flannel/flannel:v1", "docker.io/flannel/flannel:v1"),
        ("docker.io/busybox:1", "docker.io/library/busybox:1"),
        ("localhost/a", "localhost/a:latest"),
        ("registry:5000/a/b:1", "registry:5000/a/b:1"),
        ("registry:5000/a", "registry:5000/a:latest"),
        (f"a.b/c@sha256:{DIGEST}", f"a.b/c@sha256:{DIGEST}"),
        (PAUSE, PAUSE),
    ],
)
def test_names_are_compared_as_runtimes_list_them(name: str, full: str) -> None:
    assert full_name(name) == full


def test_workers_do_without_the_control_plane() -> None:
    assert control_plane_only(IMAGES) == (*IMAGES[:3], IMAGES[6])
