"""Bounds against published numbers: E8, Kerdock, Leech, MUBs, SICs, the record tables, and closed forms."""

import csv
import json
import math
import subprocess
import sys
from fractions import Fraction
from importlib.resources import files

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexts.packing.bounds import capacity, check_certificate, coherence_bounds, levenshtein
from contexts.packing.bounds.delsarte import best_proved_bound, delsarte, delsarte_coherence
from contexts.packing.record_tables import record
from experiments.studies.packing.formatting import whole

FIELDS = ("real", "complex")


def rows(field):
    with (files("contexts.packing") / "data" / f"packing_records_{field}.csv").open() as lines:
        return list(csv.DictReader(lines))


# (field, d, ε, the exact N): lines of E8, the Barnes-Wall/Kerdock and Leech lattices, the 5 MUBs
# of C^4, the SIC of C^6, the icosahedron, the 28 lines of R^7, the 276 of R^23, Hesse's SIC, the 126 lines of C^6
TIGHT = [
    ("real", 8, 1 / 2, 120),
    ("real", 16, 1 / 4, 144),
    ("real", 24, 1 / 2, 98280),
    ("complex", 4, 1 / 2, 20),
    ("complex", 6, 1 / math.sqrt(7), 36),
    ("real", 3, 1 / math.sqrt(5), 6),
    ("real", 7, 1 / 3, 28),
    ("real", 23, 1 / 5, 276),
    ("complex", 3, 1 / 2, 9),
    ("complex", 6, 1 / 2, 126),
    ("real", 6, 1 / 2, 36),
    ("real", 7, 1 / 2, 63),
]


@pytest.mark.parametrize(("field", "d", "eps", "n"), TIGHT)
def test_levenshtein_is_met_by_the_famous_configurations(field, d, eps, n):
    assert math.exp(levenshtein.log_levenshtein(d, eps, field)) == pytest.approx(n, rel=1e-12)
    assert levenshtein.levenshtein(d, n, field) == pytest.approx(eps, rel=1e-10)


@pytest.mark.parametrize(("field", "d", "eps", "n"), TIGHT)
def test_certificate_proves_the_bound_in_exact_rationals(field, d, eps, n):
    proof = levenshtein.certificate(d, eps, field)
    bound, smallest = levenshtein.verify(proof)
    assert isinstance(bound, Fraction)
    assert smallest >= 0
    assert float(bound) == pytest.approx(n, rel=1e-12)


def test_a_tampered_certificate_no_longer_proves():
    kernel = (Fraction(2), Fraction(-1))  # would "prove" that R^3 holds 1.88 lines at 1/2
    _, smallest = levenshtein.verify(levenshtein.Certificate(3, "real", Fraction(1, 4), kernel, False))
    assert smallest < 0
    with pytest.raises(ValueError, match="proves nothing"):
        levenshtein.verify(levenshtein.Certificate(24, "real", Fraction(9, 10), (Fraction(1),), False))


@pytest.mark.parametrize(
    ("field", "d", "eps", "log10_lower", "log10_upper"),
    [  # recomputed independently (mpmath, another formulation)
        ("real", 64, 0.2, 0.96, 4.05),
        ("real", 768, 0.2, 7.65, 26.35),
        ("real", 4096, 0.1, 9.85, 42.26),
        ("real", 12288, 0.1, 27.96, 110.74),
        ("complex", 128, 0.2, 2.25, 9.73),
        ("complex", 4096, 0.1, 17.87, 74.61),
    ],
)
def test_table_of_capacities(field, d, eps, log10_lower, log10_upper):
    assert -capacity.log_tail(d, eps, field) / math.log(10) == pytest.approx(log10_lower, abs=0.006)
    assert levenshtein.log_levenshtein(d, eps, field) / math.log(10) == pytest.approx(log10_upper, abs=0.006)


def test_at_88_degrees_in_gpt3_width_at_most_10_to_the_25():
    """The folklore 10^32.8 at 88° in d = 12288 is impossible; proved by an exact certificate."""
    bound, smallest = levenshtein.verify(levenshtein.certificate(12288, math.cos(math.radians(88)), "real"))
    assert smallest >= 0
    assert math.log10(bound) == pytest.approx(25.13, abs=0.01)


def test_at_89_degrees_in_100_dimensions_at_most_103():
    """So "10 000 vectors at 89 to 91 degrees in 100 dimensions" is impossible by two orders of magnitude."""
    eps = math.cos(math.radians(89))
    assert math.exp(levenshtein.log_levenshtein(100, eps, "real")) == pytest.approx(103.11, abs=0.01)
    assert round(math.exp(capacity.bukh_cox_capacity(100, eps, "real"))) == 102  # sharper still near n = d


def test_best_bound_reaches_the_listed_bound_and_no_record_breaks_it():
    """Game of Sloanes lists a lower bound a row: ours is never below it, and never above any record of either table."""
    for row in rows("complex"):
        d, n = int(row["d"]), int(row["n"])
        bound, _ = coherence_bounds.best_bound(d, n, "complex")
        assert bound >= float(row["lower_bound_listed"]) - 2e-8, (d, n)
        assert bound <= float(row["mu_from_vectors"] or row["mu_listed"]) + 1e-8, (d, n)
    for row in rows("real")[::4]:
        bound, _ = coherence_bounds.best_bound(int(row["d"]), int(row["n"]), "real")
        assert bound <= float(row["mu"]) + 1e-8, row


def test_the_first_three_bounds_give_the_listed_column_exactly():
    """Up to n = d² the list's column is the larger of Welch (k = 1), Bukh-Cox and the orthoplex bound."""
    compared = 0
    for row in rows("complex"):
        d, n = int(row["d"]), int(row["n"])
        if n <= d * d:
            names = (coherence_bounds.welch(d, n, "complex", 1), coherence_bounds.bukh_cox(d, n, "complex"))
            assert max(names) == pytest.approx(float(row["lower_bound_listed"]), abs=2e-8), (d, n)
            compared += 1
    assert compared > 100


def test_bukh_cox_real_is_met_by_the_icosahedron():
    assert coherence_bounds.bukh_cox(3, 6, "real") == pytest.approx(1 / math.sqrt(5), rel=1e-14)


def test_levenshtein_three_39_beats_the_listed_bound():
    """An independent computation: 0.7495 against 0.6797 listed for 39 lines of C^3 (record 0.7751)."""
    assert coherence_bounds.levenshtein(3, 39, "complex") == pytest.approx(0.7495, abs=1e-4)


def test_welch_of_order_two_is_the_orthoplex_of_mutually_unbiased_bases():
    # d² + d vectors at 1/√d meet the order-2 bound: Klappenecker & Rötteler 2005
    for d in (2, 3, 4, 5, 7, 8, 9):
        assert coherence_bounds.welch(d, d * d + 1, "complex", 2) < 1 / math.sqrt(d)
        assert coherence_bounds.levenshtein(d, d * d + d, "complex") == pytest.approx(1 / math.sqrt(d), rel=1e-9)


def test_lines_of_the_plane_are_exact():
    for n in range(3, 30):
        assert coherence_bounds.best_bound(2, n, "real")[0] == pytest.approx(math.cos(math.pi / n), rel=1e-12)
    # tetrahedron, octahedron and icosahedron on the Bloch sphere: cos δ = −1/3, 0, 1/√5
    for n, cosine in ((4, -1 / 3), (6, 0.0), (12, 1 / math.sqrt(5))):
        assert coherence_bounds.plane(2, n, "complex") == pytest.approx(math.sqrt((1 + cosine) / 2), rel=1e-12)


@pytest.mark.parametrize("field", FIELDS)
def test_bounds_do_not_apply_outside_their_range(field):
    for name in ("welch", "levenshtein", "bukh-cox", "rankin", "levenshtein2"):
        assert coherence_bounds.COHERENCE_BOUNDS[name].function(5, 5, field) is None
    gerzon = coherence_bounds.gerzon(5, field)
    assert coherence_bounds.rankin(5, gerzon, field) is None
    assert coherence_bounds.rankin(5, gerzon + 1, field) == 1 / math.sqrt(5)
    assert coherence_bounds.levenshtein_second(5, gerzon, field) is None
    assert coherence_bounds.welch(5, 6, field, order=40) is None
    assert coherence_bounds.plane(3, 7, field) is None
    assert coherence_bounds.best_bound(5, 3, field) == (0.0, "trivial")
    assert coherence_bounds.best_bound(1, 1, field) == (0.0, "trivial")
    assert coherence_bounds.best_bound(1, 7, field)[0] == pytest.approx(1)
    assert capacity.upper_capacity(5, 1.0, field) is None
    assert capacity.upper_capacity(1, 0.5, field) == (0.0, "d = 1")
    assert capacity.johnson_lindenstrauss(5, 0.1, field) is None
    assert levenshtein.log_levenshtein(1, 0.5, field) is None
    assert levenshtein.certificate(3, 1.0, field) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 300), st.floats(0.02, 0.97), st.sampled_from(FIELDS))
def test_lower_never_exceeds_upper(d, eps, field):
    upper = capacity.upper_capacity(d, eps, field)
    for bound in capacity.LOWER.values():
        value = bound.function(d, eps, field)
        assert value is None or value <= upper[0] + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 40), st.integers(5, 2000), st.sampled_from(FIELDS))
def test_levenshtein_and_its_inverse_agree_and_dominate_welch(d, n, field):
    if n <= d:
        return
    eps = coherence_bounds.levenshtein(d, n, field)
    assert levenshtein.log_levenshtein(d, eps, field) == pytest.approx(math.log(n), abs=1e-7)
    assert coherence_bounds.best_bound(d, n, field)[0] >= coherence_bounds.welch(d, n, field)


@pytest.mark.parametrize(("d", "eps"), [(4096, 0.6), (768, 0.2), (12288, 0.3), (3, 0.5), (2, 0.1)])
def test_log_tail_is_the_beta_law_where_float64_underflows(d, eps):
    with mpmath.workdps(40):
        x = 1 - mpmath.mpf(eps) ** 2
        exact = mpmath.log(mpmath.betainc(mpmath.mpf(d - 1) / 2, mpmath.mpf(1) / 2, 0, x, regularized=True))
    assert capacity.log_tail(d, eps, "real") == pytest.approx(float(exact), rel=1e-11)
    assert capacity.tail_epsilon(d, float(exact), "real") == pytest.approx(eps, rel=1e-9)


def test_archimedes_cap_in_three_dimensions():
    # |⟨u,v⟩| is uniform on [0, 1] in R^3 (Archimedes), its square in C^2
    assert capacity.log_tail(3, 0.3, "real") == pytest.approx(math.log(0.7), rel=1e-12)
    assert capacity.log_tail(2, 0.3, "complex") == pytest.approx(math.log(1 - 0.09), rel=1e-12)


def test_the_papers_upper_form_fails():
    """Svozil, Sec. VII: with one C for all ε, exp(C ε² d) falls below Kerdock's d(d/2+1) vectors at ε = 1/√d."""
    ratios = []
    for k in range(2, 8):
        d = 4**k
        ratios.append(math.log(d * (d // 2 + 1)) / (d**-0.5) ** 2 / d)
    assert ratios == sorted(ratios)  # the C needed grows without limit, like 2 ln d
    assert ratios[-1] > 2 * ratios[0]


def test_kabatiansky_levenshtein_exponent_is_only_asymptotic():
    """At (64, 0.05) it would allow 10^0.15 vectors, fewer than the 64 of a basis: so it is not among the bounds."""
    assert capacity.kabatiansky_levenshtein_exponent(0.05, "real") * 64 / math.log(10) == pytest.approx(0.15, abs=0.01)
    assert "kabatiansky" not in " ".join(capacity.UPPER)
    small = 1e-4
    limit = small**2 / 4 * math.log(4 * math.e / small**2)
    assert capacity.kabatiansky_levenshtein_exponent(small, "real") == pytest.approx(limit, rel=1e-4)
    # Levenshtein's bound per dimension comes down to it as d grows at fixed ε
    rates = [levenshtein.log_levenshtein(d, 0.5, "real") / d for d in (50, 200, 800, 3200)]
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] - capacity.kabatiansky_levenshtein_exponent(0.5, "real") < 0.02


def test_capacity_inverts_the_coherence_bounds():
    assert capacity.bukh_cox_capacity(3, 1 / math.sqrt(5), "real") is None  # the bound's summit, met by 6 lines
    assert round(math.exp(capacity.bukh_cox_capacity(3, 0.44, "real"))) == 5
    assert round(math.exp(capacity.plane_capacity(2, math.cos(math.pi / 7) + 1e-9, "real"))) == 7
    assert math.exp(capacity.rankin_capacity(8, 0.3, "complex")) == pytest.approx(64)
    assert math.exp(capacity.welch_capacity(7, 1 / 3, "real")) == pytest.approx(28)


def test_capacity_bounds_solved_for_epsilon():
    """Beside an ε that is solved for, the bound lies on either side of n; and closed forms of greedy and Rankin."""
    d, n, field = 200, 1000, "complex"
    for name, bound in {**capacity.LOWER, **capacity.UPPER}.items():
        eps = capacity.inverse(name, d, n, field)
        if name in ("orthonormal basis", "plane", "d = 1") or eps in (0, None):
            continue
        above, below = bound.function(d, eps + 1e-9, field), bound.function(d, eps - 1e-9, field)
        assert above is None or above > math.log(n) - 1e-9, name
        assert below is None or below < math.log(n) + 1e-4, name
    explicit = math.sqrt(math.log(n) / (d - 1) * (2 if field == "real" else 1))
    assert capacity.inverse("greedy (explicit)", d, n, field) == pytest.approx(explicit, rel=1e-9)
    assert capacity.inverse("rankin", 10, 1000, field) == pytest.approx(1 / math.sqrt(10), abs=1e-9)
    assert capacity.inverse("levenshtein", 8, 120, "real") == pytest.approx(0.5, abs=1e-9)
    assert capacity.inverse("orthonormal basis", 8, 9, field) is None
    assert capacity.inverse("orthonormal basis", 8, 8, field) == 0


def test_random_coherence_median_matches_a_measured_control():
    # 20 000 Gaussian vectors of R^256 measured elsewhere: largest |cos| 0.3576, predicted 0.3545
    assert capacity.random_coherence(256, 20_000, "real") == pytest.approx(0.3576, rel=0.02)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: coherence_bounds.welch(0, 3, "real"), "d must be a positive whole number, got 0"),
        (lambda: coherence_bounds.best_bound(3, -1, "real"), "n must be"),
        (lambda: coherence_bounds.best_bound(3, True, "real"), "n must be"),
        (
            lambda: coherence_bounds.best_bound(3, 4, "quaternionic"),
            "field must be 'real' or 'complex', got 'quaternionic'",
        ),
        (lambda: capacity.greedy(3, 0.0, "real"), "epsilon must be in"),
        (lambda: capacity.greedy(3, 1.5, "real"), "got 1.5"),
        (lambda: capacity.greedy(3, math.nan, "real"), "epsilon must be in"),
        (lambda: levenshtein.log_levenshtein(3, -0.1, "real"), "epsilon must be in"),
    ],
)
def test_bad_input_is_one_sentence(call, word):
    with pytest.raises(ValueError, match=word.replace("(", r"\(")):
        call()


@pytest.mark.parametrize("field", FIELDS)
def test_one_dimension_has_one_line_and_no_bound_passes_one(field):
    for n in range(2, 40):
        assert coherence_bounds.best_bound(1, n, field)[0] == 1
        assert all((bound.function(1, n, field) or 0) <= 1 for bound in coherence_bounds.COHERENCE_BOUNDS.values())
    found = {name: bound.function(1, 0.5, field) for name, bound in capacity.UPPER.items()}
    assert min(value for value in found.values() if value is not None) == 0  # ln 1
    assert capacity.UPPER["d = 1"].function(1, 1, field) is None


#: families with exact |⟨u,v⟩|²: (field, (d, n, μ²) at a parameter), the parameters up to d = 12,288
FAMILIES = {
    "simplex": ("real", lambda d: (d, d + 1, Fraction(1, d * d)), (2, 3, 17, 768, 5000, 12_288)),
    "Paley": ("real", lambda q: ((q + 1) // 2, q + 1, Fraction(1, q)), (5, 29, 1601, 24_509)),
    "Kerdock": ("real", lambda m: (4**m, 4**m * (4**m // 2 + 1), Fraction(1, 4**m)), (2, 3, 6)),
    "Steiner, pairs": ("real", lambda v: (v * (v - 1) // 2, v * v, Fraction(1, (v - 1) ** 2)), (4, 8, 24, 156)),
    "SIC": ("complex", lambda d: (d, d * d, Fraction(1, d + 1)), (2, 3, 24, 768, 2208, 12_288)),
    "unbiased bases": ("complex", lambda q: (q, q * q + q, Fraction(1, q)), (2, 7, 64, 769, 8192, 12_281)),
    "Singer": (
        "complex",
        lambda q: (q + 1, q * q + q + 1, Fraction(q, (q + 1) ** 2)),
        (2, 9, 27, 769, 12_281),
    ),
    "characters": ("complex", lambda q: (q - 1, q * q - 1, Fraction(q, (q - 1) ** 2)), (5, 7, 64, 769, 12_289)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_bound_is_broken_by_a_known_construction_at_any_size(family):
    """In exact rationals: a bound that rounding lifts above an existing packing would be false."""
    field, at, parameters = FAMILIES[family]
    for d, n, square in map(at, parameters):
        for name, bound in coherence_bounds.COHERENCE_BOUNDS.items():
            value = bound.function(d, n, field)
            assert value is None or Fraction(value) ** 2 <= square, (family, d, n, name)
        for name, bound in capacity.UPPER.items():
            value = bound.function(d, math.sqrt(square), field)
            assert value is None or whole(value, up=False) >= n, (family, d, n, name)


@pytest.mark.parametrize(
    ("field", "d", "n", "square"),
    [
        ("real", 5000, 5001, Fraction(1, 5000**2)),  # by differences of log Γ it was above: 0.00020000000033
        ("complex", 12_288, 12_288**2, Fraction(1, 12_289)),
        ("complex", 768, 591_360, None),
    ],
)
def test_bounds_at_large_dimensions_lose_no_digit(field, d, n, square):
    value, _ = coherence_bounds.best_bound(d, n, field)
    exact = square or Fraction(2 * n - d * (d + 1), (n - d) * (d + 1))  # Levenshtein's second bound
    assert Fraction(value) ** 2 <= exact
    assert value == pytest.approx(math.sqrt(exact), rel=3e-16)


def test_d_squared_lines_are_allowed_at_the_coherence_of_a_sic():
    """d = 12,288, ε = 1/√12289: at most d² = 150,994,944 lines, which a SIC would reach (it said 150,994,934)."""
    for d in (768, 12_288):
        upper = {name: b.function(d, 1 / math.sqrt(d + 1), "complex") for name, b in capacity.UPPER.items()}
        assert whole(upper["welch"], up=False) == whole(upper["alon"], up=False) == d * d
    assert whole(capacity.welch_capacity(12_288, 0.009020730909074992, "complex"), up=False) == 150_994_944


def test_the_mean_nearest_neighbour_of_random_vectors():
    """C^2: |cos|² is uniform, the mean root of the largest of n − 1 is (n−1)/(n−1/2). R^256, n = 20,000: measured."""
    for n in (2, 3, 50, 10_000):
        assert capacity.mean_nearest(2, n, "complex") == pytest.approx((n - 1) / (n - 0.5), rel=1e-7)
    assert capacity.mean_nearest(3, 2, "real") == pytest.approx(1 / 2, rel=1e-7)  # uniform on [0, 1]: Archimedes
    assert capacity.mean_nearest(256, 20_000, "real") == pytest.approx(0.25751, rel=2e-4)
    assert (capacity.mean_nearest(7, 1, "real"), capacity.mean_nearest(1, 9, "real")) == (0, 1)


@pytest.mark.parametrize(
    ("field", "d", "eps", "most", "others"),
    [
        ("real", 8, 1 / 2, 120, 120),  # E8 and the Leech lattice meet it: no linear programme can say less
        ("real", 24, 1 / 2, 98_280, 98_280),
        ("complex", 6, 1 / 2, 126, 126),
        ("real", 6, 0.6666666667083333, 116, 126),  # the table's coherence of 84 lines: less than Levenshtein's bound
        ("real", 5, 0.6856853775602919, 60, 63),
        ("complex", 3, 0.77729266227, 47, 49),
    ],
)
def test_the_linear_programme_with_an_exact_certificate(field, d, eps, most, others):
    """The optimum of Delsarte's programme recomputed elsewhere (degree 20 to 24), and what its checker makes of it."""
    proof = delsarte(d, eps, field)
    bound = check_certificate.proved_bound(json.loads(json.dumps(proof)))
    assert bound == Fraction(proof["bound"])
    assert math.floor(bound) == most
    assert math.floor(math.exp(levenshtein.log_levenshtein(d, eps, field)) + 1e-6) == others
    assert bound <= math.exp(levenshtein.log_levenshtein(d, eps, field)) * (1 + 1e-4)


def test_a_tampered_or_overstated_linear_certificate_is_refused():
    proof = delsarte(6, 0.6, "real")
    polynomial = [Fraction(c) for c in proof["polynomial"]]
    for change in (
        {"epsilon_squared": "1/2"},  # beyond 0.36 the polynomial is positive
        {"polynomial": [str(c + (k == 0)) for k, c in enumerate(polynomial)]},
        {"polynomial": [str(-c) for c in polynomial]},
        {"d": 5, "field": "octonions"},
    ):
        with pytest.raises(ValueError, match=r"proves nothing|expected d"):
            check_certificate.proved_bound(proof | change)
    assert delsarte(65, 0.3, "real") is None
    assert delsarte(3, 1.0, "real") is None


def test_the_checker_runs_alone_and_knows_the_sign_of_a_polynomial(tmp_path):
    """By itself, with Python alone; x(x − 1)² touches 0 inside [0, 2] from above, −(x − 1/3)² from below."""
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(delsarte(8, 0.5, "real")))
    script = check_certificate.__file__
    done = subprocess.run([sys.executable, "-I", script, path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("proved: at most 120 lines")
    one, third = Fraction(1), Fraction(1, 3)
    assert not check_certificate.is_nonpositive((0 * one, one, -2 * one, one), Fraction(2))
    assert check_certificate.is_nonpositive((-third * third - Fraction(1, 10**9), 2 * third, -one), Fraction(2))
    assert not check_certificate.is_nonpositive((-third * third + Fraction(1, 10**9), 2 * third, -one), Fraction(2))


def test_the_linear_programme_solved_for_coherence_is_proved_and_no_record_breaks_it():
    value, proof = delsarte_coherence(6, 84, "real", coherence_bounds.best_bound(6, 84, "real")[0], 0.67, steps=9)
    assert check_certificate.proved_bound(proof) < 84
    assert coherence_bounds.best_bound(6, 84, "real")[0] * 1.005 < value < record(6, 84, "real").coherence
    assert delsarte_coherence(8, 120, "real", 0.5, 0.6) is None  # 120 lines of coherence 1/2 exist
    assert best_proved_bound(8, 120, "real", 0.5) == (0.5, "levenshtein2", None)  # met: no programme is solved
    bound, name, proof = best_proved_bound(6, 84, "real", 0.67, steps=5)
    assert name == "delsarte"
    assert proof is not None
    assert 0.6250374 < bound < 2 / 3
