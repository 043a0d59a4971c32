"""``qattn contexts …``: the JSON keys machines rely on, exit codes, one-sentence errors, and the examples in --help."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from contexts.hypergraphs import formats, library


def data(answer: tuple[int, str, str]) -> dict:
    code, out, err = answer
    assert code == 0, err
    return json.loads(out, parse_constant=lambda x: pytest.fail(f"{x} is not JSON"))


def test_states_keys(qattn, tmp_path):
    formats.write(library.load("tits"), tmp_path / "tits.mmp")
    result = data(qattn("contexts", "states", tmp_path / "tits.mmp", "--json"))
    assert result["count"] == "22"
    assert (result["unital"], result["separating"]) == (True, True)
    assert result["true_implies_false"] == [["1", "7"]]
    assert sorted(result["true_implies_true"]) == [["1", "F"], ["7", "G"]]
    big = data(qattn("contexts", "states", "bugs_20", "--json"))
    power = np.linalg.matrix_power(np.array([[8, 3], [3, 0]], dtype=object), 20)  # a bug's states by its two ends
    assert big["count"] == str(power.sum())


def test_states_listed_up_to_a_limit(qattn):
    result = data(qattn("contexts", "states", "pentagon", "--list", "--limit", "4", "--json"))
    assert result["count"] == "11"
    assert len(result["states"]) == 4
    assert result["states_complete"] is False
    assert "limit of 4" in result["states_reason"]
    whole = data(qattn("contexts", "states", "pentagon", "--list", "--json"))
    size = len(whole["partition_logic_states"])
    for context in library.load("pentagon").contexts:
        assert sorted(n for v in context for n in whole["partition_logic"][v]) == list(range(1, size + 1))


def test_states_of_a_kochen_specker_set(qattn):
    code, out, _ = qattn("contexts", "states", "cabello")
    assert code == 0
    assert "0 two-valued states" in out
    assert "critical: yes" in out


def test_the_width_of_counting_does_not_hide_that_there_is_no_state(qattn, tmp_path):
    """A 16 × 16 torus of 4-atom contexts, whose frontier is too wide to count, beside Cabello's 18-9: SAT answers."""
    n = 16
    torus = [
        [f"h{i}_{j}", f"h{(i + 1) % n}_{j}", f"v{i}_{j}", f"v{i}_{(j + 1) % n}"] for i in range(n) for j in range(n)
    ]
    beside = [[f"c{v}" for v in context] for context in library.load("cabello").contexts]
    (tmp_path / "torus.json").write_text(json.dumps({"contexts": torus + beside}))
    result = data(qattn("contexts", "states", tmp_path / "torus.json", "--json"))
    assert (result["count"], result["complete"], result["exists"]) == ("0", True, False)
    assert (result["critical"], len(result["critical_subset"])) == (False, 9)


def test_counts_of_any_length_are_printed(qattn, tmp_path):
    """2^14,400 states of as many free atoms: 4,335 digits, more than ``str`` turns out."""
    atoms = [f"a{k}" for k in range(14_400)]
    (tmp_path / "free.json").write_text(json.dumps({"vertices": [*atoms, "b", "c"], "contexts": [["b", "c"]]}))
    code, out, _ = qattn("contexts", "states", tmp_path / "free.json")
    assert code == 0
    count = re.match(r"(\d+) \(10\^(\d+\.\d+)\) two-valued states", out)
    assert len(count[1]) == 4_336
    assert (int(count[1][:4_000]), int(count[1][4_000:])) == divmod(2**14_401, 10**336)
    assert float(count[2]) == pytest.approx(14_401 * np.log10(2), abs=1e-3)
    assert "no marginals: the marginals would have more than" in out


def test_a_graph_says_what_was_assumed_of_its_cliques(qattn, tmp_path):
    """The 17-vertex graph without 010-colouring (Arends, Ouaknine & Wampler) has states if no triangle is a basis."""
    (tmp_path / "g.g6").write_text("D{K\n")
    code, out, _ = qattn("contexts", "states", tmp_path / "g.g6")
    assert code == 0
    assert out.startswith("10 two-valued states")
    assert "assumed: no clique of the graph is a context" in out
    assert "the dimension d" in out
    code, out, _ = qattn("contexts", "check", tmp_path / "g.g6", "--dimension", "3")
    assert "assumed" not in out or "exclusive pairs, not contexts" in out


def test_no_double_negatives(qattn):
    """What is true implies what is false, with its sign; a verdict is a sentence, not "no …: no"."""
    _, out, _ = qattn("contexts", "states", "tits")
    assert re.search(r"true implies false: \w+ → ¬\w+", out)
    for name in ("cabello", "bug"):
        _, out, _ = qattn("contexts", "bounds", name, "--weights", "multiplicity")
        assert "no two-valued state exists" in out if name == "cabello" else "a two-valued state exists" in out
        assert "θ_w does not exclude vectors" in out
        assert not re.search(r"no [a-z -]+: (no|yes)", out)


def test_bounds_keys(qattn):
    result = data(qattn("contexts", "bounds", "cabello_18_9", "--weights", "multiplicity", "--json"))
    assert (result["alpha"], result["alpha_star"]) == (8, 9)
    assert result["theta"] == pytest.approx(9, abs=1e-5)
    assert result["theta_dual"] == pytest.approx(9, abs=1e-5)
    assert len(result["certificate"]["independent_set"]) == 4
    assert result["verdict"]["no_two_valued_state"]["answer"] is True
    own = data(qattn("contexts", "bounds", "kcbs", "--weights", "k0=2,k1=1,k2=1,k3=1,k4=1", "--json"))
    assert own["alpha"] == 3


def test_commute_keys_exit_code_and_heat_map(qattn, tmp_path):
    result = data(qattn("contexts", "commute", "paper_pair", "--eigenvalues", "1,2,3", "--json"))
    (pair,) = result["pairs"]
    assert pair["norm"] == pytest.approx(0.5**0.5)
    assert (pair["commute"], result["all_commute"]) == (False, False)
    code, out, _ = qattn("contexts", "commute", "paper_pair", "--require", "--plot", tmp_path / "heat.svg")
    assert code == 1
    assert "all commute: no" in out
    assert (tmp_path / "heat.svg").read_text().startswith("<?xml")
    code, *_ = qattn("contexts", "commute", "paper_pair", "--require", "--eigenvalues", "2,2,3")
    assert code == 0


def test_commute_of_observables_in_a_file(qattn, tmp_path):
    path = tmp_path / "o.json"
    path.write_text(
        json.dumps(
            {
                "observables": {
                    "A": "XX",
                    "B": "ZZ",
                    "C": "ZI",
                    "D": [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]],
                }
            }
        )
    )
    result = data(qattn("contexts", "commute", path, "--json"))
    assert {(p["a"], p["b"]): p["commute"] for p in result["pairs"]}[("A", "B")] is True
    assert result["largest_commuting"] == [["B", "C", "D"]]
    assert result["degenerate"] == ["A", "B", "C"]
    path.write_text(json.dumps({"observables": {"A": "X", "B": [[0, 1], [0, 0]]}}))
    code, _, err = qattn("contexts", "commute", path)
    assert code == 2
    assert "observable 'B': the matrix is not Hermitian: entry (1, 2)" in err


def test_realize_keys_and_exit_codes(qattn, tmp_path):
    result = data(
        qattn(
            "contexts",
            "realize",
            "specker_bug",
            "--fresh",
            "--level",
            "faithful",
            "--json",
            "--out",
            tmp_path / "b.json",
        )
    )
    assert (result["realizable"], result["level"], result["certificate"], result["flex"]) == (True, "faithful", None, 2)
    assert set(result["vectors"]) == set(library.load("specker_bug").vertices)
    assert formats.read(tmp_path / "b.json").vectors is not None
    code, out, _ = qattn("contexts", "realize", "triangle", "--json")
    assert code == 1
    assert json.loads(out)["realizable"] is False
    assert json.loads(out)["certificate"]["atoms"]


def test_check_and_conversion(qattn, tmp_path):
    code, out, _ = qattn("contexts", "check", "cabello_18_9", "--convert", tmp_path / "c.mmp")
    assert code == 0
    assert "injective" in out
    assert (tmp_path / "c.mmp").read_text().strip() == library.load("cabello").notes["mmp"]
    bad = formats.to_dict(library.load("paper_pair"))
    bad["vectors"]["e1"] = [1, 0.01, 0]
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    code, out, _ = qattn("contexts", "check", tmp_path / "bad.json")
    assert code == 1
    assert "e1 and e2 should be orthogonal but |⟨e1|e2⟩| = 0.01" in out


def test_yaml_is_read(qattn, tmp_path):
    path = tmp_path / "h.yaml"
    path.write_text("dimension: 3\ncontexts:\n  - [bank, economy, money]\n  - [bank, river, water]\n")
    assert data(qattn("contexts", "states", path, "--json"))["count"] == "5"
    for name in ("peres_33", "witting"):  # written and read back, √2 and complex rays to the last bit
        assert qattn("contexts", "check", name, "--convert", path)[0] == 0
        assert qattn("contexts", "check", path, "--convert", tmp_path / "back.json")[0] == 0
        h, back = library.load(name), formats.read(tmp_path / "back.json")
        assert back == h
        assert all(np.array_equal(back.vectors[v], h.vectors[v]) for v in h.vertices)
    path.write_text("dimension: 3\ndimension: 4\ncontexts: [[a, b]]\n")
    code, _, err = qattn("contexts", "states", path)
    assert code == 2
    assert "dimension" in err


def test_fraction(qattn, tmp_path):
    box = [[0.5, 0], [0, 0.5]], [[0, 0.5], [0.5, 0]]
    tables = [(["A", "B"], box[0]), (["A", "b"], box[0]), (["a", "B"], box[0]), (["a", "b"], box[1])]
    path = tmp_path / "pr.json"
    path.write_text(json.dumps({"contexts": [{"measurements": m, "probabilities": p} for m, p in tables]}))
    result = data(qattn("contexts", "fraction", path, "--json"))
    assert result["contextual_fraction"] == pytest.approx(1)
    assert result["by_default"]["excess"] == pytest.approx(2)
    code, out, _ = qattn("contexts", "fraction", path)
    assert code == 0
    assert "signalling fraction 0" in out


def test_rounded_probabilities_and_counts(qattn, tmp_path):
    """A table printed with four decimals sums to 0.9999: refused with the fix named, taken with --round; counts are
    divided by their sum."""
    path = tmp_path / "t.json"

    def write(**given: object) -> None:
        contexts = [{"measurements": m, **given} for m in (["A", "B"], ["B", "C"], ["C", "A"])]
        path.write_text(json.dumps({"contexts": contexts}))

    write(probabilities=[[0.1666, 0.3333], [0.3333, 0.1667]])
    code, out, err = qattn("contexts", "fraction", path)
    assert (code, out) == (2, "")
    assert "sum to 0.9999, not 1; take rounded ones with --round, or give 'counts'" in err
    rounded = data(qattn("contexts", "fraction", path, "--round", "--json"))
    write(counts=[[1666, 3333], [3333, 1667]])
    counted = data(qattn("contexts", "fraction", path, "--json"))
    assert counted["contextual_fraction"] == pytest.approx(rounded["contextual_fraction"], abs=1e-12)
    assert counted["by_default"] == pytest.approx(rounded["by_default"], abs=1e-12)
    write(probabilities=[[0.16, 0.33], [0.33, 0.10]])
    code, _, err = qattn("contexts", "fraction", path, "--round")
    assert code == 2
    assert "rounding to 2 decimals explains at most 0.02" in err
    write(counts=[[1.5, 1], [1, 1]])
    assert "must be whole numbers" in qattn("contexts", "fraction", path)[2]
    write(counts=[[1, 1], [1, 1]], probabilities=[[0.25, 0.25], [0.25, 0.25]])
    assert "either 'probabilities' or 'counts'" in qattn("contexts", "fraction", path)[2]


def test_commute_tolerance_reaches_the_vectors(qattn, tmp_path):
    """Rays typed to three digits: refused at 1e-9, moved to the nearest basis at 2e-3."""
    typed = {"e1": [1, 0, 0], "e2": [0, 1, 0], "e3": [0, 0, 1], "f1": [0.707, -0.708, 0], "f2": [0.707, 0.707, 0]}
    contexts = [["e1", "e2", "e3"], ["f1", "f2", "e3"]]
    path = tmp_path / "typed.json"
    path.write_text(json.dumps({"dimension": 3, "contexts": contexts, "vectors": typed}))
    code, _, err = qattn("contexts", "commute", path)
    assert code == 2
    assert "should be orthogonal" in err
    result = data(qattn("contexts", "commute", path, "--tolerance", "2e-3", "--json"))
    assert result["pairs"][0]["norm"] == pytest.approx(0.5**0.5, abs=2e-3)


def test_commute_does_not_see_a_shift_of_the_spectrum(qattn):
    answers = [
        data(qattn("contexts", "commute", "paper_pair", "--eigenvalues", f"{s + 1},{s + 2},{s + 3}", "--json"))
        for s in (0, 100_000, 10**12)
    ]
    for result in answers:
        assert (result["all_commute"], result["degenerate"]) == (False, [])
        assert result["pairs"][0]["norm"] == pytest.approx(0.5**0.5, rel=1e-9)


def test_train(qattn):
    result = data(qattn("contexts", "train", "bank", "--seeds", "1", "--steps", "3", "--no-transformer", "--json"))
    assert set(result["models"]) >= {
        "contexts",
        "one_basis",
        "frozen_contexts",
        "shuffled_senses",
        "most_frequent_sense",
        "bag_of_words",
    }
    assert "one seed says nothing about others" in result["verdicts"]["bag_of_words"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["states", "spekker"], "no hypergraph is called 'spekker'; did you mean specker_bug"),
        (["states", "missing.mmp"], "missing.mmp: there is no such file"),
        (["commute", "kcbs"], "lists no contexts"),
        (["commute", "triangle"], "needs vectors"),
        (["commute", "bank", "--eigenvalues", "1,x"], "--eigenvalues: expected numbers with commas"),
        (["commute", "bank", "--eigenvalues", "1,2"], "expected 3 finite real eigenvalues"),
        (["bounds", "kcbs", "--weights", "multiplicity"], "all weights are zero"),
        (["bounds", "kcbs", "--weights", "k0"], "--weights: expected multiplicity"),
        (["realize", "bank", "--level", "best"], "the level must be one of proper, injective, faithful"),
        (["realize", "chsh", "--dimension", "0"], "positive whole number"),
        (["draw", "bank", "--out", "x.xyz"], "the ending must be one of"),
        (["train", "wordnet:bank"], "wordnet-base"),
        (["train", "pseudo:whale"], "two or more different words"),
        (["fraction", "nosuch.json"], "nosuch.json"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(qattn, words, message, monkeypatch, tmp_path):
    from contexts.learning import datasets

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.wordnet, "__defaults__", (tmp_path / "nowhere", 2))
    code, out, err = qattn("contexts", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_malformed_file_is_named(qattn, tmp_path):
    path = tmp_path / "h.mmp"
    path.write_text("123,3€5.")
    code, _, err = qattn("contexts", "check", path)
    assert code == 2
    assert str(path) in err
    assert "'€'" in err


@pytest.mark.parametrize(
    ("module", "verb"),
    [
        *(("logic", verb) for verb in ("check", "states", "bounds", "commute", "realize", "draw")),
        *(("sets", verb) for verb in ("parity", "critical", "contains")),
        ("tables", "question_order"),
    ],
)
def test_the_example_in_help_works(qattn, module, verb, monkeypatch, tmp_path):
    cli = importlib.import_module(f"experiments.cli.contexts.{module}")
    example = re.search(r"Example: `qattn (.+?)`", getattr(cli, verb).__doc__).group(1)
    code, out, _ = qattn("contexts", verb.replace("_", "-"), "--help")
    assert code == 0
    assert "Example: qattn contexts" in out
    monkeypatch.chdir(tmp_path)
    code, out, err = qattn(*shlex.split(example))
    assert code == 0, err
    assert out


def test_the_examples_in_the_docs_work(qattn, monkeypatch, tmp_path):
    """Every indented command of docs/contexts.md, with the table it shows; training is cut to two steps, and the
    protocol of twenty word pairs, which takes minutes, is left to its own tests."""
    text = (Path(__file__).parents[2] / "docs" / "contexts.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pr.json").write_text(re.search(r"```json\n(.+?)```", text, re.DOTALL).group(1))
    commands = re.findall(r"^    qattn (contexts .+)$", text, re.MULTILINE)
    commands = [command for command in commands if command.split()[1] != "compare"]
    assert {c.split()[1] for c in commands} >= {"states", "bounds", "fraction", "realize", "draw", "train"}
    for command in commands:
        code, out, err = qattn(*shlex.split(command.replace("--steps 40", "--steps 2")))
        assert code == 0, err
        assert out
    assert (tmp_path / "pentagon.svg").exists()
    assert (tmp_path / "bug.yaml").exists()


def test_hypergraphs_are_listed_with_their_sources(qattn):
    rows = data(qattn("list", "hypergraphs", "--json"))["hypergraphs"]
    assert {row["name"] for row in rows} == set(library.names())
    assert all(row["source"] for row in rows)
