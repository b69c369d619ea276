# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one interpreter of plans: applies them in order and tells what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import Action, Plan


class World:
    """The adapters that a phase may read through, by name, and that plans are applied with."""

    def __init__(self, **adapters: Any) -> None:
        self._adapters: Mapping[str, Any] = adapters

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_adapters"][name]
        except KeyError:
            raise AttributeError(name) from None

    def apply(self, action: Action) -> Mapping[str, Any]:
        """Hand an action to the adapter that knows how; what it learned on the way becomes facts."""
        for adapter in self._adapters.values():
            if isinstance(action, getattr(adapter, "applies", ())):
                return adapter.apply(action) or {}
        raise LookupError(f"no adapter applies {type(action).__name__}")

    def give_time(self, seconds: float) -> None:
        """Let adapters that call the API server try for so long."""
        for adapter in self._adapters.values():
            if hasattr(adapter, "give_time"):
                adapter.give_time(seconds)

    def foresee(self, actions: Sequence[Action]) -> None:
        """Let adapters that can begin early know what will be asked of them."""
        for adapter in self._adapters.values():
            if hasattr(adapter, "foresee"):
                adapter.foresee(actions)


def apply(plan: Plan, world: World) -> dict[str, Any]:
    """Carry out every change of a plan, in its order, and gather the facts that only doing it brings."""
    facts: dict[str, Any] = {}
    world.foresee([change.action for change in plan.changes])
    for change in plan.changes:
        facts.update(world.apply(change.action))
    return facts


def diff(plan: Plan) -> list[dict[str, str]]:
    """Show the changes as Ansible prints them, each with its reason."""
    return [
        {
            "before_header": change.target,
            "after_header": f"{change.target} ({change.reason})",
            "before": change.before,
            "after": change.after,
        }
        for change in plan.real_changes
    ]
