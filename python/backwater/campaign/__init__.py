"""Campaigns: many runs on one machine or on a cluster, each made once and kept.

>>> from backwater.campaign import Store, Task, run_tasks
>>> tasks = [Task(Path("first.toml"), seed=seed) for seed in range(5)]  # doctest: +SKIP
>>> outcome = run_tasks(tasks, Store("runs"))                           # doctest: +SKIP
"""

from __future__ import annotations

from backwater.campaign.runner import Outcome, Status, run_tasks
from backwater.campaign.store import Failure, Store
from backwater.campaign.task import Task, version

__all__ = ["Failure", "Outcome", "Status", "Store", "Task", "run_tasks", "version"]
