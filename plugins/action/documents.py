# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one controller-side step: reads, merges and validates the documents, and sends modules only what they need."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from ansible import constants as C
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.kubephase.cluster.plugins.module_utils._config.documents import INIT, Documents
from ansible_collections.kubephase.cluster.plugins.module_utils._config.problems import InvalidDocuments
from ansible_collections.kubephase.cluster.plugins.module_utils._config.resolve import resolve
from ansible_collections.kubephase.cluster.plugins.module_utils._config.secrets import split_secrets
from ansible_collections.kubephase.cluster.plugins.module_utils._config.selection import unknown
from ansible_collections.kubephase.cluster.plugins.module_utils._config.sources import Source, canonical
from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._prepare.offline import staged_name
from ansible_collections.kubephase.cluster.plugins.module_utils._runner.options import KIND_OPTIONS
from ansible_collections.kubephase.cluster.plugins.plugin_utils import node_code
from ansible_collections.kubephase.cluster.plugins.plugin_utils.bundle_sender import Sender, is_taken, lacked, room_for
from ansible_collections.kubephase.cluster.plugins.plugin_utils.document_stream import read
from ansible_collections.kubephase.cluster.plugins.plugin_utils.inventory_role import role_of
from ansible_collections.kubephase.cluster.plugins.plugin_utils.module_options import (
    carries_secrets,
    chosen_of_join,
    chosen_parts,
    secret_options,
)
from ansible_collections.kubephase.cluster.plugins.plugin_utils.serving_certificates import (
    VARIABLE,
    checked,
    known_host,
    needs_policy,
    policy,
    serving_options,
    settle,
)

_OWN = "documents"
_TAKE_MANIFEST = ("addon", "phase_plan", "offline_bundle")
_KEPT_CODE = "kubephase.cluster.with_kept_code"
# Read once, before there is a process for each host: Ansible loads this file first to look at the class.
_DIGEST = node_code.digest()
_CONTROLLER_OPTIONS = {"config_file", "advertise_interface", *KIND_OPTIONS}


class ActionModule(ActionBase):
    """Serves the documents module and, through the collection's plugin routing, every phase module."""

    TRANSFERS_FILES = False
    _supports_async = True
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Validate the documents of this host, then hand over to the module."""
        variables = task_vars or {}
        result: dict[str, Any] = super().run(tmp, variables)
        module = self._task.action.rpartition(".")[2]
        becomes = self._task.args.get("becomes") or role_of(variables)
        try:
            found = canonical(self._sources(variables))
            mode = checked(self._templar.template(variables.get(VARIABLE)))
            settle(mode, found.documents, joins=(becomes or INIT) != INIT)
            public, secrets = split_secrets(found.documents)
            settled = resolve(public, secrets=secrets, becomes=becomes, origins=found.origins)
        except InvalidDocuments as problem:
            host = variables.get("inventory_hostname", "this host")
            raise AnsibleActionFail(f"The kubeadm documents of {host} are not valid:\n{problem}") from None
        if module == _OWN:
            for warning in (*found.warnings, *settled.warnings):
                self._display.warning(warning)
            return {**result, "changed": False, "documents": public, "secrets": sorted(secrets.plain())}
        options = {name: value for name, value in self._task.args.items() if name not in _CONTROLLER_OPTIONS}
        options.update({"becomes": becomes} if becomes else {})
        choose = chosen_of_join if settled.joining else chosen_parts
        parts = choose(module, options, settled.skip_phases, self._only_phases(variables))
        if parts is None:
            return {**result, "changed": False, "skipped": True, "skip_reason": "the phase was left out by name"}
        options.update(parts)
        options.update({option: public[kind] for option, kind in KIND_OPTIONS.items() if kind in public})
        interface = self._given("advertise_interface", variables)
        options.update({"advertise_interface": interface} if interface else {})
        options.update(secret_options(module, options, secrets.plain()))
        options.update(serving_options(module, mode, options))
        options.update(self._manifest(module, options, variables))
        options.update({"policy": self._policy(variables)} if needs_policy(module, options) else {})
        done = self._from_bundle if is_taken(module, options) else self._module
        return {**result, **done(options, variables, settled)}

    def _from_bundle(self, options: dict[str, Any], variables: dict[str, Any], settled: Documents) -> dict[str, Any]:
        """Let the host tell which files of a bundle it lacks, bring them, and have the work done only then."""
        checking = self._task.check_mode
        try:
            sender = Sender(str(options["bundle"]))
            options["bundle_list"] = sender.listed()
            self._task.check_mode = True
            told = self._module(options, variables, settled)
            self._task.check_mode = checking
            if checking or settled.dry_run or told.get("failed") or not told.get("changed"):
                return told
            with sender.files(lacked(told), C.DEFAULT_LOCAL_TMP) as files:
                options["staged"] = self._staged(files)
        except (Unusable, ManyUnusable) as problem:
            raise AnsibleActionFail(str(problem)) from None
        return self._module(options, variables, settled)

    def _staged(self, files: Mapping[str, str]) -> str:
        place = str(self._connection._shell.tmpdir or self._make_tmp_path())
        room_for(files, place, str(self._low_level_execute_command(f"df -Pk {shlex.quote(place)}").get("stdout", "")))
        for path, source in files.items():
            self._transfer_file(source, os.path.join(place, staged_name(path)))
        return place.rstrip("/")

    def _module(self, options: dict[str, Any], variables: dict[str, Any], settled: Documents) -> dict[str, Any]:
        if settled.dry_run:
            self._task.check_mode = True
        done: dict[str, Any] = self._with_kept_code(dict(options), variables) or self._execute_module(
            module_args=options, task_vars=variables, wrap_async=bool(self._task.async_val)
        )
        return done

    def _with_kept_code(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any] | None:
        """Run the module with code that the host keeps, sent now if it lacks it; None where no code can be kept."""
        if self._task.async_val or self._connection.transport == "local":
            return None
        stays = not (self._task.no_log or carries_secrets(options))
        wanted = {"module": self._task.action.rpartition(".")[2], "digest": _DIGEST, "stays": stays}
        for sent in (False, True):
            code = {**wanted, "archive": node_code.archive()} if sent else wanted
            done: dict[str, Any] = self._execute_module(_KEPT_CODE, {**options, "kept_code": code}, task_vars=variables)
            if not done.get("kept_code_missing"):
                return done
        return None

    def _policy(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        groups, known = variables.get("groups") or {}, variables["hostvars"]
        names = [name for group in ("control_plane", "workers") for name in groups.get(group) or ()]
        return policy([known_host(name, known[name]) for name in dict.fromkeys(names)])

    def _only_phases(self, variables: Mapping[str, Any]) -> list[str]:
        only = self._templar.template(variables.get("kubephase_only_phases")) or []
        only = [only] if isinstance(only, str) else list(only)
        strange = unknown(only)
        if strange:
            raise AnsibleActionFail(
                f"kubephase_only_phases: found {', '.join(strange)}; expected phases of kubeadm init or join, such as certs/apiserver"
            )
        return only

    def _sources(self, variables: Mapping[str, Any]) -> list[Source]:
        """Collect the file's documents first and then those of options and variables, which win."""
        path = self._given("config_file", variables)
        sources = self._read_file(path, variables) if path else []
        for option, kind in KIND_OPTIONS.items():
            data = self._given(option, variables)
            if data is not None:
                sources.append(Source(option if option in self._task.args else f"kubephase_{option}", kind, data))
        return sources

    def _given(self, option: str, variables: Mapping[str, Any]) -> Any:
        if self._task.args.get(option) is not None:
            return self._task.args[option]
        return self._templar.template(variables.get(f"kubephase_{option}"))

    def _read_file(self, path: Any, variables: Mapping[str, Any]) -> list[Source]:
        text, place = self._file("config_file", path, variables)
        return read(text, os.path.basename(place))

    def _manifest(self, module: str, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Read the manifest that is applied with the addons, for the modules that look at it and were not given one."""
        path = self._templar.template(variables.get("kubephase_addon_manifest"))
        if not path or module not in _TAKE_MANIFEST or any(options.get(name) for name in ("manifest", "manifest_content")):
            return {}
        return {"manifest_content": self._file("kubephase_addon_manifest", path, variables)[0]}

    def _file(self, what: str, path: Any, variables: Mapping[str, Any]) -> tuple[str, str]:
        """Find a file of the controller: beside the inventory, beside the playbook, or where Ansible was started."""
        if not isinstance(path, str):
            raise AnsibleActionFail(f"{what}: found {type(path).__name__}; expected the path of a file on the controller")
        beside = [variables.get("inventory_dir"), self._loader.get_basedir(), os.getcwd()]
        places = dict.fromkeys(os.path.join(directory, os.path.expanduser(path)) for directory in beside if directory)
        for place in places:
            if os.path.isfile(place):
                return self._text(what, place), place
        raise AnsibleActionFail(f"{what}: {path} is not a file on the controller. Looked at: {', '.join(places)}")

    def _text(self, what: str, path: str) -> str:
        try:
            return str(self._loader.get_text_file_contents(path))
        except (AnsibleError, OSError, UnicodeDecodeError) as error:
            raise AnsibleActionFail(f"{what}: {path} cannot be read: {error}") from None
