"""``qattn contexts``: hypergraph files and named hypergraphs checked, counted, bounded, realised, drawn and trained.

The work is done by :mod:`contexts.notebook`; here files are found, YAML is read, and results are printed.
"""

from __future__ import annotations

import typer

from experiments.cli.contexts import learning, logic, sets, tables

verbs = typer.Typer(no_args_is_help=True, help="Orthogonality hypergraphs: tokens shared by orthonormal bases.")
for part in (logic, sets, tables, learning):
    verbs.add_typer(part.verbs)
