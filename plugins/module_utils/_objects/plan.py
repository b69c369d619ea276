# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which objects must be applied, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ansible_collections.kubephase.cluster.plugins.module_utils._objects.compare import differences, essence, excerpt
from ansible_collections.kubephase.cluster.plugins.module_utils._objects.describe import hidden, text
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Change
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import (
    ApplyObject,
    Manifest,
    ObjectKey,
    ObjectState,
    key_of,
)

_MOST_NAMED = 4


def changes(
    manifests: Sequence[Manifest],
    states: Mapping[ObjectKey, ObjectState],
    reasons: Mapping[ObjectKey, str] | None = None,
) -> tuple[Change, ...]:
    """Ask for what does not exist or would differ; reasons says, for some objects, why in better words."""
    found = (change(manifest, states.get(key_of(manifest)), (reasons or {}).get(key_of(manifest), "")) for manifest in manifests)
    return tuple(each for each in found if each is not None)


def change(manifest: Manifest, state: ObjectState | None, reason: str = "") -> Change | None:
    """Ask for one object, or for nothing when applying it would change nothing."""
    key = key_of(manifest)
    if state is None or state.live is None:
        return Change(str(key), reason or "it does not exist", "", text(hidden(manifest)), ApplyObject(manifest))
    live, applied = essence(state.live), essence(state.applied if state.applied is not None else manifest)
    differing = differences(live, applied)
    if not differing:
        return None
    return Change(
        target=str(key),
        reason=reason or _because(differing),
        before=text(excerpt(hidden(live), manifest, hidden(applied))),
        after=text(excerpt(hidden(applied, live), manifest, hidden(live))),
        action=ApplyObject(manifest),
    )


def _because(differing: tuple[str, ...]) -> str:
    named = ", ".join(differing[:_MOST_NAMED])
    more = len(differing) - _MOST_NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"{named}{others} {'differs' if len(differing) == 1 else 'differ'} from what the documents ask for"
