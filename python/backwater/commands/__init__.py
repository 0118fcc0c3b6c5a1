"""The commands. Each module has a function `register` that adds its commands to the app.

Large packages are imported only when a command runs, so that `backwater --help` is fast.
"""
