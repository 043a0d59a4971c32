"""What a wrong file is told: the place, what was expected, what was got, what was meant. For any strict model."""
# ruff: noqa: E501  (the messages are quoted whole)

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from experiments.errors import UserError
from experiments.located.yaml_positions import Contradiction, Loaded, Override, load_located
from experiments.located.yaml_source import ConfigError, Mark, Problem, read_text


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Circle(Strict):
    shape: Literal["circle"]
    radius: Annotated[float, Field(gt=0)]


class Box(Strict):
    shape: Literal["box"]
    sides: tuple[float, float]
    colour: Literal["red", "green"] = "red"


class Inner(Strict):
    lr: float = 0.1
    heads: int = 1


class Drawing(Strict):
    title: str = "none"
    steps: int = 1
    filled: bool = False
    rate: float = 0.5
    parts: dict[str, Annotated[Circle | Box, Field(discriminator="shape")]] = {}
    inner: Inner = Inner()
    many: int | list[int] = 1
    tables: dict[str, list[float]] = {}


def load(tmp_path: Path, text: str | bytes, *overrides: str | Override) -> Loaded[Drawing]:
    path = tmp_path / "drawing.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_located(path, Drawing, overrides)


def lines(tmp_path: Path, text: str | bytes, *overrides: str | Override) -> list[str]:
    with pytest.raises(UserError) as caught:
        load(tmp_path, text, *overrides)
    return str(caught.value).replace(f"{tmp_path}/", "").split("\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("stepss: 3", "1:1: stepss: expected a known key, got 'stepss' (did you mean 'steps'?)"),
        ("\n  max_iters: 3", "2:3: max_iters: expected a known key, got 'max_iters' (did you mean 'steps'?)"),
        ("inner:\n  learning_rate: 3", "2:3: inner.learning_rate: expected a known key, got 'learning_rate' (did you mean 'lr'?)"),
        ("n_head: 3", "1:1: n_head: expected a known key, got 'n_head' (did you mean 'inner.heads'?)"),
        ("inner: {qqq: 3}", "1:9: inner.qqq: expected one of the keys lr, heads, got 'qqq'"),
        ("steps: many", "1:8: steps: expected an integer, got 'many'"),
        ("steps: 2.5", "1:8: steps: expected an integer, got 2.5"),
        ("steps: 1e3", "1:8: steps: expected an integer, got 1000.0 (did you mean 1000?)"),
        ("steps: '10'", "1:8: steps: expected an integer, got '10' as text (did you mean 10 without quotes?)"),
        ("steps: true", "1:8: steps: expected an integer, got true"),
        ("steps:", "1:7: steps: expected an integer, got null"),
        ("steps: [1, 2]", "1:8: steps: expected an integer, got a list of 2"),
        ("filled: yes", "1:9: filled: expected true or false, got 'yes' (did you mean true?)"),
        ("filled: 1", "1:9: filled: expected true or false, got 1"),
        ("title: 3", "1:8: title: expected text, got 3 (did you mean '3' in quotes?)"),
        ("rate: .nan", "1:7: rate: expected a finite number, got nan"),
        ("rate: -.inf", "1:7: rate: expected a finite number, got -inf"),
        ("inner: 3", "1:8: inner: expected a mapping, got 3"),
        ("many: [1, x]", "1:11: many[1]: expected an integer, got 'x'"),
        ("many: x", "1:7: many: expected an integer or a list, got 'x'"),
        ("parts: {a: {shape: cirle}}", "1:20: parts.a.shape: expected 'circle' or 'box', got 'cirle' (did you mean 'circle'?)"),
        ("parts: {a: {radius: 1}}", "1:9: parts.a.shape: expected 'circle' or 'box', got nothing"),
        ("parts: {a: {shape: circle}}", "1:9: parts.a.radius: expected a value, since it has no default, got nothing"),
        ("parts: {a: {shape: circle, radius: 0}}", "1:36: parts.a.radius: expected a number greater than 0, got 0"),
        ("parts: {a: {shape: circle, radios: 1, radius: 1}}",
         "1:28: parts.a.radios: expected a known key, got 'radios' (did you mean 'radius'?)"),
        ("parts:\n  b:\n    shape: box\n    sides: [1, 2]\n    colour: gren",
         "5:13: parts.b.colour: expected 'red' or 'green', got 'gren' (did you mean 'green'?)"),
        ("parts: {b: {shape: box, sides: [1, two]}}", "1:36: parts.b.sides[1]: expected a number, got 'two'"),
        ("steps: 1\ntitle: a\nsteps: 2", "3:1: steps: expected each key once, got 'steps' again (first in line 1); remove one"),
        ("inner: {lr: 1, lr: 2}", "1:16: inner.lr: expected each key once, got 'lr' again (first in line 1); remove one"),
        ("title: !!python/object/apply:os.system [ls]",
         "1:8: title: expected plain YAML, got the tag 'tag:yaml.org,2002:python/object/apply:os.system'; "
         "remove it (no code or object is built from a file)"),
        ("[1]: 3", "1:1: expected a plain key, got a list or a mapping as key"),
        ("inner:\n\tlr: 3", "2:1: not YAML: expected spaces, got a tab; indent with spaces"),
        ("title: a: b", "1:9: not YAML: expected no ':' here; check the indentation, or quote the text"),
        ("title: 'a", "1:8: not YAML: while scanning a quoted scalar: found unexpected end of stream"),
        ("title: *who", "1:8: not YAML: found undefined alias 'who'"),
        ("title: &me [*me]", "1:8: not YAML: an alias contains itself"),
        ("title: a\n---\ntitle: b", "2:1: not YAML of one document: expected the file to end here, got a second '---'"),
        ("title: a\x01b", "1:9: not YAML: the character U+0001 is not allowed"),
        ("- a", "1:1: expected a mapping of keys to values at the top, got a list"),
        ("just text", "1:1: expected a mapping of keys to values at the top, got a single value"),
    ],
)  # fmt: skip
def test_one_error_one_sentence_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    found = lines(tmp_path, text)
    assert f"drawing.yaml:{line}" in found
    assert len(found) == 1


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null"])
def test_empty_file(tmp_path: Path, text: str) -> None:
    assert lines(tmp_path, text) == ["drawing.yaml: expected a mapping of keys to values, got an empty file"]


def test_missing_file_folder_and_foreign_bytes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.yaml: there is no such file"):
        load_located(tmp_path / "nowhere.yaml", Drawing)
    with pytest.raises(UserError, match="expected a YAML file, got a folder"):
        load_located(tmp_path, Drawing)
    (line,) = lines(tmp_path, "steps: 1\ntitle: caf\xe9".encode("latin-1"))
    assert line == "drawing.yaml:2:11: expected UTF-8 text, got the byte 0xe9; save the file as UTF-8"


def test_deep_nesting_and_exploding_aliases_end_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = lines(tmp_path, "title: " + "[" * 2000)
    assert line == "drawing.yaml:1:57: expected at most 50 levels of nesting, got more"
    monkeypatch.setattr("experiments.located.yaml_source.MOST_VALUES", 1000)  # checked calls are slow
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    (line,) = lines(tmp_path, bomb)
    assert "more than 1000 values" in line


def test_all_errors_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        "stepss: 3\nrate: fast\nparts:\n  a: {shape: circle, radius: -1}\n  a: {shape: box}\ninner: {lr: x, head: 2}\n"
    )
    assert lines(tmp_path, text) == [
        "drawing.yaml:1:1: stepss: expected a known key, got 'stepss' (did you mean 'steps'?)",
        "drawing.yaml:2:7: rate: expected a number, got 'fast'",
        "drawing.yaml:4:30: parts.a.radius: expected a number greater than 0, got -1",
        "drawing.yaml:5:3: parts.a: expected each key once, got 'a' again (first in line 4); remove one",
        "drawing.yaml:6:13: inner.lr: expected a number, got 'x'",
        "drawing.yaml:6:16: inner.head: expected a known key, got 'head' (did you mean 'heads'?)",
    ]


def test_scalars_follow_yaml_1_2() -> None:
    """The examples of YAML 1.2.2, chapter 10.3 (core schema), and the words that YAML 1.1 took for truth values."""
    text = (
        "[3e-4, 1e5, -19, 0o7, 0x3A, 0., -0.0, .5, +12e03, -2E+05, no, yes, on, off, y, True, FALSE, ~, null, 2001-12-14, "
        "'3', 1:20, .inf]"
    )
    numbers = [3e-4, 1e5, -19, 7, 58, 0.0, -0.0, 0.5, 12000.0, -200000.0]
    words = ["no", "yes", "on", "off", "y", True, False, None, None, "2001-12-14", "3", "1:20", float("inf")]
    data = read_text(text, Mark("x", 1, 1)).data
    assert data == numbers + words
    assert [type(value) for value in data] == [type(value) for value in numbers + words]


def test_values_and_origins(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        b"\xef\xbb\xbftitle: caf\xc3\xa9\r\ninner: &base\r\n  lr: 3e-4\r\nparts:\r\n  b: {shape: box, sides: [1, 2]}\r\n",
        "inner.heads=4",
        Override("steps", "7", "--steps"),
    )
    assert loaded.value == Drawing(
        title="café", steps=7, inner=Inner(lr=3e-4, heads=4), parts={"b": Box(shape="box", sides=(1.0, 2.0))}
    )
    assert loaded.origins["title",] == "drawing.yaml:1"
    assert loaded.origins["inner", "lr"] == "drawing.yaml:3"
    assert loaded.origins["inner", "heads"] == "--set"
    assert loaded.origins["steps",] == "--steps"
    assert loaded.origins["parts", "b", "sides"] == "drawing.yaml:5"
    assert ("rate",) not in loaded.origins


def test_merge_keys(tmp_path: Path) -> None:
    text = "parts:\n  a: &a {shape: box, sides: [1, 2]}\n  b: {<<: *a, colour: green}\n  c: {<<: *a, sides: [3, 4]}\n"
    parts = load(tmp_path, text).value.parts
    assert parts["b"] == Box(shape="box", sides=(1, 2), colour="green")
    assert parts["c"] == Box(shape="box", sides=(3, 4))
    assert "`<<` merges mappings only" in lines(tmp_path, "inner: {<<: 3}")[0]
    nested = text + "  d: &d {<<: *a, colour: green}\n  e: {<<: *d, sides: [5, 6]}\n"
    parts = load(tmp_path, nested + "  f: {<<: [{sides: [7, 8]}, *d]}\n").value.parts
    assert parts["e"] == Box(shape="box", sides=(5, 6), colour="green")
    assert parts["f"] == Box(shape="box", sides=(7, 8), colour="green")
    assert "an alias contains itself" in lines(tmp_path, "parts: {a: &a {<<: *a}}")[0]
    bomb = "".join(f"  x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}]}}\n" for n in range(1, 60))
    assert lines(tmp_path, "extra:\n  x0: &x0 {shape: box}\n" + bomb)  # 2^59 merges, in no time


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("stepss=3", "--set stepss=3: stepss: expected a known key, got 'stepss' (did you mean 'steps'?)"),
        ("steps=x", "--set steps=x: steps: expected an integer, got 'x'"),
        ("steps=", "--set steps=: steps: expected an integer, got null"),
        ("steps", "--set steps: expected key.path=value, such as training.steps=100, got 'steps'"),
        ("name=a # b", "--set name=a # b: YAML reads no value from '#' on; put the value in quotes, such as --set name='\"a # b\"'"),
        ("name=#", "--set name=#: YAML reads no value from '#' on; put the value in quotes, such as --set name='\"#\"'"),
        ("name=&x", "--set name=&x: YAML reads no value from '&' on; put the value in quotes, such as --set name='\"&x\"'"),
        ("=3", "--set =3: expected key.path=value, such as training.steps=100, got '=3'"),
        ("steps.a=3", "--set steps.a=3: steps: expected a mapping to set 'a' in, got a value without keys"),
        ("inner={lr: 1, lr: 2}", "--set inner={lr: 1, lr: 2}: inner.lr: expected each key once, got 'lr' again; remove one"),
        ("inner=[1", "--set inner=[1: not YAML: while parsing a flow sequence: expected ',' or ']', but got '<stream end>'"),
        ("parts.c.shape=cube", "--set parts.c.shape=cube: parts.c.shape: expected 'circle' or 'box', got 'cube'"),
        ("parts.a.radius=0", "--set parts.a.radius=0: parts.a.radius: expected a number greater than 0, got 0"),
        ("many.1=x", "--set many.1=x: many[1]: expected an integer, got 'x'"),
    ],
)  # fmt: skip
def test_override_errors_name_the_override(tmp_path: Path, override: str, line: str) -> None:
    assert lines(tmp_path, "steps: 1\nparts: {a: {shape: circle, radius: 1}}\nmany: [1, 2]", override) == [line]


def test_overrides_reach_into_mappings_lists_and_keys_with_dots(tmp_path: Path) -> None:
    text = "parts:\n  'a.5 b': {shape: circle, radius: 1}\nmany: [1, 2]\n"
    loaded = load(tmp_path, text, "parts.a.5 b.radius=2", "many.0=9", "tables.inner.lr=[1, 2]", "inner={lr: 2}")
    assert loaded.value.parts["a.5 b"] == Circle(shape="circle", radius=2)
    assert loaded.value.many == [9, 2]
    assert loaded.value.tables == {"inner.lr": [1.0, 2.0]}
    assert loaded.value.inner == Inner(lr=2)
    literal = load(tmp_path, text, Override.literal("title", "007", "--title"))
    assert literal.value.title == "007"


def test_null_takes_a_named_entry_away_and_nothing_else(tmp_path: Path) -> None:
    text = "parts:\n  a: {shape: circle, radius: 1}\n  'b.2': {shape: circle, radius: 2}\ntables: {x: [1]}\n"
    loaded = load(tmp_path, text, "parts.b.2=null", "tables.x=")
    assert list(loaded.value.parts) == ["a"]
    assert not loaded.value.tables
    assert all(path[:2] != ("parts", "b.2") for path in loaded.origins)
    (line,) = lines(tmp_path, text, "parts.c=null")  # a typo takes nothing away
    assert line.startswith("--set parts.c=null: parts.c: expected a mapping")


def test_contradictions_join_the_other_errors_unless_they_rest_on_a_wrong_value(tmp_path: Path) -> None:
    def check(value: Drawing, _: Path) -> list[Contradiction]:
        return [
            Contradiction(("steps",), "expected less than heads, got more", (("inner", "heads"),)),
            Contradiction(("rate",), "expected less than lr, got more", (("inner", "lr"),)),
            Contradiction(("title",), "expected a filled drawing, got none", (("filled",),)),
        ]

    path = tmp_path / "drawing.yaml"
    path.write_text("steps: 3\nrate: 2\ntitle: a\ninner: {heads: 1, lr: wrong}\nstep: 4\n")
    with pytest.raises(ConfigError) as caught:
        load_located(path, Drawing, check=check)
    assert [problem.path for problem in caught.value.problems] == [("steps",), ("inner", "lr"), ("step",)]
    path.write_text("steps: 3\n")
    with pytest.raises(ConfigError) as caught:
        load_located(path, Drawing, check=check)
    assert {problem.path for problem in caught.value.problems} == {("steps",), ("rate",), ("title",)}


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_one_way(text: str) -> None:
    """No text ends in another exception than UserError."""
    refusal = "x:"
    try:
        read_text(text, Mark("x", 1, 1))
    except UserError as error:
        refusal = str(error)
    assert refusal.startswith("x:")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*Drawing.model_fields, "stepss", "x.y", ""]), values, max_size=5))
def test_any_data_validates_or_is_refused_with_a_place(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object]
) -> None:
    """Every wrong value of every type gets a located line; JSON is YAML, so the data arrives as it is."""
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(json.dumps(data, ensure_ascii=True), encoding="utf-8")
    problems: list[Problem] = []
    refusal = ""
    try:
        load_located(path, Drawing)
    except ConfigError as error:
        problems = error.problems
    except UserError as error:
        refusal = str(error)
    assert not refusal or "expected a mapping" in refusal
    assert all(
        problem.mark.line == 1 and ("expected" in problem.text or "YAML" in problem.text) for problem in problems
    )
