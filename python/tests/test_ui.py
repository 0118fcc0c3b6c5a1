"""The browser's view of a directory: what it shows and does, and above all what it refuses."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browser import browser

import backwater
from backwater.ui.server import MOST_BYTES, Server
from conftest import COMMAND
from tools import PATIENCE


@pytest.fixture(scope="module")
def results(
    comparison: backwater.Comparison, tiny: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    root = tmp_path_factory.mktemp("ui") / "results"
    shutil.copytree(comparison.path, root / "both")
    sweep = root.parent / "sweep.toml"
    sweep.write_text(f'scenario = "{tiny}"\nschemes = ["bfc"]\nseeds = [1, 2]\n')
    backwater.sweep(sweep, out=root / "campaign", jobs=1, report=False)
    backwater.run(tiny, seed=99, out=root / "other")
    (root / "notes.txt").write_text("a secret")
    (root.parent / "outside").mkdir()
    shutil.copytree(comparison["bfc"].path, root.parent / "outside" / "run")
    (root / "leak").symlink_to(root.parent / "outside")
    return root


@pytest.fixture
def server(results: Path) -> Iterator[Server]:
    started = Server(results)
    thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield started
    started.shutdown()
    thread.join()
    started.close()


Answer = tuple[int, dict[str, str], str]


def send(
    server: Server,
    path: str,
    *,
    method: str = "GET",
    body: str | None = None,
    cookie: str | None = "ours",
    host: str | None = None,
    **headers: str,
) -> Answer:
    """Send a request as a page of the server does, but for what is said otherwise."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host if host is not None else f"127.0.0.1:{server.port}")
    if cookie is not None:
        value = server.token if cookie == "ours" else cookie
        connection.putheader("Cookie", f"backwater-{server.port}={value}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    if body is not None:
        connection.putheader("Content-Type", "application/x-www-form-urlencoded")
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(None if body is None else body.encode())
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode(errors="replace")
    connection.close()
    return found


def submit(server: Server, where: str, token: str | None = "ours", **form: str) -> Answer:
    given = {} if token is None else {"token": server.form_token if token == "ours" else token}
    origin = f"http://127.0.0.1:{server.port}"
    return send(server, where, method="POST", body=urlencode(form | given), Origin=origin)


def test_the_token_becomes_a_cookie_and_leaves_the_address(server: Server) -> None:
    path = server.address.partition(str(server.port))[2]
    status, headers, _ = send(server, path, cookie=None)
    assert (status, headers["Location"]) == (303, "/")
    cookie = headers["Set-Cookie"]
    assert server.token in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Secure" not in cookie  # Loopback has no certificate.
    for target in ("//evil.example/", "/\\evil.example"):
        _, headers, _ = send(server, f"{target}?token={server.token}", cookie=None)
        assert not headers.get("Location", "/").startswith("//")


@pytest.mark.parametrize("path", ["/", "/work", "/run?path=both/bfc", "/report?path=both", "/x"])
def test_nothing_is_served_without_the_token(server: Server, path: str) -> None:
    for cookie in (None, "", "wrong", server.token[:-1], "ü"):
        status, _, page = send(server, path, cookie=cookie and cookie.encode().decode("latin-1"))
        assert status == 401
        assert "backwater ui" in page
    assert send(server, f"{path.partition('?')[0]}?token=wrong", cookie=None)[0] == 401


@pytest.mark.parametrize("host", ["", "evil.example", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}"])
def test_other_names_of_the_server_are_refused(server: Server, host: str) -> None:
    assert send(server, "/", host=host.format(port=server.port))[0] == 403
    assert send(server, "/", host=f"localhost:{server.port}")[0] == 200


def test_requests_of_other_sites_are_refused(server: Server) -> None:
    assert send(server, "/", Sec_Fetch_Site="cross-site")[0] == 403
    assert send(server, "/", Sec_Fetch_Site="same-origin")[0] == 200
    body = urlencode({"token": server.form_token, "job": "1"})
    for origin in ({}, {"Origin": "null"}, {"Origin": "http://evil.example"}):
        status, _, _ = send(server, "/stop", method="POST", body=body, **origin)
        assert status == 403


def test_forms_need_their_own_token(server: Server) -> None:
    assert submit(server, "/stop", None, job="1")[0] == 403
    assert submit(server, "/stop", server.token, job="1")[0] == 403
    assert submit(server, "/stop", job="1")[0] == 404  # There is no such run.
    assert submit(server, "/elsewhere")[0] == 404
    origin = f"http://127.0.0.1:{server.port}"
    for length in ("", "-1", "x", str(MOST_BYTES + 1)):
        status, _, _ = send(server, "/stop", method="POST", Origin=origin, Content_Length=length)
        assert status == 413
    assert send(server, "/", method="PUT")[0] == 501


@pytest.mark.parametrize(
    "name",
    ["..", "../outside/run", "both/../../outside/run", "/etc", "leak/run", "%2e%2e/outside/run"],
)
def test_paths_outside_of_the_directory_are_refused(server: Server, name: str) -> None:
    for page in ("run", "report"):
        status, _, text = send(server, f"/{page}?path={name}")
        assert status == 403
        assert "outside" in text
    assert send(server, f"/file?path={name}/summary.json")[0] == 403
    assert send(server, f"/compare?run={name}")[0] == 403
    assert submit(server, "/rerun", path="both/bfc", name=f"{name}/new")[0] in (400, 403)


@pytest.mark.parametrize("name", ["notes.txt", "both/comparison.json", "both/bfc/x", "%00", "both"])
def test_only_files_of_runs_are_given_out(server: Server, name: str) -> None:
    assert send(server, f"/file?path={name}")[0] in (400, 404)


def test_files_of_runs_are_given_out(server: Server, results: Path) -> None:
    status, headers, text = send(server, "/file?path=both/bfc/summary.json")
    assert status == 200
    assert text == (results / "both/bfc/summary.json").read_text()
    assert headers["Content-Type"].startswith("text/plain")
    assert headers["X-Content-Type-Options"] == "nosniff"
    _, headers, _ = send(server, "/file?path=both/bfc/flows.parquet")
    assert headers["Content-Disposition"] == 'attachment; filename="flows.parquet"'


def test_results_cannot_act_in_the_page(server: Server, results: Path) -> None:
    bad = results / "<img src=x onerror=alert(1)>"
    shutil.copytree(results / "both/bfc", bad)
    try:
        _, headers, page = send(server, "/")
    finally:
        shutil.rmtree(bad)
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert "unsafe-inline" not in headers["Content-Security-Policy"].partition("script-src")[2]
    _, headers, _ = send(server, "/report?path=both")
    assert headers["Content-Security-Policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in headers["Content-Security-Policy"]


def test_it_lists_and_reports(server: Server) -> None:
    _, headers, page = send(server, "/")
    for path in ("both", "both/bfc", "both/dcqcn", "campaign"):
        assert f">{path}</a>" in page
    assert "leak" not in page
    assert "2 of 2 runs" in page
    assert headers["Cache-Control"] == "no-store"
    for query in ("report?path=both", "report?path=campaign", "report?path=both/bfc"):
        status, _, report = send(server, f"/{query}")
        assert (status, '<figure id="' in report) == (200, True)
    _, _, both = send(server, "/compare?run=both/bfc&run=both/dcqcn")
    assert 'data-scheme="dcqcn"' in both
    assert "several scenarios or seeds" not in both
    _, _, mixed = send(server, "/compare?run=both/bfc&run=both/dcqcn&run=other")
    assert "several scenarios or seeds" in mixed
    assert 'data-scheme="both/bfc"' in mixed
    assert send(server, "/compare")[0] == 400
    assert send(server, "/report?path=none")[0] == 404


def wait_for(server: Server, state: str) -> str:
    until = time.monotonic() + PATIENCE
    while True:
        _, _, page = send(server, "/work")
        if f"<td>{state}</td>" in page:
            return page
        assert time.monotonic() < until, page
        time.sleep(0.05)


def test_a_run_is_repeated_with_a_changed_key(server: Server, results: Path) -> None:
    changes = "switch.buffer = 1MB\r\n\r\n"
    done = submit(
        server, "/rerun", path="both/bfc", changes=changes, seed="7", name="smaller/buffer"
    )
    assert (done[0], done[1]["Location"]) == (303, "/")
    wait_for(server, "done")
    run = backwater.Run(results / "smaller/buffer")
    assert run.seed == 7
    assert re.search(r'buffer = "1MB"', run.resolved)
    again = submit(server, "/rerun", path="both/bfc", name="smaller/buffer")
    assert (again[0], "is there already" in again[2]) == (409, True)
    assert submit(server, "/rerun", path="both/bfc", name="smaller/buffer/in")[0] == 400
    shutil.rmtree(results / "smaller")


@pytest.mark.parametrize(
    "form",
    [
        {"changes": "switch.buffer"},
        {"changes": "--force=1"},
        {"changes": "switch.bufer = 1MB"},
        {"seed": "-1"},
        {"seed": "x"},
        {"name": ""},
        {"name": "-o"},
        {"name": "a/../b"},
    ],
)
def test_what_cannot_be_run_is_refused_at_once(server: Server, form: dict[str, str]) -> None:
    form = {"path": "both/bfc", "name": "new", "changes": "", "seed": "1"} | form
    status, _, page = submit(server, "/rerun", **form)
    assert status == 400
    # The form comes back with the reason, and as it was filled in.
    assert re.search('<pre class="bad" role="alert">[^<]', page)
    assert f">\n{form['changes']}</textarea>" in page
    for name in ("seed", "name"):
        assert re.search(f'name="{name}"[^>]* value="{re.escape(form[name])}"', page)


def test_a_refused_form_cannot_act_in_the_page(server: Server) -> None:
    awkward = "</textarea><script>alert(1)</script>"
    _, _, page = submit(server, "/rerun", path="both/bfc", name='"><b>', changes=awkward)
    assert "<script>alert" not in page
    assert "<b>" not in page


def test_a_run_is_stopped_and_keeps_what_it_computed(
    server: Server, results: Path, long: Path
) -> None:
    shutil.copytree(results / "both/bfc", results / "slow")
    shutil.copyfile(long, results / "slow/resolved.toml")
    submit(server, "/rerun", path="slow", name="stopped")
    until = time.monotonic() + PATIENCE
    while not (results / "stopped").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.5)
    (job,) = server.jobs
    assert submit(server, "/stop", job=str(job.number))[0] == 303
    wait_for(server, "stopped")
    assert backwater.Run(results / "stopped").partial
    for name in ("slow", "stopped"):
        shutil.rmtree(results / name)


def test_the_command_listens_on_loopback_alone_and_ends_cleanly(results: Path) -> None:
    started = subprocess.Popen(
        [COMMAND, "ui", str(results)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    address = started.stdout.readline().strip()
    port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=\S{32}", address)[1])  # type: ignore[index]
    for other in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port)}:
        if not str(other).startswith("127."):
            with pytest.raises((ConnectionError, TimeoutError)):
                socket.create_connection((str(other), port), timeout=2).close()
    os.kill(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE)
    assert started.returncode == 0
    assert said.endswith("Stopped.\n")
    assert "Traceback" not in said


def test_bad_places_are_refused(tmp_path: Path, server: Server) -> None:
    none, taken = (str(tmp_path / "none"),), (str(tmp_path), "--port", str(server.port))
    for words, code in ((none, 2), (taken, 1)):
        done = subprocess.run(
            [COMMAND, "ui", *words], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == code
        assert done.stderr.startswith("error: ")


def test_in_a_browser(server: Server) -> None:
    with browser() as tab:
        tab.open(server.address)
        assert server.token not in tab.run("location.href")
        tab.run("document.querySelector('#runs thead th:nth-child(4) button').click()")
        assert tab.run("document.querySelector('#runs thead th:nth-child(4)').ariaSort")
        tab.click("#runs input[value='both/bfc']")
        tab.click("#runs input[value='both/dcqcn']")
        tab.click("#compare")
        tab.wait_for("location.pathname === '/compare' && !!document.documentElement")
        tab.wait_for(
            "document.documentElement.dataset.ready === 'yes' && !!Backwater.redraws.length"
        )
        tab.point("#classes .picture", right=100)
        tab.wait_for("document.querySelector('#classes .readout').innerText.includes('dcqcn')")
        # The report lies in a sandbox: it can neither read the cookie nor ask the server.
        assert tab.run("fetch('/work').then(() => 'read', () => 'refused')") == "refused"
        assert tab.run(
            "(() => { try { return document.cookie } catch { return 'refused' } })()"
        ) == ("refused")
        tab.errors.clear()
        tab.open(f"http://127.0.0.1:{server.port}/run?path=both/bfc")
        tab.run("document.querySelector('[name=changes]').value = 'switch.bufer=2MB'")
        tab.run("document.querySelector('#again button').click()")
        tab.wait_for("location.pathname === '/rerun' && !!document.querySelector('[role=alert]')")
        assert "did you mean `buffer`" in tab.run("document.querySelector('#again').innerText")
        tab.errors.clear()  # Chromium reports the status.
        assert tab.run("document.querySelector('[name=changes]').value") == "switch.bufer=2MB"
        tab.run("document.querySelector('[name=changes]').value = 'switch.buffer=2MB'")
        tab.run("document.querySelector('[name=name]').value = 'by-hand'")
        tab.run("document.querySelector('#again button').click()")
        tab.wait_for("location.pathname === '/' && !!document.querySelector('#work table')")
        tab.wait_for("document.querySelector('#work').innerText.includes('done')")
        assert tab.errors == []
    shutil.rmtree(server.folder.root / "by-hand")
