"""Maximal observables, their commutators and overlaps: the paper's equations and facts of linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from contexts.hypergraphs import library
from contexts.logic import observables as obs

RNG = np.random.default_rng(20250417)


def random_basis(d: int, field: str = "complex") -> np.ndarray:
    matrix = RNG.normal(size=(d, d)) + (1j * RNG.normal(size=(d, d)) if field == "complex" else 0)
    return np.linalg.qr(matrix)[0]


def test_the_papers_matrices():
    """Svozil, Eqs. 2–5, entry by entry, for the basis turned by π/4."""
    lam, mu = np.array([2.0, -1.0, 5.0]), np.array([0.5, 3.0, -2.0])
    first, second = obs.context_bases(library.load("paper_pair"))
    a1, a2 = obs.maximal_observable(first, lam), obs.maximal_observable(second, mu)
    assert np.allclose(a1, np.diag(lam), atol=1e-15)
    plus, minus = (mu[0] + mu[1]) / 2, (mu[1] - mu[0]) / 2
    assert np.allclose(a2, [[plus, minus, 0], [minus, plus, 0], [0, 0, mu[2]]], atol=1e-15)


@pytest.mark.parametrize("phi", [0.0, 0.3, np.pi / 4, np.pi / 2])
def test_commutator_of_two_contexts_that_share_one_ray(phi):
    """‖[A, B]‖_F = √2 |λ₁−λ₂| |μ₁−μ₂| |sin φ cos φ| in R³."""
    lam, mu = np.array([1.0, 2.5, 3.0]), np.array([-4.0, 0.5, 7.0])
    turned = np.array([[np.cos(phi), -np.sin(phi), 0], [np.sin(phi), np.cos(phi), 0], [0, 0, 1]])
    pair = np.stack([obs.maximal_observable(np.eye(3), lam), obs.maximal_observable(turned, mu)])
    expected = np.sqrt(2) * abs(lam[0] - lam[1]) * abs(mu[0] - mu[1]) * abs(np.sin(phi) * np.cos(phi))
    assert obs.commutator_norms(pair)[0, 1] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(("lam", "mu"), [([2, 2, 3], [1, 5, 6]), ([1, 5, 6], [2, 2, 3]), ([2, 2, 3], [4, 4, 9])])
def test_either_degeneracy_of_the_unshared_eigenvalues_makes_them_commute(lam, mu):
    """The paper asks for both (μ₁ = μ₂ and λ₁ = λ₂); one is enough. The recorded value at (1, 2, 3) is 1/√2."""
    first, second = obs.context_bases(library.load("paper_pair"))
    pair = np.stack([obs.maximal_observable(first, lam), obs.maximal_observable(second, mu)])
    assert obs.commutator_norms(pair)[0, 1] < 1e-14
    facts = next(e for e in library.catalogue()["entries"] if e["name"].startswith("commutator"))["recomputed"]
    pair = np.stack([obs.maximal_observable(b, facts["eigenvalues"]) for b in (first, second)])
    assert obs.commutator_norms(pair)[0, 1] == pytest.approx(facts["frobenius_norm_commutator"], abs=1e-15)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_batched_norms_are_those_of_the_pairs(field):
    stack = np.stack([obs.maximal_observable(random_basis(7, field)) for _ in range(40)])
    table = obs.commutator_norms(stack)
    for i, j in [(0, 1), (3, 39), (20, 5)]:
        direct = stack[i] @ stack[j] - stack[j] @ stack[i]
        assert table[i, j] == pytest.approx(np.linalg.norm(direct), rel=1e-12)
    assert np.array_equal(table, table.T)
    assert not table.diagonal().any()


def test_commuting_pairs_come_out_at_rounding_error():
    """1e-14 of the product of norms, not its square root: commuting is decided, not guessed."""
    basis = random_basis(64)
    stack = np.stack([obs.maximal_observable(basis, RNG.normal(size=64)) for _ in range(6)])
    scale = np.linalg.norm(stack[0]) * np.linalg.norm(stack[1])
    assert obs.commutator_norms(stack).max() < 1e-13 * scale
    assert obs.commute_table(stack)[1].all()


def test_spectral_form_reports_degeneracy():
    basis = random_basis(5)
    form = obs.spectral_form(obs.maximal_observable(basis, [1, 1, 2, 3, 3]))
    assert form.multiplicities == (2, 1, 2)
    assert form.degenerate
    assert np.allclose(form.eigenvalues, [1, 2, 3])
    assert np.allclose(form.projectors.sum(axis=0), np.eye(5))
    assert np.allclose(form.projectors[0], basis[:, :2] @ basis[:, :2].conj().T)
    assert not obs.spectral_form(obs.maximal_observable(basis)).degenerate


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0, 1], [0, 0]], r"not Hermitian: entry \(1, 2\).*differ by 1"),
        ([[0, 1j], [1j, 0]], "not Hermitian"),
        ([[0, 1, 2], [1, 0, 2]], "square"),
        ([[0, float("nan")], [0, 0]], "not a finite number"),
        ([[1, 2], [3]], "rows of one length"),
    ],
)
def test_what_is_no_observable(matrix, words):
    with pytest.raises(ValueError, match=words):
        obs.hermitian(matrix)


def test_what_is_no_basis():
    with pytest.raises(ValueError, match=r"vectors 1 and 2 are not orthogonal: off by 0\.707"):
        obs.maximal_observable(np.array([[1, 0.5**0.5], [0, 0.5**0.5]]))
    with pytest.raises(ValueError, match="vector 2 is not of length 1: off by 3"):
        obs.maximal_observable(np.diag([1.0, 2.0]))
    with pytest.raises(ValueError, match="needs d orthonormal vectors"):
        obs.maximal_observable(np.eye(3)[:, :2])
    with pytest.raises(ValueError, match="expected 3 finite real eigenvalues"):
        obs.maximal_observable(np.eye(3), [1, 2])
    with pytest.raises(ValueError, match="complete it first"):
        obs.context_bases(library.load("yu_oh").replace(contexts=[["z1", "h0"]], exclusive_pairs=(), vectors=dict(
            library.load("yu_oh").vectors) | {"h0": [0, 1, 5]}))  # fmt: skip
    with pytest.raises(ValueError, match="lists no contexts"):
        obs.context_bases(library.load("kcbs"))


def test_paulis():
    x, y, z = (obs.pauli(w) for w in "XYZ")
    assert np.allclose(x @ y - y @ x, 2j * z)
    assert np.allclose(obs.pauli("XZ"), np.kron(x, z))
    assert np.allclose(obs.pauli("-YY"), -np.kron(y, y))
    with pytest.raises(ValueError, match="letters I, X, Y, Z"):
        obs.pauli("XQ")


def test_mermin_square_rows_and_columns():
    """Each row and column commutes; products are 1, but for the last column's −1 (Mermin 1990)."""
    entry = next(e for e in library.catalogue()["entries"] if e["name"] == "peres_mermin_square")
    rows = entry["operators"]
    columns = [list(c) for c in zip(*rows, strict=True)]
    for lines, signs in (
        (rows, entry["recomputed"]["row_products"]),
        (columns, entry["recomputed"]["column_products"]),
    ):
        for words, sign in zip(lines, signs, strict=True):
            a, b, c = (obs.pauli(w) for w in words)
            assert np.allclose(a @ b @ c, sign * np.eye(4))
            values, basis = obs.pauli_context(words)
            assert np.allclose(values.prod(axis=1), sign)
            assert np.allclose(obs.pauli(words[0]) @ basis, basis * values[:, 0])
    flat = [w for row in rows for w in row]
    _, table = obs.commute_table(np.stack([obs.pauli(w).astype(complex) for w in flat]))
    best = obs.largest_commuting_subsets(table)
    assert sorted(map(sorted, ([flat[i] for i in s] for s in best))) == sorted(map(sorted, rows + columns))


def test_pauli_context_needs_commuting_and_complete_strings():
    with pytest.raises(ValueError, match=r"X and Z do not commute: ‖\[A, B\]‖ = 2\.83"):
        obs.pauli_context(["X", "Z"])
    with pytest.raises(ValueError, match="not a complete set"):
        obs.pauli_context(["ZI", "ZI"])


def test_joint_eigenbasis_of_degenerate_observables():
    basis = random_basis(6)
    values = np.array([[1, 1, 2, 2, 3, 3], [5, 6, 5, 6, 5, 5]], dtype=float)
    joint = obs.joint_eigenbasis([obs.maximal_observable(basis, row) for row in values])
    assert sorted(joint.multiplicities) == [1, 1, 1, 1, 2]
    assert np.allclose(joint.vectors.conj().T @ joint.vectors, np.eye(6))
    assert {tuple(np.round(r, 9)) for r in joint.values} == {tuple(c) for c in values.T}


def test_overlaps_are_doubly_stochastic_and_unbiased_for_fourier():
    first, second = random_basis(6), random_basis(6)
    table = obs.overlap(first, second)
    assert np.allclose(table.sum(axis=0), 1)
    assert np.allclose(table.sum(axis=1), 1)
    d = 5
    fourier = np.exp(2j * np.pi * np.outer(range(d), range(d)) / d) / np.sqrt(d)
    assert obs.mutual_unbiasedness(np.eye(d), fourier) < 1e-15
    assert obs.maassen_uffink(np.eye(d), fourier) == pytest.approx(np.log2(d))
    assert obs.incompatibility(np.eye(d), fourier) == pytest.approx(1 - 1 / d)
    assert obs.incompatibility(first, first[:, ::-1]) == pytest.approx(0)


def test_entropic_uncertainty_holds_for_random_states():
    """H(A) + H(B) ≥ −2 log₂ max|⟨e|f⟩| (Maassen & Uffink 1988)."""
    first, second = random_basis(4), random_basis(4)
    bound = obs.maassen_uffink(first, second)
    for _ in range(200):
        state = random_basis(4)[:, 0]
        entropies = 0.0
        for basis in (first, second):
            p = np.abs(basis.conj().T @ state) ** 2
            entropies -= float(np.sum(p * np.log2(p)))
        assert entropies >= bound - 1e-12


SCALES = [10.0**k for k in range(-30, 31, 5)]


@pytest.mark.parametrize("scale", SCALES)
def test_answers_do_not_depend_on_the_unit(scale):
    """The same observables in 60 decades of units: Hermitian or not, degenerate or not, commuting or not."""
    basis = random_basis(4)
    first = obs.maximal_observable(basis, [1, 1, 2, 3])
    second = obs.maximal_observable(basis, [5, 6, 7, 7])
    third = obs.maximal_observable(random_basis(4))
    stack = scale * np.stack([first, second, third])
    norms, commute = obs.commute_table(stack)
    assert commute.tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert norms[0, 2] == pytest.approx(scale**2 * np.linalg.norm(first @ third - third @ first), rel=1e-9)
    assert obs.spectral_form(stack[0]).multiplicities == (2, 1, 1)
    assert obs.spectral_form(stack[2]).multiplicities == (1, 1, 1, 1)
    assert obs.joint_eigenbasis([*stack[:2]]).multiplicities == (1, 1, 1, 1)
    with pytest.raises(ValueError, match="do not commute"):
        obs.joint_eigenbasis([stack[0], stack[2]])
    with pytest.raises(ValueError, match=r"not Hermitian: entry \(1, 2\)"):
        obs.hermitian([[0, scale], [0, 0]])


@pytest.mark.parametrize("shift", [0.0, 1.0, -1e3, 1e5, 1e8, 1e12])
def test_answers_do_not_depend_on_a_shift_of_the_spectrum(shift):
    """[A + a·1, B + b·1] = [A, B]. Sums of X, Z and whole numbers are exact in float64."""
    x, z, one = obs.pauli("X"), obs.pauli("Z"), np.eye(2)
    stack = np.stack([x + shift * one, z - 2 * shift * one, 3 * x + shift * one, 0.1 * one + shift * one])
    norms, commute = obs.commute_table(stack)
    assert norms[0, 1] == pytest.approx(8**0.5, rel=1e-12)
    assert commute.tolist() == [[i == j or {i, j} == {0, 2} or 3 in (i, j) for j in range(4)] for i in range(4)]
    assert not obs.spectral_form(stack[0]).degenerate
    assert obs.spectral_form(stack[3]).degenerate
    with pytest.raises(ValueError, match="do not commute"):
        obs.joint_eigenbasis([*stack[:2]])
    with pytest.raises(ValueError, match="not Hermitian"):
        obs.hermitian(shift * one + np.array([[0, 1], [0, 0]]))


def test_small_joint_eigenbases_are_refused_as_large_ones_are():
    with pytest.raises(ValueError, match="do not commute"):
        obs.joint_eigenbasis([1e-5 * obs.pauli("X"), 1e-5 * obs.pauli("Z")])
