"""Writes a first scenario from a few answers, with a comment that explains each line."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path

from backwater._base.quantity import number
from backwater.errors import ScenarioError
from backwater.scenario.scenario import Scenario

_ON_A_LEAF = range(2, 65)
"""Allowed number of hosts on a leaf when the number of leaves is derived."""


@dataclass(frozen=True)
class Answers:
    """Parameters of a first scenario. Quantities are texts with their units."""

    hosts: int = 64
    leaves: int = 4
    spines: int = 4
    rate: str = "100Gbps"
    uplink: str = "100Gbps"
    delay: str = "1us"
    buffer: str = "12MB"
    sizes: str = "web-search@hpcc"
    load: str = "50%"
    incast: int = 16
    duration: str = "2ms"
    schemes: str = "bfc,hpcc,dcqcn"
    mtu: str = ""
    """Payload of a full packet. Empty: the value of the preset."""
    response: str = ""
    """Response time of PFC. Empty: the value of the preset."""
    rails: int = 0
    """GPUs per server of a rail-optimised fabric. 0: a leaf-spine fabric."""

    @property
    def names(self) -> list[str]:
        """The names of the schemes as a list."""
        return [name.strip() for name in self.schemes.split(",")]


def mistake(answers: Answers) -> str | None:
    """Describe the first error in the answers; return ``None`` if they are valid."""
    if answers.rails:
        if answers.rails == 1 or answers.hosts % answers.rails or answers.hosts == answers.rails:
            return (
                f"{answers.hosts} hosts are not two or more servers of {answers.rails} GPUs; give "
                f"a multiple of the number of GPUs as hosts, and at least two rails"
            )
    elif answers.leaves == 0:
        least, most = _ON_A_LEAF.start, _ON_A_LEAF.stop - 1
        return (
            f"{answers.hosts} hosts cannot be shared evenly among leaves of {least} to {most}; "
            f"say another number of hosts, or how many leaves"
        )
    elif answers.hosts % answers.leaves:
        return f"{answers.hosts} hosts cannot be shared evenly among {answers.leaves} leaves"
    if not 0 <= answers.incast < answers.hosts:
        return f"an incast of {answers.incast} needs more than {answers.hosts} hosts"
    for field in fields(Answers):
        value = getattr(answers, field.name)
        if isinstance(value, str) and not re.fullmatch(r"[\w.,+@% µ-]*", value):
            return f"`{value}` has a character that no {field.name} has"
    if not all(answers.names):
        return f"`{answers.schemes}` has an empty name; name at least one scheme, such as bfc,hpcc"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "draft.toml"
        path.write_text(text(answers, path), encoding="utf-8")
        for scheme in answers.names:
            for problem in Scenario(path, scheme=scheme).check():
                if problem["severity"] == "error":
                    hint = f" ({problem['hint']})" if problem["hint"] else ""
                    return f"{problem['message']}{hint}"
    return None


def changed(answers: Answers, **given: object) -> Answers:
    """Return the answers with some of them changed.

    Leaves, spines and the uplink rate follow from the other answers if they are not given. A leaf
    gets about sixteen hosts. There are as many spines as leaves, but at most eight. Uplinks are as
    fast as host links.
    """
    given = {name: value for name, value in given.items() if value is not None}
    made = replace(answers, **given)  # type: ignore[arg-type]
    if "leaves" not in given and {"hosts"} & given.keys():
        made = replace(made, leaves=_leaves(made.hosts))
    if "spines" not in given and {"hosts", "leaves"} & given.keys():
        made = replace(made, spines=max(1, min(made.leaves, 8)))
    if "uplink" not in given and "rate" in given:
        made = replace(made, uplink=made.rate)
    if "response" in given and "schemes" not in given:
        made = replace(made, schemes="dcqcn,hpcc")  # The key is for schemes with PFC.
    if "incast" not in given:
        made = replace(made, incast=min(made.incast, made.hosts - 1))
    return made


def _leaves(hosts: int) -> int:
    """Return the number of leaves with closest to sixteen hosts per leaf; 0 if no number fits."""
    possible = [n for n in range(2, hosts + 1) if hosts % n == 0 and hosts // n in _ON_A_LEAF]
    return min(possible, key=lambda n: abs(hosts // n - 16), default=0)


def checked(answers: Answers) -> Answers:
    """Return the answers if they make a valid scenario; raise ``ScenarioError`` otherwise."""
    if why := mistake(answers):
        raise ScenarioError(f"error: {why}")
    return answers


def text(answers: Answers, path: Path) -> str:
    """Return the scenario that the answers describe as TOML text, for the file ``path``."""
    from jinja2 import Template

    draft = resources.files(__package__).joinpath("draft.jinja").read_text(encoding="utf-8")
    found = Template(draft, trim_blocks=True).render(
        vars(answers),
        names=answers.names,
        file=path.name,
        name=re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-.") or "scenario",
        subscription="" if answers.rails else _subscription(answers),
    )
    # Align the comments that follow values.
    return re.sub(r"(?m)^(\S.*?)  (# .*)$", lambda line: f"{line[1]:<47} {line[2]}", found)


def _subscription(answers: Answers) -> str:
    rate, uplink = number(answers.rate), number(answers.uplink)
    if not rate or not uplink:
        return "see `link` and `uplink`"
    ratio = answers.hosts / answers.leaves * rate / (answers.spines * uplink)
    if ratio == 1:
        return "the uplinks carry as much as the hosts"
    if ratio < 1:
        return f"the uplinks carry {1 / ratio:.3g} times as much as the hosts"
    return f"the hosts can send {ratio:.3g} times as much as the uplinks carry"
