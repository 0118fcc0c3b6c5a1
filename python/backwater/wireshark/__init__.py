"""The dissector with which Wireshark reads the frames of docs/wire.md."""

from pathlib import Path

DISSECTOR = Path(__file__).with_name("backwater.lua")
"""The dissector, a script in Lua."""
