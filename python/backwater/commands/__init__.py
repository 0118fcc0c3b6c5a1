"""The commands: one module for each family, with a function `register` that adds it to the app.

Nothing heavy is imported before a command runs, so that `backwater --help` answers at once.
"""
