# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Durations as Go reads and prints them; the expected values come from time.ParseDuration and String of Go."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ansible_collections.kubephase.cluster.plugins.module_utils._config.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds", "printed"),
    [
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("-0", 0, "0s"),
        ("1s", 1, "1s"),
        ("90s", 90, "1m30s"),
        ("8760h", 31536000, "8760h0m0s"),
        ("87600h0m0s", 315360000, "87600h0m0s"),
        ("1h30m", 5400, "1h30m0s"),
        ("1.5h", 5400, "1h30m0s"),
        (".5s", 0.5, "500ms"),
        ("1.s", 1, "1s"),
        ("+5m", 300, "5m0s"),
        ("-1.5m", -90, "-1m30s"),
        ("100ms", 0.1, "100ms"),
        ("1500us", 0.0015, "1.5ms"),
        ("1µs", 0.000001, "1µs"),
        ("1h1h", 7200, "2h0m0s"),
        ("1m0.25s", 60.25, "1m0.25s"),
    ],
)
def test_duration(text: str, seconds: float, printed: str) -> None:
    period = parse_duration(text)
    assert period == timedelta(seconds=seconds)
    assert format_duration(period) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "+",
        "1",
        "10",
        "1d",
        "h",
        ".s",
        "1 h",
        " 1h",
        "1h ",
        "1h-1m",
        "--1h",
        "one",
        "1,5h",
        "1e3s",
        "９s",
        "2562048h",
        "1h\n",
        "9" * 200 + "h",
    ],
)
def test_not_a_duration(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)
