"""Code that the importers share: places in files, findings, lines, graphs, XML."""
