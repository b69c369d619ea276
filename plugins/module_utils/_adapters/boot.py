# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which services of a host that runs systemd start with it."""

from __future__ import annotations

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.systemd import run_program
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.services import EnableService


class Boot:
    """What the machine that the module runs on starts by itself."""

    applies = (EnableService,)

    def apply(self, action: Action) -> None:
        """Enable a service, whose unit may just have been written."""
        if not isinstance(action, EnableService):
            raise TypeError(type(action).__name__)
        for words in (("daemon-reload",), ("enable", f"{action.name}.service")):
            done = run_program("systemctl", *words)
            if done.returncode:
                said = done.stderr.strip() or f"systemctl {words[0]} ended with {done.returncode}"
                raise Unusable(f"{action.name}.service", f"it cannot be enabled: {said}", "Mend what it names, and run again")
