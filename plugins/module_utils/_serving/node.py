# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The serving certificate of one node: what state it is in and, where the collection sees to it, asked for and rotated."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet import freshness
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.healthz import healthz_url_on_disk
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.node import (
    CONFIG,
    KUBECONFIG,
    SERVER_BOOTSTRAP,
    SERVICE,
    SERVING_FILES,
    rotating_certificate,
)
from ansible_collections.kubephase.cluster.plugins.module_utils._kubelet.text import dump, load
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.nodes import node_key
from ansible_collections.kubephase.cluster.plugins.module_utils._pki.found import Certificate, load_certificates, stamp, subject_line
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.files import FileState, RemoveFile, WriteFile
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import ServiceState
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.serving import RequestServing
from ansible_collections.kubephase.cluster.plugins.module_utils._serving import figures
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.fate import fate_of
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.pair import Pair, certificate_fact, drawn_from, load_pair
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.rotation import Rotation, next_rotation, pause
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.store import Store, is_stored_pair, must_be_links
from ansible_collections.kubephase.cluster.plugins.module_utils._serving.template import (
    SIGNER,
    Template,
    expiration_seconds,
    template_of,
    usages,
    user_of,
)

BY_KUBELET, BY_COLLECTION, BY_NOBODY = "kubelet", "collection", "self-signed"
_CONFIG_MODE = 0o644
_NOT_STARTED = f"{KUBECONFIG} leads to no API server yet, so no serving certificate can be asked for"


@dataclass(frozen=True)
class Observed:
    """The kubelet's settings and files, its Node and, while it has no certificate, its requests."""

    store: Store
    config: FileState | None
    settings: Mapping[str, Any]
    pair: Pair
    service: ServiceState
    now: datetime
    has_client: bool
    plain_files: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    # Of the stored ones, pairs that the current link does not lead to.
    superseded: tuple[str, ...] = ()
    template: Template | None = None
    requests: tuple[Manifest, ...] = field(default=(), repr=False)


class KubeletServingCertPhase:
    """The kubelet's server certificate manager, seen from outside or done in its place, as read and plan."""

    name = "kubelet-serving-cert"

    def read(self, docs: Documents, world: Any, options: Mapping[str, Any]) -> Observed:
        """Read settings and files; as the node itself, ask for its addresses and for what became of its requests."""
        config = world.files.read(CONFIG)
        settings = _settings(config)
        store = Store(posixpath.dirname(rotating_certificate(docs)), *(str(settings.get(name) or "") for name in SERVING_FILES))
        pair = load_pair(docs, world.files, store)
        has_client = world.node_api.admitted()
        template, requests = None, ()
        if has_client and options["manager"] != BY_NOBODY:
            node = world.node_api.get(node_key(docs.node.name)) or {}
            template = template_of(docs.node.name, (node.get("status") or {}).get("addresses") or (), _needs_address(docs))
            if pair.leaf is None or not pair.trusted:
                requests = world.node_api.own(SIGNER, user_of(docs.node.name))
        links = (store.current, store.updated)
        stored = tuple(path for path in world.files.below(store.directory) if is_stored_pair(store, path))
        return Observed(
            store=store,
            config=config,
            settings=settings,
            pair=pair,
            service=world.systemd.state(SERVICE),
            now=world.clock.now(),
            has_client=has_client,
            plain_files=tuple(path for path in links if world.files.exists(path) and not world.files.is_link(path)),
            stored=stored,
            superseded=_superseded(world.files, store, stored) if options["manager"] == BY_COLLECTION else (),
            template=template,
            requests=tuple(requests),
        )

    def plan(self, docs: Documents, seen: Observed, options: Mapping[str, Any]) -> Plan:
        """Tell how things stand; where the collection is the manager, ask for a certificate that is due and point the kubelet at it."""
        manager = options["manager"]
        if manager == BY_NOBODY:
            return _undone(docs, seen)
        _check(docs, seen, manager)
        rotation = _rotation(seen, manager)
        facts = {"manager": manager, "at_work": seen.has_client, **_facts(seen, rotation)}
        if not seen.has_client:
            return Plan(facts=facts, warnings=(_NOT_STARTED,))
        if manager == BY_KUBELET:
            return Plan(facts=facts)
        asked = _rotated(docs, seen, options, rotation)
        changes = (*asked, *_pointed(docs, seen, bool(asked)), *(() if asked else _tidied(seen)))
        return Plan(changes, facts, () if seen.template else ("The Node has no addresses yet, so there is nothing to ask for",))


def _check(docs: Documents, seen: Observed, manager: str) -> None:
    """Refuse what leaves the certificate without a manager, or gives it two."""
    wanted, found = bool(docs.kubelet.get(SERVER_BOOTSTRAP)), bool(seen.settings.get(SERVER_BOOTSTRAP))
    if manager == BY_KUBELET and not wanted:
        fix = "Set it to true in KubeletConfiguration, or let the collection be the manager"
        raise Unusable(f"KubeletConfiguration.{SERVER_BOOTSTRAP}", "it is not on, so the kubelet asks for no certificate", fix)
    if manager == BY_KUBELET and seen.config is not None and not found:
        raise Unusable(CONFIG, f"{SERVER_BOOTSTRAP} is not on there", "Run the kubelet-start phase (kubelet_start) first")
    if manager == BY_COLLECTION and (wanted or found):
        where = f"KubeletConfiguration.{SERVER_BOOTSTRAP}" if wanted else CONFIG
        raise Unusable(
            where,
            "with it on, the kubelet asks for its certificate itself",
            f"Turn {SERVER_BOOTSTRAP} off, or let the kubelet be the manager",
        )
    if manager == BY_COLLECTION:
        must_be_links(seen.store, lambda path: path in seen.plain_files)


def _rotation(seen: Observed, manager: str) -> Rotation:
    if seen.pair.problem:
        return Rotation(seen.now, seen.pair.problem)
    if manager == BY_COLLECTION and seen.pair.leaf is not None and not seen.pair.trusted:
        return Rotation(seen.now, "the cluster's CA has not signed it")
    return next_rotation(seen.pair.leaf, seen.template, seen.now, drawn_from(seen.pair.leaf))


def _rotated(docs: Documents, seen: Observed, options: Mapping[str, Any], rotation: Rotation) -> list[Change]:
    if seen.template is None or rotation.due > seen.now:
        return []
    rsa = options["algorithm"].startswith("RSA")
    before = seen.pair.chain[0].lines() if seen.pair.chain else ""
    template = seen.template
    action = RequestServing(
        common_name=template.common_name,
        organizations=template.organizations,
        dns_names=template.dns_names,
        ip_addresses=template.ip_addresses,
        algorithm=options["algorithm"],
        signer=SIGNER,
        usages=usages(rsa, docs.known_release.serving_usages_by_key),
        lifetime_seconds=expiration_seconds(options.get("lifetime")),
        current=seen.store.current,
        updated=seen.store.updated,
        replaced=_dated(seen.store, seen.stored),
        seconds=options["timeout"].total_seconds(),
        fate=_fate,
        pause=pause,
        stored_at=seen.store.stored_at,
        report=partial(_report, seen),
    )
    subject = subject_line(template.common_name, template.organizations)
    after = f"subject: {subject}\nnames: {', '.join((*template.dns_names, *template.ip_addresses))}\n"
    return [Change(seen.store.current, rotation.reason, before, after, action)]


def _fate(request: Manifest | None, uid: str, waited: timedelta) -> Any:
    return fate_of(request, uid, waited)


def _pointed(docs: Documents, seen: Observed, asked: bool) -> list[Change]:
    """Point the kubelet at the link; restart it where it does not notice by itself that what it reads has changed."""
    current = seen.store.current
    if not asked and seen.pair.path != current:
        return []
    settings = {**seen.settings, **dict.fromkeys(SERVING_FILES, current)}
    changes = []
    reason = ""
    if settings != seen.settings and seen.config is not None:
        reason = "it runs without the certificate that the cluster signed"
        changes.append(_config_change(seen, settings, "it does not point at the certificate that the cluster signs"))
    elif not _reloads(docs) and (asked or freshness.newer(seen.service, [FileState(current, b"", 0, seen.pair.mtime)])):
        reason = "it still serves the certificate of before, and its release does not read the file again"
    if reason and seen.service.active:
        changes.append(freshness.restart(reason, True, healthz_url_on_disk(docs, seen.config)))
    return changes


def _tidied(seen: Observed) -> list[Change]:
    """Remove pairs that were replaced.

    A kubelet that reads its files again watches the file behind the link, not the link: it notices the new pair only when
    the old one goes. One that a killed run has left keeps the kubelet with it.
    """
    if seen.pair.path != seen.store.current or seen.pair.problem:
        return []
    before = "a serving certificate with its key\n"
    return [Change(path, "another has taken its place", before, "", RemoveFile(path)) for path in seen.superseded]


def _undone(docs: Documents, seen: Observed) -> Plan:
    """Let the kubelet sign for itself again: nothing points at the files any more, and they are gone."""
    changes = []
    if seen.config is not None and any(seen.settings.get(name) == seen.store.current for name in SERVING_FILES):
        kept = {name: value for name, value in seen.settings.items() if name not in SERVING_FILES}
        changes.append(_config_change(seen, kept, "the kubelet is to serve with a certificate of its own"))
        if seen.service.active:
            changes.append(freshness.restart("it still serves the certificate of before", True, healthz_url_on_disk(docs, seen.config)))
    if not docs.kubelet.get(SERVER_BOOTSTRAP) and not seen.settings.get(SERVER_BOOTSTRAP):
        changes += [
            Change(path, "nobody uses it any more", "a serving certificate with its key\n", "", RemoveFile(path)) for path in seen.stored
        ]
    return Plan(tuple(changes), {"manager": BY_NOBODY, "at_work": False})


def _config_change(seen: Observed, settings: Mapping[str, Any], reason: str) -> Change:
    shown = [{name: each[name] for name in SERVING_FILES if each.get(name)} for each in (seen.settings, settings)]
    before, after = (dump(each) if each else "" for each in shown)
    return Change(CONFIG, reason, before, after, WriteFile(CONFIG, dump(settings).encode(), _CONFIG_MODE))


def _facts(seen: Observed, rotation: Rotation) -> dict[str, Any]:
    newest = max(seen.requests, key=lambda each: str(each["metadata"].get("creationTimestamp") or ""), default=None)
    fate = fate_of(newest) if newest is not None else None
    return {
        "certificate": certificate_fact(seen.pair),
        "request": {"name": newest["metadata"]["name"], "state": fate.state, "reason": fate.message} if newest and fate else {},
        "rotation": {"due": stamp(rotation.due), "reason": rotation.reason},
        "figures": _figures(seen.pair.leaf, seen.now, None, 0),
    }


def _figures(leaf: Certificate | None, now: datetime, lived: float | None, errors: int) -> dict[str, Any]:
    return {"ttl_seconds": figures.number(figures.seconds_left(leaf, now)), "rotation_seconds": lived, "renew_errors": errors}


def _report(seen: Observed, pem: bytes, now: datetime, errors: int) -> dict[str, Any]:
    """Tell what a rotation has brought."""
    chain = load_certificates(seen.store.current, pem)
    now = now.replace(microsecond=0)
    old = seen.pair.leaf
    rotation = next_rotation(chain[0], seen.template, now, drawn_from(chain[0]))
    return {
        "certificate": certificate_fact(Pair(seen.store.current, chain, trusted=True)),
        "request": {},
        "rotation": {"due": stamp(rotation.due), "reason": rotation.reason},
        "figures": _figures(chain[0], now, figures.lived(old, now) if old is not None else None, errors),
    }


def _dated(store: Store, stored: Sequence[str]) -> tuple[str, ...]:
    return tuple(path for path in stored if path not in (store.current, store.updated))


def _superseded(files: Any, store: Store, stored: Sequence[str]) -> tuple[str, ...]:
    current = files.read(store.current)
    dated = [files.read(path) for path in _dated(store, stored)]
    return tuple(each.path for each in dated if each is not None and current is not None and each.content != current.content)


def _settings(config: FileState | None) -> Mapping[str, Any]:
    try:
        found = load(config.content) if config is not None else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unusable(CONFIG, "it is not a YAML map", "Run the kubelet-start phase (kubelet_start), which writes it anew")
    return found


def _gate(docs: Documents, name: str, default: bool) -> bool:
    gates = docs.kubelet.get("featureGates")
    return bool(gates.get(name, default)) if isinstance(gates, Mapping) else default


def _needs_address(docs: Documents) -> bool:
    return docs.known_release.serving_needs_address and not _gate(docs, "AllowDNSOnlyNodeCSR", False)


def _reloads(docs: Documents) -> bool:
    return docs.known_release.serving_files_reloaded and _gate(docs, "ReloadKubeletServerCertificateFile", True)
