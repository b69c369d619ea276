# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From files and variables to one set of documents: versions checked, v1beta3 converted, merged by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.convert import from_v1beta3
from ansible_collections.kubephase.cluster.plugins.module_utils._config.fields import BAD, ArgMap, Shape, arg_list, with_arg_lists
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import (
    Findings,
    InvalidDocuments,
    did_you_mean,
    shape,
    shown,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import judge
from ansible_collections.kubephase.cluster.plugins.module_utils._config.schema import (
    COMPONENT_APIS,
    DOCUMENTS,
    GROUP,
    IGNORED_KINDS,
    KINDS,
    edition,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release, release_for

_OLD = ("v1alpha1", "v1alpha2", "v1alpha3", "v1beta1", "v1beta2")


@dataclass(frozen=True)
class Source:
    """One document as it was given; kind is set for a variable and None for a document of a file."""

    name: str
    kind: str | None
    data: Any = field(repr=False)


@dataclass(frozen=True)
class Canonical:
    """All documents in the shape of v1beta4; origins says which source gave a field."""

    documents: dict[str, dict[str, Any]] = field(repr=False)
    warnings: tuple[str, ...] = ()
    origins: dict[str, str] = field(default_factory=dict)


def canonical(sources: Sequence[Source]) -> Canonical:
    """Check, convert and merge the sources, later ones winning; InvalidDocuments with every problem at once."""
    origins: dict[str, str] = {}
    findings = Findings(origins=origins)
    documents: dict[str, dict[str, Any]] = {}
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    timeouts: dict[str, Any] = {}
    for source in sources:
        at = findings.within(source.name)
        kind = _kind(source, at)
        if not kind:
            continue
        if source.kind is None and (source.name, kind) in seen:
            at.problem(kind, "a second document of this kind", "each kind once in a file")
            continue
        seen.add((source.name, kind))
        version = _version(source.data.get("apiVersion"), kind, at)
        if version is None:
            continue
        if version and kind not in COMPONENT_APIS:
            versions[f"{source.name}: {kind}"] = version
        body = _shape(source, kind, version).read(_body(source.data), kind, at)
        if body is BAD:
            continue
        if version == "v1beta3":
            body, asked = from_v1beta3(kind, body)
            timeouts.update(asked)
        _note_origins(body, kind, source.name, origins)
        documents[kind] = _merged(documents.get(kind, {}), body)
    _hand_down(timeouts, documents, findings)
    plain = {kind: with_arg_lists(body) for kind, body in documents.items()}
    if findings.problems:
        # Judge what could be read as well, so that a person sees every problem in one go.
        judge(plain, findings)
        raise InvalidDocuments(findings.problems)
    _warn_of_versions(versions, plain, findings)
    return Canonical(plain, tuple(findings.warnings), origins)


def _kind(source: Source, findings: Findings) -> str:
    if not isinstance(source.data, Mapping):
        findings.problem(source.kind or "", shape(source.data), "a mapping: a kubeadm document")
        return ""
    given = source.data.get("kind")
    if source.kind is not None:
        if given is not None and given != source.kind:
            findings.problem(f"{source.kind}.kind", shown(given), shown(source.kind))
            return ""
        given = source.kind
    if given is None:
        findings.problem("kind", "nothing", "one of " + ", ".join(KINDS))
        return ""
    if isinstance(given, str) and given in IGNORED_KINDS:
        findings.warn(given, "this document is of no use to init and join and was ignored")
        return ""
    if not isinstance(given, str) or given not in KINDS:
        hint = did_you_mean(given, KINDS) if isinstance(given, str) else ""
        findings.problem("kind", shown(given), "one of " + ", ".join(KINDS), hint)
        return ""
    return str.__str__(given)


def _version(given: Any, kind: str, findings: Findings) -> str | None:
    """The API version without its group, an empty text when none was given, None after a problem."""
    path = f"{kind}.apiVersion"
    if given is None:
        return ""
    if kind in COMPONENT_APIS:
        allowed = COMPONENT_APIS[kind]
        if given != allowed:
            findings.problem(path, shown(given), allowed)
            return None
        return allowed.partition("/")[2]
    expected = f"{GROUP}/v1beta4 or {GROUP}/v1beta3"
    group, _slash, version = given.partition("/") if isinstance(given, str) else ("", "", "")
    if group == GROUP and version in ("v1beta3", "v1beta4"):
        return str.__str__(version)
    hint = ""
    if group == GROUP and version in _OLD:
        hint = "Convert the file with 'kubeadm config migrate --old-config OLD --new-config NEW' of a kubeadm that still reads it"
        hint += " (v1beta2: kubeadm 1.22 to 1.26)."
    elif group == GROUP and version == "v1":
        hint = f"kubeadm.k8s.io/v1 is experimental and kubeadm init and join refuse it too: write {GROUP}/v1beta4."
    findings.problem(path, shown(given), expected, hint)
    return None


def _body(data: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in data.items() if key not in ("kind", "apiVersion")}


def _hand_down(timeouts: dict[str, Any], documents: dict[str, dict[str, Any]], findings: Findings) -> None:
    """Timeouts of a v1beta3 ClusterConfiguration hold for init and join where those do not say otherwise."""
    if not timeouts:
        return
    release = _release(documents)
    if release is not None and release.config_api["v1beta3"] != "refused" and not release.timeout_for_control_plane_counts:
        told = f"kubeadm {release.version} reads it and forgets it, so it has no effect; later patches of the minor may heed it"
        findings.warn("ClusterConfiguration.apiServer.timeoutForControlPlane", told)
        return
    waiting = [kind for kind in ("InitConfiguration", "JoinConfiguration") if kind in documents]
    for kind in waiting or ["InitConfiguration"]:
        documents[kind] = _merged({"timeouts": timeouts}, documents.get(kind, {}))


def _shape(source: Source, kind: str, version: str) -> Shape:
    """Files are held to what their version says; a variable may write arguments either way."""
    if not version:
        return DOCUMENTS[kind]
    strict = {"v1beta3": "map", "v1beta4": "list"}.get(version, "either")
    return edition("either" if source.kind else strict, version != "v1beta3")[kind]


def _merged(earlier: Any, later: Any) -> Any:
    """Maps merge deeply, anything else is replaced; arguments given as a map change single names."""
    if isinstance(later, ArgMap):
        if isinstance(earlier, ArgMap):
            return ArgMap({**earlier, **later})
        if isinstance(earlier, list):
            return [arg for arg in earlier if arg.get("name", "") not in later] + arg_list(later)
        return later
    if isinstance(earlier, dict) and isinstance(later, dict) and not isinstance(earlier, ArgMap):
        merged = dict(earlier)
        for key, value in later.items():
            merged[key] = _merged(merged[key], value) if key in merged else value
        return merged
    return later


def _note_origins(value: Any, path: str, name: str, origins: dict[str, str]) -> None:
    """Remember who gave a field; what holds fields of several sources belongs to all of them."""
    if not isinstance(value, dict) or not value or isinstance(value, ArgMap):
        origins[path] = name
        return
    earlier = origins.get(path, name)
    origins[path] = earlier if name in earlier.split(" and ") else f"{earlier} and {name}"
    for key, item in value.items():
        _note_origins(item, f"{path}.{key}", name, origins)


def _warn_of_versions(versions: Mapping[str, str], documents: Mapping[str, Any], findings: Findings) -> None:
    """Tell where the release's own kubeadm would not read the file as it is; ours reads it all the same."""
    release = _release(documents)
    if release is None:
        return
    for place, version in versions.items():
        standing = release.config_api.get(version, "refused")
        if standing == "deprecated":
            findings.warn(
                place, f"kubeadm {release.version} calls {GROUP}/{version} deprecated; 'kubeadm config migrate' writes the newer form"
            )
        elif standing != "accepted":
            findings.warn(place, f"kubeadm {release.version} itself does not read {GROUP}/{version}; this collection does")


def _release(documents: Mapping[str, Any]) -> Release | None:
    """The release that the documents ask for, if they say and the table covers it."""
    try:
        return release_for(documents.get("ClusterConfiguration", {}).get("kubernetesVersion", ""))
    except ValueError:
        return None
