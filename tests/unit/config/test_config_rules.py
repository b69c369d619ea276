# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every rule of the table: the documents with one change are taken, or refused at exactly the place that was changed."""

from __future__ import annotations

import pytest
from config_cases import CASES, VALID, Case, changed

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments, resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical


def _name(case: Case) -> str:
    return f"{case.path}={case.value!r}"[:120]


def test_the_documents_that_all_cases_start_from_are_valid() -> None:
    assert resolve(VALID).warnings == ()


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_case(case: Case) -> None:
    documents = changed(case.path, case.value)
    if not case.problem:
        resolve(documents)
        return
    with pytest.raises(InvalidDocuments) as caught:
        resolve(documents)
    problems = caught.value.problems
    places = [problem.where for problem in problems]
    assert case.problem in places
    assert all(problem.found and problem.expected for problem in problems)
    assert len(str(caught.value).splitlines()) == len(problems)


@pytest.mark.parametrize("case", [case for case in CASES if case.problem], ids=_name)
def test_a_source_with_the_change_is_refused_with_its_name(case: Case) -> None:
    sources = [Source("kubeadm.yaml", None, {"kind": kind, **body}) for kind, body in changed(case.path, case.value).items()]
    with pytest.raises(InvalidDocuments) as caught:
        read = canonical(sources)
        resolve(read.documents, origins=read.origins)
    assert str(caught.value).startswith("kubeadm.yaml: ")
