# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the page looks: two sets of colours, one for each scheme, and a layout for wide and narrow screens and for paper."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #f5f6f8; --paper: #ffffff; --ink: #1b2430; --quiet: #586474; --line: #e2e6eb; --soft: #eef1f5;
  --ok: #17724f; --ok-soft: #e4f3ec; --warn: #8a5200; --warn-soft: #fcf0dc; --bad: #b3261e; --bad-soft: #fbe7e5;
  --accent: #2c5bc7; --accent-soft: #e6edfb; --bar-ok: #2f9e74; --bar-warn: #dd9a1f; --bar-bad: #d5453b; --bar-ca: #7c93c4;
  --shadow: 0 1px 2px rgb(20 30 50 / 6%), 0 6px 20px rgb(20 30 50 / 5%);
  --mono: ui-monospace, "SF Mono", "Cascadia Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0f131a; --paper: #171d26; --ink: #e5eaf1; --quiet: #9ba8b8; --line: #28313d; --soft: #1f2732;
    --ok: #5fcf9f; --ok-soft: #16352a; --warn: #f0bd5a; --warn-soft: #3a2c10; --bad: #ff8f86; --bad-soft: #43201e;
    --accent: #8fb2ff; --accent-soft: #1d2b4a; --bar-ok: #3fae83; --bar-warn: #d9a23c; --bar-bad: #e0675d; --bar-ca: #6f88bd;
    --shadow: none;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 4rem; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
main, .masthead > div, footer { max-width: 1160px; margin: 0 auto; padding: 0 1.25rem; }
h1, h2, h3, p, dl, dd, ul { margin: 0; }
h1 { font-size: clamp(1.6rem, 4vw, 2.3rem); font-weight: 650; letter-spacing: -.02em; line-height: 1.15; }
h2 { font-size: 1.15rem; font-weight: 650; letter-spacing: -.01em; }
h3 { font-size: .98rem; font-weight: 600; }
code { font-family: var(--mono); font-size: .86em; unicode-bidi: isolate; }
small { color: var(--quiet); font-size: .82rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.note { color: var(--quiet); font-size: .88rem; }
.empty { color: var(--quiet); padding: .25rem 0; }

.masthead { background: var(--paper); border-bottom: 1px solid var(--line); padding: 2.2rem 0 1.6rem; }
.masthead .top { display: flex; flex-wrap: wrap; gap: .75rem 1.5rem; align-items: center; justify-content: space-between; }
.masthead .eyebrow { color: var(--quiet); font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; }
.masthead .about { display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; margin-top: .6rem; color: var(--quiet); }
.masthead .about b { color: var(--ink); font-weight: 550; }
.verdict { padding: .5rem 1rem; border-radius: 999px; font-weight: 600; font-size: 1rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: .8rem; margin-top: 1.5rem; }
.tile {
  display: flex; gap: .8rem; align-items: center; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: 12px;
  color: inherit; text-decoration: none; background: var(--paper); min-width: 0;
}
.tile:hover { border-color: var(--accent); }
.tile .told { display: grid; min-width: 0; line-height: 1.3; }
.tile .title { color: var(--quiet); font-size: .8rem; }
.tile strong { font-weight: 600; }
.ring { position: relative; flex: none; width: 46px; height: 46px; }
.ring svg { width: 100%; height: 100%; display: block; }
.ring circle { stroke-width: 3.4; }
.ring .track { stroke: var(--line); }
.ring .arc { stroke: var(--bar-ok); stroke-linecap: butt; }
.ring .arc.warn { stroke: var(--bar-warn); } .ring .arc.bad { stroke: var(--bar-bad); } .ring .arc.quiet { stroke: var(--line); }
.ring .inside { position: absolute; inset: 0; display: grid; place-items: center; font-size: .78rem; font-weight: 600; }

nav {
  position: sticky; top: 0; z-index: 2; background: color-mix(in srgb, var(--ground) 92%, transparent);
  border-bottom: 1px solid var(--line);
}
nav ul {
  max-width: 1160px; margin: 0 auto; padding: .55rem 1.25rem; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none;
}
nav a { color: var(--quiet); text-decoration: none; font-size: .88rem; } nav a:hover { color: var(--accent); }

section {
  background: var(--paper); border: 1px solid var(--line); border-radius: 14px; box-shadow: var(--shadow); padding: 1.3rem 1.4rem;
  margin: 1.2rem 0;
}
.heading { display: flex; flex-wrap: wrap; gap: .1rem 1rem; align-items: baseline; justify-content: space-between; margin-bottom: .9rem; }
.state { font-weight: 550; } .state .sign { font-weight: 700; }
.ok { color: var(--ok); } .warn { color: var(--warn); } .bad { color: var(--bad); } .quiet { color: var(--quiet); }
.tile.ok, .tile.warn, .tile.bad, .tile.quiet { color: inherit; }
.chip {
  display: inline-block; padding: .08rem .55rem; border-radius: 999px; font-size: .8rem; font-weight: 500; line-height: 1.5;
  background: var(--soft); color: var(--quiet); max-width: 100%;
}
.chip.ok, .verdict.ok { background: var(--ok-soft); color: var(--ok); }
.chip.warn, .verdict.warn { background: var(--warn-soft); color: var(--warn); }
.chip.bad, .verdict.bad { background: var(--bad-soft); color: var(--bad); }
.chips { display: flex; flex-wrap: wrap; gap: .35rem; } section > .chips { margin-top: .9rem; }

.concerns { list-style: none; padding: 0; display: grid; gap: .4rem; }
.concerns a {
  display: flex; gap: .7rem; padding: .5rem .75rem; border-radius: 9px; text-decoration: none; color: var(--ink);
  background: var(--soft);
}
.concerns a.bad { background: var(--bad-soft); } .concerns a.warn { background: var(--warn-soft); }
.concerns .sign { font-weight: 700; width: 1rem; flex: none; text-align: center; }
.concerns a.bad .sign { color: var(--bad); } .concerns a.warn .sign { color: var(--warn); }

.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 320px), 1fr)); gap: .9rem; }
.card {
  border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.1rem; display: grid; gap: .65rem; align-content: start;
  min-width: 0;
}
.card header { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .2rem .8rem; }
.complaint { color: var(--bad); font-size: .86rem; }
.facts { display: grid; gap: .18rem; font-size: .88rem; }
.facts div { display: grid; grid-template-columns: 5.2rem minmax(0, 1fr); gap: .6rem; }
.facts dt { color: var(--quiet); }
details > summary { cursor: pointer; border-radius: 6px; }
.card details > summary { color: var(--quiet); font-size: .86rem; }
.card details[open] > summary { margin-bottom: .5rem; }
.labels { list-style: none; padding: 0; font-size: .86rem; display: grid; gap: .15rem; margin-top: .4rem; }

table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .55rem .7rem .55rem 0; border-top: 1px solid var(--line); font-weight: 400; }
thead th { border-top: 0; color: var(--quiet); font-size: .8rem; padding-top: 0; vertical-align: bottom; }
tbody th { font-weight: 600; }
td small { display: block; }
.bar { display: grid; gap: .25rem; min-width: 6rem; max-width: 12rem; }
.bar .track { fill: var(--soft); } .bar .fill { fill: var(--bar-ca); }

details.host { border-top: 1px solid var(--line); padding: .7rem 0; } details.host:last-child { padding-bottom: 0; }
.heading + details.host { border-top: 0; padding-top: 0; }
details.host > summary { padding: .1rem 0; } details.host[open] > summary { margin-bottom: .6rem; }
.timeline { table-layout: fixed; } .timeline th:first-child { width: 15rem; } .timeline th:last-child { width: 17rem; }
.timeline td:last-child small { display: inline; margin-left: .35rem; }
.timeline th:last-child, .timeline td:last-child { padding-left: .9rem; }
.timeline td, .timeline tbody th { padding-top: .15rem; padding-bottom: .15rem; border-top-color: transparent; vertical-align: middle; }
.timeline tbody tr:hover { background: var(--soft); }
.timeline tbody th { font-weight: 500; } .timeline tbody th .facts { margin: .4rem 0 .6rem; font-weight: 400; }
.timeline svg { display: block; overflow: visible; }
.timeline .left { font-weight: 550; }
.span.ok { fill: var(--bar-ok); } .span.warn { fill: var(--bar-warn); } .span.bad { fill: var(--bar-bad); }
.span.authority { fill: var(--bar-ca); }
.grid { stroke: var(--line); } .now { stroke: var(--ink); stroke-width: 1.5; }
.tick, .today { fill: var(--quiet); font-size: 11px; } .today { fill: var(--ink); font-weight: 600; }
.beyond { fill: var(--paper); font-size: 11px; }

.phase { display: grid; grid-template-columns: minmax(0, 1fr); gap: .45rem; padding: .2rem 0 .8rem; }
.phase h3 { font-family: var(--mono); font-size: .88rem; }
.change { border: 1px solid var(--line); border-radius: 9px; padding: .45rem .75rem; font-size: .9rem; }
.change .why { display: block; color: var(--quiet); font-size: .86rem; }
.diff, .said {
  margin: .5rem 0 .2rem; padding: .6rem .8rem; background: var(--soft); border-radius: 8px; overflow-x: auto; font: .8rem/1.5 var(--mono);
  white-space: pre; overflow-wrap: normal; max-height: 32rem; unicode-bidi: isolate;
}
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.diff span { display: block; margin: 0 -.8rem; padding: 0 .8rem; width: max-content; min-width: calc(100% + 1.6rem); }
.diff .added { background: var(--ok-soft); color: var(--ok); } .diff .removed { background: var(--bad-soft); color: var(--bad); }
.diff .place { color: var(--quiet); }
footer { color: var(--quiet); font-size: .85rem; padding-top: .4rem; padding-bottom: 2.5rem; }

@media (max-width: 720px) {
  main, .masthead > div, footer { padding-left: .9rem; padding-right: .9rem; } nav ul { padding-left: .9rem; padding-right: .9rem; }
  section { padding: 1.1rem 1rem; } .tiles { grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .6rem; }
  .tile { padding: .65rem .7rem; gap: .6rem; } .ring { width: 40px; height: 40px; }
  table.stacking, .stacking tbody, .stacking tr, .stacking th, .stacking td { display: block; } .stacking thead { display: none; }
  .stacking tr { border-top: 1px solid var(--line); padding: .6rem 0; } .stacking tbody tr:first-child { border-top: 0; padding-top: 0; }
  .stacking th, .stacking td { border: 0; padding: .12rem 0; }
  .stacking td { display: grid; grid-template-columns: minmax(6.5rem, 34%) minmax(0, 1fr); column-gap: .6rem; }
  .stacking td::before { content: attr(data-label); color: var(--quiet); grid-row: span 3; }
  .stacking td > * { grid-column: 2; justify-self: start; } .stacking td > .bar { justify-self: stretch; }
  .timeline, .timeline tbody { display: block; } .timeline thead { display: block; }
  .timeline tr { display: grid; grid-template-columns: minmax(0, 1fr) auto; column-gap: .8rem; padding: .3rem 0; }
  .timeline thead th:first-child, .timeline thead th:last-child { display: none; } .timeline thead th { grid-column: 1 / -1; }
  .timeline th, .timeline td { padding: 0 !important; width: auto !important; }
  .timeline td:nth-child(2) { order: 3; grid-column: 1 / -1; }
  .timeline td:last-child { text-align: right; } .timeline .tick:nth-of-type(even) { display: none; }
}
@media print {
  :root { color-scheme: light; --ground: #fff; --shadow: none; }
  body { font-size: 11px; } nav { display: none; } section, .card, .tile { break-inside: avoid; } section { border-color: #ccc; }
  #drift, #certificates { break-inside: auto; } tr, .change { break-inside: avoid; }
  details::details-content { content-visibility: visible; display: block; height: auto; }
  .diff { max-height: none; white-space: pre-wrap; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
"""
