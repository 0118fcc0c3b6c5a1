"""Pages to work with: one file each, which a browser opens from disk without a network.

A page is made of HTML, of figures that are described as plain data (:mod:`backwater.page.charts`),
and of what a browser needs to draw them: BokehJS and three short scripts of our own.
"""
