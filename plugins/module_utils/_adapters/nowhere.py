# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host that is none: what is worked out for a whole cluster, on the controller, must take nothing from the machine there."""

from __future__ import annotations


class Nowhere:
    """Stands in the place of a host and of its files, and knows nothing."""

    def hostname(self) -> str:
        """Give no name."""
        return ""

    def cri_sockets(self) -> tuple[str, ...]:
        """Give no sockets."""
        return ()

    def kubelet_version(self) -> str:
        """Give no version: the controller's kubelet, if there is one, is not the cluster's."""
        return ""

    def default_route_address(self) -> str:
        """Give no address."""
        return ""

    def address_of(self, interface: str) -> str:
        """Give no address, whatever the interface."""
        return ""

    def exists(self, path: str) -> bool:
        """Have no files."""
        return False

    def read(self, path: str) -> None:
        """Have no files."""
