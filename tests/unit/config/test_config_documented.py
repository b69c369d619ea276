# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the rules really say about the documents of all cases is what the page of errors has, word by word."""

from __future__ import annotations

import re

import pytest
from config_cases import CASES, Case, changed
from tools.documentation.error_texts import HOLE
from tools.documentation.mistakes import Mistake, mistakes

from ansible_collections.kubephase.cluster.plugins.module_utils._config import InvalidDocuments, resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import Problem


def matches(documented: Mistake, problem: Problem) -> bool:
    parts = ((getattr(documented, name), getattr(problem, name)) for name in ("where", "found", "expected", "hint"))
    return all(re.fullmatch(".*".join(map(re.escape, text.split(HOLE))), " ".join(said.split())) for text, said in parts)


@pytest.mark.parametrize("case", [case for case in CASES if case.problem], ids=lambda case: f"{case.path}={case.value!r}"[:120])
def test_case(case: Case) -> None:
    with pytest.raises(InvalidDocuments) as caught:
        resolve(changed(case.path, case.value))
    missing = [str(problem) for problem in caught.value.problems if not any(matches(each, problem) for each in mistakes())]
    assert missing == []
