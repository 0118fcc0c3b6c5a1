"""Verdicts of a validation as a table, as Markdown, as JSON and as figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from backwater.errors import RunError
from validation.limits import (
    BIN,
    BUFFERS,
    EQUAL_BINS,
    FEW,
    FEW_SHARE,
    GIVEN_BINS,
    MANY_SHARE,
    PART,
    PAUSES_SHARE,
    SINGLE_NS,
    TOTAL,
    WHOLE,
    Bin,
    By,
    Check,
    Verdict,
    statistic,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEASURES = ("avg", "p50", "p95", "p99", "max", "buffer", "paused")
_COLUMNS = ("case", "flows", "same ns", "FCT", *_MEASURES, "pauses", "")
_ALWAYS = ("case", "flows", "")

Cell = tuple[str, bool]
"""Text of a cell of the table, and true if it is within its limit."""


def limits(verdicts: Sequence[Verdict]) -> str:
    """Return a text about the limits that apply to these cases."""
    kinds = dict.fromkeys(verdict.by for verdict in verdicts)
    sentences = [_LIMITS[by] for by in kinds or (By.FLOWS,)]
    return "Limits: " + " ".join(sentences)


def _listed(limits: Mapping[str, float | None]) -> str:
    return ", ".join(f"{what} {limit:.0%}" for what, limit in limits.items() if limit is not None)


_LIMITS = {
    By.FLOWS: (
        f"the FCT of a single flow may differ by {SINGLE_NS} ns, and each of up to {FEW} flows by "
        f"{FEW_SHARE:.1%}. With more flows the median and the largest FCT may differ by "
        f"{MANY_SHARE:.0%}, and the number of pauses by {PAUSES_SHARE:.0%}. With at least {BIN} "
        f"flows the slowdown is compared in size bins of at least {BIN} flows, and may differ by "
        f"{_listed(EQUAL_BINS)}. The table shows the bin with the largest difference."
    ),
    By.BINS: (
        "the slowdown is that of the authors' formula, compared in their size bins. In bins of at "
        f"least {PART} flows it may differ by {_listed(GIVEN_BINS)}. The table shows the bin with "
        f"the largest difference. With at least {PART} flows, samples of switch buffers may "
        f"differ by {_listed(BUFFERS)}. If we have several seeds, the difference is the distance "
        "from their range. A number in brackets has no limit."
    ),
    By.TOTALS: (
        f"the FCT of flows that belong to no incast may differ by {_listed(WHOLE)}. The time for "
        f"which PFC pauses the core switches and the fullest buffer may differ by {TOTAL:.0%}. A "
        "number in brackets has no limit."
    ),
}
"""Sentences by method of comparison."""


def _explained(columns: Sequence[str]) -> str:
    """Explain the columns of the table."""
    sentences = []
    if "same ns" in columns:
        sentences.append(
            "*Same ns*: flows that start and end at the same nanosecond in both simulators."
        )
    apart = ", ".join(f"*{name}*" for name in columns if name in ("FCT", *_MEASURES))
    sentences.append(f"{apart}: relative difference between the two simulators.")
    if "pauses" in columns:
        sentences.append("*Pauses*: number in Backwater / in the other simulator.")
    return " ".join(sentences)


def table(verdicts: Sequence[Verdict]) -> tuple[list[str], list[list[Cell]]]:
    """Return the table: names of its columns, and rows of cells.

    Empty optional columns are omitted.
    """
    every = rows(verdicts)
    used = [
        i
        for i, name in enumerate(_COLUMNS)
        if name in _ALWAYS or any(cells[i][0] for cells in every)
    ]
    return [_COLUMNS[i] for i in used], [[cells[i] for i in used] for cells in every]


def rows(verdicts: Sequence[Verdict]) -> list[list[Cell]]:
    """Return the cells of all columns, one row per case."""
    return [_row(verdict) for verdict in verdicts]


def _row(verdict: Verdict) -> list[Cell]:
    if not verdict.checks:
        blank = [("", True)] * (len(_COLUMNS) - 2)
        return [(verdict.name, True), *blank, ("failed", False)]
    missing = verdict.worst("flows")
    flows = str(verdict.flows)
    if missing is not None and not missing.held:
        flows = f"{missing.ours:g} of {flows}"
    cells = [(verdict.name, True), (flows, missing is None or missing.held)]
    same = verdict.by is not By.BINS and verdict.flows
    cells.append((f"{verdict.exact / verdict.flows:.0%}" if same else "", True))
    cells += [_measure(verdict.worst(what)) for what in ("fct", *_MEASURES)]
    pauses = verdict.worst("pauses")
    told = "" if pauses is None else f"{pauses.ours:g}/{pauses.theirs:g}"
    cells.append((told, pauses is None or pauses.held))
    return [*cells, (_word(verdict), verdict.held)]


def _word(verdict: Verdict) -> str:
    if verdict.failed:
        return "failed"
    if not verdict.held:
        return "differs"
    return "holds" if verdict.promised else "no limit"


def _measure(check: Check | None) -> Cell:
    if check is None:
        return "", True
    told = _apart(check)
    return (told if check.limit is not None else f"({told})"), check.held


def _apart(check: Check) -> str:
    return f"{check.apart:g} ns" if check.unit == "ns" else f"{check.apart:.2%}"


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Print the table on standard output."""
    from rich.console import Console
    from rich.measure import measure_renderables
    from rich.table import Table
    from rich.text import Text

    columns, lines = table(verdicts)
    shown = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        shown.add_column(name, justify="left" if name in ("case", "") else "right", no_wrap=True)
    for cells in lines:
        shown.add_row(*(Text(text, style="" if good else "bold red") for text, good in cells))
    console = Console(highlight=False)
    needed = measure_renderables(console, console.options.update(width=10_000), [shown]).maximum
    wide = Console(highlight=False, width=max(needed, min(console.width, 80)))
    wide.print(shown, crop=False, soft_wrap=True)
    console.print(limits(verdicts), soft_wrap=True)
    held = sum(verdict.held for verdict in verdicts)
    console.print(f"{held} of {len(verdicts)} cases hold", soft_wrap=True)


TOLD = 6
"""Largest number of exceeded limits of a case that are described."""


def broken(verdict: Verdict) -> list[str]:
    """Return a line per reason why a case does not hold; an empty list if it holds."""
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
                f"{check.what}{of}: {check.theirs:.6g} there, {_here(check, '.6g')} here, "
                f"{_apart(check)} apart, limit {limit}"
            )
    if len(lines) > TOLD:
        lines[TOLD:] = [f"and {len(lines) - TOLD} more limits; validation.json has them all"]
    return lines


# --- Files -----------------------------------------------------------------------------------


def write_results(folder: Path, verdicts: Sequence[Verdict]) -> list[Path]:
    """Write `validation.json` and the figures into a folder."""
    about = {
        "limits": limits(verdicts),
        "held": all(v.held for v in verdicts),
        "cases": [verdict.as_json() for verdict in verdicts],
    }
    path = folder / "validation.json"
    _write(path, (json.dumps(about, indent=2, ensure_ascii=False) + "\n").encode())
    return [path, *_write_figures(folder, "", verdicts).values()]


def write_markdown(path: Path, verdicts: Sequence[Verdict], command: str) -> list[Path]:
    """Write a Markdown page with the table, and the figures beside it."""
    from backwater import __version__

    figures = _write_figures(path.parent, f"{path.stem}-", verdicts)
    simulators = ", ".join(dict.fromkeys(v.simulator for v in verdicts))
    held = sum(v.held for v in verdicts)
    columns, cells_of = table(verdicts)
    lines = [
        f"# Backwater and {simulators}",
        "",
        f"Made with Backwater {__version__} by `{command}`: {held} of {len(verdicts)} cases hold.",
        "",
        limits(verdicts),
        "",
        _explained(columns),
        "",
        "| " + " | ".join(columns) + " |",
        "|---|" + "---:|" * (len(columns) - 2) + "---|",
    ]
    for cells in cells_of:
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
        lines += _total_table(verdict)
    _write(path, ("\n".join(lines) + "\n").encode())
    return [path, *figures.values()]


def _bin_table(verdict: Verdict) -> list[str]:
    if not verdict.bins:
        return []
    lines = [
        "",
        f"## {verdict.name}: slowdown by size",
        "",
        f"{_ours_are(verdict)} / {verdict.simulator}, and their relative difference.",
        "",
        "| flow size (B) | flows | " + " | ".join(verdict.statistics) + " |",
        "|---|---:|" + "---:|" * len(verdict.statistics),
    ]
    for one in verdict.bins:
        cells = [_both(c, ".3f") for c in verdict.checks if c.of == one.name]
        incast = ", incast" if one.incast else ""
        size = f"{one.low} to {one.high}{incast}"
        lines.append(f"| {size} | {len(one.ours)} | {' | '.join(cells)} |")
    buffers = [check for check in verdict.checks if check.what == "buffer"]
    if buffers and verdict.buffers is not None:
        lines += [
            "",
            f"## {verdict.name}: buffers",
            "",
            f"{len(verdict.buffers[0])} samples, each of one switch, at the same times in both.",
            "",
            "| " + " | ".join(check.of for check in buffers) + " |",
            "|" + "---:|" * len(buffers),
            "| " + " | ".join(_both(check, ".0f") for check in buffers) + " |",
        ]
    return lines


def _ours_are(verdict: Verdict) -> str:
    if verdict.seeds == 1:
        return "Backwater"
    return f"The range of Backwater's {verdict.seeds} seeds"


def _total_table(verdict: Verdict) -> list[str]:
    """Return a table of all compared numbers, if there are only a few."""
    if verdict.by is not By.TOTALS or not verdict.checks:
        return []
    lines = [
        "",
        f"## {verdict.name}",
        "",
        "| | | Backwater | the other | apart | limit |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for check in verdict.checks:
        if check.unit == "count":
            continue
        apart = _apart(check) if check.theirs or not check.ours else "-"
        limit = "" if check.limit is None else f"{check.limit:.0%}"
        told = apart if check.held else f"**{apart}**"
        numbers = f"{check.ours:,.3f} | {check.theirs:,.3f}"
        lines.append(f"| {check.what} | {check.of} | {numbers} | {told} | {limit} |")
    return lines


def _here(check: Check, digits: str) -> str:
    """Return our value as text: a range if there are several seeds."""
    if check.spread is None:
        return f"{check.ours:{digits}}"
    low, high = (f"{value:{digits}}" for value in check.spread)
    return low if low == high else f"{low} to {high}"


def _both(check: Check, digits: str) -> str:
    told = f"{_here(check, digits)} / {check.theirs:{digits}}"
    if check.theirs or not check.ours:
        told += f" ({check.apart:.1%})"
    return told if check.held else f"**{told}**"


def _write_figures(
    folder: Path, prefix: str, verdicts: Sequence[Verdict]
) -> dict[tuple[str, str], Path]:
    """Draw each group with enough flows; return the files by group and content."""
    import io

    written = {}
    for (group, _), members in groupby(verdicts, key=lambda v: (v.group, v.simulator)):
        of_group = list(members)
        kinds = {
            "slowdown": ({v.label: v for v in of_group if _sizes(v)}, slowdown_figure),
            "FCT": ({v.label: v for v in of_group if _distributed(v)}, fct_figure),
            "buffers": ({v.label: v for v in of_group if v.buffers}, buffer_figure),
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
    """Return true if a case has too many flows to list each and too few for bins."""
    return not verdict.bins and len(verdict.fcts[0]) > FEW


def _sizes(verdict: Verdict) -> list[Bin]:
    """Return the bins of the size axis, that is, all but the bins of incasts."""
    return [one for one in verdict.bins if not one.incast]


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RunError(f"{path}: cannot write: {error.strerror}", error.errno) from error


# --- Figures ---------------------------------------------------------------------------------


def slowdown_figure(verdicts: Mapping[str, Verdict]) -> Figure:
    """Draw slowdown over flow size, one panel per statistic; lines are ours, markers theirs."""
    from backwater.plots import drawing as plots
    from backwater.plots.curves import styles

    shown = next(iter(verdicts.values())).statistics
    figure, panels = plots.new_figure((1, len(shown)), height=3.7)
    panels[0].set_ylabel("FCT slowdown")
    look = styles(list(verdicts))
    ends: list[list[tuple[float, str, str]]] = [[] for _ in panels]
    highest = 1.0
    for i, (panel, what) in enumerate(zip(panels, shown, strict=True)):
        for name, verdict in verdicts.items():
            bins = _sizes(verdict)
            sizes = [one.middle for one in bins]
            runs = [[statistic(run, what) for run in one.runs] for one in bins]
            ours = [median(of_seeds) for of_seeds in runs]
            theirs = [statistic(one.theirs, what) for one in bins]
            most = [max(of_seeds) for of_seeds in runs]
            if verdict.seeds > 1:
                least = [min(of_seeds) for of_seeds in runs]
                panel.fill_between(
                    sizes, least, most, color=look[name].colour, alpha=0.2, linewidth=0
                )
            plots.draw_line(panel, sizes, ours, look[name])
            _circles(panel, sizes, theirs, look[name].colour)
            ends[i].append((ours[-1], name, look[name].colour))
            highest = max(highest, *most, *theirs)
        panel.set_title(what)
    if len(verdicts) == 1:
        ends = [[] for _ in panels]
        figure.suptitle(next(iter(verdicts)), fontsize=10)
    for panel, names in zip(panels, ends, strict=True):
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylim(0.97, highest * 1.1)
        panel.set_xlabel("flow size (B)")
        plots.plain_log_ticks(panel)
        plots.name_line_ends(panel, names)
    _explain(figure, verdicts, bands=any(v.seeds > 1 for v in verdicts.values()))
    return figure


def fct_figure(verdicts: Mapping[str, Verdict]) -> Figure:
    """Draw sorted completion times, one panel per case; the line is ours, markers are theirs."""
    from backwater.plots import drawing as plots
    from backwater.plots.curves import styles

    figure, panels = plots.new_figure((1, len(verdicts)), height=3.0)
    panels[0].set_ylabel("share of flows")
    look = styles(list(verdicts))
    for panel, (name, verdict) in zip(panels, verdicts.items(), strict=True):
        theirs, ours = ([ns / 1000 for ns in side] for side in verdict.fcts)
        share = [(i + 1) / len(ours) for i in range(len(ours))]
        plots.draw_line(panel, ours, share, look[name], drawstyle="steps-post")
        _circles(
            panel, theirs, [(i + 1) / len(theirs) for i in range(len(theirs))], look[name].colour
        )
        panel.set_ylim(0, 1.04)
        panel.set_title(name)
        panel.set_xlabel("FCT (µs)")
    _explain(figure, verdicts)
    return figure


def buffer_figure(verdicts: Mapping[str, Verdict]) -> Figure:
    """Draw the complementary CDF of buffer samples per case; the line is ours, markers theirs."""
    from backwater.plots import drawing as plots
    from backwater.plots.curves import styles

    figure, panels = plots.new_figure((1, len(verdicts)), height=3.3)
    panels[0].set_ylabel("share of samples above")
    for panel in panels[1:]:
        panel.sharey(panels[0])
    look = styles(list(verdicts))
    for panel, (name, verdict) in zip(panels, verdicts.items(), strict=True):
        theirs, ours = verdict.buffers or ([], [])
        plots.draw_line(panel, *_above(ours, _STEPS * 8), look[name])
        _circles(panel, *_above(theirs, _STEPS), look[name].colour)
        panel.set_yscale("log")
        panel.set_xlim(left=0)
        panel.set_title(name)
        panel.set_xlabel("buffer of a switch (KB)")
    _explain(figure, verdicts)
    return figure


_STEPS = 10
"""Number of points per decade of the share."""


def _above(ordered: Sequence[int], steps: int) -> tuple[list[float], list[float]]:
    """Return buffer levels in KB and the shares of samples above them, in logarithmic steps."""
    at: list[float] = []
    shares: list[float] = []
    count, step = len(ordered), 0
    while (rest := round(count * 10 ** (-step / steps))) >= 1:
        if not shares or shares[-1] != rest / count:
            at.append(ordered[count - rest] / 1000)
            shares.append(rest / count)
        step += 1
    return at, shares


def _circles(panel: Any, x: Sequence[float], y: Sequence[float], colour: str) -> None:
    panel.plot(
        x, y, linestyle="", marker="o", markersize=4.5, markerfacecolor="none",
        markeredgecolor=colour, markeredgewidth=1.1,
    )  # fmt: skip


def _explain(figure: Figure, verdicts: Mapping[str, Verdict], bands: bool = False) -> None:
    simulators = ", ".join(dict.fromkeys(v.simulator for v in verdicts.values()))
    own = "lines, bands: Backwater, its seeds" if bands else "lines: Backwater"
    figure.supxlabel(f"{own}   circles: {simulators}", fontsize=8.5)
