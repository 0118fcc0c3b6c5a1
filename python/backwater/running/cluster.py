"""Makes runs on a cluster of Dask workers.

A worker needs the installed package only. The scenario and its files are sent to the worker, and
the files of the run are sent back to the store of this machine. So no shared file system is needed.
Dask queues the runs, and repeats those of a worker that died.
"""

from __future__ import annotations

import base64
import queue
import secrets
import shutil
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from backwater.errors import RunError
from backwater.results.files import run_files
from backwater.results.store import Session, commit
from backwater.running.child import Child, Limits
from backwater.running.job import Job, Reply
from backwater.running.progress import Progress
from backwater.scenario.scenario import version

if TYPE_CHECKING:
    from distributed import Client, Future

AHEAD = 4
"""Number of runs per thread of the cluster that are submitted to Dask at a time."""

ROUNDS = 3
"""Number of times that a run is submitted again after Dask has given it up.

By default Dask itself repeats a run three times if its worker dies. This count includes deaths that
the run did not cause, which are frequent on machines that join and leave.
"""

_PATIENCE_S = 0.2
_CONNECT_S = 30


class Cluster:
    """A Dask cluster: its address, or a client that is connected to it."""

    def __init__(self, scheduler: str | Client, limits: Limits) -> None:
        try:
            import distributed
        except ModuleNotFoundError as error:
            raise RunError(
                "a cluster needs Dask, which is not installed: pip install 'backwater[cluster]'"
            ) from error
        self._limits = limits
        self._own = isinstance(scheduler, str)
        self.running: dict[str, Progress | None] = {}
        self._completed: queue.SimpleQueue[Future[Reply]] = queue.SimpleQueue()
        self._given_up: Counter[str] = Counter()
        if not isinstance(scheduler, str):
            if scheduler.asynchronous:
                raise RunError("an asynchronous Dask client cannot be used here")
            self._client = scheduler
            return
        try:
            self._client = distributed.Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunError(f"{scheduler}: no Dask scheduler answers there ({error})") from error

    def execute(self, jobs: Sequence[Job], session: Session) -> Generator[Reply | None, None, None]:
        """Submit runs so that no worker waits, and store the results.

        Yield replies as they arrive, and ``None`` regularly while none has arrived.
        """
        waiting = deque(jobs)
        in_flight: dict[Future[Reply], Job] = {}
        try:
            while waiting or in_flight:
                self._fill(in_flight, waiting)
                yield from self._collect(in_flight, waiting, session)
        finally:
            with suppress(Exception):  # The cluster may have ended.
                self._client.cancel(list(in_flight), force=True)
            self.running = {}
            if self._own:
                self._client.close()

    def interrupt(self) -> None:
        """Do nothing: runs on a cluster store no first part."""

    def _fill(self, in_flight: dict[Future[Reply], Job], waiting: deque[Job]) -> None:
        """Submit enough runs that no worker waits, but not all, because they use memory."""
        threads = max(1, sum(self._client.nthreads().values()))
        while waiting and len(in_flight) < threads * AHEAD:
            job = waiting.popleft()
            future = self._client.submit(
                make_here,
                _with_contents(job).to_json(),
                version(),
                (self._limits.timeout_s, self._limits.memory_bytes),
                # The key has a random part, because another campaign on the cluster may request the
                # same run.
                key=f"backwater-{job.key[:16]}-{secrets.token_hex(4)}",
                pure=False,
            )
            in_flight[future] = job
            future.add_done_callback(self._completed.put)
        self.running = {job.label: None for job in islice(in_flight.values(), threads)}

    def _collect(
        self, in_flight: dict[Future[Reply], Job], waiting: deque[Job], session: Session
    ) -> Iterator[Reply | None]:
        try:
            completed = [self._completed.get(timeout=_PATIENCE_S)]
        except queue.Empty:
            yield None
            return
        while not self._completed.empty():
            completed.append(self._completed.get())
        for future in completed:
            if not future.done():
                # The worker died before the result was fetched. Dask repeats the run.
                future.add_done_callback(self._completed.put)
                continue
            job = in_flight.pop(future)
            reply = self._reply(future, job, session)
            future.release()
            if reply is None:
                waiting.append(job)
            else:
                yield reply

    def _reply(self, future: Future[Reply], job: Job, session: Session) -> Reply | None:
        """Return the reply of a run, or ``None`` if it must be submitted again."""
        if future.cancelled():
            raise RunError(
                "the Dask scheduler has ended or lost the runs. What was finished is "
                "kept; the same command goes on from there"
            )
        error = future.exception()
        if error is None:
            reply = future.result()
            if reply.kind == "done":
                keep(reply, job, session)
            return reply
        if type(error).__name__ != "KilledWorker":
            return Reply(job.key, "crash", f"{type(error).__name__}: {error}")
        self._given_up[job.key] += 1
        if self._given_up[job.key] <= ROUNDS:
            return None
        return Reply(job.key, "crash", f"its worker died, again and again: {error}")


def keep(reply: Reply, job: Job, session: Session) -> None:
    """Store a run that a worker made."""
    work = session.place(job.key)
    made = work / "run"
    made.mkdir(parents=True)
    try:
        for name, content in reply.files.items():
            (made / name).write_bytes(content)
        commit(made, session.store.path_of(job.key), job.about)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _with_contents(job: Job) -> Job:
    inputs = (
        replace(one, content=base64.b64encode(one.bytes()).decode("ascii")) for one in job.inputs
    )
    return replace(job, inputs=tuple(inputs))


# --- On the worker ---------------------------------------------------------------------------

_children = threading.local()


def make_here(order: str, wanted: str, limits: tuple[float | None, int | None]) -> Reply:
    """Make a run on this machine, and return its files.

    A separate process makes the run. So limits and crashes are handled as on one machine, and a run
    that crashes does not end its worker.
    """
    import distributed

    job = Job.from_json(order)
    if version() != wanted:
        return Reply(
            job.key,
            "error",
            f"the worker has backwater {version()} and not {wanted}: install the same on all",
        )
    # Dask removes the worker's own directory if the worker is killed.
    place = distributed.get_worker().local_directory
    with tempfile.TemporaryDirectory(
        prefix="backwater-", dir=place, ignore_cleanup_errors=True
    ) as folder:
        work = Path(folder) / "work"
        here = replace(job, work=str(work), final=None)
        reply = _child(Limits(*limits)).execute(here)
        if reply.kind != "done":
            # A full disk of the worker is an error of the run, not of the store on this machine.
            kind = "error" if reply.kind == "storage" else reply.kind
            return replace(reply, kind=kind)
        made = work / "run"
        return replace(reply, files={name: (made / name).read_bytes() for name in run_files(made)})


def _child(limits: Limits) -> Child:
    """Return the process that belongs to this thread of the worker."""
    limits.check()
    known: dict[Limits, Child] = _children.__dict__.setdefault("by_limits", {})
    return known.setdefault(limits, Child(limits))
