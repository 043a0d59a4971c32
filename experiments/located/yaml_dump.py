"""Plain data as YAML that can be read again, each value with its origin as a comment."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.representer import RoundTripRepresenter

from experiments.located.yaml_source import KeyPath

COMMENT_COLUMN = 44


def config_text(data: dict[str, Any], origins: dict[KeyPath, str] | None = None) -> str:
    """YAML of plain nested data; a value with a path in ``origins`` gets a comment such as ``# quickstart.yaml:12``."""
    yaml = YAML()
    yaml.Representer = _Representer
    yaml.width = 10_000  # a folded line would lose its comment
    stream = io.StringIO()
    yaml.dump(_commented(data, (), origins or {}), stream)
    return stream.getvalue()


class _Representer(RoundTripRepresenter):
    """Writes ``null`` out, where ruamel leaves the value empty."""


_Representer.add_representer(type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null"))


def _commented(data: dict[str, Any], path: KeyPath, origins: dict[KeyPath, str]) -> CommentedMap:
    result = CommentedMap()
    for key, value in data.items():
        if isinstance(value, dict) and value:
            result[key] = _commented(value, (*path, key), origins)
            continue
        if isinstance(value, list):
            value = CommentedSeq(value)
            value.fa.set_flow_style()
        elif isinstance(value, dict):
            value = CommentedMap()
            value.fa.set_flow_style()
        result[key] = value
        if (*path, key) in origins:
            result.yaml_add_eol_comment(origins[(*path, key)], key, column=COMMENT_COLUMN)
    return result
