"""The HTML report, tables in notebooks, and timelines."""
