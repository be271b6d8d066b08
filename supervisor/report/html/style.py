"""How the page looks: on a phone, on a screen, on paper; light and dark. Pure."""

import base64
import hashlib
from collections.abc import Mapping
from typing import Final

LIGHT: Final[Mapping[str, str]] = {
    "page": "#ffffff",
    "text": "#1b1f24",
    "quiet": "#545d68",
    "soft": "#f2f4f7",
    "edge": "#868f9b",
    "link": "#0b57b5",
    "bad": "#a3160f",
    "good": "#0b6b3a",
    "hatch": "#ffffff",
    "hardware": "#b3261e",
    "network": "#1d5fbf",
    "software": "#6f42b5",
    "data": "#0a7257",
    "plain": "#5f6875",
    "unknown": "#7d5a00",
    "heat-1": "#fbe3df",
    "heat-2": "#f4b6ae",
    "heat-3": "#bb3d32",
    "heat-4": "#7f1a14",
    "on-heat-1": "#1b1f24",
    "on-heat-2": "#1b1f24",
    "on-heat-3": "#ffffff",
    "on-heat-4": "#ffffff",
}
DARK: Final[Mapping[str, str]] = {
    "page": "#14171c",
    "text": "#e6e9ee",
    "quiet": "#aab3bf",
    "soft": "#20252c",
    "edge": "#727c89",
    "link": "#8ab8ff",
    "bad": "#ff9d94",
    "good": "#7bd8a2",
    "hatch": "#14171c",
    "hardware": "#ff8a80",
    "network": "#8ab4f8",
    "software": "#c7a6ff",
    "data": "#6fd6b0",
    "plain": "#a8b0bd",
    "unknown": "#e3bd57",
    "heat-1": "#3c2422",
    "heat-2": "#6b302b",
    "heat-3": "#e0776c",
    "heat-4": "#ffb0a8",
    "on-heat-1": "#e6e9ee",
    "on-heat-2": "#ffffff",
    "on-heat-3": "#14171c",
    "on-heat-4": "#14171c",
}
_KINDS: Final = ("hardware", "network", "software", "data", "unknown", "plain")
_HEAT: Final = (1, 2, 3, 4)
_RULES: Final = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
.skip { position: absolute; left: -100vw; padding: .5rem 1rem; background: var(--page); color: var(--link); }
.skip:focus { left: 0; top: 0; z-index: 1; }
header, nav, main, footer { max-width: 62rem; margin: 0 auto; padding: 0 1rem; overflow-wrap: anywhere; }
header { padding-top: 1.5rem; }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; line-height: 1.3; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 1.5rem 0 .25rem; font-size: 1rem; }
p, ul, dl { margin: .5rem 0; }
ul { padding-left: 1.25rem; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
code { font: .9em/1.4 ui-monospace, "Liberation Mono", Menlo, monospace; background: var(--soft); padding: .1em .3em; }
.verdict { padding-left: .75rem; border-left: .4rem solid var(--edge); }
.verdict.bad { border-color: var(--bad); }
.verdict.good { border-color: var(--good); }
.quiet { color: var(--quiet); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; list-style: none; }
nav a { display: inline-block; padding: .25rem 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .5rem; }
.facts > div { padding: .6rem .75rem; background: var(--soft); border-radius: .3rem; break-inside: avoid; }
.facts dt { color: var(--quiet); font-size: .9rem; }
.facts dd { margin: 0; }
.facts dd:first-of-type { font-size: 1.1rem; font-weight: 600; line-height: 1.35; }
.facts dd { font-size: .9rem; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; list-style: none; font-size: .9rem; }
.swatch { vertical-align: -2px; margin-right: .35rem; border: 1px solid var(--edge); }
.patterns { position: absolute; }
figure { margin: .75rem 0; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
svg { display: block; overflow: visible; }
.chart { width: 100%; overflow: hidden; }
.plot { width: calc(100% - 3rem); margin-left: 3rem; }
.swatch { display: inline-block; }
svg text { font-size: 13px; fill: var(--text); font-variant-numeric: tabular-nums; }
svg text.axis { font-size: 12px; fill: var(--quiet); }
svg text.value { font-weight: 600; paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
.track { fill: var(--soft); }
.part { stroke: var(--page); stroke-width: 1px; }
.rule { stroke: var(--edge); stroke-width: 1px; }
.line { stroke: var(--network); stroke-width: 2.5px; }
.dot { fill: var(--network); }
.hatch { stroke: var(--hatch); fill: var(--hatch); stroke-width: 1.2px; }
.heat-0 { fill: var(--soft); }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; width: fit-content; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); font-size: .9rem; padding: .25rem 0; }
th, td { padding: .3rem .75rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--edge);
  overflow-wrap: break-word; min-width: 4.5rem; max-width: 16rem; font-weight: normal; }
thead th { font-weight: 600; overflow-wrap: normal; }
tr > :last-child { padding-right: 0; }
td.number, th.number { text-align: right; }
td.number { white-space: nowrap; }
footer { margin-top: 3rem; padding-bottom: 2rem; border-top: 1px solid var(--edge); }
@media print {
  @page { size: A4; margin: 15mm; }
  html { font-size: 10pt; }
  header, nav, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  nav, .skip, summary { display: none; }
  h2, h3, figcaption { break-after: avoid; }
  figure, tr, .facts > div { break-inside: avoid; }
  details:not([open])::details-content { content-visibility: visible; block-size: auto; }
  .scroll { overflow: visible; }
  th, td { overflow-wrap: anywhere; max-width: none; min-width: 0; padding-right: .4rem; }
  table { font-size: .85rem; }
  svg, .verdict, .facts > div { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
@media (min-width: 40rem) { .facts { grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: .75rem; } }
@media (forced-colors: active) { svg text { fill: CanvasText; } .part, .track { stroke: CanvasText; } }
"""


def style() -> str:
    """The style sheet; what is printed is always light."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}"
    light = f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}"
    return "\n".join([light, dark, "@media print { :root { color-scheme: light; } }", *_kinds(), *_heat(), _RULES])


def policy(css: str) -> str:
    """What a browser may do with the page: show this one style sheet, and load nothing."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _variables(colours: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def _kinds() -> list[str]:
    return [f".kind-{kind} {{ fill: var(--{kind}); }}" for kind in _KINDS]


def _heat() -> list[str]:
    levels = [f".heat-{level} {{ fill: var(--heat-{level}); }}" for level in _HEAT]
    return [*levels, *(f"svg text.on-heat-{level} {{ fill: var(--on-heat-{level}); }}" for level in _HEAT)]
