"""Results and runs show themselves in notebooks."""

from typing import Any

import backwater
from backwater.results.store import Failure
from backwater.running import progress
from backwater.running.progress import Progress


def test_results_are_a_table(comparison):
    results = backwater.load(comparison.path)
    page = results._repr_html_()
    assert "Workloads" not in page
    assert page.count("<th ") >= 2 + 5
    assert "bfc" in results["bfc"]._repr_html_()
    assert results.plot.slowdown()._repr_png_().startswith(b"\x89PNG")
    results.failed[results.points[0].key] = Failure("error", "no & room", "backwater run x")
    assert "<b>bfc</b>: failed: no &amp; room" in results._repr_html_()


def test_bars_show_how_far_runs_are(monkeypatch):
    shown: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            shown.append(page.data)

    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda *_, **__: Handle())
    with progress.watched(None) as listener:
        assert listener is not None
        running = {"bfc": Progress(500, 1000, 4, 1, 4, 1000, 1.0)}
        listener(backwater.Status(total=2, running=running, waiting=["hpcc"]))
    assert '<progress value="0.250"' in shown[0]
    assert "1 of 4 flows" in shown[0]
    assert "waits" in shown[0]
    assert shown[-1] == ""


def test_outside_of_a_notebook_and_with_a_listener_nothing_is_shown():
    def listener(_: backwater.Status) -> None: ...

    with progress.watched(listener) as told:
        assert told is listener
    with progress.watched(None) as told:
        assert told is None
