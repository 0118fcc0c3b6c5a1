"""Pages in a browser: they open from disk, draw, answer to pointer and keys."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser import Tab, browser
from campaigns import short
from PIL import Image

import backwater
from backwater._base.units import number_text
from backwater.analysis import blame
from backwater.results.results import Results
from conftest import TINY
from tools import ROOT, Runs

READY = "document.documentElement.dataset.ready === 'yes'"
WITHIN = (
    "const within = (node) => [...node.querySelectorAll('*')].flatMap(e =>"
    " [e, ...(e.shadowRoot ? within(e.shadowRoot) : [])]);"
)
"""A function that returns all elements in a node, those of Bokeh included."""
TOOLTIP = (
    f"(() => {{ {WITHIN}"
    " const shown = within(document.body).filter(e => e.getBoundingClientRect().width);"
    " const texts = (part) => shown.filter(e => e.matches(`.bk-tooltip-row-${part}`))"
    "   .map(e => e.textContent.replace(/:? *$/, ''));"
    " const values = texts('value');"
    " return Object.fromEntries(texts('label').map((label, i) => [label, values[i]])) })()"
)
"""The lines of the tooltip that is shown."""
LINKS = (
    "(() => { const net = Bokeh.documents.flatMap(d => d.roots())"
    ".flatMap(p => p.renderers ?? []).find("
    "r => r.glyph.type === 'Segment' && r.data_source.data.from);"
    " return [...net.data_source.data.colour] })()"
)
"""The colours of the links of the network, from first to last."""
SLOWEST = (
    "[...document.querySelectorAll('#slowest tbody tr:not([hidden], .left-out) th')]"
    ".map(cell => cell.innerText)"
)
"""The schemes of the slowest flows that are shown."""


LABELS = (
    "[...document.querySelectorAll('figure .picture')].flatMap(p => {"
    "  const within = (node) => [...node.querySelectorAll('*')].flatMap(e =>"
    "    e.shadowRoot ? within(e.shadowRoot) : e.tagName === 'text' ? [e] : []);"
    "  const frame = p.getBoundingClientRect();"
    "  const found = within(p).filter(t => t.textContent.trim() &&"
    "    !/rotate|matrix\\((?!1)/.test(t.getAttribute('transform') ?? ''));"
    # Bokeh writes each text twice, at the same place.
    "  const boxes = [...new Map(found.map(t => [t.textContent, t.getBoundingClientRect()])"
    "    .map(([t, b]) => [`${t} ${b.left} ${b.top}`, [t, b]])).values()];"
    "  const out = boxes.filter(([, b]) => b.left < frame.left || b.right > frame.right);"
    "  return [...out.map(([t]) => `${t} is cut`), ...boxes.flatMap(([t, a], i) =>"
    "    boxes.slice(i + 1).filter(([, b]) => a.left < b.right && b.left < a.right"
    "      && a.top < b.bottom && b.top < a.bottom).map(([u]) => `${t} meets ${u}`))];"
    "})"
)
"""Labels that overlap or are cut off."""

EMPTY = (
    "[...document.querySelectorAll('main > section, main > figure')].filter(e =>"
    "  e.getBoundingClientRect().height < 30 || !e.innerText.trim()).map(e => e.id || e.outerHTML)"
)
"""Parts of the page without contents."""


def plots(key: str, about: str) -> str:
    """Return an expression for something about each panel ``e`` that a figure shows."""
    picture = f"document.querySelector('[id=\"{key}\"] .picture:not([hidden])')"
    shown = f"within({picture}).filter(e => e.matches('.bk-Figure'))"
    return f"(() => {{ {WITHIN} return {shown}.map(e => {about}) }})()"


WIDE = "document.documentElement.scrollWidth"
"""Width of the page with what is beyond the right edge of the window."""


@pytest.fixture(scope="module")
def started() -> Iterator[Tab]:
    with browser() as tab:
        yield tab


@pytest.fixture
def tab(started: Tab) -> Iterator[Tab]:
    """A page of the browser, which makes no error during the test."""
    started.errors.clear()
    started.requests.clear()
    yield started
    assert started.errors == []


def opened(tab: Tab, report: Path) -> Tab:
    """Open a page anew, as a reader who was never there."""
    tab.prefer("light")
    tab.open(report)
    tab.run("localStorage.clear()")
    tab.wait_for(READY)
    return tab


@pytest.fixture
def page(tab: Tab, comparison: Runs) -> Tab:
    """The page of a comparison."""
    return opened(tab, comparison.path / "report.html")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A comparison that recorded whatever its page can show, with pauses in it."""
    folder = tmp_path_factory.mktemp("recorded")
    record = '[record]\nblame = {}\npauses = { flows = true }\nutilisation = { every = "10us" }\n'
    text = TINY.replace('"200KB"', '"2MB"') + '[switch]\nbuffer = "500KB"\n' + record
    (folder / "recorded.toml").write_text(text, encoding="utf-8")
    return Runs(backwater.compare(folder / "recorded.toml", ["dcqcn", "bfc"], out=folder / "out"))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A sweep with two numeric axes and one of words."""
    folder = tmp_path_factory.mktemp("swept")
    vary = {
        "switch.buffer": ["4MB", "8MB"],
        "traffic.web.size": ["2KB", "4KB", "8KB"],
        "run.fct": ["received", "acked"],
    }
    schemes = ["hpcc", "dcqcn"]
    return backwater.run(short(folder), schemes=schemes, vary=vary, out=folder / "out")


@pytest.fixture
def rich(tab: Tab, recorded: Runs) -> Tab:
    """Its page."""
    return opened(tab, recorded.path / "report.html")


def test_it_opens_from_disk_without_errors_or_requests(page):
    assert [url for url in page.requests if not url.startswith("data:")] == [
        page.run("location.href")
    ]
    assert page.run("location.protocol") == "file:"
    shown = "figure .picture:not([hidden])"
    drawn = f"[...document.querySelectorAll('{shown}')].filter(p => p.offsetHeight > 100).length"
    assert page.run(drawn) == page.run(f"document.querySelectorAll('{shown}').length") > 6


def test_the_pointer_reads_the_values_of_all_schemes(page):
    page.point("#classes .picture", right=150)
    page.wait_for(f"{TOOLTIP}['FCT slowdown']")
    told = page.run(TOOLTIP)
    assert set(told) == {"FCT slowdown", "bfc", "dcqcn"}
    assert all(told[scheme].endswith(" %") for scheme in ("bfc", "dcqcn"))
    page.point("#classes .picture", right=-150)
    page.wait_for(f"Number({TOOLTIP}['FCT slowdown']) < {told['FCT slowdown']}")
    page.point("h1")
    page.wait_for(f"!('bfc' in {TOOLTIP})")


def test_percentile_and_size_class_are_chosen(page):
    assert len(page.run(plots("slowdown", "1"))) == 3
    page.choose("#slowdown select", "2")
    page.wait_for(f"{plots('slowdown', '1')}.length === 1")
    assert page.run("Bokeh.documents.at(-1).roots()[0].children[0].title.text") == "median"
    options = page.run("[...document.querySelectorAll('#classes option')].map(o => o.text)")
    assert len(options) == 5
    page.point("#classes .picture")
    page.wait_for(f"{TOOLTIP}.bfc")
    short = page.run(TOOLTIP)
    page.choose("#classes select", "4")
    page.wait_for(f"{plots('classes', 'e.offsetHeight')}[0] > 100")
    page.point("#classes .picture:not([hidden])", right=2)
    page.wait_for(
        f"({TOOLTIP}['FCT slowdown'] ?? {short['FCT slowdown']!r}) !== {short['FCT slowdown']!r}"
    )


def test_a_scheme_leaves_figures_and_table(page):
    column = "[...document.querySelectorAll('#results [data-scheme=bfc]')].every(c => c.hidden)"
    assert not page.run(column)
    page.click("nav input[value=bfc]")
    page.wait_for(column)
    page.point("#classes .picture")
    page.wait_for(f"{TOOLTIP}.dcqcn")
    assert "bfc" not in page.run(TOOLTIP)
    assert page.text("#classes .legend") == "dcqcn"
    drawn = "[...Bokeh.documents[1].all_models].filter(m => m.name === 'bfc').map(m => m.visible)"
    assert set(page.run(drawn)) == {False}
    assert set(page.run(SLOWEST)) == {"dcqcn"}
    page.click("nav input[value=bfc]")
    assert set(page.run(drawn)) == {True}
    page.point("#classes .picture", right=20)
    page.wait_for(f"{TOOLTIP}.bfc")


def test_tables_sort_and_filter(page):
    slowdowns = (
        "[...document.querySelectorAll('#slowest tbody tr:not([hidden], .left-out) td:last-child')]"
        ".map(c => Number(c.innerText.replaceAll(',', '')))"
    )
    last = "#slowest thead th:last-child"
    page.run(f"document.querySelector('{last} button').focus()")
    page.press("Enter")
    assert page.run(f"document.querySelector('{last}').ariaSort") == "ascending"
    assert page.run(slowdowns) == sorted(page.run(slowdowns))
    page.click(f"{last} button")
    assert page.run(f"document.querySelector('{last}').ariaSort") == "descending"
    assert page.run(slowdowns) == sorted(page.run(slowdowns), reverse=True)
    rows = page.run("document.querySelectorAll('#slowest tbody tr').length")
    page.choose("#slowest input[type=search]", "dcqcn incast")
    left = page.run(
        "[...document.querySelectorAll('#slowest tbody tr:not([hidden], .left-out)')]"
        ".map(r => r.innerText)"
    )
    assert 0 < len(left) < rows
    assert all("dcqcn" in row and "incast" in row for row in left)
    assert page.text("#slowest .choice output") == f"{len(left)} of {rows}"


def test_sizes_and_times_sort_by_what_they_are(page):
    page.run("document.querySelector('#slowest thead th:nth-child(5) button').click()")
    sizes = page.run(
        "[...document.querySelectorAll('#slowest tbody td:nth-child(5)')].map(c => c.innerText)"
    )
    units = {"B": 1, "KB": 1e3, "MB": 1e6}
    values = [float(number) * units[unit] for number, unit in map(str.split, sizes)]
    assert values == sorted(values)
    assert len({unit for _, unit in map(str.split, sizes)}) > 1


def test_a_row_of_the_results_puts_schemes_in_order(page, comparison):
    page.run(
        "[...document.querySelectorAll('#results tbody th button')]"
        ".find(b => b.innerText === 'p99 (MB)').click()"
    )
    order = page.run(
        "[...document.querySelectorAll('#results thead th')].map(h => h.dataset.scheme)"
    )
    most = {name: run.summary["buffer"]["p99_bytes"] for name, run in comparison.items()}
    assert order == sorted(order, key=lambda name: most[name])


def test_the_slider_moves_through_the_run(page, comparison):
    first = page.text("#network output.time")
    # It opens at the fullest buffer of the run that it shows.
    shown = page.run("document.querySelector('#network select[name=scheme]').value")
    most = comparison[shown].table("queues")["used_bytes"].max()
    assert f" {most / 1e3:.3g} KB" in page.text("#network .told")
    page.choose("#network input[name=time]", "0")
    assert page.text("#network output.time").startswith("0 to ")
    page.choose("#network select[name=scheme]", "dcqcn")
    fullest = comparison["dcqcn"].table("queues").sort("used_bytes")["at_ps"][-1]
    frame_ms = page.run("JSON.parse(document.getElementById('data').textContent).network.frame_ms")
    page.choose("#network input[name=time]", str(int(fullest / 1e9 / frame_ms)))
    assert page.text("#network output.time") != first
    busy = page.text("#network .told")
    # The last frame is that in which the longest run ends: everything has left.
    frames = page.run("Number(document.querySelector('#network input[name=time]').max)")
    page.choose("#network input[name=time]", str(frames))
    assert page.text("#network .told") != busy
    most = comparison["dcqcn"].table("queues")["used_bytes"].max()
    assert f"{most / 1e3:.3g} KB" in busy
    page.click("#network button.play")
    page.wait_for("Number(document.querySelector('#network input[name=time]').value) > 1")
    page.click("#network button.play")
    assert page.text("#network button.play") == "Play"


CHOICES = "Object.fromEntries([...document.querySelectorAll('#network [name=shows] option')].map("
CHOICES += "o => [o.value, [o.disabled, o.text]]))"
SHOWN = "document.querySelector('#network [name=shows]').value"


def test_links_open_with_what_there_is_to_see(page):
    """PFC paused nothing in these runs."""
    assert page.run(SHOWN) == "used"
    assert len(set(page.run(LINKS))) > 3
    assert page.run(CHOICES) == {
        "paused": [True, "paused by PFC: never"],
        "trees": [True, "pause trees, by congested port: none"],
        "used": [False, "utilisation over the run"],
    }


def test_links_show_pauses_or_utilisation(rich):
    for scheme, shown in (("bfc", "used"), ("dcqcn", "paused")):
        rich.choose("#network select[name=scheme]", scheme)
        assert rich.run(SHOWN) == shown
    paused = rich.run(LINKS)
    rich.choose("#network select[name=shows]", "used")
    assert rich.run(LINKS) != paused
    for scheme in ("bfc", "dcqcn"):  # What the reader chose stays.
        rich.choose("#network select[name=scheme]", scheme)
        assert rich.run(SHOWN) == "used"
    assert not any(disabled for disabled, _ in rich.run(CHOICES).values())


def test_playing_begins_at_the_start(page):
    place = "Number(document.querySelector('#network input[name=time]').value)"
    opened_at = page.run(place)
    assert opened_at > 3
    page.click("#network button.play")
    assert page.run(place) < opened_at
    page.click("#network button.play")


@pytest.fixture
def narrow(page: Tab) -> Iterator[Tab]:
    """The page in a window as wide as a telephone."""
    page.resize(400)
    page.open(page.run("location.href"))
    page.wait_for(READY)
    yield page
    page.resize(None)


def test_a_narrow_window_has_room_for_two_schemes(narrow):
    table = "document.querySelector('#results .scroll')"
    assert narrow.run(f"{table}.scrollWidth") <= narrow.run(f"{table}.clientWidth")
    assert narrow.run("document.documentElement.scrollWidth") <= 400


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("kind", ["comparison", "recorded", "trained", "swept"])
def test_labels_do_not_overlap_and_no_card_is_empty(page, kind, width, request):
    """Labels of each figure are rectangles: no two horizontal ones overlap, and none is cut off."""
    results: Results | Runs = request.getfixturevalue(kind)
    page.resize(width)
    try:
        page.open(results.path / "report.html")
        page.wait_for(READY)
        assert page.run(LABELS) == []
        assert page.run(EMPTY) == []
        assert page.run(WIDE) <= width
    finally:
        page.resize(None)


def test_edges_behind_which_there_is_more_are_shaded(narrow, tmp_path):
    def shaded() -> dict[str, bool]:
        """Say of each edge of the box whether its middle is dark."""
        left, top, right, bottom = narrow.run(
            "(() => { const e = document.querySelector('#slowest .scroll');"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] })()"
        )
        x, y = (left + right) / 2, (top + bottom) / 2
        places = {"left": (left + 2, y), "right": (right - 2, y), "bottom": (x, bottom - 2)}
        narrow.screenshot(tmp_path / "seen.png")
        with Image.open(tmp_path / "seen.png") as seen:
            grey = np.asarray(seen.convert("L"))
        return {edge: bool(grey[int(y), int(x)] < 235) for edge, (x, y) in places.items()}

    # As on a telephone: scroll bars that stay are a sign themselves, and lie upon the shadows.
    narrow.call("Emulation.setScrollbarsHidden", hidden=True)
    narrow.run("document.querySelector('#slowest tbody').style.opacity = 0")
    assert shaded() == {"left": False, "right": True, "bottom": True}
    narrow.run("document.querySelector('#slowest .scroll').scrollTo(9999, 9999)")
    assert shaded() == {"left": True, "right": False, "bottom": False}
    narrow.call("Emulation.setScrollbarsHidden", hidden=False)


def test_a_stack_tells_the_parts_of_a_bar(rich, recorded):
    legend = rich.text("#blame .legend").splitlines()
    assert {"PFC", "pauses of queues"} <= set(legend) <= {*blame.GROUPS, "the rest"}
    rich.choose("#blame select", "1")
    rich.wait_for(f"{plots('blame', '1')}.length === 1")
    picture = "#blame .picture:not([hidden])"
    rich.point(picture, right=-200)
    rich.wait_for(f"{TOOLTIP}.scheme === 'dcqcn'")
    told = rich.run(TOOLTIP)
    slow = blame.slow_by_class(recorded)["short"]["dcqcn"]
    assert told["together"] == f"{number_text(slow['fct_ps'] / 1e6)} µs"
    most = max(blame.GROUPS, key=lambda group: slow[group])
    assert told[most] == f"{number_text(slow[most] / 1e6)} µs"
    rich.click("nav input[value=dcqcn]")
    rich.point(picture, right=-180)
    rich.wait_for(f"{TOOLTIP}.scheme === 'bfc'")


@pytest.fixture
def ranks(tab: Tab, trained: Runs) -> Tab:
    """The page of runs with a workload."""
    return opened(tab, trained.path / "report.html")


def test_lanes_of_ranks_show_what_is_under_the_pointer(ranks, trained):
    legend = ranks.text("#ranks .legend").splitlines()
    assert {"computing", "exposed communication"} <= set(legend)
    # A rank computes for 20 us first, and then reduces with its server.
    ranks.point("#ranks .picture", right=-440, down=-15)
    ranks.wait_for(f"{TOOLTIP}.computing")
    told = ranks.run(TOOLTIP)
    assert told["computing"] == "20 µs"
    assert told["time"] == "0 to 0.02 ms"
    ranks.point("#ranks .picture", right=-320, down=-15)
    ranks.wait_for(f"{TOOLTIP}['exposed communication']")
    text = ranks.run(TOOLTIP)["exposed communication"]
    assert re.fullmatch(r".* µs, up to the end of all-reduce 0 of group tensor-[01]", text)
    ranks.choose("#ranks select", "1")
    ranks.wait_for(f"{plots('ranks', 'e.offsetHeight')}[0] > 100")


def test_bars_of_bandwidth_are_told_beside_their_bounds(ranks):
    ranks.point("#bandwidths .picture", right=-300)
    ranks.wait_for(f"{TOOLTIP}.bfc")
    told = [ranks.run(TOOLTIP)[scheme] for scheme in ("bfc", "dcqcn")]
    for words in told:
        found = re.fullmatch(r"(\S+) Gbps of (\S+) Gbps \((\S+) %\)", words)
        assert found, words
        bus, bound, share = found.groups()
        assert float(share) == pytest.approx(100 * float(bus) / float(bound), rel=0.02)
        assert float(share) <= 100
    marks = (
        "Bokeh.documents.flatMap(d => [...d.all_models]).filter(m => m.type === 'GlyphRenderer'"
        " && m.name && m.glyph.type === 'Segment' && m.visible).map(m => m.name)"
    )
    assert ranks.run(marks) == ["dcqcn", "bfc"]
    ranks.click("nav input[value=bfc]")
    assert ranks.run(marks) == ["dcqcn"]
    rows = "[...document.querySelectorAll('#late tbody tr:not([hidden]) th')].map(h => h.innerText)"
    assert set(ranks.run(rows)) == {"dcqcn"}


def test_a_timeline_is_enlarged_as_one(page):
    panels = page.run(plots("timeline", "1"))
    assert len(panels) > 2
    timeline = "Bokeh.documents.flatMap(d => d.roots()).find(r => r.type === 'Column')"
    spans = f"{timeline}.children.map(p => p.x_range.end - p.x_range.start)"
    before = page.run(spans)
    page.drag("#timeline .picture", -100, 100)
    page.wait_for(f"{spans}.every(span => span < {before[0]} / 2)")


def test_pause_trees_move_with_the_slider(rich, recorded):
    assert not rich.run("document.querySelector('#network option[value=trees]').disabled")
    rich.choose("#network select[name=shows]", "trees")
    causes = recorded["dcqcn"].table("pause_causes").drop_nulls("root_name")
    frame_ms = rich.run("JSON.parse(document.getElementById('data').textContent).network.frame_ms")
    first = causes.row(0, named=True)
    rich.choose("#network input[name=time]", str(int(first["at_ps"] / 1e9 / frame_ms) + 1))
    told = rich.text("#network .told")
    assert "Congested ports: " in told
    roots = set(zip(causes["root_name"].cast(str), causes["root_peer_name"].cast(str), strict=True))
    assert any(f"{name} → {peer} holds" in told for name, peer in roots)
    rich.choose("#network select[name=scheme]", "bfc")


def test_utilisation_moves_with_the_slider(rich, recorded):
    rich.choose("#network select[name=shows]", "used")
    assert rich.text("#network option[value=used]") == "utilisation"
    rich.choose("#network input[name=time]", "1")
    busy = rich.run(LINKS)
    assert "Busiest links: " in rich.text("#network .told")
    rich.choose("#network input[name=time]", "9999")  # The last frame: nearly all has been sent.
    assert rich.run(LINKS) != busy


def test_dark_mode_is_that_of_the_system_or_chosen(page):
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    page.prefer("dark")
    page.wait_for(f"{background} !== {light!r}")
    dark = page.run(background)
    inverted = "getComputedStyle(document.querySelector('.picture')).filter"
    assert "invert" in page.run(inverted)
    page.click("#theme")
    assert page.run(background) == light
    assert page.run(inverted) == "none"
    page.prefer("light")
    page.click("#theme")
    assert page.run(background) == dark
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert page.run(inverted) == "none"
    assert page.run(background) == "rgb(255, 255, 255)"
    assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    # Browsers leave backgrounds out on paper, but a legend is its colours.
    swatch = "getComputedStyle(document.querySelector('#slowdown .legend i'))"
    assert page.run(f"{swatch}.printColorAdjust") == "exact"
    page.call("Emulation.setEmulatedMedia", media="", features=[])


def test_paper_has_the_figures_of_the_screen(page):
    beside = f"new Set({plots('slowdown', 'e.getBoundingClientRect().top')}).size === 1"
    assert page.run(beside)
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    page.resize(718)
    page.wait_for(f"innerWidth < 800 && {beside}")
    assert page.run("document.documentElement.scrollWidth") <= 718
    page.resize(None)
    page.wait_for("innerWidth > 800")
    page.call("Emulation.setEmulatedMedia", media="", features=[])


def test_narrow_pages_do_not_squeeze_figures(page):
    found = {}
    for width in (400, 600, 1280):
        page.resize(width)
        columns = f"new Set({plots('slowdown', 'e.getBoundingClientRect().left')}).size"
        page.wait_for(f"{columns} === {min(width // 300, 3)}")
        found[width] = page.run(columns)
    page.resize(None)
    assert found == {400: 1, 600: 2, 1280: 3}


def test_every_control_has_a_name_and_is_reached_by_tab(page):
    unnamed = page.run(
        "[...document.querySelectorAll('button, select, input')].filter(e => "
        "!(e.labels?.length || e.getAttribute('aria-label') || e.innerText.trim()"
        " || e.closest('details:not([open])'))).map(e => e.outerHTML)"
    )
    assert unnamed == []
    reached = set()
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(14):
        page.press("Tab")
        reached.add(page.run("document.activeElement.closest('nav') ? 'nav' : 'rest'"))
    assert reached == {"nav", "rest"}


def test_a_campaign_has_the_same_kind_of_page(tab, tiny, tmp_path):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'scenario = "{tiny}"\nschemes = ["bfc", "hpcc"]\nseeds = [1, 2]\n'
        '[axes]\n"switch.buffer" = ["4MB", "8MB"]\n'
    )
    backwater.sweep(sweep, out=tmp_path / "out", jobs=2)
    tab.open(tmp_path / "out" / "report.html")
    tab.wait_for(READY)
    tab.point("figure .picture", right=200)
    tab.wait_for(f"{TOOLTIP}['switch.buffer'] === '8MB'")


def test_a_sweep_with_two_numeric_axes_has_a_heat_map(tab, swept):
    tab.open(swept.path / "report.html")
    tab.wait_for(READY)
    assert len(tab.run(plots("heat", "1"))) > 1
    tab.point("#heat .picture", right=60, down=-30)
    tab.wait_for(f"{TOOLTIP}['traffic.web.size']")
    tab.choose("#heat select", "1")
    tab.wait_for(f"{plots('heat', 'e.offsetHeight')}[0] > 100")


def test_the_search_of_the_site_works_from_disk(tab, tmp_path):
    """A browser gives no worker to a page from disk; what docs/iframe-worker.js gives answers."""
    shim = (ROOT / "docs/iframe-worker.js").read_text(encoding="utf-8")
    (tmp_path / "shim.js").write_text(shim, encoding="utf-8")
    (tmp_path / "echo.js").write_text(
        "addEventListener('message', (event) => postMessage(event.data + 1));", encoding="utf-8"
    )
    (tmp_path / "page.html").write_text(
        '<script src="shim.js"></script><body><script>'
        "const worker = new Worker('echo.js');"
        "worker.addEventListener('message', (event) => { document.title = event.data });"
        "worker.postMessage(41);</script>",
        encoding="utf-8",
    )
    tab.open(tmp_path / "page.html")
    tab.wait_for("document.title === '42'")
