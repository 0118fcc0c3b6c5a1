"""Figure files: what they may say, and what is told about mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import backwater_papers
from backwater_papers import files, lint, reproduce
from backwater_papers.checked_table import FigureError
from backwater_papers.figure import Pick, Size
from backwater_papers.quantities import Dimension, Quantity, parse, text

FIGURE = """\
title = "A figure"
place = "Paper, Fig. 1"

[[runs]]
scenario = "tiny.toml"
seeds = [1, 2, 3]
set = ["switch.buffer=10MB"]
axes = [
    { schemes = ["hpcc", "dcqcn"] },
    { name = "load", key = "traffic.0.load.fraction", values = [0.3, 0.5], labels = ["30 %", "50 %"] },
]
quick = { set = ["run.until=1ms"] }

[data.short]
of = "slowdown"
sizes = ["0B", "3KB"]

[measures.p99]
data = "short"
statistic = "p99"

[[panels]]
kind = "cdf"
data = "short"
by = "scheme"
select = { load = "30 %" }

[[claims]]
text = "A is below B"
place = "1"
paper = "B"
measure = { name = "p99", scheme = "hpcc", load = ["30 %", "50 %"] }
below = { name = "p99", scheme = "dcqcn" }
"""  # noqa: E501


@pytest.fixture
def figure(tmp_path: Path, tiny: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(tiny.read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / "figure.toml"
    path.write_text(FIGURE, encoding="utf-8")
    return path


def test_a_figure_runs_all_combinations_of_its_axes(figure: Path) -> None:
    (group,) = files.read(figure).groups
    assert [case.label() for case in group.cases()] == [
        "hpcc, 30 %",
        "hpcc, 50 %",
        "dcqcn, 30 %",
        "dcqcn, 50 %",
    ]
    last = list(group.cases(Size.QUICK))[-1]
    assert last.scheme == "dcqcn"
    assert last.overrides == (
        "switch.buffer=10MB",
        "traffic.0.load.fraction=0.5",
        "run.until=1ms",
    )
    assert (group.seeds, group.quick.seeds) == ((1, 2, 3), (1,))
    assert group.full.seeds == tuple(range(1, 11)), "as many as its claims need"


QUICK = 'quick = { set = ["run.until=1ms"] }'
WHERE = (
    QUICK
    + """
where = [{ at = { scheme = "hpcc", load = ["50 %"] }, set = ["a=1"], full = ["b=2"] }]"""
)


def test_some_combinations_set_more(figure: Path) -> None:
    text = figure.read_text(encoding="utf-8")
    assert QUICK in text
    figure.write_text(text.replace(QUICK, WHERE), encoding="utf-8")
    (group,) = files.read(figure).groups

    def more(size: Size) -> dict[str, tuple[str, ...]]:
        return {case.label(): case.overrides[2:] for case in group.cases(size)}

    assert more(Size.USUAL) == {
        "hpcc, 30 %": (),
        "hpcc, 50 %": ("a=1",),
        "dcqcn, 30 %": (),
        "dcqcn, 50 %": (),
    }
    assert more(Size.QUICK)["hpcc, 50 %"] == ("a=1", "run.until=1ms"), "less has the last word"
    assert more(Size.FULL)["hpcc, 50 %"] == ("a=1", "b=2")
    assert more(Size.FULL)["dcqcn, 50 %"] == ()


def test_some_combinations_have_fewer_seeds_at_full_size(figure: Path) -> None:
    text = figure.read_text(encoding="utf-8")
    fewer = WHERE.replace('set = ["a=1"], full = ["b=2"]', "full_seeds = 2")
    figure.write_text(text.replace(QUICK, fewer), encoding="utf-8")
    found = files.read(figure)

    def seeds(size: Size) -> list[int]:
        made = reproduce.tasks(found, size)
        labels = dict.fromkeys(labels for _, labels, _ in made)
        return [sum(of == each for _, of, _ in made) for each in labels]

    assert seeds(Size.USUAL) == [3, 3, 3, 3]
    assert seeds(Size.FULL) == [10, 2, 10, 10]
    figure.write_text(text.replace(QUICK, fewer.replace("= 2", "= 0")), encoding="utf-8")
    with pytest.raises(FigureError, match="expected a whole number of at least 1, found 0"):
        files.read(figure)


def test_what_a_claim_leaves_open_is_as_on_its_other_side(figure: Path) -> None:
    (claim,) = files.read(figure).claims
    assert claim.value.select == {"scheme": ("hpcc",), "load": ("30 %", "50 %")}
    (bound,) = claim.bounds
    assert isinstance(bound.than, Pick)
    assert bound.than.select == {"scheme": ("dcqcn",), "load": ("30 %", "50 %")}
    assert claim.expected == "< (dcqcn)"


def test_a_ratio_against_a_measure_is_against_its_ratio(figure: Path) -> None:
    text = figure.read_text(encoding="utf-8")
    old = 'below = { name = "p99", scheme = "dcqcn" }'
    assert old in text
    new = 'over = { name = "p99", scheme = "dcqcn" }\nbelow = { name = "p99", load = "50 %" }'
    text = text.replace(old, new).replace(', load = ["30 %", "50 %"]', ', load = "30 %"')
    figure.write_text(text, encoding="utf-8")
    (claim,) = files.read(figure).claims
    (bound,) = claim.bounds
    assert bound.over
    assert bound.over.select == {"scheme": ("dcqcn",), "load": ("50 %",)}
    assert claim.expected == "< (50 %)"


def test_values_of_an_axis_are_numbers_where_all_of_them_are(figure: Path) -> None:
    (group,) = files.read(figure).groups
    load, scheme = group.axis("load"), group.axis("scheme")
    assert load is not None
    assert [point.number for point in load.points] == [0.3, 0.5]
    assert scheme is not None
    assert scheme.dimension is None


MISTAKES = [
    (
        QUICK,
        WHERE.replace("scheme =", "schema ="),
        "`runs.where.at.schema`: no axis `schema` in these runs. Did you mean `scheme`?",
    ),
    (QUICK, WHERE.replace('"50 %"', '"55 %"'), "`55 %` is no point of the axis; there are: 30 %"),
    (QUICK, 'where = [{ set = ["a=1"] }]', "missing; list the points: at = { AXIS"),
    (
        QUICK,
        'where = [{ at = { scheme = "hpcc" } }]',
        "has no effect; add `set`, `full` or `full_seeds`",
    ),
    ('statistic = "p99"\n', 'statistic = "p99"\nover = "p98"\n', "no measure `p98` is declared"),
    (
        "[measures.p99]",
        '[measures.size]\nof = "buffer"\nstatistic = "max"\n[measures.p99]\nover = "size"',
        "`size` is no plain measure",
    ),
    ('title = "A figure"', "", "the key `title` is missing: a text"),
    ("below = {", 'near = { value = 2, tolerance = "20%" }\nbelow = {', "at most 15 % is allowed"),
    ('title = "A figure"', "title = 3", "figure.toml:1: `title`: expected a text, found 3"),
    ('title = "A figure"', 'titel = "x"\ntitle = "x"', "figure.toml:1: `titel`: unknown key"),
    ('title = "A figure"', 'title = "A figure', "figure.toml: Illegal character"),
    ('scenario = "tiny.toml"', 'scenario = "no.toml"', "figure.toml:5: `runs.scenario`: there is"),
    ("seeds = [1, 2, 3]", "seeds = [1, 1]", "figure.toml:6: `runs.seeds`: a seed stands here"),
    ("seeds = [1, 2, 3]", 'seeds = ["1"]', "figure.toml:6: `runs.seeds`: expected whole numbers"),
    ('"switch.buffer=10MB"', '"switch.buffer"', "expected texts such as switch.buffer=24MB"),
    (
        "values = [0.3, 0.5]",
        "values = [0.3]",
        "figure.toml:10: `runs.axes.labels`: there are 2 labels for 1 values",
    ),
    ('schemes = ["hpcc", "dcqcn"]', "schemes = []", "an axis needs at least one point"),
    ('schemes = ["hpcc", "dcqcn"]', 'name = "x"', "an axis has one of `key`"),
    ('of = "slowdown"', 'of = "slowdwon"', "figure.toml:15: `data.short.of`: `slowdwon` is none"),
    ('of = "slowdown"', 'of = "rtt"', "`data.short.sizes`: `rtt` cannot be selected by `sizes`"),
    ('"0B", "3KB"', '"0B", "3us"', "expected a size such as 4KB, found '3us'"),
    ('"0B", "3KB"', '"3KB", "0B"', "`data.short.sizes`: '3KB' is more than '0B'"),
    ('data = "short"\nstatistic', 'data = "shrot"\nstatistic', "Did you mean `short`?"),
    ('statistic = "p99"', 'statistic = "p100"', "`measures.p99.statistic`: `p100` is none of p50"),
    ('statistic = "p99"', 'statistic = "jain"', "`jain` needs a time series"),
    ('statistic = "p99"', 'statistic = "share"', "`share` needs one of `above` and `below`"),
    ('kind = "cdf"', 'kind = "pie"', "figure.toml:23: `panels.kind`: `pie` is none of cdf"),
    ('kind = "cdf"', 'kind = "series"', "`slowdown` is not a time series"),
    ('select = { load = "30 %" }', "", "`select` must choose one point of `load`: 30 %, 50 %"),
    ('load = "30 %" }', 'load = "40 %" }', "`40 %` is no point of the axis; there are: 30 %, 50 %"),
    ('load = "30 %" }', 'laod = "30 %" }', "no axis `laod` in these runs. Did you mean `load`?"),
    ('by = "scheme"', 'by = "color"', "no axis `color` in these runs; there are: scheme, load"),
    ('name = "p99", scheme = "hpcc", load', 'name = "p98", scheme = "hpcc", load', "no measure"),
    (
        'name = "p99", scheme = "hpcc", load',
        'name = "p99", load',
        "has no `scheme`; give one of",
    ),
    ("below = {", "belwo = {", "a claim needs something to compare with: at_least"),
    ('below = { name = "p99", scheme = "dcqcn" }', 'below = "3us"', "expected a number, found"),
    ('below = { name = "p99", scheme = "dcqcn" }', "within = [1]", "expected a list of two"),
    ('paper = "B"', "", "figure.toml:28: `claims`: the key `paper` is missing: a text"),
    (
        'of = "slowdown"\nsizes = ["0B", "3KB"]',
        'of = "throughput"\nflows = [0, 1]\nnames = ["F1"]',
        "`data.short.names`: expected as many as `flows` has, 2",
    ),
    ("[[panels]]", "[[panel]]", "a figure needs at least one [[panels]]"),
    ("[[runs]]", "[[run]]", "a figure needs at least one [[runs]], or [formulas]"),
]


@pytest.mark.parametrize(("good", "bad", "told"), MISTAKES, ids=[m[2][:60] for m in MISTAKES])
def test_a_mistake_is_told_with_its_place(figure: Path, good: str, bad: str, told: str) -> None:
    written = FIGURE.replace(good, bad, 1)
    assert written != FIGURE
    figure.write_text(written, encoding="utf-8")
    with pytest.raises(FigureError) as error:
        files.read(figure)
    assert told in str(error.value)
    assert str(error.value).startswith(f"error: {figure}")


CURVES = """\
title = "Formulas"
place = "Paper, Fig. 2"

[formulas.bytes]
formula = "bytes-below"
workload = "google-allrpc@bfc"

[formulas.share]
formula = "empty-share"
threshold = 1

[measures.small]
formula = "bytes"
at = "1KB"

[[panels]]
kind = "curves"
formulas = ["bytes"]
x_limits = ["100B", "1MB"]

[[claims]]
text = "small flows have few bytes"
place = "2"
paper = "few"
measure = "small"
below = "50%"
"""

BAD_CURVES = [
    ('formula = "bytes-below"', 'formula = "bytes"', "`formulas.bytes.formula`: `bytes` is none"),
    ("google-allrpc@bfc", "gogle@bfc", "`formulas.bytes.workload`: there is no workload"),
    ("threshold = 1", 'threshold = "1us"', "`formulas.share.threshold`: expected a number"),
    ('formula = "bytes"\nat', 'formula = "byte"\nat', "Did you mean `bytes`?"),
    ('at = "1KB"', "at = 3", "`measures.small.at`: expected a size"),
    ('formulas = ["bytes"]', 'formulas = ["bytes", "share"]', "of the same dimensions"),
    ('formulas = ["bytes"]', 'formulas = ["bits"]', "no [formulas.bits] is declared"),
    ('x_limits = ["100B", "1MB"]', "", "`curves` needs `x_limits`"),
    ('measure = "small"', 'measure = { name = "small", scheme = "bfc" }', "unknown key"),
    ('kind = "curves"', 'kind = "cdf"', "formulas are drawn in panels of kind"),
]


def test_a_figure_of_formulas_needs_no_runs(figure: Path) -> None:
    figure.write_text(CURVES, encoding="utf-8")
    read = files.read(figure)
    assert (read.groups, read.claims[0].value.select) == ((), {})
    assert read.panels[0].formulas[0].at([1e9])[0] == pytest.approx(1)


@pytest.mark.parametrize(("good", "bad", "told"), BAD_CURVES, ids=[m[2] for m in BAD_CURVES])
def test_mistakes_in_formulas(figure: Path, good: str, bad: str, told: str) -> None:
    assert good in CURVES
    figure.write_text(CURVES.replace(good, bad, 1), encoding="utf-8")
    with pytest.raises(FigureError, match=re.escape(told)):
        files.read(figure)


BY_SIZE = """\
kind = "by-size"
statistic = "p99"
edges = ["1KB", "10KB"]
published_from = "their plot"
published = [{ point = "hpcc", y = [1.5, 3] }, { text = "ideal", x = ["2KB"], y = [2] }]
"""

BAD_PUBLISHED = [
    ('"1KB", "10KB"', '"10KB", "1KB"', "expected sizes that rise"),
    ('edges = ["1KB", "10KB"]', "", "there are 2 values for 0 places"),
    ('point = "hpcc"', 'point = "tcp"', "`tcp` is no point of `by`; there are: hpcc, dcqcn"),
    ("y = [1.5, 3]", "y = [1.5, 3, 4]", "there are 3 values for 2 places"),
    ("y = [2]", "y = [2, 3]", "there are 2 values for 1 places"),
    ('published_from = "their plot"', "", "the key `published_from` is missing"),
]


def with_panel(written: str) -> str:
    return FIGURE.replace('kind = "cdf"\n', written, 1)


def test_published_curves_stand_at_the_edges_or_where_they_say(figure: Path) -> None:
    figure.write_text(with_panel(BY_SIZE), encoding="utf-8")
    found = files.read(figure)
    (panel,) = found.panels
    first, second = panel.published
    assert (panel.edges, panel.published_from) == ((1e3, 1e4), "their plot")
    assert (first.point, first.x, first.y) == ("hpcc", (1e3, 1e4), (1.5, 3))
    assert (second.point, second.text, second.x, second.y) == (None, "ideal", (2e3,), (2,))
    assert [c.expected for c in found.claims if c.curve] == ["1.5 ± 15 %", "3 ± 15 %"]
    drawn = 'unjudged = "they are of another run"\n'
    figure.write_text(with_panel(BY_SIZE + drawn), encoding="utf-8")
    assert [c for c in files.read(figure).claims if c.curve] == []


@pytest.mark.parametrize(("good", "bad", "told"), BAD_PUBLISHED, ids=[m[2] for m in BAD_PUBLISHED])
def test_mistakes_in_published_curves(figure: Path, good: str, bad: str, told: str) -> None:
    assert good in BY_SIZE
    figure.write_text(with_panel(BY_SIZE.replace(good, bad, 1)), encoding="utf-8")
    with pytest.raises(FigureError, match=re.escape(told)):
        files.read(figure)


def test_points_with_a_place_make_an_axis_of_numbers(figure: Path) -> None:
    values = 'key = "traffic.0.load.fraction", values = [0.3, 0.5], labels = ["30 %", "50 %"]'
    points = 'points = [{ label = "few", at = 8 }, { label = "many", at = 64 }]'
    written = FIGURE.replace(values, points).replace("30 %", "few").replace("50 %", "many")
    figure.write_text(written, encoding="utf-8")
    axis = files.read(figure).groups[0].axes[1]
    assert axis.dimension is Dimension.NUMBER
    assert [point.number for point in axis.points] == [8, 64]


def test_runs_of_several_groups_are_told_apart(figure: Path) -> None:
    second = FIGURE.partition("[data")[0].partition("[[runs]]")[2]
    figure.write_text(
        FIGURE.replace("[[runs]]", '[[runs]]\nname = "a"').replace(
            "[data.short]", f'[[runs]]\nname = "b"{second}\n[data.short]'
        ),
        encoding="utf-8",
    )
    with pytest.raises(FigureError, match="several groups of runs; add runs = one of a, b"):
        files.read(figure)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["hpcc/fig13"], ["hpcc/fig13"]),
        (["hpcc/fig9a", "hpcc/fig09b"], ["hpcc/fig09ab"]),
        (["hpcc/fig2", "hpcc/fig2b"], ["hpcc/fig02"]),
        (["hpcc/fig9"], ["hpcc/fig09ab", "hpcc/fig09cd", "hpcc/fig09ef", "hpcc/fig09gh"]),
        (["my/own.toml"], ["my/own.toml"]),
    ],
)
def test_figures_are_found_as_papers_call_them(written: list[str], meant: list[str]) -> None:
    assert files.wanted(written) == meant


def test_a_paper_and_all() -> None:
    assert files.wanted(["hpcc"]) == [n for n in files.available() if n.startswith("hpcc/")]
    assert files.wanted(["all", "hpcc"]) == files.available()
    with pytest.raises(FigureError, match=r"no figure `hpcc/fig99`.*Did you mean"):
        files.wanted(["hpcc/fig99"])


@pytest.mark.parametrize(
    ("written", "value", "dimension"),
    [
        ("20us", 20e6, Dimension.TIME),
        ("1.5 ms", 1.5e9, Dimension.TIME),
        ("4KB", 4000, Dimension.SIZE),
        ("2MiB", 2**21, Dimension.SIZE),
        ("22.6Gbps", 22.6e9, Dimension.RATE),
        ("5 %", 0.05, Dimension.SHARE),
        (1.24, 1.24, Dimension.NUMBER),
    ],
)
def test_quantities(written: object, value: float, dimension: Dimension) -> None:
    found = parse(written)
    assert found is not None
    assert found.value == pytest.approx(value)
    assert found.dimension is dimension


@pytest.mark.parametrize("written", ["", "us", "5", "5 parsecs", True, None, [1]])
def test_what_is_no_quantity(written: object) -> None:
    assert parse(written) is None


def test_quantities_in_words() -> None:
    assert str(Quantity(19.8e6, Dimension.TIME)) == "19.8 µs"
    assert text(float("inf"), Dimension.TIME) == "never"
    assert text(float("nan"), Dimension.SIZE) == "no data"
    assert text(0.0123, Dimension.SHARE) == "1.23 %"
    assert text(9.5e10, Dimension.RATE) == "95 Gbps"
    # No powers of ten: 1.25e+03 Gbps is hard to read, 1e+03 says less than it seems to.
    assert text(1.254e12, Dimension.RATE) == "1254 Gbps"
    assert text(12.3, Dimension.SHARE) == "1230 %"
    assert text(999.6, Dimension.NUMBER) == "1000"


def test_the_package_says_what_is_where() -> None:
    assert backwater_papers.__doc__
    assert all((files.FIGURES / f"{name}.toml").is_file() for name in files.available())


# --- Claims that could not fail ---------------------------------------------------------------


@pytest.mark.parametrize("name", files.available())
def test_shipped_labels_leave_the_unit_to_what_comes_out(name: str) -> None:
    labels = [panel.y_label for panel in files.load(name).panels if panel.y_label]
    assert [label for label in labels if label.endswith(")")] == []


@pytest.mark.parametrize("name", files.available())
def test_shipped_claims_can_fail(name: str) -> None:
    assert lint.complaints(files.load(name)) == []


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ('at_most = { name = "p99", scheme = "dcqcn" }', "a tie meets it"),
        ('over = { name = "p99", scheme = "dcqcn" }\nat_most = 1', "a tie meets it"),
        ('over = { name = "p99", scheme = "dcqcn" }\nat_most = 1.05', "its band contains 1"),
        ('over = { name = "p99", scheme = "dcqcn" }\nwithin = [0.9, 2]', "its band contains 1"),
        ("at_least = 0", "every number meets its lower bound"),
    ],
)
def test_claims_that_nothing_could_refute(figure: Path, bound: str, told: str) -> None:
    written = FIGURE.replace('below = { name = "p99", scheme = "dcqcn" }', bound)
    figure.write_text(written, encoding="utf-8")
    found = lint.complaints(files.read(figure))
    assert any(told in complaint for complaint in found)
    # The paper may say that there is no difference.
    figure.write_text(f"{written}alike = true\n", encoding="utf-8")
    assert lint.complaints(files.read(figure)) == []


def test_what_we_add_is_no_statement_of_the_paper(figure: Path) -> None:
    written = FIGURE.replace('place = "1"', 'place = "specs/bfc.md"')
    figure.write_text(written, encoding="utf-8")
    (complaint,) = lint.complaints(files.read(figure))
    assert "is not a place of the paper" in complaint
    figure.write_text(f'{written}source = "ours"\n', encoding="utf-8")
    assert lint.complaints(files.read(figure)) == []


def test_runs_without_chance_need_one_seed(figure: Path) -> None:
    assert len(files.read(figure).groups[0].full.seeds) == 10
    seeds = "seeds = [1, 2, 3]\n"
    figure.write_text(FIGURE.replace(seeds, "chance = false\n"), encoding="utf-8")
    (group,) = files.read(figure).groups
    assert (group.chance, group.full.seeds) == (False, (None,))


def test_a_number_of_the_paper_has_one_tolerance(figure: Path) -> None:
    below = 'below = { name = "p99", scheme = "dcqcn" }'
    figure.write_text(FIGURE.replace(below, "near = { value = 20 }"), encoding="utf-8")
    assert files.read(figure).claims[0].expected == "20 ± 15 %"


def test_a_number_of_the_summary_that_counts_bytes_is_a_size(figure: Path) -> None:
    counted = '[measures.beside]\nof = "summary"\nkey = "counters.x_bytes"\nstatistic = "max"\n'
    drawn = '[[panels]]\nkind = "bars"\nmeasure = "beside"\nx = "scheme"\n'
    drawn += 'select = { load = "30 %" }\n\n'
    written = FIGURE.replace("[[panels]]", counted + drawn + "[[panels]]", 1)
    figure.write_text(written, encoding="utf-8")
    (measure,) = files.read(figure).panels[0].measures
    assert measure.dimension is Dimension.SIZE


def test_a_figure_can_have_a_thousand_seeds(tmp_path: Path) -> None:
    """Fig. 17 of SPFC is a campaign."""
    shipped = files.FIGURES / "spfc/fig17.toml"
    figure = files.read(shipped)
    assert figure.groups[0].full.seeds == tuple(range(1, 1001))
    assert figure.groups[0].quick.seeds == (1, 2)
    scenario = (shipped.parent / "scenarios/pod-w1.toml").read_text(encoding="utf-8")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios/pod-w1.toml").write_text(scenario, encoding="utf-8")
    wrong = tmp_path / "wrong.toml"
    for seeds in ["{ from = 5, to = 4 }", "{ from = 1, to = 1000000 }", "{ first = 1, to = 3 }"]:
        text = shipped.read_text(encoding="utf-8").replace("{ from = 1, to = 1000 }", seeds)
        wrong.write_text(text, encoding="utf-8")
        with pytest.raises(FigureError, match="seeds"):
            files.read(wrong)
