"""Parametrized quantum circuits: describe, simulate, analyse, compile, export."""
