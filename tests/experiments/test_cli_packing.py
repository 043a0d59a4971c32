"""The packing verbs as a person and a machine meet them: keys, exit codes, one-sentence errors, files."""

import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from contexts.packing.bounds.check_certificate import proved_bound
from experiments.cli import main
from experiments.runs import state_file
from experiments.runs.state_tree import load_tree, save_tree


@pytest.fixture
def qattn(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["qattn", "packing", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return stop.value.code, out, err

    return call


def no_constants(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_optimize_prints_saves_and_certifies(qattn, tmp_path):
    code, out, _ = qattn("optimize", "--d", 4, "--n", 13, "--field", "complex", "--json")
    assert code == 0
    result = no_constants(out)
    assert {"coherence", "bound", "bound_name", "record", "ratio", "file"} <= result.keys()
    assert result["coherence"] == pytest.approx(math.sqrt(3) / 4, abs=1e-12)  # Singer's (13, 4, 1)
    assert result["ratio"] == pytest.approx(1, abs=1e-9)
    assert result["optimal"] is True
    vectors = np.load(tmp_path / result["file"], allow_pickle=False)
    assert vectors.shape == (13, 4)
    proof = no_constants((tmp_path / result["certificate"]).read_text())
    assert proof["coherence_extended"].startswith("0.43301270189")
    # and measure agrees on the saved file
    code, out, _ = qattn("measure", result["file"], "--json")
    measured = no_constants(out)
    assert code == 0
    assert {"n", "d", "coherence", "quantiles", "nearest_pair"} <= measured.keys()
    assert measured["coherence"] == pytest.approx(result["coherence"], abs=1e-12)
    assert len(measured["nearest_pair"]) == 2


def test_optimize_for_people_claims_nothing_it_cannot_prove(qattn):
    code, out, err = qattn("optimize", "--d", 3, "--n", 5, "--rounds", 1, "--no-constructions")
    assert code == 0
    assert "not proved optimal" in out or "optimal: it meets the bound" in out
    assert "coherence 0.44721" in err  # progress
    code, out, _ = qattn("optimize", "--d", 2, "--n", 4, "--rounds", 1)
    assert "optimal: it meets the bound" in out  # cos 45°


def test_optimize_resumes(qattn):
    arguments = ("optimize", "--d", 2, "--n", 7, "--field", "complex", "--beat-record", "--json", "--out", "a.npy")
    assert qattn(*arguments, "--rounds", 1)[0] == 0
    _, out, _ = qattn(*arguments, "--rounds", 2, "--resume")
    _, fresh, _ = qattn(*arguments[:-1], "b.npy", "--rounds", 2)
    assert json.loads(out)["coherence"] == json.loads(fresh)["coherence"]
    assert json.loads(out)["rounds"] == 2
    code, _, err = qattn("optimize", "--d", 3, "--n", 13, "--out", "a.npy", "--resume")
    assert (code, "the saved search is for d=2, n=7" in err) == (2, True)


def test_capacity_at_a_point(qattn):
    code, out, _ = qattn("capacity", "--d", 8, "--eps", 0.5, "--field", "real", "--json")
    assert code == 0
    result = no_constants(out)
    assert result["upper"]["levenshtein"] == 120
    expected = {"n": 120, "coherence": 0.5, "how": "E8 roots", "source": "Korkine & Zolotareff 1873"}
    assert result["constructed"] == expected | {"log10_n": math.log10(120), "gap": pytest.approx(0, abs=1e-12)}
    assert result["upper"]["rankin"] is None
    assert result["reasons"]["rankin"] == "does not apply; it needs: epsilon < 1/sqrt(d)"
    assert max(v for v in result["lower"].values() if v) <= 120
    assert qattn("capacity", "--d", 6, "--eps", 0.667, "--certificate", "p.json")[0] == 0
    assert math.floor(proved_bound(no_constants(pathlib.Path("p.json").read_text()))) == 116
    code, _, err = qattn("capacity", "--d", 100, "--eps", 0.2, "--certificate", "p.json")
    assert (code, "the linear programme proves nothing at d = 100" in err) == (2, True)
    code, out, _ = qattn("capacity", "--d", 12288, "--eps", 0.3, "--json")
    result = no_constants(out)
    assert result["upper"]["levenshtein"] is None  # 10^633 is no float
    assert result["reasons"]["levenshtein"] == "beyond 1e308: see log10"
    assert result["log10_upper"]["levenshtein"] == pytest.approx(633.48, abs=0.01)
    assert qattn("capacity", "--d", 1, "--eps", 1)[0] == 0


def test_measure_reads_safetensors_run_folders_and_text(qattn, tmp_path):
    from safetensors.numpy import save_file

    table = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)
    (tmp_path / "run").mkdir()
    tensors = {"embedding.weight": table, "readout.weight": 2 * table, "bias": table[0]}
    save_file(tensors, tmp_path / "run" / "model.safetensors")
    code, _, err = qattn("measure", "run")
    assert code == 2
    assert "name a matrix with --tensor NAME; there are embedding.weight 40x6, readout.weight 40x6" in err
    code, _, err = qattn("measure", "run", "--tensor", "embed")
    assert (code, "no tensor 'embed'; its matrices are" in err) == (2, True)
    _, first, _ = qattn("measure", "run", "--tensor", "embedding.weight", "--json")
    _, second, _ = qattn("measure", "run", "--tensor", "readout.weight", "--json")
    assert json.loads(first)["coherence"] == pytest.approx(json.loads(second)["coherence"], abs=1e-12)
    lines = [f"word{i} " + " ".join(f"{v:.9g}" for v in row) for i, row in enumerate(table)]
    lines[3] = ". . " + lines[3].split(" ", 1)[1]  # a token with spaces in it, as in GloVe's largest file
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "word2vec.vec").write_text("40 6\n" + "\n".join(lines) + "\n")
    for name in ("glove.txt", "word2vec.vec"):
        code, out, _ = qattn("measure", name, "--json")
        assert code == 0
        result = json.loads(out)
        assert result["coherence"] == pytest.approx(json.loads(first)["coherence"], abs=1e-6)
        assert all(name.startswith(("word", ". .")) for name in result["nearest_pairs"][0]["names"])
    code, out, _ = qattn("measure", "glove.txt")
    assert "effective dimension" in out
    assert "random" in out


def test_measure_names_duplicates_and_draws_the_distribution(qattn, tmp_path):
    table = np.random.default_rng(1).standard_normal((30, 5))
    table[7] = -3 * table[2]
    np.save(tmp_path / "v.npy", table)
    code, out, _ = qattn("measure", "v.npy", "--figure", "cos.svg")
    assert code == 0
    assert "1 pairs are the same line" in out
    assert "2 | 7  antipodal" in out
    assert (tmp_path / "cos.svg").read_text().startswith("<?xml")


BAD = [
    (("capacity", "--d", 8, "--eps", 0), "epsilon must be in (0, 1], got 0"),
    (("capacity", "--d", 8, "--eps", 1.2), "epsilon must be in (0, 1], got 1.2"),
    (("capacity", "--d", 8, "--eps", "nan"), "epsilon must be in (0, 1]"),
    (("capacity", "--d", 0, "--eps", 0.1), "d must be a positive whole number, got 0"),
    (("capacity", "--d", 8), "expected --d and --eps"),
    (("capacity", "--config", "packing", "--d", 8), "exclude each other"),
    (("capacity", "--config", "missing.yaml"), "missing.yaml"),
    (("optimize", "--d", -1, "--n", 4), "d must be a positive whole number, got -1"),
    (("optimize", "--d", 3, "--n", 0), "n must be a positive whole number, got 0"),
    (("optimize", "--d", 2.5, "--n", 4), "valid integer"),
    (("optimize", "--d", 3, "--n", 5, "--field", "rational"), "rational"),
    (("optimize", "--d", 3, "--n", 5, "--seconds", 0), "--seconds: expected a positive number"),
    (("optimize", "--d", 3, "--n", 5, "--out", "x.txt"), "ends in .npy"),
    (("optimize", "--d", 3, "--n", 5, "--resume"), "no saved search to resume"),
    (("measure", "missing.npy"), "missing.npy: no such file"),
    (("measure", "cube.npy"), "expected a matrix (n vectors as rows, d columns), got an array of shape (2, 2, 2)"),
    (("measure", "words.npy"), "words.npy: expected numbers"),
    (("measure", "pickle.npy"), "pickle.npy: not a .npy file of numbers"),
    (("measure", "broken.npy"), "broken.npy: not a .npy file of numbers"),
    (("measure", "zero.npy"), "row 1 is the zero vector"),
    (("measure", "nan.npy"), "row 0 holds a NaN"),
    (("measure", "mixed.txt"), "mixed.txt: line 3: expected 3 numbers as in the lines before, got 2"),
    (("measure", "longer.txt"), "longer.txt: line 2: expected 3 numbers as in the lines before, got 4"),
    (("measure", "letters.txt"), "letters.txt: line 2: expected 3 numbers"),
    (("measure", "short.vec"), "line 1 announces 5 vectors, the file holds 1"),
    (("measure", "empty.txt"), "empty.txt: holds no vectors"),
    (("measure", "model.pt"), "cannot read .pt files"),
    (("measure", "fake.safetensors"), "not a safetensors file"),
    (("measure", "zero.npy", "--tensor", "x"), "--tensor x: only .safetensors"),
    (("measure", "zero.npy", "--eps", 2), "epsilon must be in (0, 1], got 2.0"),
    (("measure", "zero.npy", "--top", 0), "--top: expected at least 1"),
    (("measure", "zero.npy", "--figure", "a.jpg"), ".svg or .png"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[" ".join(map(str, a))[:40] for a, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_2(qattn, tmp_path, arguments, sentence):
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    np.save(tmp_path / "pickle.npy", np.array([{"a": 1}]), allow_pickle=True)
    np.save(tmp_path / "zero.npy", np.array([[1.0, 2], [0, 0]]))
    np.save(tmp_path / "nan.npy", np.array([[np.nan, 2], [0, 1]]))
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    (tmp_path / "mixed.txt").write_text("a 1 2 3\nb 1 2 3\nc 1 2\n")
    (tmp_path / "longer.txt").write_text("a 1 2 3\nb 1 2 3 4\n")
    (tmp_path / "letters.txt").write_text("a 1 2 3\nb 1 2 x\n")
    (tmp_path / "short.vec").write_text("5 3\na 1 2 3\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "model.pt").write_bytes(b"PK")
    (tmp_path / "fake.safetensors").write_bytes(b"not safe")
    code, out, err = qattn(*arguments)
    assert code == 2
    assert sentence in err
    assert "Traceback" not in err
    assert out == ""


def test_help_is_fast_and_imports_nothing_heavy():
    script = (
        "import sys; sys.argv=['qattn','packing','--help']\n"
        "from experiments.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('torch','numpy','matplotlib','scipy','mpmath') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_study_writes_report_figures_and_numbers(qattn, tmp_path):
    (tmp_path / "small.yaml").write_text(
        "packing:\n  tolerances: [0.2]\n  dimensions: [4, 16]\n  points: 6\n  random:\n    - {d: 16, n: 60}\n"
        "  optimised:\n    - {d: 4, n: 6}\n  seconds: 0.1\n  embeddings: [v.npy]\n"
        "  interference: {d: 16, n: [40], active: [1, 3], trials: 20}\n"
    )
    np.save(tmp_path / "v.npy", np.random.default_rng(0).standard_normal((50, 16)))
    code, out, _ = qattn("capacity", "--config", "small.yaml", "--out", "rep", "--json")
    assert code == 0
    result = no_constants(out)
    assert {p["kind"] for p in result["points"]} == {"construction", "random", "optimised", "embedding"}
    for fit in result["fits"]:
        assert 0.45 < fit["c"] < 1.1  # (d−1)/2d and (d−1)/d, the constants of the greedy bound
        assert fit["C"] > fit["c"]
        assert math.exp(fit["C"] * (0.9 * fit["breaks_below"]) ** 2 * fit["d"]) < fit["d"]
    page = (tmp_path / "rep" / "report.html").read_text()
    assert page.count("<svg") == len(result["figures"]) == 10
    assert "http://" not in page.replace("http://www.w3.org", "")
    for name in result["figures"]:
        assert (tmp_path / "rep" / "figures" / f"{name}.svg").exists()
    for name in ("curves", "points", "fits", "interference"):
        assert len((tmp_path / "rep" / f"{name}.csv").read_text().splitlines()) > 1
    code, _, err = qattn("capacity", "--config", "small.yaml", "--set", "packing.tolerances=[2]")
    assert (code, "tolerances" in err) == (2, True)
    code, _, err = qattn("capacity", "--config", "small.yaml", "--set", "packing.interference.active=[50]")
    assert (code, "fewer active features than features" in err) == (2, True)


def changed(key, change):
    """The saved search with one entry changed, checksums and all."""

    def apply(path):
        tree, _ = load_tree(path, "")
        for place in [tree] if key in tree else tree["pool"]:
            place[key] = change(place[key])
        save_tree(path, tree)

    return apply


def alone(change):
    """The newest state changed, and none before it."""

    def apply(path):
        path.write_bytes(change(path.read_bytes()))
        state_file.previous(path).unlink(missing_ok=True)

    return apply


def without_first(vectors):
    vectors[0] = 0
    return vectors


DAMAGES = {
    "empty": alone(lambda raw: b""),
    "cut": alone(lambda raw: raw[:200]),
    "a bit": alone(lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])),
    "an .npy by its content": alone(lambda raw: b"\x93NUMPY" + raw),
    "a dimension in words": changed("d", lambda d: "three"),
    "coherence in words": changed("coherence", lambda value: None),
    "zero vector": changed("vectors", without_first),
    "NaN": changed("vectors", lambda vectors: vectors * math.nan),
    "shape": changed("vectors", lambda vectors: vectors[:-1]),
    "wrong coherence": changed("coherence", lambda value: value - 0.1),
    "empty pool": changed("pool", lambda pool: []),
    "no pool": changed("pool", lambda pool: None),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_search_is_refused_in_one_sentence(qattn, tmp_path, name):
    arguments = ("optimize", "--d", 3, "--n", 5, "--no-constructions", "--out", "a.npy")
    assert qattn(*arguments, "--rounds", 1)[0] == 0
    DAMAGES[name](tmp_path / "a.state.safetensors")
    code, _, err = qattn(*arguments, "--resume", "--rounds", 2)
    assert code == 2
    assert "a.state.safetensors: " in err
    assert "remove it and run without --resume" in err
    assert len(err.splitlines()) == 1


def test_a_search_of_the_old_version_is_refused_by_name(qattn, tmp_path):
    np.savez(tmp_path / "a.state.npz", numbers=np.arange(5))
    code, _, err = qattn("optimize", "--d", 3, "--n", 5, "--out", "a.npy", "--resume")
    assert (code, "a.state.npz: a search of qattn 0.1.0" in err, len(err.splitlines())) == (2, True, 1)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_a_damaged_search_gives_way_to_the_one_before(tmp_path, capsys, field):
    from contexts.packing.measure.gram import coherence, normalise
    from contexts.packing.search.search_state import Found, State
    from experiments.studies.packing.saved_search import load_state, save_state

    rng = np.random.default_rng(0)
    path = tmp_path / "a.state.safetensors"
    states = []
    for made in (1, 2):
        vectors = normalise(
            rng.standard_normal((5, 3)) + (1j * rng.standard_normal((5, 3)) if field == "complex" else 0)
        )
        states.append(State(3, 5, field, 7, made, 1, [Found(coherence(vectors), vectors, "random", made == 2)]))
        save_state(path, states[-1])
    for expected in (states[1], states[0]):
        found = load_state(path)
        assert (found.round, found.seed, found.hits, found.field) == (expected.round, 7, 1, field)
        assert [item._replace(vectors=0) for item in found.pool] == [item._replace(vectors=0) for item in expected.pool]
        np.testing.assert_array_equal(found.vectors, expected.vectors)
        path.write_bytes(path.read_bytes()[:-1])
    assert "the state before it is used" in capsys.readouterr().err


def test_resume_keeps_the_seed_of_the_search(qattn, tmp_path):
    arguments = ("optimize", "--d", 2, "--n", 7, "--field", "complex", "--beat-record", "--out", "a.npy")
    assert qattn(*arguments, "--rounds", 1, "--seed", 3)[0] == 0
    code, _, err = qattn(*arguments, "--rounds", 2, "--resume", "--seed", 99)
    assert (code, "--seed 99: the saved search has the seed 3" in err) == (2, True)
    assert qattn(*arguments, "--rounds", 2, "--resume")[0] == 0
    assert json.loads((tmp_path / "a.json").read_text())["seed"] == 3


@pytest.mark.parametrize(
    ("d", "n", "sentence"),
    [
        (10**9, 2, "d must be at most 20000 to build vectors, got 1000000000"),
        (3, 10**9, "n must be at most 100000 in dimension 3"),
        (10_000, 50_000, "n must be at most 3000 in dimension 10000"),
    ],
)
def test_packings_too_large_to_build_are_refused_at_once(qattn, d, n, sentence):
    code, _, err = qattn("optimize", "--d", d, "--n", n)
    assert (code, sentence in err) == (2, True)


def test_counts_of_a_large_dimension_lose_no_vector(qattn):
    _, out, _ = qattn("capacity", "--d", 10**9, "--eps", 0.5, "--json")
    result = json.loads(out)
    assert result["lower"]["orthonormal basis"] == 10**9
    assert result["constructed"]["n"] > 10**200  # Weil phases in a prime dimension just below
    _, out, _ = qattn("capacity", "--d", 1, "--eps", 0.5, "--json")
    assert json.loads(out)["upper"]["d = 1"] == 1


STUDY = "packing:\n  tolerances: [0.2]\n  dimensions: [4]\n  points: 3\n  embeddings: [{}]\n"


@pytest.mark.parametrize(
    ("embedding", "more", "sentence"),
    [
        ("", ("--vectors", "nope.npy"), "nope.npy: no such file"),
        ("nope.npy", (), "nope.npy: no such file"),
        ("zero.npy", (), "row 1 is the zero vector"),
        ("", ("--out", "plain/report"), "--out plain/report: plain is a file, not a folder"),
        ("", ("--out", "plain"), "--out plain: plain is a file, not a folder"),
    ],
)
def test_a_study_checks_its_input_before_work(qattn, tmp_path, embedding, more, sentence):
    (tmp_path / "small.yaml").write_text(STUDY.format(embedding))
    (tmp_path / "plain").write_text("")
    np.save(tmp_path / "zero.npy", np.array([[1.0, 2], [0, 0]]))
    code, _, err = qattn("capacity", "--config", "small.yaml", *more)
    assert (code, sentence in err) == (2, True)
    assert "bounds" not in err.splitlines()  # the first work of a study


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("capacity", "--eps", 0.2), "got --eps alone"),
        (("capacity", "--d", 3), "got --d alone"),
        (("capacity",), "got neither"),
        (("optimize", "--d", 3, "--n", 5, "--out", "plain/a.npy"), "--out plain/a.npy: plain is a file, not a folder"),
        (("measure", "good.npy", "--figure", "plain/a.svg"), "--figure plain/a.svg: plain is a file, not a folder"),
        (("measure", "good.npy", "--seed", -1), "qattn: --seed: expected a number of at least 0, got -1"),
    ],
)
def test_messages_name_what_is_wrong(qattn, tmp_path, arguments, sentence):
    (tmp_path / "plain").write_text("")
    np.save(tmp_path / "good.npy", np.eye(3))
    code, _, err = qattn(*arguments)
    assert (code, sentence in err) == (2, True)
    assert len(err.splitlines()) == 1


TEXTS = {
    "culprit": ("a 1 2 3\nb 1 x 3\n", "line 2: expected 3 numbers, got 'x'"),
    "NaN": ("a 1 2 3\nbeta 1 nan 3\n", "line 2: the vector of 'beta' holds a NaN or an infinity"),
    "overflow": ("a 1 2 3\nbeta 1 1e300 3\n", "line 2: the vector of 'beta' holds a NaN or an infinity"),
    "zero": ("a 1 2 3\nbeta 0 0 0\n", "line 2: the vector of 'beta' is zero"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_bad_line_of_text_is_named(qattn, tmp_path, name):
    text, sentence = TEXTS[name]
    (tmp_path / "v.txt").write_text(text)
    code, _, err = qattn("measure", "v.txt")
    assert (code, f"v.txt: {sentence}" in err, len(err.splitlines())) == (2, True, 1)


def test_text_may_be_separated_by_tabs(qattn, tmp_path):
    (tmp_path / "v.txt").write_text("a\t1\t0\nb\t1\t1\n")
    code, out, _ = qattn("measure", "v.txt", "--json")
    assert (code, json.loads(out)["coherence"]) == (0, pytest.approx(math.sqrt(0.5)))


@pytest.mark.parametrize("save", ["savetxt", "tsv", "aligned", "header"])
def test_a_text_matrix_without_names_keeps_its_first_column(qattn, tmp_path, save):
    matrix = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
    options = {"tsv": {"delimiter": "\t"}, "aligned": {"fmt": "%15.9f"}, "header": {"header": "50 8", "comments": ""}}
    np.savetxt(tmp_path / "v.txt", matrix, **options.get(save, {}))
    np.save(tmp_path / "v.npy", matrix)
    (_, text, _), (_, binary, _) = (qattn("measure", name, "--json") for name in ("v.txt", "v.npy"))
    text, binary = json.loads(text), json.loads(binary)
    assert (text["n"], text["d"]) == (50, 8)
    assert text["coherence"] == pytest.approx(binary["coherence"], abs=1e-6)
    assert text["nearest_pairs"][0]["names"] == binary["nearest_pairs"][0]["names"]


@pytest.mark.parametrize(
    ("lines", "shape", "names"),
    [
        (("2016 1 2 3", "the 2 3 1"), (2, 3), {"2016", "the"}),  # one name that is no number: all are names
        (("0 1 2 3", "1 2 3 1", "2 3 1 2"), (3, 3), {"0", "1", "2"}),  # row numbers
        (("1 1 2 3", "2 2 3 1"), (2, 3), {"1", "2"}),
        (("3 3", "7 1 2 3", "8 2 3 1", "9 1 1 1"), (3, 3), {"7", "8", "9"}),  # the first line says three numbers
        (("2 3", "windows 10 1 2 3", "the 2 3 1"), (2, 3), {"windows 10", "the"}),
        (("3 3", "a 1 2 3", "the 2 3 1"), (2, 3), {"a", "the"}),  # fastText announces one too many
        (("3 4", "5 6", "7 9"), (3, 2), {"0", "1", "2"}),  # two columns of whole numbers
    ],
)
def test_text_is_told_apart_by_its_tokens(qattn, tmp_path, lines, shape, names):
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    code, out, err = qattn("measure", "v.txt", "--json", "--top", 10)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert (result["n"], result["d"]) == shape
    assert {name for pair in result["nearest_pairs"] for name in pair["names"]} == names


def test_no_message_advises_to_load_a_file_unsafely(qattn, tmp_path):
    np.save(tmp_path / "pickle.npy", np.array([{"a": 1}]), allow_pickle=True)
    (tmp_path / "junk.npy").write_bytes(b"junk" * 40)
    (tmp_path / "nothing.npy").write_bytes(b"")
    for name in ("pickle.npy", "junk.npy", "nothing.npy"):
        code, _, err = qattn("measure", name)
        assert (code, f"{name}: not a .npy file of numbers" in err) == (2, True)
        assert not any(advice in err for advice in ("allow_pickle", "unsafe", "trust"))


def test_figures_have_points_and_a_key_for_every_kind_of_curve():
    from experiments.schema.packing_file import PackingStudy
    from experiments.studies.packing import packing_figures, study

    small = PackingStudy(fields=("real",), tolerances=(0.3, 0.5), dimensions=(8,), points=6)
    curves, dots = study.all_curves(small), study.constructed(small)
    drawn = packing_figures.draw(small, curves, dots, study.fitted(curves, small), [], {})
    axes = {name: figure.axes[0] for name, (_, figure) in drawn.items()}
    marks = [line for line in axes["real-against-d"].lines if line.get_marker() == "D"]
    assert (8, math.log10(120)) in [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks]  # E8
    assert "construction" in axes["real-against-d"].get_legend().get_title().get_text()
    key = axes["real-against-eps"].get_legend().get_title().get_text()
    assert all(word in key for word in ("dashed", "dotted: Welch", "dash-dot: union bound", "construction"))
    tied = axes["coherence-against-load"].collections[-1].get_segments()
    assert len(tied) == len(dots)
    welch = sorted(row["welch"] * math.sqrt(8) for row in dots)
    np.testing.assert_allclose(sorted(segment[0][1] for segment in tied), welch)


def test_embeddings_are_drawn_wherever_the_key_shows_a_star():
    from experiments.schema.packing_file import PackingStudy
    from experiments.studies.packing import packing_figures, study

    small = PackingStudy(fields=("real",), tolerances=(0.3,), dimensions=(8,), points=6)
    curves, dots = study.all_curves(small), study.constructed(small)
    fits = study.fitted(curves, small)
    sample = np.random.default_rng(0).uniform(0, 0.9, 4000)
    given = {"kind": "embedding", "field": "real", "d": 50, "n": 1000, "coherence": 0.97, "welch": 0.1, "random": 0.5,
             "how": "some/table.npy"}  # fmt: skip
    for points, samples, stars in (
        (dots, {}, 0),
        ([*dots, given], {"table.npy": (50, "real", {"as given": sample})}, 1),
    ):
        drawn = packing_figures.draw(small, curves, points, fits, [], samples)
        for name in ("real-against-d", "real-against-eps", "coherence-against-load"):
            axes = drawn[name][1].axes[0]
            assert len([line for line in axes.lines if line.get_marker() == "*"]) == stars, name
            text = axes.get_legend().get_title().get_text() + " ".join(t.get_text() for t in axes.get_legend().texts)
            assert ("★" in text or "embedding" in text) == bool(stars), name
    place = next(line for line in drawn["real-against-eps"][1].axes[0].lines if line.get_marker() == "*")
    assert place.get_xdata()[0] == pytest.approx(np.quantile(sample, 0.999))


def test_capacity_is_plotted_without_a_file(qattn, tmp_path, capsys):
    from experiments.studies.packing.capacity_plot import model_rows, show_plot

    """C^22: at √23/22 the character codebook nearly meets Levenshtein's bound; the curves are monotone."""
    code, out, _ = qattn("capacity", "--d", 22, "--plot", "--json", "--out", "plots")
    assert code == 0
    result = no_constants(out)
    assert (tmp_path / "plots" / "capacity_d22.svg").read_text().startswith("<?xml")
    assert len((tmp_path / "plots" / "capacity_d22.csv").read_text().splitlines()) == len(result["rows"]) + 1 == 81
    for field in ("real", "complex"):
        rows = [row for row in result["rows"] if row["field"] == field]
        assert (rows[0]["eps"], rows[-1]["eps"]) == (pytest.approx(1 / 22), pytest.approx(0.5))
        for key in ("ln_greedy", "ln_constructed", "ln_upper"):
            values = [row[key] for row in rows]
            assert values == sorted(values), key
        assert all(row["ln_constructed"] <= row["ln_upper"] + 1e-9 for row in rows)
        assert all(row["ln_greedy"] <= row["ln_upper"] + 1e-9 for row in rows)
    near = [row["gap"] for row in result["rows"] if row["field"] == "complex" and 0.218 < row["eps"] < 0.24]
    assert near
    assert min(near) < 0.35
    names = {row["name"]: row["at_least"] for row in model_rows(768)}
    assert names["GPT-2"] == pytest.approx(math.sqrt((50257 - 768) / (768 * 50256)), rel=1e-3)  # Welch
    show_plot(result)
    assert "figure plots/capacity_d22.svg" in capsys.readouterr().out
    code, _, err = qattn("capacity", "--d", 16, "--eps", 0.1, "--plot")
    assert (code, "--plot: expected --d alone" in err) == (2, True)


def test_columns_and_zero_rows(qattn, tmp_path):
    """A decoder of 40 features in R^6, stored as 6 x 40, with two dead features: 38 directions of R^6."""
    table = np.random.default_rng(4).standard_normal((40, 6))
    table[[3, 17]] = 0
    np.save(tmp_path / "decoder.npy", table.T)
    np.save(tmp_path / "alive.npy", np.delete(table, [3, 17], axis=0))
    code, _, err = qattn("measure", "decoder.npy", "--columns")
    assert (code, "row 3 is the zero vector" in err) == (2, True)
    found, alive = (
        no_constants(qattn("measure", *arguments, "--json")[1])
        for arguments in (("decoder.npy", "--columns", "--skip-zero"), ("alive.npy",))
    )
    assert (found["n"], found["d"], found["skipped_zero_rows"]) == (38, 6, 2)
    assert found["coherence"] == pytest.approx(alive["coherence"], abs=1e-15)
    assert found["nearest_pairs"][0]["names"] == [
        str(row + (row >= 3) + (row >= 16)) for row in alive["nearest_pairs"][0]["rows"]
    ]
    assert "--columns measures the columns instead" in qattn("measure", "decoder.npy")[1]
    (tmp_path / "v.txt").write_text("pad 0 0 0\na 1 2 3\nb 2 3 1\n")
    _, out, _ = qattn("measure", "v.txt", "--skip-zero")
    assert "1 rows that are zero are left out" in out
    assert "a | b" in out


def test_an_interrupted_search_saves_its_best_and_goes_on(qattn, tmp_path, monkeypatch):
    import signal

    from contexts.packing.search.optimize import anneal

    pressed: list[None] = []

    def interrupted(*arguments, **options):
        if not pressed:  # a second one would stop at once
            pressed.append(signal.raise_signal(signal.SIGINT))
        return anneal(*arguments, **options)

    arguments = ("optimize", "--d", 3, "--n", 13, "--out", "a.npy", "--no-constructions")
    with monkeypatch.context() as patch:
        patch.setattr("contexts.packing.search.optimize.anneal", interrupted)
        code, _, err = qattn(*arguments)
    assert code == 130
    assert "is in a.npy; --resume continues" in err
    assert np.load(tmp_path / "a.npy").shape == (13, 3)
    assert qattn(*arguments, "--resume", "--rounds", 1)[0] == 0


KILLED = """
packing:
  fields: [real, complex]
  tolerances: [0.3]
  dimensions: [4]
  points: 4
  random: [{d: 4, n: 12}, {d: 4, n: 9, field: complex}]
  optimised: [{d: 3, n: 8}, {d: 2, n: 4}]
  rounds: 2
  embeddings: [vectors.npy]
  interference: {d: 8, n: [16], active: [1, 2], trials: 5}
"""


@pytest.fixture
def study(monkeypatch):
    """The study without its figures, which cost more than its numbers here."""
    from experiments.studies.packing import study

    monkeypatch.setattr(study, "draw", lambda *_: {})
    return study


def never(*_, **__):
    raise AssertionError("this was computed before and is kept")


def test_a_study_killed_again_and_again_ends_as_if_it_had_not_been(qattn, tmp_path, monkeypatch, study):
    """Killed while measuring, between two rounds of a search, before the second search, and before the report."""
    (tmp_path / "small.yaml").write_text(KILLED)
    np.save(tmp_path / "vectors.npy", np.random.default_rng(0).standard_normal((20, 5)))
    arguments = ("capacity", "--config", "small.yaml", "--json")
    for step, last in (("embedding_point", 1), ("save_state", 2), ("solve", 2), ("report", 1)):
        calls, original = [], getattr(study, step)

        def killed(*arguments, step=original, calls=calls, last=last, **options):
            calls.append(1)
            if len(calls) == last:
                raise MemoryError
            return step(*arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(study, step, killed)
            with pytest.raises(MemoryError):
                qattn(*arguments, "--out", "killed")
    code, told, _ = qattn(*arguments, "--out", "killed")
    assert code == 0
    assert qattn(*arguments, "--out", "whole")[0] == 0
    for name in ("points.csv", "curves.csv", "interference.csv", "fits.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    # again: nothing is computed; more packings extend the study; other settings are refused
    with monkeypatch.context() as patch:
        for name in ("solve", "interference_rows", "embedding_point"):
            patch.setattr(study, name, never)
        assert qattn(*arguments, "--out", "killed")[1] == told
        grown = ("--set", "packing.random=[{d: 5, n: 12}]", "--set", "packing.optimised=[{d: 3, n: 8}]")
        assert qattn(*arguments, "--out", "killed", *grown)[0] == 0
    code, _, err = qattn(*arguments, "--out", "killed", "--set", "packing.rounds=4")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "killed holds a packing study with other settings (rounds was 2, now 4); choose another --out" in err


@pytest.mark.usefixtures("study")
def test_a_study_side_by_side_is_the_same(qattn, tmp_path, backwards):
    study = KILLED.replace("  embeddings: [vectors.npy]\n", "").replace("{d: 3, n: 8}, ", "")
    (tmp_path / "small.yaml").write_text(study)
    arguments = ("capacity", "--config", "small.yaml")
    assert qattn(*arguments, "--out", "one")[0] == 0
    assert qattn(*arguments, "--out", "many", "--workers", 2)[0] == 0
    assert backwards == [4]
    for name in ("points.csv", "interference.csv"):
        assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    code, _, err = qattn(*arguments, "--out", "many", "--workers", "two")
    assert (code, "--workers two: expected a number of at least 1, got two" in err) == (2, True)


@pytest.mark.usefixtures("study")
def test_a_damaged_or_exchanged_part_is_one_sentence(qattn, tmp_path):
    (tmp_path / "small.yaml").write_text(KILLED.replace("  optimised: [{d: 3, n: 8}, {d: 2, n: 4}]\n", ""))
    np.save(tmp_path / "vectors.npy", np.eye(5))
    arguments = ("capacity", "--config", "small.yaml", "--out", "out")
    assert qattn(*arguments)[0] == 0
    first, second = sorted((tmp_path / "out" / "parts").glob("random*"))
    whole = first.read_bytes()
    for raw in (second.read_bytes(), whole[:-1] + bytes([whole[-1] ^ 1]), whole[:40]):
        first.write_bytes(raw)
        code, _, err = qattn(*arguments)
        assert (code, f"{first.relative_to(tmp_path)}: " in err) == (2, True)
        assert err.splitlines()[-1].endswith("delete it and repeat the command")
