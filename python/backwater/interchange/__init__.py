"""Files that users of other simulators have: to read, to write, to compare with.

:mod:`importing` turns the inputs of ns-3 (HPCC's simulator and its descendants) into a scenario,
:mod:`exporting` writes the results of any run as ns-3 would, and :mod:`validate` compares the two
simulators on cases whose ns-3 results are known.
"""
