# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a judge of one check is handed, and its shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Callable

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.kinds import Arg
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.observed import Observed
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.selection import Check
from ansible_collections.kubephase.cluster.plugins.module_utils._preflight.verdicts import Verdict
from ansible_collections.kubephase.cluster.plugins.module_utils._release import Release


@dataclass(frozen=True)
class Case:
    """One check, the documents, and what was found on the host."""

    check: Check
    docs: Documents
    seen: Observed
    mode: str = "init"
    # What another machine's clock said when this run began.
    reference: datetime | None = None
    # Variables that name proxies, in lower case: those that the control plane is to have, else those of this run.
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Whether the files that control planes share will be downloaded.
    certificate_key_given: bool = False

    @property
    def release(self) -> Release:
        """The release that the documents ask for."""
        return self.docs.known_release


Judge = Callable[[Case], Iterable[Verdict]]


def last_value(args: Iterable[Arg], name: str) -> str:
    """The value of an argument; given several times, the last one counts."""
    found = ""
    for arg in args:
        if arg.name == name:
            found = arg.value
    return found
