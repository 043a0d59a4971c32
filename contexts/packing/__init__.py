"""Quasi-orthogonal packings: how many almost independent directions fit (Svozil, Sec. VII).

``bounds``, ``levenshtein``, ``capacity``: rigorous bounds on coherence and on the number of vectors. ``constructions``
(from ``codes``, ``frames``, ``lattices``, ``sic``): the catalogue of explicit packings. ``optimize`` (with ``lbfgs``,
``symmetry``, ``polish``) and ``solve``: the best packing at hand; ``certify``: its certificate; ``records``: the best
known. ``measure``: given vectors; ``interference``: features read back linearly.
"""
