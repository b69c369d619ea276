# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Corefiles: which are kubeadm's own, and which a newer CoreDNS would not run with."""

from __future__ import annotations

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._addons.corefile import (
    Plugin,
    Server,
    default_corefile,
    is_default,
    migration_reason,
    parse,
)

NEW = default_corefile("cluster.local", True)
OLD = default_corefile("cluster.local", False)
# As kubeadm 1.17 wrote it, in another layout.
ANCIENT = """
.:53 { # all names
  errors
  health {
    lameduck 5s
  }
  ready
  kubernetes corp.test in-addr.arpa ip6.arpa {
     pods insecure
     fallthrough in-addr.arpa ip6.arpa
     ttl 30
  }
  prometheus :9153
  cache 30
  forward . /etc/resolv.conf
  loop
  reload
  loadbalance
}
"""


@pytest.mark.parametrize(
    ("corefile", "expected"),
    [
        (NEW, True),
        (OLD, True),
        (default_corefile("corp.test", True), True),
        (ANCIENT, True),
        (ANCIENT.replace("health {\n    lameduck 5s\n  }", "health"), True),
        ("", True),
        ("# nothing but a comment\n", True),
        (NEW.replace("ttl 30", "ttl 60"), False),
        (NEW.replace("/etc/resolv.conf", "192.0.2.53"), False),
        (NEW.replace("    loop\n", ""), False),
        (NEW.replace("errors", "errors\n    log"), False),
        (NEW.replace("disable denial cluster.local", "disable denial other.test"), False),
        (NEW + "example.test:53 {\n    forward . 192.0.2.53\n}\n", False),
        (".:53 {", False),
    ],
)
def test_a_corefile_is_kubeadms_own(corefile: str, expected: bool) -> None:
    assert is_default(corefile) is expected


def test_the_cluster_is_not_cached_since_1_32() -> None:
    assert "disable success cluster.local" in NEW
    assert "disable" not in OLD


@pytest.mark.parametrize(
    ("corefile", "installed", "wanted", "expected"),
    [
        (NEW, "v1.8.4", "v1.14.6", ""),
        (OLD.replace("ttl 30", "upstream"), "v1.6.7", "v1.8.4", "option upstream of plugin kubernetes is gone since 1.7.0"),
        (OLD.replace("ttl 30", "upstream"), "v1.8.4", "v1.14.6", ""),
        (OLD.replace("ttl 30", "upstream"), "v1.7.0", "v1.14.6", ""),
        (OLD.replace("ttl 30", "transfer to *"), "v1.7.0", "v1.8.4", "option transfer of plugin kubernetes is gone since 1.8.0"),
        (OLD.replace("ttl 30", "transfer to *"), "v1.7.0", "v1.7.1", ""),
        (OLD.replace("    ready\n", ""), "v1.4.0", "v1.14.6", "plugin ready is expected since 1.5.0"),
        (OLD.replace("       lameduck 5s\n", ""), "1.6.2", "v1.14.6", "option lameduck of plugin health is expected since 1.6.5"),
        (OLD.replace("forward . /etc/resolv.conf", "proxy . 192.0.2.53"), "v1.3.1", "v1.8.4", "plugin proxy is gone since 1.5.0"),
        (OLD.replace("ttl 30", "upstream"), "v1.8.4", "v1.8.4", ""),
        (OLD.replace("ttl 30", "upstream"), "our-build", "our-build", ""),
        (OLD.replace("ttl 30", "upstream"), "our-build", "v1.14.6", "option upstream of plugin kubernetes is gone since 1.7.0"),
        (OLD.replace("ttl 30", "upstream"), "v1.6.7", "our-build", ""),
    ],
)
def test_a_corefile_must_be_migrated(corefile: str, installed: str, wanted: str, expected: str) -> None:
    assert migration_reason(corefile, installed, wanted) == expected


def test_layout_quotes_and_comments_do_not_count() -> None:
    text = 'a.test b.test {\n  template IN A { # x\n    answer "{{ .Name }} 60 IN A 192.0.2.1"\n  }\n}\nc.test {\n  log\n}\n'
    assert parse(text) == (
        Server(("a.test", "b.test"), (Plugin(("template", "IN", "A"), (("answer", "{{ .Name }} 60 IN A 192.0.2.1"),)),)),
        Server(("c.test",), (Plugin(("log",)),)),
    )
