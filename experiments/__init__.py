"""Comparison experiments from YAML: the only package that knows files, processes, plots and the terminal."""
