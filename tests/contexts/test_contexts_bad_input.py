"""Bad files and options of ``qattn contexts``: one sentence that names the file, the key and the mend; exit code 2."""

from __future__ import annotations

import json

import pytest

from contexts.hypergraphs import formats, library
from contexts.logic import graph_bounds, observables


def refused(answer: tuple[int, str, str], *words: str) -> None:
    code, out, err = answer
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    for word in words:
        assert word in err


PAIR = {"contexts": [["a", "b"]]}
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("verb", "text", "words"),
    [
        ("check", PAIR | {"notes": 5}, "'notes' must map"),
        ("check", PAIR | {"name": 5}, "'name' must be a text"),
        ("check", PAIR | {"vectors": {"a": [10**400, 0], "b": [0, 1]}}, "401 digits; at most 300"),
        ("check", '{"contexts": [["a", "b"]], "dimension": 1e999}', "not finite"),
        ("check", '{"contexts": [["a", "b"]], "vectors": {"a": [NaN, 0], "b": [0, 1]}}', "NaN is not finite"),
        ("check", PAIR | {"dimension": 2.5}, "'dimension' must be a positive whole number"),
        ("check", DEEP, "nested too deeply"),
        ("commute", DEEP, "nested too deeply"),
        ("fraction", DEEP, "nested too deeply"),
        ("check", {"contexts": [["a", ["b"]]]}, "entry 1: an atom's name is a text or a whole number; got ['b']"),
        ("check", {"contexts": [["a", "b"], ["a", None]]}, "entry 2: an atom's name is a text"),
        ("check", {"contexts": [["a", True]]}, "got True"),
        ("check", {"contexts": [["a", ""]]}, "got ''"),
        ("check", {"exclusive_pairs": [["a", 1.5]]}, "'exclusive_pairs', entry 1"),
        ("check", PAIR | {"vertices": ["a", None]}, "'vertices' must be a list of names"),
        ("check", '{"contexts": [["a", "b"]], "contexts": [["c", "d"]]}', "'contexts' stands twice"),
        ("fraction", '{"contexts": [], "contexts": []}', "'contexts' stands twice"),
        ("check", PAIR | {"contxts": []}, "unknown key 'contxts'; did you mean 'contexts'?"),
        ("check", {"contexts": [["a", "b"], ["b", "c"]], "vectors": {"a": [1], "b": [0, 1], "c": [1, 0]}}, "of atom 'a' must be"),  # noqa: E501
        ("commute", {"observables": {"A": "X" * 20, "M": [[1, 0], [0, 1]]}}, "'A': a Pauli string has at most 10 letters (qubits); got 20"),  # noqa: E501
        ("commute", {"observables": {f"A{k}": "X" * 10 for k in range(40)} | {"M": [[1]]}}, "the limit of 16777216"),
        ("commute", {"observables": {"A": "XX", "B": "XQ"}}, "observable 'B': a Pauli word has the letters"),
        ("commute", {"observables": {"A": "XX", "B": "X"}}, "act on different numbers of qubits: [1, 2]"),
        ("commute", {"observables": {"A": "XX", "B": [[1, 0], [0, 1]]}}, "the first is 4 × 4 and 'B' is 2 × 2"),
        ("commute", {"observables": {"A": [[1e300, 0], [0, 1]]}}, "'A': the matrix must have its largest entry"),
        ("commute", {"observables": {"A": [[1, "x"], [0, 1]]}}, "row 1 of observable 'A' has the entry 'x'"),
        ("commute", {"observables": {"A": "X"}, "eigenvalues": [1]}, "unknown key 'eigenvalues'"),
    ],
)  # fmt: skip
def test_malformed_json_file(qattn, tmp_path, verb, text, words):
    path = tmp_path / "h.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    refused(qattn("contexts", verb, path), str(path), words)


def a_table(outcomes: object = None, **changes: object) -> dict[str, object]:
    context = {"measurements": ["A", "B"], "probabilities": {"0,0": 0.5, "1,1": 0.5}} | changes
    return {"contexts": [context]} | ({} if outcomes is None else {"outcomes": outcomes})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (a_table(measurements=5), "context 1 needs a list of measurements"),
        (a_table(measurements="AB"), "context 1 needs a list of measurements"),
        (a_table(measurements=[f"M{k}" for k in range(70)]), "joint outcomes, more than the limit of 2000000"),
        (a_table(outcomes=[1]), "'outcomes' must map"),
        (a_table(outcomes=5), "'outcomes' must map"),
        (a_table(outcomes={"A": 5}), "measurement 'A' needs a list of outcomes"),
        (a_table(outcomes={"A": ["0", "1"], "C": ["0", "1"]}), "'outcomes' names 'C', which no context measures"),
        (a_table(outcomes={"A": ["0,1", "1"]}), "without commas"),
        (a_table() | {"contxts": []}, "unknown key 'contxts'; did you mean 'contexts'?"),
        (a_table(probability={}), "context 1: unknown key 'probability'; did you mean 'probabilities'?"),
        (a_table(probabilities={"0,0": 0.5, "0, 0": 0.5}), "outcome '0, 0' of context 1 is given twice"),
        (a_table(probabilities={"0,2": 1}), "'2' is no outcome of 'B', which has 0, 1"),
        (a_table(probabilities=[[0.5, 0], [0.5]]), "context 1 needs 2 × 2 probabilities"),
        (a_table(probabilities="x"), "context 1 needs 2 × 2 probabilities"),
        (a_table(probabilities=[[0.5, "x"], [0, 0.5]]), "the probability 'x', which is not a number"),
        ([1], "an empirical table is an object"),
    ],
)
def test_malformed_empirical_table(qattn, tmp_path, data, words):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(data))
    refused(qattn("contexts", "fraction", path), str(path), words)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("h.txt", "3 atoms", "line 2: expected a number and 'blocks', got 'the end of the file'"),
        ("h.txt", "3 atoms\n1 blocks\n0 proper\n²3 1 2 3\n", "line 4: expected a size"),
        ("h.txt", "²3 atoms\n1 blocks\n0 proper\n3 1 2 3\n", "line 1"),
        ("h.txt", "9" * 5000 + " atoms\n", "line"),
        ("h.g6", "D!!", "'!' is outside its alphabet"),
        ("h.mmp", "123 345.", "'123 345': put a comma between blocks"),
        ("h.mmp", b"\xff\xfe\x00", "not text in UTF-8"),
        ("t.json", b"\x89PNG\r\n\x1a\n\xff", "not text in UTF-8"),
        ("o.json", '{"contexts": [[' + "9" * 5000 + ", 1]]}", "5000 digits"),
        ("w.json", "", "the file is empty"),
    ],
)
def test_malformed_file(qattn, tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    verb = "fraction" if name == "t.json" else "commute" if name == "o.json" else "check"
    refused(qattn("contexts", verb, path), str(path), words)
    if name == "w.json":
        refused(qattn("contexts", "bounds", "kcbs", "--weights", path), str(path), words)


def test_a_byte_order_mark_is_dropped(qattn, tmp_path):
    for h, ending in ((library.load("cabello"), "mmp"), (library.load("yu_oh"), "json"), (library.load("bug"), "txt")):
        formats.write(h, tmp_path / f"plain.{ending}")
        text = (tmp_path / f"plain.{ending}").read_bytes()
        (tmp_path / f"marked.{ending}").write_bytes(b"\xef\xbb\xbf" + text)
        assert formats.read(tmp_path / f"marked.{ending}") == formats.read(tmp_path / f"plain.{ending}")
    assert formats.read_mmp("\ufeff123,345.") == formats.read_mmp("123,345.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["check", "folder"], "folder: this is a folder"),
        (["check", "fold.mmp"], "fold.mmp: this is a folder"),
        (["check", "fold.yaml"], "fold.yaml: this is a folder"),
        (["fraction", "fold.mmp"], "fold.mmp: this is a folder"),
        (["check", "x.csv"], "x.csv: there is no such file"),
        (["check", "x.yaml"], "x.yaml: there is no such file"),
        (["check", "folder/x"], "folder/x: there is no such file"),
        (["check", ""], "the name is empty"),
        (["check", "bank", "--tolerance", "nan"], "--tolerance: the tolerance must be a number from 0"),
        (["check", "kcbs", "--tolerance", "-1"], "--tolerance: the tolerance must be a number from 0"),
        (["commute", "bank", "--tolerance", "nan"], "--tolerance: the tolerance must be a number from 0"),
        (["commute", "cabello", "--eigenvalues", "1e200,1e300,2,3"], "between 1e-60 and 1e+60"),
        (["commute", "bank", "--eigenvalues", "1e-200,2e-200,0"], "between 1e-60 and 1e+60"),
        (["commute", "bank", "--plot", "x.bmp"], "x.bmp: the ending must be one of"),
        (["draw", "bank", "--out", "x.bmp"], "x.bmp: the ending must be one of"),
        (["check", "bank", "--convert", "x.bmp"], "x.bmp: the ending must be one of .mmp, .txt, .g6, .json, .yaml"),
        (["realize", "bank", "--out", "x.bmp"], "x.bmp: the ending must be one of .json, .yaml"),
        (["realize", "chsh", "--dimension", "1"], "dimension 2 or more"),
        (["realize", "bank", "--seed", "-1"], "'--seed'"),
        (["bounds", "kcbs", "--weights", "multiplicty"], "did you mean multiplicity?"),
        (["bounds", "bank", "--weights", "bank=1e300"], "the weight of 'bank' must be 0 or between 1e-06 and 1e+06"),
        (["bounds", "bank", "--weights", "banc=1"], "did you mean 'bank'?"),
        (["bounds", "bank", "--weights", "bank=1,bank=2"], "atom 'bank' is given twice"),
    ],
)
def test_wrong_option_or_name(qattn, monkeypatch, tmp_path, words, message):
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "fold.mmp", "fold.yaml"):
        (tmp_path / folder).mkdir()
    refused(qattn("contexts", *words), message)


def test_a_folder_does_not_hide_a_name_of_the_library(qattn, monkeypatch, tmp_path):
    (tmp_path / "bank").mkdir()
    monkeypatch.chdir(tmp_path)
    assert qattn("contexts", "check", "bank")[0] == 0


def test_yaml_is_written_where_the_errors_say_so(qattn, tmp_path):
    assert qattn("contexts", "realize", "bug", "--out", tmp_path / "b.yaml")[0] == 0
    code, out, _ = qattn("contexts", "check", tmp_path / "b.yaml")
    assert code == 0
    assert "vectors: real" in out


def test_the_library_refuses_what_the_command_line_refuses():
    with pytest.raises(ValueError, match="at most 10 letters"):
        observables.pauli("X" * 11)
    with pytest.raises(ValueError, match="between 1e-60 and 1e\\+60"):
        observables.hermitian([[1e200, 0], [0, 1]])
    with pytest.raises(ValueError, match="must be 0 or between"):
        graph_bounds.weights_of(library.load("bank"), {"bank": 1e-9})
