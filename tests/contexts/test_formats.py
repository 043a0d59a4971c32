"""MMP, 2states, graph6 and JSON: what is written is read back; what is malformed is named."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexts import notebook
from contexts.hypergraphs import formats, library, mmp, surds
from contexts.hypergraphs.hypergraph import Hypergraph


@st.composite
def incidences(draw):
    """Atom numbers of contexts, and of exclusive pairs, as plain data (annotated code must not run inside a
    strategy)."""
    n = draw(st.integers(3, 120))
    chosen = st.lists(st.integers(0, n - 1), min_size=2, max_size=4, unique=True)
    contexts = draw(st.lists(chosen, min_size=1, max_size=12, unique_by=frozenset))
    used = sorted({i for c in contexts for i in c})
    pairs = draw(st.lists(st.lists(st.sampled_from(used), min_size=2, max_size=2, unique=True), max_size=4))
    return used, contexts, pairs


def build(incidence, with_pairs: bool) -> Hypergraph:
    used, contexts, pairs = incidence
    named = [[[f"v{i}" for i in group] for group in groups] for groups in ([used], contexts, pairs)]
    return Hypergraph(named[0][0], named[1], named[2] if with_pairs else [], 4)


@settings(max_examples=40, deadline=None)
@given(incidences())
def test_mmp_and_2states_round_trips(incidence):
    """Names change to the format's own; the incidence, in order, does not."""
    h = build(incidence, with_pairs=False)
    numbered = h.relabel([mmp.mmp_character(i + 1) for i in range(len(h.vertices))])
    assert formats.read_mmp(formats.write_mmp(h)) == numbered
    assert formats.write_mmp(formats.read_mmp(formats.write_mmp(h))) == formats.write_mmp(h)
    assert formats.read_2states(formats.write_2states(h)) == h.relabel([str(i + 1) for i in range(len(h.vertices))])


@settings(max_examples=40, deadline=None)
@given(incidences())
def test_json_and_graph6_round_trips(incidence):
    h = build(incidence, with_pairs=True)
    assert formats.read_json(formats.write_json(h)) == h
    back = formats.read_graph6(formats.write_graph6(h))
    assert set(back.graph.edges) == set(nx.relabel_nodes(h.graph, {v: str(i) for v, i in h.index.items()}).edges)


def test_mmp_alphabet_is_the_published_one():
    assert library.catalogue()["mmp_alphabet"] == mmp.ALPHABET
    assert len(set(mmp.ALPHABET)) == 90


@pytest.mark.parametrize(
    ("number", "name"), [(1, "1"), (9, "9"), (10, "A"), (90, "~"), (91, "+1"), (180, "+~"), (181, "++1")]
)
def test_a_plus_adds_ninety(number, name):
    assert mmp.mmp_character(number) == name
    assert mmp.mmp_number(name) == number


def test_line_breaks_and_a_missing_period_are_tolerated():
    assert formats.read_mmp("123,\n345") == formats.read_mmp("123,345.")
    assert formats.write_mmp(formats.read_mmp("123,345")) == "123,345."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12€,345.", "'€', which is not in the MMP alphabet"),
        ("123,,345.", "block 2 is empty"),
        ("123,345,.", "block 3 is empty"),
        ("123,3.", "block 2.*one atom"),
        ("123,345.678.", "after it"),
        ("12+,345.", r"ends in '\+'"),
        (".", "at least one block"),
        ("123,343.", "'3' twice"),
        ("123,321.", "repeats context 1"),
    ],
)
def test_malformed_mmp(text, words):
    with pytest.raises(ValueError, match=words):
        formats.read_mmp(text)


def test_a_missing_comma_shows_when_the_dimension_is_known():
    with pytest.raises(ValueError, match=r"block 1 has 6 atoms.*comma missing"):
        formats.read_mmp("123456,789.", dimension=3)


def test_what_a_format_cannot_say_is_refused():
    with pytest.raises(ValueError, match="12 exclusive pairs"):
        formats.write_mmp(library.load("yu_oh"))
    with pytest.raises(ValueError, match="12 exclusive pairs"):
        formats.write_2states(library.load("yu_oh"))
    with pytest.raises(ValueError, match="'c', which is in no context"):
        formats.write_mmp(Hypergraph("abc", ["ab"]))


SPECKER = """The Specker bug
13 atoms
7 blocks
 0 proper subsets of blocks
 3   1  2  3
 3   3  4  5
 3   5  6  7
 3   7  8  9
 3   9 10 11
 3  11 12  1
 3  10 13  4
14 2-valued evaluations of atoms:
 1 0 0
"""


def test_2states_file_of_the_specker_bug():
    bug = library.load("specker_bug")
    read = formats.read_2states(SPECKER)
    assert read == bug.relabel([v[1:] for v in bug.vertices])
    assert read.name == "The Specker bug"
    assert formats.read_2states(SPECKER.split("\n", 1)[1]) == read  # the title may be missing


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("13 atoms", "13 items", "line 2: expected a number and 'atoms'"),
        ("7 blocks", "8 blocks", "line 12"),
        (" 0 proper", " 2 proper", "only 0 is supported"),
        (" 3   7  8  9", " 3   7  8", "line 8: expected a size"),
        (" 3   7  8  9", " 3   7  8  99", "atom 99 is not between 1 and 13"),
    ],
)
def test_malformed_2states(old, new, words):
    with pytest.raises(ValueError, match=words):
        formats.read_2states(SPECKER.replace(old, new))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"context": []}, "unknown key 'context'"),
        ({"contexts": "abc"}, "list of lists"),
        ({"vertices": "abc"}, "list of names"),
        ({"field": "rational"}, "real or complex"),
        ({"vectors": {"a": [1, 0], "b": [0, [1, 2, 3]]}}, r"write a number, or \[re, im\]"),
        ({"vectors": {"a": [1, 0], "b": [0, [0, 1]]}, "field": "real"}, "complex entry .* 'field: real'"),
        ({"vectors": {"a": [1, 0]}}, "no vector is given for atom 'b'"),
        ({"vectors": {"a": [1, 0], "b": [0, 0]}}, "'b' is zero"),
        ({"vectors": [1, 2]}, "must map atoms"),
    ],
)
def test_malformed_json(change, words):
    with pytest.raises(ValueError, match=words):
        formats.read_json(json.dumps({"vertices": ["a", "b"], "contexts": [["a", "b"]]} | change))


def test_json_syntax_errors_have_a_place():
    with pytest.raises(ValueError, match="line 2, column"):
        formats.read_json('{"vertices": ["a"],\n "contexts" [}')


def test_vectors_survive_json_in_both_fields():
    for name in ("peres_33", "witting_penrose_40_40"):
        h = library.load(name)
        back = formats.read_json(formats.write_json(h))
        assert all(np.array_equal(back.vectors[v], h.vectors[v]) for v in h.vertices)


def test_files_by_ending(tmp_path):
    h = library.load("cabello_18_9")
    for ending in (".mmp", ".txt", ".json", ".g6"):
        formats.write(h, tmp_path / f"h{ending}")
        back = formats.read(tmp_path / f"h{ending}", 4)
        assert len(back.vertices) == 18
        assert back.graph.number_of_edges() == 54
    (tmp_path / "empty.mmp").write_text("  \n")
    (tmp_path / "latin.mmp").write_bytes(b"12\xe4.")
    for name, words in (("empty.mmp", "is empty"), ("latin.mmp", "UTF-8"), ("h.pdf", "ending must be")):
        with pytest.raises(ValueError, match=words):
            formats.read(tmp_path / name)
    with pytest.raises(ValueError, match="ending must be"):
        formats.write(h, tmp_path / "h.pdf")


@pytest.mark.parametrize("text", ["!!", "D", "DUW DUW"])
def test_malformed_graph6(text):
    with pytest.raises(ValueError, match="graph6"):
        formats.read_graph6(text)


def test_mmp_with_a_name_and_coordinates():
    """As in published lists: a name before the string, coordinates after its period, roots exact enough to prove."""
    rays = "1={0,0,1},2={1,sqrt(2),0},3={sqrt(2),-1,0},4={1,0,0},5={0,1,0}"
    h = formats.read_mmp(f"two-bases: 123,145. {rays}.")
    assert (h.name, h.dimension, len(h.contexts)) == ("two-bases", 3, 2)
    assert np.allclose(h.vectors["2"], [1, 2**0.5, 0])
    assert notebook.check(h)["ok"] is True
    for wrong, words in (("1={0,0,1}", "no vector is given for atom '2'"), ("1=(0,0,1)", "coordinates such as"),
                         ("1={0,0,1},1={1,0,0}", "given twice"), ("1={0,0,x}", "is no number")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            formats.read_mmp(f"123. {wrong}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sqrt(2)", 2**0.5),
        ("(1+sqrt(5))/2", (1 + 5**0.5) / 2),
        ("-1/2 + sqrt(3)/2*i", np.exp(2j * np.pi / 3)),
        ("0.25", 0.25),
        ("sqrt(12)*sqrt3", 6),
        ("1/sqrt(2)", 0.5**0.5),
        ("1/(1+sqrt(2)-sqrt(15)*i)", 1 / (1 + 2**0.5 - 15**0.5 * 1j)),
        ("phi^2 - phi", 1),
        ("w3", np.exp(2j * np.pi / 3)),
        ("-w24^7", -np.exp(7j * np.pi / 12)),
    ],
)
def test_exact_entries(text, value):
    real, imaginary = surds.parse(text)
    assert complex(float(real), float(imaginary)) == pytest.approx(value, abs=1e-15)
    assert surds.parse(surds.as_text((real, imaginary))) == (real, imaginary)
    pair = {"contexts": [["a", "b"]], "vectors": {"a": [text, 0], "b": [0, 1]}}
    assert formats.from_dict(pair).vectors["a"][0] == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["", "x", "sqrt(-1)", "1/0", "1/(w3-w3)", "__import__('os')", "2**99", "sqrt(2.5)", "w7", "sqrt", "(" * 500]
)
def test_what_is_no_exact_entry(text):
    with pytest.raises(ValueError, match=r"no number|too long|must divide 24"):
        surds.parse(text)


def test_one_hypergraph_per_line(qattn, tmp_path):
    """Cabello's set, the bug and a triangle in one file, each with a line of JSON; a wrong line is named."""
    cabello, bug = library.load("cabello"), library.load("bug")
    path = tmp_path / "many.mmp"
    path.write_text(f"cabello: {formats.write_mmp(cabello)}\n\n{formats.write_mmp(bug)}\n123.\n")
    code, out, _ = qattn("contexts", "batch", path)
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(r["name"], r["exists"], r["count"]) for r in rows] == [
        ("cabello", False, "0"),
        ("3", True, "14"),
        ("4", True, "3"),
    ]
    path.write_text("123.\n12,,3.\n")
    code, _, err = qattn("contexts", "batch", path)
    assert code == 2
    assert "line 2: MMP block 2 is empty" in err


def test_several_hypergraphs_in_one_file(qattn, tmp_path):
    """Each is read by FILE#NAME; a name that is none, or no name, is answered with the names there are."""
    both = {name: formats.to_dict(library.load(name)) | {"name": ""} for name in ("cabello", "bug")}
    path, other = tmp_path / "both.json", tmp_path / "both.yaml"
    path.write_text(json.dumps({"hypergraphs": both}))
    other.write_text(f"hypergraphs: {json.dumps(list(both.values()))}")
    assert formats.read(f"{path}#bug") == library.load("bug")
    for source, name in ((path, "cabello"), (other, "1")):
        code, out, _ = qattn("contexts", "check", f"{source}#{name}", "--json")
        assert (code, json.loads(out)["contexts"]) == (0, 9)
        code, out, _ = qattn("contexts", "batch", source)
        assert [json.loads(line)["count"] for line in out.splitlines()] == ["0", "14"]
        code, _, err = qattn("contexts", "check", source)
        assert (code, "there are 2 hypergraphs" in err) == (2, True)
        code, _, err = qattn("contexts", "check", f"{source}#dog")
        assert (code, "no hypergraphs are called 'dog'" in err) == (2, True)
    path.write_text('{"hypergraphs": {"good": {"contexts": [["a", "b"]]}, "bad": {"contexts": [["a"]]}}}')
    code, _, err = qattn("contexts", "batch", path)
    assert (code, "hypergraph 'bad': context 1 (a) needs at least two atoms" in err) == (2, True)
