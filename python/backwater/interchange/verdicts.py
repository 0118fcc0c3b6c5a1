"""Verdicts of a validation as a table, as Markdown, as JSON and as figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import RunError
from backwater.interchange.validate import (
    BIN,
    FEW,
    FEW_SHARE,
    MANY_SHARE,
    PAUSES_SHARE,
    PERCENTILES,
    SINGLE_NS,
    Check,
    Verdict,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("case", "flows", "same ns", "FCT", "p50", "p95", "p99", "max", "pauses", "")
_MEASURES = ("fct", "p50", "p95", "p99", "max")


def limits() -> str:
    """Say what is promised, in a sentence."""
    p50, p95, p99 = (f"{what} {limit:.0%}" for what, (_, limit) in PERCENTILES.items())
    return (
        f"Limits: a single flow {SINGLE_NS} ns; up to {FEW} flows each {FEW_SHARE:.1%}; more: "
        f"median and largest FCT {MANY_SHARE:.0%}, pauses {PAUSES_SHARE:.0%}; {BIN} flows and "
        f"more: slowdown in size bins of at least {BIN} flows {p50}, {p95}, {p99} (the worst bin "
        "is shown)."
    )


def rows(verdicts: Sequence[Verdict]) -> list[list[tuple[str, bool]]]:
    """Cells of the table, each with whether it is good."""
    return [_row(verdict) for verdict in verdicts]


def _row(verdict: Verdict) -> list[tuple[str, bool]]:
    if not verdict.checks:
        return [(verdict.name, True), *[("", True)] * 8, ("failed", False)]
    missing = verdict.worst("flows")
    flows = str(verdict.flows)
    if missing is not None and not missing.held:
        flows = f"{missing.ours:g} of {flows}"
    cells = [(verdict.name, True), (flows, missing is None or missing.held)]
    cells.append((f"{verdict.exact / verdict.flows:.0%}" if verdict.flows else "", True))
    for what in _MEASURES:
        check = verdict.worst(what)
        cells.append(("", True) if check is None else (_apart(check), check.held))
    pauses = verdict.worst("pauses")
    told = "" if pauses is None else f"{pauses.ours:g}/{pauses.theirs:g}"
    cells.append((told, pauses is None or pauses.held))
    word = "failed" if verdict.failed else "holds" if verdict.held else "differs"
    return [*cells, (word, verdict.held)]


def _apart(check: Check) -> str:
    return f"{check.apart:g} ns" if check.unit == "ns" else f"{check.apart:.2%}"


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print the table on standard output."""
    from rich.console import Console
    from rich.measure import measure_renderables
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for i, name in enumerate(COLUMNS):
        table.add_column(name, justify="left" if i in (0, 9) else "right", no_wrap=True)
    for cells in rows(verdicts):
        table.add_row(*(Text(text, style="" if good else "bold red") for text, good in cells))
    console = Console(highlight=False)
    needed = measure_renderables(console, console.options.update(width=10_000), [table]).maximum
    wide = Console(highlight=False, width=max(needed, min(console.width, 80)))
    wide.print(table, crop=False, soft_wrap=True)
    console.print(limits(), soft_wrap=True)
    held = sum(verdict.held for verdict in verdicts)
    console.print(f"{held} of {len(verdicts)} cases hold", soft_wrap=True)


TOLD = 6
"""How many broken limits of a case are told in words."""


def broken(verdict: Verdict) -> list[str]:
    """Say in words why a case does not hold."""
    lines = [verdict.failed] if verdict.failed else []
    for check in verdict.checks:
        if check.held or check.limit is None:
            continue
        of = f" of {check.of}" if check.of else ""
        limit = f"{check.limit:g} ns" if check.unit == "ns" else f"{check.limit:.1%}"
        if check.unit == "count":
            lines.append(f"{check.theirs:g} flows finished there and {check.ours:g} here")
        else:
            lines.append(
                f"{check.what}{of}: {check.theirs:.6g} there, {check.ours:.6g} here, "
                f"{_apart(check)} apart, limit {limit}"
            )
    if len(lines) > TOLD:
        lines[TOLD:] = [f"and {len(lines) - TOLD} more limits; validation.json has them all"]
    return lines


# --- Files -----------------------------------------------------------------------------------


def write_results(folder: Path, verdicts: Sequence[Verdict]) -> list[Path]:
    """Write `validation.json` and the figures into a folder."""
    about = {
        "limits": limits(),
        "held": all(v.held for v in verdicts),
        "cases": [verdict.as_json() for verdict in verdicts],
    }
    path = folder / "validation.json"
    _write(path, (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
    return [path, *_write_figures(folder, "", verdicts).values()]


def write_markdown(path: Path, verdicts: Sequence[Verdict], command: str) -> list[Path]:
    """Write the table and the figures, beside it, as a page."""
    from backwater import __version__

    figures = _write_figures(path.parent, f"{path.stem}-", verdicts)
    simulators = ", ".join(dict.fromkeys(v.simulator for v in verdicts))
    held = sum(v.held for v in verdicts)
    lines = [
        f"# Backwater and {simulators}",
        "",
        f"Made with Backwater {__version__} by `{command}`: {held} of {len(verdicts)} cases hold.",
        "",
        limits(),
        "",
        "*Same ns*: flows that start and end at the same nanosecond in both simulators. *FCT*, "
        "*p50*, *p95*, *p99*, *max*: how far apart the two are. *Pauses*: ours / theirs.",
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---|" + "---:|" * 8 + "---|",
    ]
    for cells in rows(verdicts):
        told = (text if good else f"**{text}**" for text, good in cells)
        lines.append("| " + " | ".join(told) + " |")
    for verdict in verdicts:
        reasons = broken(verdict)
        if reasons:
            lines += ["", f"**{verdict.name}**", "", *(f"- {reason}" for reason in reasons)]
    for (group, what), figure in figures.items():
        lines += ["", f"## {group}, {what}", "", f"![{group}, {what}]({figure.name})"]
    for verdict in verdicts:
        lines += _bin_table(verdict)
    _write(path, ("\n".join(lines) + "\n").encode())
    return [path, *figures.values()]


def _bin_table(verdict: Verdict) -> list[str]:
    if not verdict.bins:
        return []
    lines = [
        "",
        f"## {verdict.name}: slowdown by size",
        "",
        f"Backwater / {verdict.simulator}, and how far apart.",
        "",
        "| flow size (B) | flows | " + " | ".join(PERCENTILES) + " |",
        "|---|---:|" + "---:|" * len(PERCENTILES),
    ]
    for one in verdict.bins:
        of = f"{one.low} to {one.high} B"
        cells = [
            f"{c.ours:.3f} / {c.theirs:.3f} ({c.apart:.1%})" for c in verdict.checks if c.of == of
        ]
        lines.append(f"| {one.low} to {one.high} | {len(one.ours)} | {' | '.join(cells)} |")
    return lines


def _write_figures(
    folder: Path, prefix: str, verdicts: Sequence[Verdict]
) -> dict[tuple[str, str], Path]:
    """Draw each group that has enough flows; returns the files by group and what they show."""
    import io

    written = {}
    for group, members in groupby(verdicts, key=lambda v: v.group):
        of_group = list(members)
        kinds = {
            "slowdown": ({v.label: v for v in of_group if v.bins}, slowdown_figure),
            "FCT": ({v.label: v for v in of_group if _distributed(v)}, fct_figure),
        }
        for what, (drawn, draw) in kinds.items():
            if not drawn:
                continue
            data = io.BytesIO()
            draw(drawn).savefig(data, format="png", dpi=150)
            path = folder / f"{prefix}{group.replace('/', '-')}-{what.lower()}.png"
            _write(path, data.getvalue())
            written[group, what] = path
    return written


def _distributed(verdict: Verdict) -> bool:
    """Whether a case has too many flows to tell each and too few for bins."""
    return not verdict.bins and len(verdict.fcts[0]) > FEW


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RunError(f"{path}: cannot write: {error.strerror}") from error


# --- Figures ---------------------------------------------------------------------------------


def slowdown_figure(verdicts: Mapping[str, Verdict]) -> Figure:
    """Slowdown against flow size, one panel a percentile: lines ours, circles theirs."""
    from backwater import plots
    from backwater.interchange.validate import percentile

    figure, panels = plots._figure(len(PERCENTILES), "FCT slowdown", height=3.7)
    look = plots.styles(list(verdicts))
    ends: list[list[tuple[float, str, str]]] = [[] for _ in panels]
    highest = 1.0
    for i, (panel, (what, (p, _))) in enumerate(zip(panels, PERCENTILES.items(), strict=True)):
        for name, verdict in verdicts.items():
            sizes = [one.middle for one in verdict.bins]
            ours, theirs = (
                [percentile(side(one), p) for one in verdict.bins] for side in (_ours, _theirs)
            )
            plots._draw(panel, sizes, ours, look[name])
            _circles(panel, sizes, theirs, look[name].colour)
            ends[i].append((ours[-1], name, look[name].colour))
            highest = max(highest, *ours, *theirs)
        panel.set_title(what)
    for panel, names in zip(panels, ends, strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(0.97, highest * 1.1)
        panel.set_xlabel("flow size (B)")
        plots._plain_log_ticks(panel)
        plots._name_line_ends(panel, names)
    _explain(figure, verdicts)
    return figure


def fct_figure(verdicts: Mapping[str, Verdict]) -> Figure:
    """Completion times in order, a panel a case: line ours, circles theirs."""
    from backwater import plots

    figure, panels = plots._figure(len(verdicts), "share of flows", height=3.0)
    look = plots.styles(list(verdicts))
    for panel, (name, verdict) in zip(panels, verdicts.items(), strict=True):
        theirs, ours = ([ns / 1000 for ns in side] for side in verdict.fcts)
        share = [(i + 1) / len(ours) for i in range(len(ours))]
        plots._draw(panel, ours, share, look[name], drawstyle="steps-post")
        _circles(
            panel, theirs, [(i + 1) / len(theirs) for i in range(len(theirs))], look[name].colour
        )
        panel.set_ylim(0, 1.04)
        panel.set_title(name)
        panel.set_xlabel("FCT (µs)")
    _explain(figure, verdicts)
    return figure


def _ours(one: Any) -> list[float]:
    return one.ours


def _theirs(one: Any) -> list[float]:
    return one.theirs


def _circles(panel: Any, x: Sequence[float], y: Sequence[float], colour: str) -> None:
    panel.plot(
        x, y, linestyle="", marker="o", markersize=4.5, markerfacecolor="none",
        markeredgecolor=colour, markeredgewidth=1.1,
    )  # fmt: skip


def _explain(figure: Figure, verdicts: Mapping[str, Verdict]) -> None:
    simulators = ", ".join(dict.fromkeys(v.simulator for v in verdicts.values()))
    figure.supxlabel(f"lines: Backwater   circles: {simulators}", fontsize=8.5)
