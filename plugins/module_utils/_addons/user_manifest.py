# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A manifest of the user's, such as a network plugin: its objects, in an order in which they can be applied."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ansible_collections.kubephase.cluster.plugins.module_utils._plan import ManyUnusable, Unusable
from ansible_collections.kubephase.cluster.plugins.module_utils._plan.objects import Manifest, key_of

try:
    import yaml
except ImportError:
    pass  # the runner says so before any of this is called

# What others live in, or are of the kind of.
_FIRST = ("Namespace", "CustomResourceDefinition")
_MEND = "Correct the manifest and run again"
_LINE = re.compile(r"line (\d+)")


def objects(where: str, content: bytes | str) -> tuple[Manifest, ...]:
    """Read every document of a manifest; where names it in what is said of it."""
    findings: list[Unusable] = []
    found: list[Manifest] = []
    for number, document in enumerate(_documents(where, content), 1):
        for each in _items(document):
            problem = _problem(each)
            if problem:
                findings.append(Unusable(f"{where}, document {number}", problem, _MEND))
            else:
                found.append(each)
    keys = [key_of(each) for each in found]
    findings += [Unusable(where, f"{key} is in it twice", _MEND) for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if findings:
        raise ManyUnusable(tuple(findings))
    return tuple(sorted(found, key=lambda each: _FIRST.index(each["kind"]) if each["kind"] in _FIRST else len(_FIRST)))


def _documents(where: str, content: bytes | str) -> list[Any]:
    try:
        return [document for document in yaml.load_all(content, Loader=_loader()) if document is not None]
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as problem:
        # The problem's own text may quote the manifest, and with it a Secret.
        line = _LINE.search(str(problem))
        raise Unusable(where, "it is not valid YAML" + (f", see about line {line[1]}" if line else ""), _MEND) from None


def _loader() -> Any:
    """Make a loader that leaves dates alone: to the API they are texts."""
    base: Any = getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader

    class Loader(base):  # type: ignore[misc]
        """Reads what the base reads."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return Loader


def _items(document: Any) -> list[Any]:
    """Take a list of objects apart."""
    if isinstance(document, Mapping) and document.get("kind") == "List" and isinstance(document.get("items"), list):
        return [item for each in document["items"] for item in _items(each)]
    return [document]


def _problem(document: Any) -> str:
    if not isinstance(document, Mapping):
        return "it is not a Kubernetes object"
    metadata = document.get("metadata")
    texts = {
        "apiVersion": document.get("apiVersion"),
        "kind": document.get("kind"),
        "metadata.name": metadata.get("name") if isinstance(metadata, Mapping) else None,
    }
    missing = [name for name, value in texts.items() if not isinstance(value, str) or not value]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing" if missing else ""
