# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All phases in one look: what is pending, what follows, what cannot be known yet, what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from unit.world import Host

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Change, ManyUnusable, Plan, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.interpreter import World
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.survey import Follows, Survey, Surveyed


class Told:
    """A phase that plans what it is told."""

    def __init__(self, *targets: str, problem: str = "", **facts: Any) -> None:
        self.name = "told"
        self._targets = targets
        self._problem = problem
        self._facts = facts
        self.options: Mapping[str, Any] = {}

    def read(self, docs: Any, world: Any, options: Mapping[str, Any]) -> None:
        self.options = options
        if self._problem:
            raise Unusable("somewhere", self._problem, "mend it")

    def plan(self, docs: Any, seen: None, options: Mapping[str, Any]) -> Plan:
        return Plan(tuple(Change(target, "why", "", "", Action()) for target in self._targets), self._facts)


def survey(*phases: Surveyed, **options: Any) -> Mapping[str, Any]:
    outcome = execute(Survey(phases), World(host=Host()), {"ClusterConfiguration": {"kubernetesVersion": "v1.37.1"}}, options)
    assert not outcome.changed
    return outcome.facts


def test_nothing_to_do_is_nothing_pending() -> None:
    facts = survey(Surveyed("certs", Told()), Surveyed("addon", Told()))
    assert facts["pending"] == []
    assert facts["endpoint"] == "https://192.0.2.10:6443"


def test_what_has_work_is_named_after_preflight() -> None:
    facts = survey(Surveyed("certs", Told()), Surveyed("addon", Told("x")))
    assert facts["pending"] == ["preflight", "addon"]
    assert facts["phases"][1]["changes"] == [{"target": "x", "reason": "why", "before": "", "after": ""}]


def test_what_needs_the_api_is_pending_while_that_is_still_to_come() -> None:
    facts = survey(Surveyed("etcd", Told("manifest")), Surveyed("addon", Told(problem="no answer"), asks_api=True))
    assert facts["pending"] == ["preflight", "etcd", "addon"]
    assert facts["phases"][1]["reason"] == "it cannot be known before etcd is done"


@pytest.mark.parametrize("asks_api", [False, True])
def test_a_problem_that_no_pending_phase_explains_is_an_error(asks_api: bool) -> None:
    with pytest.raises(ManyUnusable, match="somewhere: no answer"):
        survey(Surveyed("etcd", Told()), Surveyed("addon", Told(problem="no answer"), asks_api=asks_api))


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ManyUnusable) as found:
        survey(Surveyed("certs", Told(problem="one")), Surveyed("etcd", Told(problem="two")))
    assert len(found.value.findings) == 2


def test_health_follows_every_change_of_what_it_is_about() -> None:
    wait = Surveyed("wait-control-plane", Told(), follows=(Follows("control-plane"),))
    assert survey(Surveyed("control-plane", Told("m")), wait)["pending"] == ["preflight", "control-plane", "wait-control-plane"]
    assert survey(Surveyed("control-plane", Told()), wait)["pending"] == []


@pytest.mark.parametrize(("target", "rotates", "follows"), [("other", True, False), ("kubelet.conf", True, True), ("other", False, False)])
def test_finalize_follows_its_own_file(target: str, rotates: bool, follows: bool) -> None:
    finalize = Surveyed("kubelet-finalize", Told(rotation=rotates), follows=(Follows("kubeconfig", target="kubelet.conf"),))
    assert ("kubelet-finalize" in survey(Surveyed("kubeconfig", Told(target)), finalize)["pending"]) == follows


@pytest.mark.parametrize("rotates", [True, False])
def test_finalize_follows_a_kubelet_that_has_not_rotated_yet(rotates: bool) -> None:
    finalize = Surveyed("kubelet-finalize", Told(rotation=rotates), follows=(Follows("kubelet-start", unless="rotation"),))
    assert ("kubelet-finalize" in survey(Surveyed("kubelet-start", Told("x")), finalize)["pending"]) != rotates


def test_two_looks_under_one_name_count_as_one_phase() -> None:
    facts = survey(Surveyed("wait-control-plane", Told()), Surveyed("wait-control-plane", Told("binding")))
    assert [phase["name"] for phase in facts["phases"]] == ["wait-control-plane"]
    assert facts["pending"] == ["preflight", "wait-control-plane"]


def test_phases_chosen_by_tag_are_not_looked_at_but_the_guard_is() -> None:
    facts = survey(Surveyed("certs", Told(problem="unseen")), everything=True)
    assert facts["pending"] == ["preflight", "certs"]
    with pytest.raises(ManyUnusable, match="guarded"):
        survey(Surveyed("guard", Told(problem="guarded"), always=True), Surveyed("certs", Told()), everything=True)


def test_the_guard_is_not_a_phase() -> None:
    facts = survey(Surveyed("guard", Told(), always=True), Surveyed("certs", Told()), phases={"certs": []})
    assert [phase["name"] for phase in facts["phases"]] == ["certs"]


def test_only_what_was_chosen_is_looked_at_with_its_parts() -> None:
    certs, etcd = Told(), Told("x")
    facts = survey(Surveyed("certs", certs), Surveyed("etcd", etcd), phases={"certs": ["sa"]})
    assert facts["pending"] == []
    assert certs.options["names"] == ["sa"]
    assert etcd.options == {}


@pytest.mark.parametrize("asked", [False, True])
def test_a_phase_on_request(asked: bool) -> None:
    facts = survey(Surveyed("upload-certs", Told("x"), wanted="upload_certs"), upload_certs=asked)
    assert ("upload-certs" in facts["pending"]) == asked


def test_what_expires_first() -> None:
    certs = Told(certificates=[{"expires": "2030", "path": "a"}, {"expires": "", "path": "sa"}])
    files = Told(kubeconfigs=[{"expires": "2029", "path": "b"}])
    assert survey(Surveyed("certs", certs), Surveyed("kubeconfig", files))["first_expiry"] == {"path": "b", "expires": "2029"}


def test_all_is_ahead_of_a_host_that_has_yet_to_join() -> None:
    state = Surveyed("state", Told(joined=False, state="virgin"), always=True)
    start = Surveyed("kubelet-start", Told(problem="nothing is there yet"))
    facts = survey(state, start, Surveyed("check-etcd", None), becomes="worker")
    assert facts["pending"] == ["preflight", "kubelet-start", "check-etcd"]
    assert {phase["reason"] for phase in facts["phases"]} == {"this host has yet to join"}
    assert (facts["state"], facts["joined"]) == ("virgin", False)


def test_a_member_is_looked_at() -> None:
    state = Surveyed("state", Told(joined=True), always=True)
    rows = (Surveyed("check-etcd", None), Surveyed("kubelet-start", Told("x")))
    assert survey(state, *rows, becomes="worker")["pending"] == ["preflight", "kubelet-start"]
    assert survey(state, *rows[:1], becomes="worker")["pending"] == []
