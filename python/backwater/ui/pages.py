"""The pages of the browser's view: the list, one run, and what is under way."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from backwater._base.units import bytes_text
from backwater.errors import RunError
from backwater.report.document import asset, document, header
from backwater.results import CAMPAIGN, COMPARISON, Comparison, Run, run_files
from backwater.ui.folder import Entry, Folder, Refused, facts
from backwater.ui.jobs import Job

HEADS = {
    "scenario": "scenario",
    "scheme": "scheme",
    "seed": "seed",
    "state": "state",
    "flows": "flows",
    "slowdown_short_p99": "short p99",
    "slowdown_long_p99": "long p99",
    "buffer_p99_bytes": "buffer p99 (MB)",
    "pfc_paused_ps": "paused (ms)",
}


def script() -> str:
    """Return the script that keeps the list of what is under way up to date."""
    return asset("ui.js")


def index(folder: Folder, jobs: Iterable[Job], token: str) -> str:
    """Return the list of all results."""
    entries = folder.entries()
    counts = {k: sum(e.kind == k for e in entries) for k in ("run", "comparison", "campaign")}
    told = [(f"{kind}s", str(number)) for kind, number in counts.items()]
    sections = [
        header("Backwater", folder.root.name or str(folder.root), told),
        f'<section id="work" aria-live="polite">{work(folder, entries, jobs, token)}</section>',
        _together(folder, entries),
        _runs(folder, entries),
    ]
    return document(f"Results in {folder.root.name}", sections, [], [], more=[script()])


def work(folder: Folder, entries: Sequence[Entry], jobs: Iterable[Job], token: str) -> str:
    """Return what is under way: runs that were started here, and unfinished campaigns."""
    rows = []
    for job in reversed(list(jobs)):
        stop = ""
        if job.state == "running":
            stop = (
                f'<form method="post" action="/stop">{_secret(token)}'
                f'<input type="hidden" name="job" value="{job.number}">'
                f'<button aria-label="Stop {html.escape(job.name)}">Stop</button></form>'
            )
        name = html.escape(job.name)
        if job.state in ("done", "stopped"):
            name = f'<a href="/run?path={quote(job.name)}">{name}</a>'
        words = html.escape(job.words()).replace("\n", "<br>")
        rows.append(
            f"<tr><th scope=row>{name}</th><td>{job.state}</td><td>{words}</td><td>{stop}</td></tr>"
        )
    campaigns = (entry for entry in entries if entry.kind == "campaign")
    rows += [f"<tr>{line}<td></td></tr>" for c in campaigns if (line := _unfinished(folder, c))]
    if not rows:
        return '<h2>Under way</h2><p class="note">Nothing. A run can be repeated from its page.</p>'
    return (
        '<h2>Under way</h2><div class="scroll" tabindex="0" role="region" aria-label="Under way">'
        '<table class="audit"><thead><tr><th>what</th><th>state</th><th>last words</th><td></td>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _unfinished(folder: Folder, entry: Entry) -> str | None:
    from backwater.results.dataset import Campaign

    try:
        campaign = Campaign(folder.place(entry.path))
    except (RunError, KeyError, TypeError):
        return None
    if not campaign.missing:
        return None
    done, all_ = len(campaign.facts), len(campaign.rows)
    state = f'<progress max="{all_}" value="{all_ - campaign.missing}">{done} of {all_}</progress>'
    words = f"{done:,} of {all_:,} runs"
    if campaign.failed:
        words += f", {len(campaign.failed):,} failed"
    return f"<th scope=row>{html.escape(entry.path)}</th><td>{state}</td><td>{words}</td>"


def _together(folder: Folder, entries: Sequence[Entry]) -> str:
    """List comparisons and campaigns."""
    rows = []
    for entry in entries:
        if entry.kind == "run":
            continue
        try:
            words = _about(folder, entry)
        except (RunError, KeyError, TypeError) as error:
            words = ("cannot be read", str(error))
        shown = html.escape(entry.path)
        cells = "".join(f"<td>{html.escape(word)}</td>" for word in (entry.kind, *words))
        link = f'<a href="/report?path={quote(entry.path)}">{shown}</a>'
        rows.append(f"<tr><th scope=row>{link}</th>{cells}</tr>")
    if not rows:
        return ""
    return (
        '<section id="together"><h2>Comparisons and campaigns</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-label="Comparisons and campaigns">'
        '<table class="values words sort filter"><thead><tr><th scope=col>path</th>'
        "<th scope=col>kind</th><th scope=col>schemes</th><th scope=col>state</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _about(folder: Folder, entry: Entry) -> tuple[str, str]:
    path = folder.place(entry.path)
    if entry.kind == "comparison":
        found = Comparison(path)
        state = "ok" if found.ok else "failed" if found.failed else "interrupted or violated"
        return ", ".join([*found, *found.failed]), state
    from backwater.results.dataset import Campaign

    campaign = Campaign(path)
    state = f"{len(campaign.facts):,} of {len(campaign.rows):,} runs"
    if campaign.failed:
        state += f", {len(campaign.failed):,} failed"
    return ", ".join(campaign.schemes), state


def _runs(folder: Folder, entries: Sequence[Entry]) -> str:
    """List all runs; those that are chosen are compared."""
    rows = []
    for entry in entries:
        if entry.kind != "run":
            continue
        shown = html.escape(entry.path)
        try:
            told = facts(Run(folder.place(entry.path)))
        except (RunError, KeyError, TypeError) as error:
            told = dict.fromkeys(HEADS, "–") | {"state": f"cannot be read: {error}"}
        cells = "".join(f"<td>{html.escape(told[key])}</td>" for key in HEADS)
        rows.append(
            '<tr><td class=choose><input type="checkbox" autocomplete="off" name="run" '
            f'value="{shown}" aria-label="choose {shown}"></td><th scope=row>'
            f'<a href="/run?path={quote(entry.path)}">{shown}</a></th>{cells}</tr>'
        )
    if not rows:
        return (
            '<section id="runs"><h2>Runs</h2><p class="note">There is no run yet. '
            "<code>backwater run SCENARIO -o DIR</code> makes one.</p></section>"
        )
    heads = "".join(f"<th scope=col>{words}</th>" for words in ("", "path", *HEADS.values()))
    return (
        '<section id="runs"><h2>Runs</h2><form action="/compare">'
        '<div class="scroll" tabindex="0" role="region" aria-label="Runs">'
        f'<table class="values sort filter"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="note">Slowdowns are those of flows up to 10 KB and above 1 MB.</p>'
        '<p><button id="compare">Compare the chosen runs</button></p></form></section>'
    )


def run(
    folder: Folder, name: str, token: str, form: dict[str, str] | None = None, why: str = ""
) -> str:
    """Return the page of a run: what it was, its files, and how to repeat it with changes.

    A form that was refused comes back as it was filled in, with the reason.
    """
    found = folder.run(name)
    given = {"changes": "", "seed": str(found.seed), "name": _new_name(folder, name)} | (form or {})
    changes, seed, new_name = (html.escape(given[key]) for key in ("changes", "seed", "name"))
    refused = f'<pre class="bad" role="alert">{html.escape(why)}</pre>' if why else ""
    told = [(HEADS[key], value) for key, value in facts(found).items()]
    where = quote(name)
    files = "".join(
        f'<li><a href="/file?path={quote(f"{name}/{file}")}">{file}</a>, '
        f"{bytes_text((found.path / file).stat().st_size)}</li>"
        for file in run_files(found.path)
    )
    sections = [
        header("Backwater run", name, told),
        f'<section><p><a href="/">All results</a> · <a id="report" href="/report?path={where}">'
        f"Report of this run</a></p><h2>Files</h2><ul>{files}</ul></section>",
        '<section id="again"><h2>Run it again with changed keys</h2>'
        f'{refused}<form method="post" action="/rerun#again">{_secret(token)}'
        f'<input type="hidden" name="path" value="{html.escape(name)}">'
        "<p><label>Changes, one a line, such as <code>switch.buffer=24MB</code><br>"
        '<textarea name="changes" rows="4" cols="60" spellcheck="false">'
        # A browser leaves out a first line end.
        f"\n{changes}</textarea></label></p>"
        f'<p><label>Seed <input name="seed" inputmode="numeric" value="{seed}"></label> '
        '<label>Name of the new run <input name="name" size="40" '
        f'value="{new_name}"></label> <button>Run</button></p></form>'
        "<p class=note>All else is as in the resolved scenario:</p>"
        f"<details><summary>Every value, defaults included</summary>"
        f"<pre>{html.escape(found.resolved)}</pre></details></section>",
    ]
    return document(name, sections, [], [])


def _new_name(folder: Folder, name: str) -> str:
    """Propose a name beside the run; a run inside of a comparison gets one beside that."""
    path = folder.place(name)
    beside, stem = path.parent, path.name
    while beside != folder.root and any((beside / f).exists() for f in (COMPARISON, CAMPAIGN)):
        beside, stem = beside.parent, f"{beside.name}-{stem}"
    number = 2
    while (beside / f"{stem}-{number}").exists():
        number += 1
    return str((beside / f"{stem}-{number}").relative_to(folder.root))


def report(folder: Folder, name: str) -> str:
    """Return the report of a run, a comparison or a campaign."""
    path = folder.place(name)
    if (path / CAMPAIGN).is_file():
        from backwater.report.sweep import render as render_campaign
        from backwater.results.dataset import Campaign

        return render_campaign(Campaign(path))
    from backwater.report.run import render

    if (path / COMPARISON).is_file():
        found = Comparison(path)
        return render(found.runs, found.about)
    one = folder.run(name)
    return render({one.scheme: one})


def comparison(folder: Folder, names: Sequence[str]) -> str:
    """Return the report about several runs side by side."""
    if not names:
        raise Refused(400, "no run was chosen; go back and choose some")
    from backwater.report.run import render

    runs = {name: folder.run(name) for name in dict.fromkeys(names)}
    schemes = {one.scheme for one in runs.values()}
    if len({(one.name, one.seed) for one in runs.values()}) > 1:
        note = (
            "These runs are of several scenarios or seeds, so not all of them had the same flows. "
            "What stands above is that of the first."
        )
        return render(runs, {"notes": [note]})
    return render({one.scheme: one for one in runs.values()} if len(schemes) == len(runs) else runs)


def refusal(status: int, why: str) -> str:
    """Return the page that says why there is none."""
    said = f'<section><pre>{html.escape(why)}</pre><p><a href="/">All results</a></p></section>'
    return document(str(status), [header("Backwater", f"Not served ({status})", []), said], [], [])


def _secret(token: str) -> str:
    return f'<input type="hidden" name="token" value="{html.escape(token)}">'
