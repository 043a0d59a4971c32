"""The Python examples in the README and the documentation run as tests (sybil)."""

from __future__ import annotations

from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser


def forget(namespace: dict[str, Any]) -> None:
    """The kind that an example registered is not there for other tests."""
    if "UnigramModel" in namespace:
        from experiments.api import rebuild
        from experiments.schema.model_kinds import MODELS

        del MODELS["unigram"]
        rebuild()


patterns = ["README.md", "docs/*.md", "docs/howto/*.md"]
pytest_collect_file = Sybil(parsers=[PythonCodeBlockParser()], patterns=patterns, teardown=forget).pytest()
