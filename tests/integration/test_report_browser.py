# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report in a real browser: it shows what it should, on every width, in both schemes and on paper, and nothing in it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from integration.browser import Browser
from unit.report.reported import ILL, NOW, WELL, hostile, labelled

from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_data import collected
from ansible_collections.kubephase.cluster.plugins.plugin_utils.report_page import page

CASES = {"well": WELL, "ill": ILL, "hostile": labelled(hostile(ILL)), "none": []}
WIDTHS = (320, 390, 768, 1280)

# Elements that reach out of the screen, leaving aside what scrolls inside a box of its own.
OVERFLOW = """
[...document.querySelectorAll('body *')]
  .filter(each => !each.closest('pre, svg, .unseen') && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(each => each.outerHTML.slice(0, 120))
"""
# Texts whose colour does not stand out enough from what is behind them, by the measure that WCAG gives.
CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const behind = each => {
    for (let at = each; at; at = at.parentElement) {
      const found = rgba(getComputedStyle(at).backgroundColor);
      if (found[3] > 200) return found;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  for (const each of document.querySelectorAll('body *')) {
    if (each.closest('svg') || ![...each.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    const [a, b] = [light(rgba(getComputedStyle(each).color)), light(behind(each))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(`${each.tagName}.${each.className} ${ratio.toFixed(2)} ${each.textContent.slice(0, 30)}`);
  }
  return poor;
})()
"""
UNNAMED = """
[...document.querySelectorAll('table, section, nav, svg, pre, [role=group]')]
  .filter(each => !(each.getAttribute('aria-label') || each.getAttribute('aria-labelledby') || each.getAttribute('aria-hidden')
    || each.querySelector('caption')))
  .map(each => each.outerHTML.slice(0, 80))
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("pages")
    for name, hosts in CASES.items():
        (place / f"{name}.html").write_text(page(collected(hosts, NOW)), encoding="utf-8")
    return {name: place / f"{name}.html" for name in CASES}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("case", CASES)
def test_nothing_reaches_out_of_the_screen(browser: Browser, pages: dict[str, Path], case: str, width: int) -> None:
    browser.open(pages[case], width)
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(OVERFLOW) == []
    browser.ask("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(OVERFLOW) == []


@pytest.mark.parametrize("case", CASES)
def test_it_loads_nothing_and_the_console_is_silent(browser: Browser, pages: dict[str, Path], case: str) -> None:
    browser.open(pages[case])
    assert browser.requested() == [pages[case].as_uri()]
    assert browser.complaints() == []


def test_harm_in_names_does_nothing(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    assert browser.ask("document.title") != "owned"
    assert browser.ask("document.querySelectorAll('script, img, iframe, object, embed').length") == 0
    assert browser.ask("document.body.innerText.includes('<script>document.title')") is True


def test_what_slips_through_as_markup_is_stopped_by_the_policy(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """The page would be safe even if a text was not escaped: here one is planted."""
    planted = tmp_path / "planted.html"
    source = pages["well"].read_text(encoding="utf-8")
    planted.write_text(
        source.replace("<main>", "<main><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">")
    )
    browser.open(planted)
    assert browser.ask("document.title") == "staging · cluster report"
    assert browser.complaints()


def test_the_page_after_it_was_loaded(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["ill"])
    assert browser.ask("document.querySelector('h1').textContent") == "staging"
    assert browser.ask("[...document.querySelectorAll('main > section')].map(each => each.id)") == [
        *("concerns", "drift", "nodes", "components", "etcd", "certificates", "tokens", "unread")
    ]
    assert browser.ask("document.querySelectorAll('.card').length") == 4
    assert browser.ask("document.querySelectorAll('.timeline tbody svg').length") == 11
    assert browser.ask("document.querySelectorAll('.diff .added').length") == 2
    assert browser.ask("[...document.querySelectorAll('.tile strong')].map(each => each.textContent)") == [
        *("3 of 4", "9 of 10", "2 of 2", "expired", "not known")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("case", ["well", "ill"])
def test_every_text_stands_out_in_both_schemes(browser: Browser, pages: dict[str, Path], case: str, scheme: str) -> None:
    browser.open(pages[case], scheme=scheme)
    browser.ask("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.ask(CONTRAST) == []
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(15, 19, 26)") is (scheme == "dark")


@pytest.mark.parametrize("case", CASES)
def test_whoever_listens_is_told_what_each_part_is(browser: Browser, pages: dict[str, Path], case: str) -> None:
    browser.open(pages[case])
    assert browser.ask(UNNAMED) == []
    assert browser.ask("document.documentElement.lang") == "en"


def test_longer_bars_end_later(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["ill"])
    ends = browser.ask(
        "[...document.querySelectorAll('.timeline')[0].querySelectorAll('rect')].map(each => each.getBoundingClientRect().right)"
    )
    assert len(ends) == 5
    assert ends == sorted(ends)
    today = browser.ask("document.querySelector('.timeline .now').getBoundingClientRect().left")
    assert ends[0] < today < ends[1]


def test_it_prints(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["ill"])
    assert browser.printed().startswith(b"%PDF")
