"""The server: on the loopback interface alone, and for who has its token.

What keeps others out: the socket is bound to 127.0.0.1; the name of the server in a request must be
this address (so that no other name can be made to lead here); a token, drawn anew at each start, is
given once in the address that the command prints and from then on by a cookie that no other site's
request carries; requests that another site caused are refused, and so is a form without a second
token from our own page. Reports are shown in a sandbox, so that no text in results can act here.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from backwater.errors import RunError
from backwater.report.document import SCRIPTS, asset
from backwater.results import Run
from backwater.ui import pages
from backwater.ui.folder import Folder, Refused
from backwater.ui.jobs import Jobs

HOST = "127.0.0.1"
MOST_BYTES = 64_000
"""Longest form that is read."""

_CHANGE = re.compile(r"[A-Za-z_][\w.-]*\s*=\s*\S.*")


class Server(ThreadingHTTPServer):
    """Serves one directory of results."""

    daemon_threads = True

    def __init__(self, root: Path, port: int = 0) -> None:
        self.folder = Folder(root)
        self.jobs = Jobs()
        self.token = secrets.token_urlsafe(24)
        """Opens the door: in the printed address, then in the cookie."""

        self.form_token = secrets.token_urlsafe(24)
        """Stands in our own forms."""

        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise RunError(f"port {port} of {HOST}: {error.strerror}", error.errno) from error
        self.port = int(self.server_address[1])
        self.names = {f"{HOST}:{self.port}", f"localhost:{self.port}"}

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def close(self) -> None:
        """End all runs that were started here, and the server."""
        self.jobs.close()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "backwater"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Answer what is looked at."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer what is done."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal belongs to the user."""

    def _answer(self, serve: Any) -> None:
        try:
            self._check_origin()
            serve()
        except Refused as refused:
            self._send(refused.status, pages.refusal(refused.status, str(refused)))
        except RunError as error:
            self._send(500, pages.refusal(500, str(error)))
        except (BrokenPipeError, ConnectionResetError):
            pass  # The reader has gone.

    # --- Who may ---------------------------------------------------------------------------

    def _check_origin(self) -> None:
        host = self.headers.get("Host", "")
        if host not in self.server.names:
            raise Refused(403, f"`{host}` is not the name of this server")
        if self.headers.get("Sec-Fetch-Site", "none") == "cross-site":
            raise Refused(403, "another site sent this request")

    def _check_token(self) -> None:
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        if cookie is None or not _same(cookie.value, self.server.token):
            raise Refused(
                401, "open the address that `backwater ui` printed: it has the token of this server"
            )

    @property
    def _cookie(self) -> str:
        # Cookies do not know ports; servers on several ports must not disturb each other.
        return f"backwater-{self.server.port}"

    # --- What is looked at -----------------------------------------------------------------

    def _get(self) -> None:
        server = self.server
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        if given := query.pop("token", None):
            if not _same(given[0], server.token):
                raise Refused(401, "this token is not that of this server")
            # The token leaves the address at once, so that it stays in no history.
            cookie = f"{self._cookie}={server.token}; HttpOnly; SameSite=Strict; Path=/"
            rest = urlencode(query, doseq=True)
            self._redirect(f"{url.path}{'?' if rest else ''}{rest}", cookie)
            return
        self._check_token()
        name = query.get("path", [""])[0]
        folder = server.folder
        match url.path:
            case "/":
                self._send(200, pages.index(folder, server.jobs, server.form_token))
            case "/work":
                told = pages.work(folder, folder.entries(), server.jobs, server.form_token)
                self._send(200, told)
            case "/run":
                self._send(200, pages.run(folder, name, server.form_token))
            case "/report":
                self._send(200, pages.report(folder, name), sandbox=True)
            case "/compare":
                self._send(200, pages.comparison(folder, query.get("run", [])), sandbox=True)
            case "/file":
                self._send_file(folder.file(name))
            case _:
                raise Refused(404, f"there is no page `{url.path}`")

    # --- What is done ----------------------------------------------------------------------

    def _post(self) -> None:
        self._check_token()
        origin = self.headers.get("Origin")
        if origin not in {f"http://{name}" for name in self.server.names}:
            raise Refused(403, "this form was not sent by a page of this server")
        form = self._form()
        if not _same(form.get("token", ""), self.server.form_token):
            raise Refused(403, "this form is not one of this server's; open the page again")
        match urlsplit(self.path).path:
            case "/rerun":
                folder, name = self.server.folder, form.get("path", "")
                run = folder.run(name)
                try:
                    self._rerun(run, form)
                except Refused as refused:
                    page = pages.run(folder, name, self.server.form_token, form, str(refused))
                    self._send(refused.status, page)
                    return
            case "/stop":
                number = form.get("job", "")
                self.server.jobs.stop(int(number) if number.isdecimal() else -1)
            case path:
                raise Refused(404, f"there is nothing to do at `{path}`")
        self._redirect("/")

    def _form(self) -> dict[str, str]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            raise Refused(413, f"a form of at most {MOST_BYTES} bytes is expected")
        body = self.rfile.read(int(length)).decode("utf-8", errors="replace")
        return {key: values[0] for key, values in parse_qs(body, keep_blank_values=True).items()}

    def _rerun(self, run: Run, form: dict[str, str]) -> None:
        changes = [line.strip() for line in form.get("changes", "").splitlines() if line.strip()]
        for change in changes:
            if not _CHANGE.fullmatch(change):
                raise Refused(400, f"`{change}` is no change; write KEY=VALUE, one a line")
        seed = form.get("seed", "").strip()
        if seed and not (seed.isdecimal() and int(seed) < 2**64):
            raise Refused(400, f"`{seed}` is no seed; write a whole number from 0 on")
        name = form.get("name", "").strip()
        out = self.server.folder.free(name)
        self._check_scenario(run.path / "resolved.toml", changes, int(seed) if seed else None)
        scenario = run.path / "resolved.toml"
        self.server.jobs.start(name, scenario, out, changes, int(seed) if seed else None)

    def _check_scenario(self, scenario: Path, changes: list[str], seed: int | None) -> None:
        from backwater.running import simulate

        problems = simulate.check(scenario, overrides=changes, seed=seed)
        wrong = [problem["text"] for problem in problems if problem["severity"] == "error"]
        if wrong:
            raise Refused(400, "\n".join(wrong))

    # --- Answers ---------------------------------------------------------------------------

    def _send(self, status: int, page: str, sandbox: bool = False) -> None:
        body = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _SANDBOX if sandbox else _policy())
        self._send_common()
        self.wfile.write(body)

    def _send_file(self, path: Path) -> None:
        try:
            size = path.stat().st_size
            file = path.open("rb")
        except OSError as error:
            raise Refused(404, f"`{path.name}` cannot be read: {error.strerror}") from error
        with file:
            plain = path.suffix in (".json", ".toml")
            self.send_response(HTTPStatus.OK)
            kind = "text/plain; charset=utf-8" if plain else "application/octet-stream"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(size))
            self.send_header("Content-Security-Policy", "default-src 'none'; sandbox")
            if not plain:
                self.send_header("Content-Disposition", f'attachment; filename="{path.name}"')
            self._send_common()
            while block := file.read(1 << 20):
                self.wfile.write(block)

    def _redirect(self, to: str, cookie: str | None = None) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        # One slash alone: two would lead to another server.
        self.send_header("Location", "/" + to.lstrip("/"))
        if cookie is not None:
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", "0")
        self._send_common()

    def _send_common(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "same-origin")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()


_SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'"
)
"""Of reports: their scripts draw, and reach nothing."""


def _policy() -> str:
    """Of our own pages: no scripts but ours, no requests but to this server."""
    texts = [*map(asset, SCRIPTS), pages.script()]
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()) for text in texts)
    scripts = " ".join(f"'sha256-{digest.decode()}'" for digest in digests)
    return (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
        f"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src {scripts}"
    )


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())
