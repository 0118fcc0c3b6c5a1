"""Basic modules that all other folders use: units, files, positions in TOML texts."""
