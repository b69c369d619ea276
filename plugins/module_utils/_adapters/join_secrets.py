# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The secrets of one run of joins: made together, owned by the run's token, and taken back when it does not come off."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.certs_secret import owner_reference, sealed
from ansible_collections.kubephase.cluster.plugins.module_utils._adapters.mint import Mint, certificate_key
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import CreateObject, DeleteObject, Manifest, ObjectKey, key_of
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.secrets import RUN, Minted, MintJoin, MintToken


class JoinSecrets:
    """Carries out what a plan asks of the secrets of a join."""

    applies = (MintJoin,)

    def __init__(self, api: Any) -> None:
        self._api = api
        self._mint = Mint(api)

    def apply(self, action: Action) -> dict[str, str]:
        """Make the token first: whatever step a kill falls on, its expiry takes the rest along."""
        if not isinstance(action, MintJoin):
            return {}
        token, owner = self._mint.token(MintToken(action.terms))
        run = token.partition(".")[0]
        facts = {"run": run, "token": Minted(token)}
        if action.carrier is None:
            return facts
        made = [owner]
        try:
            reference = owner_reference(self._api, owner)
            key, carrier = certificate_key(), action.carrier._replace(name=action.carrier.name.replace(RUN, run))
            for manifest in (sealed(carrier, action.files, bytes.fromhex(key), reference), *_owned(action, run, reference)):
                self._api.apply(CreateObject(manifest))
                made.append(key_of(manifest))
        except Unusable:
            self._take_back(made)
            raise
        return {**facts, "certificate_key": Minted(key), "certificates_secret": carrier.name}

    def _take_back(self, made: list[ObjectKey]) -> None:
        for each in made:
            with suppress(Unusable):
                self._api.apply(DeleteObject(each))


def _owned(action: MintJoin, run: str, reference: dict[str, Any]) -> list[Manifest]:
    named = [json.loads(json.dumps(manifest).replace(RUN, run)) for manifest in action.companions]
    return [{**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [reference]}} for manifest in named]
