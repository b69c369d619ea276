# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The API as super-admin.conf leads to it, for the one object by which admin.conf gets its rights."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.api import ADMIN, PAUSE, SUPER_ADMIN, Api
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import ApplyObject, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.super_admin import ApplyAsSuperAdmin


class SuperAdminApi(Api):
    """An API server to whom we are the super-admin; used for nothing but ApplyAsSuperAdmin."""

    applies: tuple[type[Action], ...] = (ApplyAsSuperAdmin,)

    def __init__(self, files: Any, kubeconfig: str = SUPER_ADMIN, server: str = "", deadline: float | None = None) -> None:
        super().__init__(files, kubeconfig, server, deadline)
        self._admin = Api(files, ADMIN, server, deadline)

    def talk_to(self, server: str) -> None:
        """Use this server from now on."""
        super().talk_to(server)
        self._admin.talk_to(server)

    def give_time(self, seconds: float) -> None:
        """Try calls for so long."""
        super().give_time(seconds)
        self._admin.give_time(seconds)

    def apply(self, action: Action) -> None:
        """Apply the manifest, then wait for the server to let admin.conf in: its authorizer learns of it a moment later."""
        if not isinstance(action, ApplyAsSuperAdmin):
            return
        super().apply(ApplyObject(action.manifest))
        key = key_of(action.manifest)
        end = time.monotonic() + self._deadline
        while self._admin.forbidden(key):
            if time.monotonic() > end:
                found = f"it is there, and yet the API server refuses the user of {ADMIN}"
                raise Unusable(str(key), found, f"See that the client certificate in {ADMIN} carries the group that is bound")
            time.sleep(PAUSE)
