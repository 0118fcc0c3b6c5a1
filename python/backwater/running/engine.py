"""Runs many scenarios: takes stored runs from the store, makes the others, and records failures."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from backwater._base import durable as files
from backwater.errors import Interrupted, RunError, ScenarioError
from backwater.results import columns
from backwater.results.files import RunFiles
from backwater.results.store import PARTIAL, Failure, Session, Store
from backwater.running.child import Child, Limits, Stopped, check_positive
from backwater.running.job import Job, Reply, job_of
from backwater.running.progress import FEW, Listener, Progress, Status
from backwater.running.single import check_threads, runs_at_a_time
from backwater.scenario import Scenario

if TYPE_CHECKING:
    from backwater.running.cluster import Cluster

_PATIENCE_S = 0.1
_LOOK_EVERY_S = 0.02


@dataclass
class Outcome:
    """Results and failures of requested runs."""

    runs: dict[Scenario, RunFiles] = field(default_factory=dict)
    failed: dict[Scenario, Failure] = field(default_factory=dict)
    made: int = 0
    """Number of runs that were made now. The others were stored."""

    notices: list[str] = field(default_factory=list)
    """Messages for the user about damaged runs."""

    @property
    def ok(self) -> bool:
        """True if every scenario has a run, and no run violated a check."""
        return not self.failed and all(run.summary["ok"] for run in self.runs.values())


def run_all(
    scenarios: Iterable[Scenario],
    store: Store,
    *,
    jobs: int | None = None,
    scheduler: Any = None,
    timeout_s: float | None = None,
    memory_bytes: int | None = None,
    retry_failed: bool = False,
    listener: Listener | None = None,
    threads: int = 1,
    labels: dict[str, str] | None = None,
) -> Outcome:
    """Run every scenario once, and return the runs.

    Runs in the store are not repeated. The others are made by ``jobs`` processes of this machine,
    or on a Dask cluster: ``scheduler`` is its address or a ``distributed.Client``. Each run may use
    ``threads`` processors (0: all), which does not change the results. By default the number of
    processes follows from the number of processors.

    A run that fails does not stop the others. A run also fails if it takes longer than
    ``timeout_s`` or more than ``memory_bytes``. A failed run is repeated later only if
    ``retry_failed`` is given or the limit that it broke is wider. ``labels`` are the names of runs
    in progress reports, by key.

    Raises ``ScenarioError`` before any run starts if a scenario is wrong. Raises ``RunError`` if
    the store cannot be written, and :class:`~backwater.Interrupted` (with the outcome so far) on
    Ctrl-C. Finished runs are always kept.
    """
    limits = Limits(timeout_s, memory_bytes)
    check_options(limits, threads, jobs, scheduler)
    by_key: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        by_key.setdefault(scenario.key, []).append(scenario)
    call = _Call(by_key, store, limits, listener, threads, labels or {}, Status(len(by_key)))
    todo = call.find(retry_failed)
    if todo:
        call.make(todo, _executor(scheduler, jobs or runs_at_a_time(threads), limits))
    return call.outcome


def check_options(
    limits: Limits, threads: int, jobs: int | None = None, scheduler: Any = None
) -> None:
    """Raise an error for options of :func:`run_all` that are invalid or exclude each other."""
    limits.check()
    check_threads(threads)
    check_positive("jobs", jobs, int)
    if scheduler is not None and jobs is not None:
        raise ScenarioError(
            f"jobs={jobs}: that is for the processes of this machine, and a scheduler has its own "
            "workers; leave jobs or scheduler out"
        )


def _executor(scheduler: Any, jobs: int, limits: Limits) -> Local | Cluster:
    if scheduler is None:
        return Local(jobs, limits)
    from backwater.running.cluster import Cluster

    return Cluster(scheduler, limits)


@dataclass
class _Call:
    """The scenarios of one call, by key, with their state."""

    by_key: dict[str, list[Scenario]]
    store: Store
    limits: Limits
    listener: Listener | None
    threads: int
    labels: dict[str, str]
    status: Status
    waiting: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    def find(self, retry_failed: bool) -> list[str]:
        """Take finished runs and failures from the store; return the keys of the runs to make.

        With ``retry_failed``, runs that failed earlier are made again.
        """
        todo = []
        for key in self.by_key:
            run = self.store.get(key)
            if run is not None:
                self._keep(key, run)
                self.status.cached += 1
                continue
            failure = None if retry_failed else self.store.failure(key)
            if failure and failure.stands(self.limits.timeout_s, self.limits.memory_bytes):
                self._fail(key, failure)
            else:
                todo.append(key)
        self.outcome.notices = self.store.notices
        return todo

    def make(self, todo: list[str], executor: Local | Cluster) -> None:
        """Make runs with an executor, and store each result as it arrives."""
        began = time.monotonic()
        with self.store.session() as session:
            label = self.labels.get
            jobs = [job_of(self.by_key[k][0], self.threads, label(k, k)) for k in todo]
            self.waiting = [job.label for job in jobs] if self.status.total <= FEW else []
            try:
                # If an error is raised here, `closing` ends the executor without waiting for
                # garbage collection.
                with closing(executor.execute(jobs, session)) as replies:
                    try:
                        for reply in replies:
                            if reply is not None:
                                self._take(reply)
                            self._report(executor, time.monotonic() - began)
                    except KeyboardInterrupt:
                        executor.interrupt()
                        raise
            except KeyboardInterrupt:
                raise Interrupted(self.outcome) from None
            except OSError as error:
                raise self._storage_error(files.explain(error)) from error

    def _take(self, reply: Reply) -> None:
        key = reply.key
        if reply.kind == "storage":
            raise self._storage_error(reply.message)
        if reply.kind == "done":
            assert reply.summary is not None
            self.store.note([(key, columns.row(reply.summary))])
            run = self.store.get(key)
            if run is None:
                raise RunError(f"{self.store.path_of(key)}: vanished after it was written")
            self.store.forget(key)
            self._keep(key, run)
            self.status.done += 1
            self.outcome.made += 1
            return
        scenario = self.by_key[key][0]
        failure = Failure(
            kind=reply.kind,
            message=reply.message,
            command=scenario.command,
            seed=scenario.values.get("seed"),
            timeout_s=self.limits.timeout_s,
            memory_bytes=self.limits.memory_bytes,
        )
        self.store.keep_failure(key, failure)
        self._fail(key, failure)

    def _keep(self, key: str, run: RunFiles) -> None:
        for scenario in self.by_key[key]:
            self.outcome.runs[scenario] = run

    def _fail(self, key: str, failure: Failure) -> None:
        self.status.failed += 1
        for scenario in self.by_key[key]:
            self.outcome.failed[scenario] = failure

    def _report(self, executor: Local | Cluster, seconds: float) -> None:
        if self.listener is not None:
            self.status.running = running = dict(executor.running)
            if self.waiting and running:
                # Runs start in the order of their jobs.
                last = max(self.waiting.index(one) for one in running if one in self.waiting)
                self.status.waiting = self.waiting[last + 1 :]
            self.status.seconds = seconds
            self.listener(self.status)

    def _storage_error(self, message: str) -> RunError:
        finished = self.status.cached + self.status.done
        return RunError(
            f"{message}\nAll runs were stopped. The {finished:,} runs that were finished are "
            "kept; the same command goes on from there."
        )


class Local:
    """Executes runs in processes of this machine."""

    def __init__(self, jobs: int, limits: Limits) -> None:
        self._jobs = jobs
        self._limits = limits
        self._stop, self._interrupt = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self.running: dict[str, Progress | None] = {}

    def execute(self, jobs: Sequence[Job], session: Session) -> Generator[Reply | None, None, None]:
        """Make runs with one thread per process. Each thread supervises its process.

        Yield replies as they arrive, and ``None`` regularly while none has arrived.
        """
        replies: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()
        waiting = iter(jobs)
        turn = threading.Lock()

        def supervise() -> None:
            child = Child(self._limits, self._stop.is_set, self._interrupt.is_set)
            try:
                while not (self._stop.is_set() or self._interrupt.is_set()):
                    with turn:
                        job = next(waiting, None)
                    if job is None:
                        return
                    replies.put(self._one(job, child, session))
            except Stopped:
                pass
            except BaseException as error:  # The error is raised again where replies are awaited.
                replies.put(error)
            finally:
                child.kill()

        count = min(self._jobs, len(jobs))
        self._threads = [threading.Thread(target=supervise, name=f"run-{n}") for n in range(count)]
        labels = {job.key: job.label for job in jobs}
        try:
            for thread in self._threads:
                thread.start()
            left = len(jobs)
            while left:
                try:
                    reply = replies.get(timeout=_PATIENCE_S)
                except queue.Empty:
                    yield None
                    continue
                if isinstance(reply, BaseException):
                    raise reply
                left -= 1
                yield reply
                self.running.pop(labels[reply.key], None)
        except KeyboardInterrupt:
            self.interrupt()
            raise
        finally:
            self._stop.set()
            self._join()

    def interrupt(self) -> None:
        """End the runs in progress early and store their first parts.

        A second Ctrl-C kills them.
        """
        self._interrupt.set()
        try:
            self._join()
        except KeyboardInterrupt:
            self._stop.set()

    def _join(self) -> None:
        # Thread.join is not used: if Ctrl-C interrupts it, it marks the thread as ended.
        while any(thread.is_alive() for thread in self._threads):
            time.sleep(_LOOK_EVERY_S)

    def _one(self, job: Job, child: Child, session: Session) -> Reply:
        self.running[job.label] = None
        note = partial(self.running.__setitem__, job.label)
        return child.execute(placed(job, session), note)


def placed(job: Job, session: Session) -> Job:
    """Return a job with its work directory and its directories in the store."""
    return replace(
        job,
        work=str(session.place(job.key).absolute()),
        final=str(session.store.path_of(job.key).absolute()),
        partial=str((session.store.path / PARTIAL / job.key).absolute()),
    )
