"""Makes many runs: finds what is there, has the rest made, keeps what fails."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from backwater.errors import Interrupted, RunError, ScenarioError
from backwater.results.facts import facts
from backwater.results.store import Failure, Session, Store
from backwater.running.child import Child, Limits, Stopped
from backwater.running.job import Job, Reply, job_of
from backwater.running.simulate import runs_at_a_time
from backwater.scenario.task import Task

if TYPE_CHECKING:
    from backwater.results import Run

_PATIENCE_S = 0.1


@dataclass(slots=True)
class Status:
    """How far a campaign is. Duplicate tasks count once."""

    total: int
    there: int = 0
    """Were there before."""

    done: int = 0
    """Made now."""

    failed: int = 0
    running: dict[str, float] = field(default_factory=dict)
    """Runs that are being made, by key, and how far each is."""

    seconds: float = 0.0
    """Wall-clock time since the first run began."""

    @property
    def left(self) -> int:
        """Runs that are neither finished nor failed."""
        return self.total - self.there - self.done - self.failed

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time left; ``None`` while there is too little to tell."""
        made = self.done + self.failed + sum(self.running.values())
        return self.seconds * (self.left / made) if made > 0.01 else None


Listener = Callable[[Status], None]
"""Is told how far the campaign is, on the thread that called."""


@dataclass
class Outcome:
    """What became of tasks."""

    runs: dict[Task, Run] = field(default_factory=dict)
    failed: dict[Task, Failure] = field(default_factory=dict)
    made: int = 0
    """Runs that were made now; the others were there."""

    notices: list[str] = field(default_factory=list)
    """What the user should know: runs that were found damaged."""

    @property
    def ok(self) -> bool:
        """Every task has a run, and no run violated a check."""
        return not self.failed and all(run.summary["ok"] for run in self.runs.values())


class Executor(Protocol):
    """What makes runs: processes of this machine, or a cluster."""

    def execute(self, jobs: Sequence[Job], session: Session) -> Generator[Reply | None, None, None]:
        """Yield replies as they come, and ``None`` now and then while there is none."""

    @property
    def running(self) -> dict[str, float]:
        """The runs that are being made, and how far each is."""


def run_tasks(
    tasks: Iterable[Task],
    store: Store,
    *,
    jobs: int | None = None,
    scheduler: Any = None,
    timeout_s: float | None = None,
    memory_bytes: int | None = None,
    retry_failed: bool = False,
    listener: Listener | None = None,
    threads: int = 1,
) -> Outcome:
    """Have every task done once, and return the runs.

    Runs that are in the store are taken from there. The others are made by ``jobs`` processes of
    this machine, or on a Dask cluster: ``scheduler`` is its address or a ``distributed.Client``.
    Each may use ``threads`` processors (0: all), which changes no result; by default there are as
    many processes as there are processors for. A run that fails, or takes longer than
    ``timeout_s`` or more than ``memory_bytes``, does not stop the others. It is not tried again
    later, unless ``retry_failed`` is given or the limit that it broke is wider.

    Raises ``ScenarioError`` before anything is run if a scenario is wrong, ``RunError`` if the
    store cannot be written, and :class:`~backwater.Interrupted` (with the outcome so far) on
    Ctrl-C. What was finished is kept in all cases.
    """
    limits = Limits(timeout_s, memory_bytes)
    limits.check()
    if scheduler is not None and jobs is not None:
        raise ScenarioError(
            f"jobs={jobs}: that is for the processes of this machine, and a scheduler has its own "
            "workers; leave jobs or scheduler out"
        )
    by_key: dict[str, list[Task]] = {}
    for task in tasks:
        by_key.setdefault(task.key, []).append(task)
    campaign = _Campaign(by_key, store, limits, listener, threads)
    todo = campaign.find(retry_failed)
    if todo:
        campaign.make(todo, _executor(scheduler, jobs or runs_at_a_time(threads), limits))
    return campaign.outcome


def _executor(scheduler: Any, jobs: int, limits: Limits) -> Executor:
    if scheduler is None:
        return Local(jobs, limits)
    from backwater.running.cluster import Cluster

    return Cluster(scheduler, limits)


class _Campaign:
    """The tasks of one call, by key, and what has become of them."""

    def __init__(
        self,
        by_key: dict[str, list[Task]],
        store: Store,
        limits: Limits,
        listener: Listener | None,
        threads: int,
    ) -> None:
        self.by_key = by_key
        self.threads = threads
        self.store = store
        self.limits = limits
        self.listener = listener
        self.status = Status(total=len(by_key))
        self.outcome = Outcome()

    def find(self, retry_failed: bool) -> list[str]:
        """Take what is there; return the keys of what is not."""
        todo = []
        for key in self.by_key:
            run = self.store.get(key)
            if run is not None:
                self._keep(key, run)
                self.status.there += 1
                continue
            failure = None if retry_failed else self.store.failure(key)
            if failure is not None and failure.stands(
                self.limits.timeout_s, self.limits.memory_bytes
            ):
                self._fail(key, failure)
            else:
                todo.append(key)
        self.outcome.notices = self.store.notices
        return todo

    def make(self, todo: list[str], executor: Executor) -> None:
        """Have runs made, and keep each as it comes."""
        began = time.monotonic()
        with self.store.session() as session:
            jobs = [job_of(self.by_key[key][0], self.threads) for key in todo]
            try:
                # Closed at once when something is raised here, not when it is collected.
                with closing(executor.execute(jobs, session)) as replies:
                    for reply in replies:
                        if reply is not None:
                            self._take(reply)
                        self._tell(executor, time.monotonic() - began)
            except KeyboardInterrupt:
                raise Interrupted(self.outcome) from None
            except OSError as error:
                from backwater._base import durable as files

                raise self._storage_error(files.explain(error)) from error

    def _take(self, reply: Reply) -> None:
        key = reply.key
        if reply.kind == "storage":
            raise self._storage_error(reply.message)
        if reply.kind == "done":
            assert reply.summary is not None
            self.store.note([(key, facts(reply.summary))])
            run = self.store.get(key)
            if run is None:
                raise RunError(f"{self.store.path_of(key)}: vanished after it was written")
            self.store.forget_failure(key)
            self._keep(key, run)
            self.status.done += 1
            self.outcome.made += 1
            return
        task = self.by_key[key][0]
        failure = Failure(
            kind=reply.kind,
            message=reply.message,
            command=task.command,
            seed=task.values.get("seed"),
            timeout_s=self.limits.timeout_s,
            memory_bytes=self.limits.memory_bytes,
        )
        self.store.keep_failure(key, failure)
        self._fail(key, failure)

    def _keep(self, key: str, run: Run) -> None:
        for task in self.by_key[key]:
            self.outcome.runs[task] = run

    def _fail(self, key: str, failure: Failure) -> None:
        self.status.failed += 1
        for task in self.by_key[key]:
            self.outcome.failed[task] = failure

    def _tell(self, executor: Executor, seconds: float) -> None:
        if self.listener is not None:
            self.status.running = dict(executor.running)
            self.status.seconds = seconds
            self.listener(self.status)

    def _storage_error(self, message: str) -> RunError:
        finished = self.status.there + self.status.done
        return RunError(
            f"{message}\nThe campaign was stopped. The {finished:,} runs that were finished are "
            "kept; the same command goes on from there."
        )


class Local:
    """Processes of this machine."""

    def __init__(self, jobs: int, limits: Limits) -> None:
        self._jobs = jobs
        self._limits = limits
        self._stop = threading.Event()
        self.running: dict[str, float] = {}

    def execute(self, jobs: Sequence[Job], session: Session) -> Generator[Reply | None, None, None]:
        """Make runs on as many threads as processes are wanted; each minds one process."""
        replies: queue.SimpleQueue[Reply | BaseException] = queue.SimpleQueue()
        waiting = iter(jobs)
        turn = threading.Lock()

        def mind() -> None:
            child = Child(self._limits, self._stop.is_set)
            try:
                while not self._stop.is_set():
                    with turn:
                        job = next(waiting, None)
                    if job is None:
                        return
                    replies.put(self._one(job, child, session))
            except Stopped:
                pass
            except BaseException as error:  # Raised where replies are awaited.
                replies.put(error)
            finally:
                child.kill()

        count = min(self._jobs, len(jobs))
        threads = [threading.Thread(target=mind, name=f"run-{n}") for n in range(count)]
        try:
            for thread in threads:
                thread.start()
            yield from _until(len(jobs), replies)
        finally:
            self._stop.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()

    def _one(self, job: Job, child: Child, session: Session) -> Reply:
        self.running[job.key] = 0.0
        try:
            return child.execute(
                placed(job, session), lambda fraction: self._far(job.key, fraction)
            )
        finally:
            del self.running[job.key]

    def _far(self, key: str, fraction: float) -> None:
        self.running[key] = fraction


def placed(job: Job, session: Session) -> Job:
    """Say where a run is made and where it goes."""
    from dataclasses import replace

    return replace(
        job,
        work=str(session.place(job.key).absolute()),
        final=str(session.store.path_of(job.key).absolute()),
    )


def _until(count: int, replies: queue.SimpleQueue[Reply | BaseException]) -> Iterator[Reply | None]:
    while count:
        try:
            reply = replies.get(timeout=_PATIENCE_S)
        except queue.Empty:
            yield None
            continue
        if isinstance(reply, BaseException):
            raise reply
        count -= 1
        yield reply
