# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The download-certs phase: what all control planes share, brought to one that joins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.contents import key_bytes, opened
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.shared import carried, keys_kept_away, needed
from ansible_collections.kubephase.cluster.plugins.module_utils._certs_upload.upload_certs import SECRET
from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, ObjectKey
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import DownloadLater

ADMIN = "/etc/kubernetes/admin.conf"
KUBELET = "/etc/kubernetes/kubelet.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"

_LABEL = re.compile(rb"^-----BEGIN ([A-Z0-9 ]+)-----", re.MULTILINE)
_PUBLIC = ("CERTIFICATE", "PUBLIC KEY")
_BY_HAND = "bring the files to this host by other means"


@dataclass(frozen=True)
class Observed:
    """The shared files that are here and, where it had to be asked for, the Secret that carries them."""

    files: Mapping[str, FileState]
    # Later phases have made files of their own from them already.
    settled: bool = False
    # Whether there was a way to ask the cluster.
    asked: bool = False
    secret: Manifest | None = field(default=None, repr=False)


class DownloadCertsPhase:
    """kubeadm's download-certs phase as read and plan."""

    name = "download-certs"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read the files and, unless they have served already, the Secret."""
        seen = {path: world.files.read(path) for path in filter(None, carried(docs).values())}
        files = {path: state for path, state in seen.items() if state is not None}
        # These two come only after the download, so that a host which has joined asks nobody.
        made = world.files.exists(ADMIN) or world.files.exists(KUBELET)
        if (made and not _missing(docs, files)) or not options.get("certificate_key"):
            return Observed(files, settled=made and not _missing(docs, files))
        # Once kubelet-start has run, the other file may lead to the API server that this host has yet to start.
        api = world.api if world.files.exists(ADMIN) else world.bootstrap_api if world.files.exists(BOOTSTRAP) else None
        return Observed(files, asked=api is not None, secret=api.get(secret_key(options)) if api is not None else None)

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Decide which files are written; what is here and differs is never replaced."""
        planner = _Planner(docs, seen, options)
        if options.get("certificate_key"):
            key_bytes(options["certificate_key"])
        if seen.settled:
            return planner.result()
        expected = options.get("certificate_key_given") and _missing(docs, seen.files)
        if not options.get("certificate_key") and not expected:
            planner.without_key()
        elif not seen.asked:
            planner.later()
        else:
            planner.download()
        return planner.result()


def secret_key(options: Mapping[str, Any]) -> ObjectKey:
    """The Secret that is read: kubeadm's, or the one that was made for this run of joins."""
    return SECRET._replace(name=options.get("secret_name") or SECRET.name)


def _missing(docs: Documents, files: Mapping[str, FileState]) -> list[str]:
    return [path for path in needed(docs).values() if path not in files]


class _Planner:
    """Compares what the Secret carries with what is here."""

    def __init__(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> None:
        self._docs = docs
        self._seen = seen
        self._secret = secret_key(options)
        self._key: str = options.get("certificate_key") or ""
        paths = carried(docs)
        # Keys first: an authority's certificate without its key would pass for an external authority.
        self._paths = {name: paths[name] for name in sorted(paths, key=lambda name: not name.endswith(".key")) if paths[name]}
        self._changes: list[Change] = []
        self._warnings: list[str] = []

    def without_key(self) -> None:
        """Nothing can be downloaded, so all that is needed must be here."""
        missing = _missing(self._docs, self._seen.files)
        if missing:
            raise Unusable(
                ", ".join(missing),
                "not on this host, and no certificate key was given to download it with",
                f"Give the key of {SECRET} as certificate_key, let join_secrets upload the certificates, or {_BY_HAND}",
            )
        for path in keys_kept_away(self._docs):
            if path not in self._seen.files:
                self._warnings.append(f"{path} is not on this host: certificates of that authority cannot be issued here")

    def later(self) -> None:
        """Name what would be downloaded, if only there were a key and a way to the cluster."""
        lacking = f"it is to come from {self._secret}, and "
        if self._key:
            lacking, fix = f"{lacking}this host has neither {BOOTSTRAP} nor {ADMIN} to ask for it with", "Run cluster_discovery first"
        else:
            lacking, fix = f"{lacking}no certificate key was given that opens it", "Give certificate_key"
        for name, path in self._paths.items():
            if path not in self._seen.files:
                self._write(name, path, DownloadLater(path, lacking, fix))

    def download(self) -> None:
        """Open the Secret and compare every value with its file."""
        if self._seen.secret is None:
            self._gone()
            return
        inside = opened(self._seen.secret.get("data"), self._key)
        if inside is None:
            raise Unusable(
                str(self._secret),
                "it does not open with the given certificate key",
                "Give the key that it was uploaded with, or upload the certificates again",
            )
        findings = []
        for name, path in self._paths.items():
            try:
                self._compare(name, path, inside)
            except Unusable as finding:
                findings.append(finding)
        if findings:
            raise ManyUnusable(tuple(findings))

    def result(self) -> Plan:
        """Report what is here and what becomes of the rest."""
        written = {change.target for change in self._changes}
        files = [
            {"path": path, "done": "kept" if path in self._seen.files else "downloaded" if path in written else "absent"}
            for path in self._paths.values()
        ]
        facts = {"files": files, "needed": bool(_missing(self._docs, self._seen.files))}
        return Plan(tuple(self._changes), facts, tuple(self._warnings))

    def _gone(self) -> None:
        if any(path not in self._seen.files for path in self._paths.values()):
            raise Unusable(
                str(self._secret),
                "it does not exist; such a Secret is removed after at most two hours",
                "Upload the certificates again (upload_certs on a control plane, or kubeadm init phase upload-certs --upload-certs),"
                f" or {_BY_HAND}",
            )
        self._warnings.append(f"{self._secret} does not exist any more, so the shared files on this host were not compared with it")

    def _compare(self, name: str, path: str, inside: Mapping[str, bytes]) -> None:
        if name not in inside:
            raise Unusable(str(self._secret), f"it has no value {name}", "Upload the certificates again, with the same documents")
        content, here = inside[name], self._seen.files.get(path)
        if not content:
            self._empty(name, path, here)
        elif here is None:
            self._write(name, path, WriteFile(path, content, 0o600 if self._private(name, content) else 0o644))
        elif here.content.strip() != content.strip():
            raise Unusable(
                path,
                "it is on this host already and differs from that of the cluster",
                "If it belongs to another cluster or is stale, move it away and run again",
            )

    def _empty(self, name: str, path: str, here: FileState | None) -> None:
        """The file was not on the control plane that uploaded it; kubeadm passes over that."""
        if here is not None:
            return
        if path in _missing(self._docs, self._seen.files):
            raise Unusable(path, f"it is not on this host, and {name} in {self._secret} is empty", "Bring it here by other means")
        self._warnings.append(f"{path} is not on this host, and {name} in {self._secret} is empty")

    def _private(self, name: str, content: bytes) -> bool:
        """Tell keys from what anybody may read, by what the value is and not only by its name."""
        labels = [label.decode() for label in _LABEL.findall(content)]
        private = any(label.endswith("PRIVATE KEY") for label in labels)
        if private != name.endswith(".key") or not (private or any(label in _PUBLIC for label in labels)):
            wanted = "a private key" if name.endswith(".key") else "a certificate or public key"
            raise Unusable(str(self._secret), f"its value {name} is not {wanted} in PEM", "Upload the certificates again")
        return private

    def _write(self, name: str, path: str, action: WriteFile | DownloadLater) -> None:
        what = "private key, mode: 0600" if name.endswith(".key") else "public, mode: 0644"
        reason = "all control planes share it, and it is not on this host"
        self._changes.append(Change(path, reason, "", f"{name} of {self._secret}\n{what}\n", action))
