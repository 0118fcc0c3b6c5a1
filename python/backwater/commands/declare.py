"""Builds commands from the signatures of functions: each parameter is an argument or an option.

    def run(scenario: Annotated[Path, Argument(help="A TOML file.")],
            seed: Annotated[int | None, Option("--seed", min=0)] = None) -> None:
        '''Simulate a scenario with one scheme.'''

The type of a parameter determines the accepted values: text, a number, a path, a value of an
enumeration, a list of these, or a flag. If the type is a dataclass, its fields are the parameters,
so that several commands can share them. The docstring is the help text. A signature is read only
when its command is called, so that the list of all commands is printed quickly.
"""

from __future__ import annotations

import difflib
import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import click

BadParameter = click.BadParameter
"""Raised by a parser, and by a command whose options contradict each other."""

Exit = click.exceptions.Exit
"""Ends the command with an exit code."""

_FEW = 10
"""Maximum number of commands that a hint lists if no name is similar to the given one."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""

_SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}

_HELP_WIDTH = 60
"""Maximum length of the text about a command in the help of all commands."""


def _epilog(example: str) -> str | None:
    """Return the last part of a help text, with examples."""
    lines = "".join(f"\n  {line}" for line in example.splitlines())
    return f"\b\nExamples:{lines}" if example else None


_Function = TypeVar("_Function", bound=Callable[..., None])


@dataclass(frozen=True)
class Argument:
    """A parameter that is identified by its position.

    ``check`` raises an error for invalid values.
    """

    help: str
    metavar: str | None = None
    check: Callable[[Any], None] | None = None


class Option:
    """An option of a command line, such as ``--seed``.

    Without ``names``, its name is that of the parameter of the Python function.
    """

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        parser: Callable[[str], Any] | None = None,
        missing: str | None = None,
        show_default: bool | str = True,
        hidden: bool = False,
    ) -> None:
        """Store the settings. ``missing`` is a hint for a required option that is not given."""
        self.names, self.help, self.metavar, self.missing = names, help, metavar, missing
        self.min, self.max, self.parser = min, max, parser
        self.show_default, self.hidden = show_default, hidden


class App(click.Group):
    """A group of commands. It can contain other groups."""

    def __init__(self, name: str, help: str) -> None:
        super().__init__(name, help=help, no_args_is_help=True, context_settings=_SETTINGS)
        self.sections: dict[str, list[str]] = {}

    def add(
        self,
        function: _Function,
        name: str | None = None,
        removed: Mapping[str, str] | None = None,
        example: str = "",
        hidden: bool = False,
    ) -> _Function:
        """Make a command of a function. The default name is that of the function.

        ``removed`` maps options of earlier versions to the reason why they are refused.
        """
        command = _Command(function, name or function.__name__, removed or {})
        command.epilog, command.hidden = _epilog(example), hidden
        self.add_command(command)
        return function

    def add_group(self, group: App, example: str) -> None:
        """Add a group of commands."""
        group.epilog = _epilog(example)
        self.add_command(group)

    def begin_section(self, title: str) -> None:
        """Begin a section of the help. Commands that are added later belong to it."""
        self.sections[title] = []

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command to the group and to the last section."""
        super().add_command(cmd, name)
        if self.sections and not cmd.hidden:
            [*_, last] = self.sections.values()
            last.append(str(name or cmd.name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, in their sections if there are any."""
        placed = {name for names in self.sections.values() for name in names}
        others = [name for name in self.list_commands(ctx) if name not in placed]
        sections = {**self.sections, "Packages" if placed else "Commands": others}
        for title, names in sections.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            rows = [
                (name, command.get_short_help_str(_HELP_WIDTH))
                for name, command in commands.items()
                if command is not None and not command.hidden
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command. Ctrl-C ends it with a message, unless the command handles it."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, click.Abort):
            click.echo("Interrupted.", err=True)
            raise Exit(INTERRUPTED) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the requested command.

        For an unknown one the error names the most similar command.
        """
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command '{name}'. {self.hint(ctx, name)}".rstrip())
        return super().resolve_command(ctx, args)

    def hint(self, ctx: click.Context, name: str) -> str:
        """Return a hint for a user who typed an unknown command; empty if there is none."""
        names = self.list_commands(ctx)
        if near := difflib.get_close_matches(name, names, 1):
            return f"Did you mean '{near[0]}'?"
        return f"There are {', '.join(names)}." if len(names) <= _FEW else ""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)


class _Command(click.Command):
    def __init__(
        self, function: Callable[..., None], name: str, removed: Mapping[str, str]
    ) -> None:
        super().__init__(
            name, callback=function, help=inspect.getdoc(function), context_settings=_SETTINGS
        )
        self.removed = removed
        self.groups: dict[str, type] = {}
        """Parameters of the function that are dataclasses of arguments and options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. For an option that was removed, the error has the reason."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in self.removed:
                raise
            ctx.fail(f"{error.option_name} was removed: {self.removed[error.option_name]}.")

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            assert self.callback is not None
            hints = get_type_hints(self.callback, include_extras=True)
            for name, parameter in inspect.signature(self.callback).parameters.items():
                if is_dataclass(hints[name]):
                    self.groups[name] = hints[name]
                    self.params += _fields(hints[name])
                else:
                    self.params.append(_parameter(name, hints[name], parameter.default))
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Check the values of the arguments, and call the function."""
        for parameter in self.params:
            if isinstance(parameter, _Positional) and parameter.check is not None:
                parameter.check(ctx.params[str(parameter.name)])
        for name, group in self.groups.items():
            given = {field.name: ctx.params.pop(field.name) for field in fields(group)}
            ctx.params[name] = group(**given)
        return super().invoke(ctx)


class _Positional(click.Argument):
    def __init__(self, *words: Any, check: Callable[[Any], None] | None, **known: Any) -> None:
        super().__init__(*words, **known)
        self.check = check


def _fields(group: type) -> list[click.Parameter]:
    """Return the parameters of a dataclass."""
    hints = get_type_hints(group, include_extras=True)
    needed = inspect.Parameter.empty
    return [
        _parameter(
            field.name, hints[field.name], needed if field.default is MISSING else field.default
        )
        for field in fields(group)
    ]


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    kind, declared = get_args(hint) if get_origin(hint) is Annotated else (hint, None)
    several = get_origin(_without_none(kind)) is list
    one = get_args(_without_none(kind))[0] if several else _without_none(kind)
    needed = default is inspect.Parameter.empty
    without = {} if needed else {"default": default}
    if isinstance(declared, Argument):
        return _Positional(
            [name],
            type=_type(one),
            help=declared.help,
            metavar=declared.metavar,
            required=needed,
            nargs=-1 if several else 1,
            callback=_listed if several else None,
            check=declared.check,
            **without,
        )
    if not isinstance(declared, Option):
        raise TypeError(f"parameter {name}: neither an Argument nor an Option of {__name__}")
    names = declared.names or (f"--{name.replace('_', '-')}",)
    flag = one is bool
    return click.Option(
        [name, *names],
        type=None if flag else _type(one, declared),
        is_flag=flag,
        help=declared.help,
        metavar=declared.metavar or ("N" if one in (int, float) else None),
        required=needed,
        multiple=several,
        hidden=declared.hidden,
        # The help of a flag describes its effect. The default, off, is not shown.
        show_default=False if flag else declared.show_default,
        callback=_listed if several else None,
        **without,
    )


def _without_none(kind: Any) -> Any:
    """Return the type without ``None``."""
    if isinstance(kind, types.UnionType):
        (kind,) = (part for part in get_args(kind) if part is not types.NoneType)
    return kind


def _type(kind: Any, option: Option | None = None) -> click.ParamType[Any]:
    if option is not None and option.parser is not None:
        return click.types.FuncParamType(option.parser)
    if issubclass(kind, Enum):
        return _Choice(kind)
    if issubclass(kind, Path):
        return click.Path(path_type=Path)
    if option is not None and option.missing is not None:
        return _Required(option.missing)
    low, high = (None, None) if option is None else (option.min, option.max)
    if kind is int and (low, high) != (None, None):
        return _Integer(low if low is None else int(low), high if high is None else int(high))
    if kind is float and (low, high) != (None, None):
        return _Number(low, high)
    return _PLAIN[kind]


_PLAIN: dict[type, click.ParamType[Any]] = {str: click.STRING, int: click.INT, float: click.FLOAT}


class _Required(click.types.StringParamType):
    """Type of a required text option; the error about a missing one has a hint."""

    def __init__(self, missing: str) -> None:
        self.missing = missing

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """Return the hint about possible values."""
        return self.missing


class _Integer(click.IntRange):
    name = "integer"  # The name in messages. The default of click is "integer range".


class _Number(click.FloatRange):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a number, and refuse NaN and infinity, which no range excludes."""
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


class _Choice(click.Choice[Any]):
    """One of the values of an enumeration."""

    def normalize_choice(self, choice: Any, ctx: click.Context | None) -> str:
        return str(choice.value if isinstance(choice, Enum) else choice)


def _listed(_: click.Context, __: click.Parameter, values: tuple[Any, ...]) -> list[Any] | None:
    return list(values) or None
