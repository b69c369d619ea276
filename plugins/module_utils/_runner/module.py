# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The only code that knows AnsibleModule: options in, plan and result out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import parse_duration
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._runner import interpreter, options
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.engine import execute

_PACKAGES = {"cryptography": "python3-cryptography", "yaml": "python3-yaml", "kubernetes": "python3-kubernetes"}


def run(
    make: Callable[..., tuple[Any, interpreter.World]],
    libraries: tuple[str, ...] | Callable[[Mapping[str, Any]], tuple[str, ...]],
    spec: Mapping[str, Any] | None = None,
    durations: tuple[str, ...] = (),
    told: tuple[str, ...] = (),
    **checks: Any,
) -> None:
    """Run a phase as an Ansible module: ``make``, told of some options, gives it with its adapters; ``libraries`` are what it needs."""
    module = AnsibleModule(argument_spec={**options.SPEC, **(spec or {})}, supports_check_mode=True, **checks)
    # Masked, an exception such as 10.0.0.1 would take the addresses of nodes out of results along with it.
    module.no_log_values.difference_update(options.open_proxies(module.params))
    for library in libraries(module.params) if callable(libraries) else libraries:
        _require(module, library)
    try:
        given = {**module.params, **{name: _duration(name, module.params[name]) for name in durations}}
        made = make(**{name: module.params[name] for name in told})
        outcome = execute(*made, options.documents(module.params), given, check=module.check_mode)
    except (Unusable, ManyUnusable, InvalidDocuments) as problem:
        for warning in getattr(problem, "warnings", ()):
            module.warn(warning)
        # A phase may add what it found to its refusal, for those who read results by program.
        module.fail_json(msg=str(problem), **getattr(problem, "facts", {}))
    for warning in outcome.warnings:
        module.warn(warning)
    result: dict[str, Any] = {"changed": outcome.changed, **outcome.facts}
    if module._diff:
        result["diff"] = interpreter.diff(outcome.plan)
    module.exit_json(**result)


def _duration(name: str, value: str | None) -> timedelta | None:
    try:
        period = parse_duration(value) if value else None
    except ValueError:
        period = timedelta(-1)
    if period is not None and period < timedelta(0):
        raise Unusable(name, f"{value!r} is not a duration", "Give one such as 720h or 30m")
    return period


def _require(module: AnsibleModule, library: str) -> None:
    try:
        import_module(library)
    except ImportError:
        module.fail_json(
            msg=f"The Python library {library} is missing on this host. Install it, for example: apt-get install {_PACKAGES[library]}"
        )
