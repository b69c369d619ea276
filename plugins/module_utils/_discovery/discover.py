# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finding a cluster: whom to ask, what to believe of the answers, and what to take from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery import cluster_info
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.authorities import pinned
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.cluster_info import KUBECONFIG, Cluster
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.discovery_file import Given, User, given
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.signature import complaint
from ansible_collections.kubephase.cluster.plugins.module_utils._discovery.way import ByAuthority, ByFile, ByToken, Way
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.discovery import ANYBODY, AUTHORITY, HOST, Answer, Question

TOKEN_USER = "tls-bootstrap-token-user"  # noqa: S105 - the name of a user
# kubeadm's name of the context, whatever the cluster is called.
_TOKEN_CONTEXT = f"{TOKEN_USER}@kubernetes"

_DISTRUST = "Do not join this cluster before you know who answers there: mend the address, or take token and pin from the cluster anew"
_UNREACHED = "See that the API server runs, that this host reaches it and that the token is still there; or mend the address"

Data = Mapping[str, str]


@dataclass(frozen=True)
class Found:
    """A cluster that was verified, and who logs in to it."""

    cluster: Cluster
    user: User
    # Where it was asked, or the discovery file.
    endpoint: str
    warnings: tuple[str, ...] = field(default=())


def discover(way: Way, docs: Documents, world: Any) -> Found:
    """Find the cluster in the settled way, or say why whoever answered is not believed."""
    seconds = docs.timeouts.discovery.total_seconds()
    if isinstance(way, ByToken):
        return _by_token(way, seconds, world)
    if isinstance(way, ByAuthority):
        return _by_authority(way, seconds, world)
    return _by_file(way, docs, seconds, world)


def _by_token(way: ByToken, seconds: float, world: Any) -> Found:
    """Ask anybody, believe the token's signature; with pins, ask again whom they vouch for."""
    where, url = way.server, way.server + cluster_info.PATH
    text = _signed(way, Question(url, ANYBODY), seconds, world)
    cluster = _told_by(where, text)
    warnings: tuple[str, ...] = (f"{where}: it was believed without a pin of its certificate authority, as the documents ask",)
    if way.pins:
        warnings = _vouched_for(where, cluster, way.pins)
        again = _signed(way, Question(url, AUTHORITY, cluster.authority.decode("ascii", errors="replace")), seconds, world)
        if again != text:
            raise Unusable(where, "it answers differently to somebody who checks its certificate", _DISTRUST)
    # kubeadm takes neither more nor less than these two from cluster-info.
    return Found(replace(cluster, server_name=""), _token_user(way.login), where, warnings)


def _by_authority(way: ByAuthority, seconds: float, world: Any) -> Found:
    """Ask whom the authority vouches for: TLS proves who answers, so that no signature has to be waited for."""
    where = way.server

    def wanting(answer: Answer) -> str:
        return "" if answer.status == 200 else _silence(where, answer)

    answer = _asked(where, Question(where + cluster_info.PATH, AUTHORITY, way.authority), wanting, seconds, world)
    cluster = _told_by(where, _kubeconfig_in(where, cluster_info.config_map(where, answer)))
    return Found(replace(cluster, server_name=""), _token_user(way.login), where, _vouched_for(where, cluster, way.pins))


def _kubeconfig_in(where: str, data: Data) -> str:
    if not data.get(KUBECONFIG):
        raise Unusable(where, "its cluster-info holds no kubeconfig", _DISTRUST)
    return data[KUBECONFIG]


def _told_by(where: str, text: str) -> Cluster:
    """Read the cluster out of the kubeconfig in cluster-info."""
    document = cluster_info.load(where, text, _DISTRUST)
    cluster = cluster_info.cluster(where, cluster_info.cluster_entry(where, document, _DISTRUST), _DISTRUST)
    _require_authority(where, cluster, _DISTRUST)
    return cluster


def _vouched_for(where: str, cluster: Cluster, pins: tuple[str, ...]) -> tuple[str, ...]:
    """Insist that a pin is that of one of the cluster's authorities; warn of those that have none."""
    known = pinned(cluster.pins, pins)
    if not known:
        found = f"its certificate authority is another one than that of the pins: {', '.join(cluster.pins)}"
        raise Unusable(where, found, _DISTRUST)
    others = len(cluster.pins) - len(known)
    return (f"{where}: of its certificate authorities {others} have no pin; they are trusted all the same",) if others else ()


def _signed(way: ByToken, question: Question, seconds: float, world: Any) -> str:
    """Ask until cluster-info carries the signature of the token, which comes a moment after the token; give its kubeconfig."""
    key = f"jws-kubeconfig-{way.identifier}"

    def wanting(answer: Answer) -> str:
        if answer.status != 200:
            return _silence(way.server, answer)
        if key in cluster_info.config_map(way.server, answer):
            return ""
        return f"its cluster-info has no signature of the token {way.identifier}, so that has expired or is another cluster's"

    data = cluster_info.config_map(way.server, _asked(way.server, question, wanting, seconds, world))
    text = _kubeconfig_in(way.server, data)
    wrong = complaint(data[key], text, way.identifier, way.secret)
    if wrong:
        raise Unusable(way.server, f"its cluster-info cannot be trusted: {wrong}", _DISTRUST)
    return text


def _by_file(way: ByFile, docs: Documents, seconds: float, world: Any) -> Found:
    """Believe the file, and see that its cluster answers; cluster-info adds what the release takes from it."""
    where = way.shown
    file = given(where, *_content(way, docs, world))
    user = _token_user(way.login) if way.login else file.user
    if user is None:
        raise Unusable(
            where,
            f"its user logs in by {file.unsupported}, which is not supported"
            if file.unsupported
            else "it has no user, and no token is given",
            "Put a token or a client certificate into it, or set JoinConfiguration.discovery.tlsBootstrapToken",
        )
    server = file.cluster.server

    def wanting(answer: Answer) -> str:
        # Whoever may not read cluster-info has yet seen that the server is the right one.
        return "" if answer.status in (200, 403) else _silence(server, answer)

    answer = _asked(f"{server}, as {where} names it", file.question(), wanting, seconds, world)
    cluster, warnings = _refreshed(file, answer, docs, where)
    _require_authority(where, cluster, "Put the certificate authority of the cluster into it")
    return Found(cluster if user is file.user else replace(cluster, server_name=""), user, where, warnings)


def _content(way: ByFile, docs: Documents, world: Any) -> tuple[bytes, Callable[[str], bytes | None] | None]:
    """Read or fetch a discovery file; what it points at is read only when it is this host's own."""
    if not way.remote:
        state = world.files.read(way.location)
        if state is None:
            raise Unusable(way.location, "there is no such discovery file on this host", "Put it there, or mend the path in the documents")

        def read(path: str) -> bytes | None:
            beside = world.files.read(path)
            return None if beside is None else bytes(beside.content)

        return state.content, read
    where, answer = way.shown, world.discovery.ask(Question(way.location, HOST))
    if answer.problem:
        raise Unusable(where, answer.problem, "See that this host reaches and trusts the server of the discovery file, or mend the address")
    if 300 <= answer.status < 400:
        raise Unusable(where, "it leads on to another address, which is not followed", "Give the address that the file is at")
    if answer.status != 200 and docs.known_release.discovery_https_checks_status:
        raise Unusable(where, f"it answers with status {answer.status}", "Mend the address of the discovery file")
    return answer.body, None


def _refreshed(file: Given, answer: Answer, docs: Documents, where: str) -> tuple[Cluster, tuple[str, ...]]:
    """Compare the file with cluster-info; in older releases the latter counts, if it was read with the file's own user."""
    live = _live(f"{file.cluster.server}, as {where} names it", answer)
    if live is None:
        return file.cluster, (f"{where}: cluster-info could not be read from {file.cluster.server}, so the file alone counts",)
    if not docs.known_release.discovery_file_wins and file.user is not None:
        return replace(live, server_name=file.cluster.server_name), ()
    warnings: tuple[str, ...] = ()
    if live.server != file.cluster.server:
        warnings = (f"{where} names the server {file.cluster.server}, cluster-info {live.server}: the file counts, as with kubeadm",)
    return replace(file.cluster, authority=file.cluster.authority or live.authority), warnings


def _live(where: str, answer: Answer) -> Cluster | None:
    if answer.status != 200:
        return None
    text = cluster_info.config_map(where, answer).get(KUBECONFIG, "")
    try:
        document = cluster_info.load(where, text, _UNREACHED)
    except Unusable:
        return None
    return cluster_info.cluster(where, cluster_info.cluster_entry(where, document, _DISTRUST), _DISTRUST)


def _asked(where: str, question: Question, wanting: Callable[[Answer], str], seconds: float, world: Any) -> Answer:
    """Ask until nothing is wanting, or the time is up."""
    answer: Answer
    answer, missing = world.discovery.poll(question, wanting, seconds)
    if missing:
        raise Unusable(where, f"not found to be the cluster within {seconds:.0f} s: {missing}", _UNREACHED)
    return answer


def _silence(where: str, answer: Answer) -> str:
    """Say what an answer lacks; one that waiting does not better is refused at once."""
    if answer.problem:
        if not answer.passing:
            raise Unusable(where, answer.problem, _DISTRUST)
        return answer.problem
    if 300 <= answer.status < 400:
        raise Unusable(where, "it leads on to another address, which no API server does", _DISTRUST)
    told = {
        401: "it does not let anybody in (status 401)",
        403: "it lets nobody read cluster-info (status 403)",
        404: "it has no cluster-info (status 404)",
    }
    return told.get(answer.status, f"it answers with status {answer.status}")


def _token_user(token: str) -> User:
    return User(TOKEN_USER, _TOKEN_CONTEXT, {"token": token})


def _require_authority(where: str, cluster: Cluster, fix: str) -> None:
    """Insist on an authority in every release: without one the kubelet could not check anybody, and would not start."""
    if not cluster.authority:
        raise Unusable(where, "its kubeconfig has no certificate authority", fix)
