# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The images that a control plane needs: which, whether they are there, and what is to be pulled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.containers import PullImages
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.case import Case
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.ports import port_is_owned
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import registration
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict, against, passed
from ansible_collections.kubephase.cluster.plugins.module_utils._release import component_image, coredns_image, etcd_image, pause_image
from ansible_collections.kubephase.cluster.plugins.module_utils._release.images import KUBE_PROXY, full_name
from ansible_collections.kubephase.cluster.plugins.module_utils._release.preflight import WARNING

NEVER = "Never"
ALWAYS = "Always"


@dataclass(frozen=True)
class Pull:
    """What was concluded about images, and what is to be done about it."""

    verdicts: tuple[Verdict, ...]
    images: tuple[dict[str, object], ...] = ()
    change: Change | None = None


def required(docs: Documents) -> tuple[str, ...]:
    """List the images of `kubeadm config images list`, in the order of its newest release."""
    release, cluster = docs.known_release, docs.cluster
    repository = cluster.image_repository
    version = cluster.kubernetes_version or str(release.version)
    names = [component_image(repository, component, version) for component in release.control_plane_components]
    if not _left_out(docs, "kube-proxy", cluster.proxy.disabled):
        names.append(component_image(repository, KUBE_PROXY, version))
    dns = coredns_image(cluster.dns.image_repository or repository, cluster.dns.image_tag or release.coredns_tag, release.image_repository)
    pause = pause_image(repository, release.pause_tag)
    local = cluster.etcd.local
    etcd = etcd_image(local.image_repository or repository, local.image_tag or release.etcd_tag) if local else ""
    if not _left_out(docs, "coredns", cluster.dns.disabled):
        names.append(dns)
    return tuple(filter(None, (*names, pause, etcd)))


def judge(case: Case, pull: bool, ignored: bool, before: tuple[Mapping[str, str], ...] = ()) -> Pull:
    """Decide which images are pulled; those of a control plane that runs already are not pulled again."""
    runtime, node = case.seen.runtime, registration(case.docs, case.mode)
    names = required(case.docs)
    if runtime.problem or not runtime.client:
        why = runtime.problem or "crictl is not installed"
        return Pull((against(case.check.severity, f"the images of the host cannot be listed: {why}", "Mend what CRI and crictl need"),))
    there = {full_name(name) for name in runtime.images}
    missing = tuple(name for name in names if full_name(name) not in there)
    again = node.image_pull_policy == ALWAYS and not port_is_owned(case, case.docs.node.bind_port)
    wanted = names if again else missing
    pulls = pull and node.image_pull_policy != NEVER
    verdicts = [*_sandbox(case), *_unpulled(case, missing, pulls)]
    if pulls and wanted:
        verdicts.append(passed(f"to be pulled: {', '.join(wanted)}"))
    facts = tuple({"name": name, "present": name not in missing, "pulled": pulls and name in wanted} for name in names)
    return Pull(tuple(verdicts), facts, _change(case, wanted, missing, not ignored, before) if pulls and wanted else None)


def _change(
    case: Case, wanted: tuple[str, ...], missing: tuple[str, ...], needed: bool, before_it: tuple[Mapping[str, str], ...]
) -> Change:
    node = registration(case.docs, case.mode)
    reason = "they are not on the host" if missing else "imagePullPolicy is Always"
    action = PullImages(case.docs.node.cri_socket, wanted, node.image_pull_serial, case.release.image_pull_tries, needed, before_it)
    before = "".join(f"{name}\n" for name in wanted if name not in missing)
    return Change("container images", reason, before, "".join(f"{name}\n" for name in wanted), action)


def _unpulled(case: Case, missing: tuple[str, ...], pulls: bool) -> tuple[Verdict, ...]:
    if pulls or not missing:
        return ()
    found = f"{len(missing)} images are not on the host and will not be pulled here: {', '.join(missing)}"
    return (against(WARNING, found, "Load them, or leave it to the kubelet to pull them"),)


def _sandbox(case: Case) -> tuple[Verdict, ...]:
    """The runtime pulls the image of its pod sandboxes itself, by a setting of its own."""
    found, wanted = case.seen.runtime.sandbox_image, pause_image(case.docs.cluster.image_repository, case.release.pause_tag)
    if not found or found == wanted:
        return ()
    return (
        against(WARNING, f"the runtime uses the sandbox image {found}, not {wanted}", f"Set it to {wanted} in the runtime's configuration"),
    )


def _left_out(docs: Documents, addon: str, disabled: bool) -> bool:
    if not docs.known_release.images_follow_disabled_addons:
        return False
    return disabled or bool({"addon", f"addon/{addon}"} & set(docs.init.skip_phases))
