# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of the kubelet as they should be: flags, the node's own settings, the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.config import configuration
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.flags import render_flags
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import (
    CONFIG,
    DIRECTORY,
    SERVER_BOOTSTRAP,
    SERVING_FILES,
    has_instance_config,
    serving_certificate,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import dump, go_quoted, load
from ansible_collections.kubephase.cluster.plugins.module_utils._manifests.patches import Patches

FLAGS = f"{DIRECTORY}/kubeadm-flags.env"
INSTANCE = f"{DIRECTORY}/instance-config.yaml"

# The kubelet reads these at its start. The node's own settings reach it through config.yaml, into which they are merged.
READ_BY_KUBELET = (FLAGS, CONFIG)

PATCH_TARGET = "kubeletconfiguration"

# Headers by which the kubelet fetches manifests may carry a credential.
_CONFIDENTIAL = "staticPodURLHeader"


@dataclass(frozen=True)
class Host:
    """What only the host knows and the files depend on."""

    hostname: str
    kubelet_version: str
    resolved: bool
    # Whether there is a serving certificate that was signed for the kubelet.
    has_serving_certificate: bool = False


@dataclass(frozen=True)
class WantedFile:
    """A file as it should be; with meaning, one that says the same in other words is as good."""

    path: str
    text: str = field(repr=False)
    meaning: Mapping[str, Any] | None = field(default=None, repr=False)

    def says(self, content: bytes) -> bool:
        """Tell whether a file's content is what is wanted."""
        if content == self.text.encode():
            return True
        try:
            return self.meaning is not None and load(content) == self.meaning
        except ValueError:
            return False

    def shown(self, content: bytes) -> str:
        """Show a file's content in a diff, in one layout and without what may be confidential."""
        if self.meaning is None:
            return content.decode(errors="replace")
        try:
            found = load(content)
        except ValueError:
            return "not valid YAML\n"
        return _shown(found) if isinstance(found, dict) else "not a YAML map\n"


def wanted_files(docs: Documents, host: Host, patches: Patches, found: bytes = b"") -> tuple[WantedFile, ...]:
    """Give the files in kubeadm's order: the configuration last, because the node's own settings are merged into it.

    Of a configuration that was found, the way to the serving certificate is kept that kubelet_serving_cert made.
    """
    files = [WantedFile(FLAGS, render_flags(docs, host.hostname, host.kubelet_version))]
    document: Mapping[str, Any] = configuration(docs, host.resolved)
    if docs.known_release.kubelet_config_patches:
        document = patches.applied(PATCH_TARGET, document, {})
    if has_instance_config(docs):
        own = {"containerRuntimeEndpoint": docs.registration.cri_socket}
        files.append(WantedFile(INSTANCE, "".join(f"{name}: {go_quoted(value)}\n" for name, value in own.items()), own))
        document = {**document, **own}
    if host.has_serving_certificate and _points_at(serving_certificate(docs), found) and not _says_how_to_serve(document):
        document = {**document, **dict.fromkeys(SERVING_FILES, serving_certificate(docs))}
    return (*files, WantedFile(CONFIG, dump(document), document))


def _points_at(path: str, content: bytes) -> bool:
    try:
        found = load(content) if content else None
    except ValueError:
        return False
    return isinstance(found, dict) and all(found.get(name) == path for name in SERVING_FILES)


def _says_how_to_serve(document: Mapping[str, Any]) -> bool:
    return any(document.get(name) for name in (SERVER_BOOTSTRAP, *SERVING_FILES))


def _shown(document: Mapping[str, Any]) -> str:
    headers = document.get(_CONFIDENTIAL)
    if not isinstance(headers, dict):
        return dump(document)
    return dump({**document, _CONFIDENTIAL: {name: ["<hidden>"] for name in headers}})
