"""Checks for packages that only some importers need."""

from __future__ import annotations

from importlib import import_module

from backwater.errors import InputError


def need(module: str, extra: str, what: str) -> None:
    """Raise ``InputError`` with the command for the installation if a module is missing."""
    try:
        import_module(module)
    except ImportError:
        raise InputError(
            f"{what} needs the Python module {module}, which is not installed\n"
            f"  = install it: pip install 'backwater[{extra}]'"
        ) from None
