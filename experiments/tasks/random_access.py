"""Random access codes as a sequence task: read m bits, then be asked for one of them.

    reading: string   x ?j → x_j           one symbol per string, so that any 2^m states can stand for them
    reading: bits     x_1 … x_m ?j → x_j   the register takes each bit in turn, without knowing its place

What is carried to the question has to hold all bits, since nobody knows which one will be asked for. One classical bit
(two states) answers rightly with probability 3/4 at most for m = 2 and 3, on average over strings and questions; one
qubit with ½ + 1/(2√m), 0.8536 and 0.7887 (Ambainis, Nayak, Ta-Shma, Vazirani 2002; Ambainis, Leung, Mancinska, Ozols
2008). For other sizes :func:`see_saw` finds what a register of ``dim`` dimensions reaches.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from jaxtyping import Complex, Float, Integer

from experiments.tasks.sequences import IGNORED, SequenceTask


def random_access(name: str, bits: int, reading: str, seed: int) -> SequenceTask:
    """Every string of ``bits`` bits with every question, equally likely; the validation split is all of them."""
    strings = all_strings(bits)
    asked = np.tile(np.arange(bits), len(strings))
    rows = np.repeat(strings, bits, axis=0)
    if reading == "bits":
        read, symbols = rows, ["0", "1"]
    else:
        read = 2 + np.repeat(np.arange(len(strings)), bits)[:, None]
        symbols = ["0", "1", *("".join(map(str, string)) for string in strings)]
    inputs = np.concatenate([read, len(symbols) + asked[:, None]], axis=1)
    targets = np.full_like(inputs, IGNORED)
    targets[:, -1] = rows[np.arange(len(rows)), asked]

    def draw(lengths: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        chosen = rng.integers(len(inputs), size=len(lengths))
        return inputs[chosen], targets[chosen]

    return SequenceTask(
        name, "random_access", [*symbols, *(f"?{j + 1}" for j in range(bits))], draw, (read.shape[1],) * 2, {},
        math.log(2), 0.0, 0.5, seed=seed, extra=1, whole=(inputs, targets), drawn=True,
        bounds={"one classical bit, at most": one_bit(bits), "one qubit, at most": one_qubit(bits)},
        notes=["The bounds are those of two states and of a register of two dimensions, on average over strings and "
               "questions; a model that carries a real number, or sees the text again, is not bound."],
    )  # fmt: skip


def all_strings(bits: int) -> Integer[np.ndarray, "strings {bits}"]:
    """The 2^m strings, a row each, in order."""
    return np.array(list(itertools.product(range(2), repeat=bits)))


def one_bit(bits: int) -> float:
    """The largest mean probability of a right answer from one classical bit, ½ + C(m−1, ⌊(m−1)/2⌋)/2^m: keep the
    majority (Ambainis, Leung, Mancinska, Ozols 2008, section 2).
    """
    return 0.5 + math.comb(bits - 1, (bits - 1) // 2) / 2**bits


def one_qubit(bits: int) -> float:
    """½ + 1/(2√m), which no code into one qubit exceeds on average (the same, section 3); met for m = 2 and 3."""
    return 0.5 + 0.5 / math.sqrt(bits)


def see_saw(
    bits: int, dim: int, starts: int = 8, rounds: int = 200, *, seed: int = 0
) -> tuple[float, Complex[np.ndarray, "strings dim"], Complex[np.ndarray, "bits dim dim"]]:
    """The best code of ``bits`` bits into ``dim`` dimensions found: its mean probability of a right answer, the states
    and for each question the projector that says 1.

    States and measurements are optimised in turn, each exactly: the best state of a string is the top eigenvector of
    the sum of its right answers, the best projector that onto the positive part of Σ_x (−1)^{1−x_j} |ψ_x⟩⟨ψ_x|. Every
    round raises the value, so it is a lower bound of the optimum, the best of ``starts`` random ones.
    """
    rng = np.random.default_rng(seed)
    strings = all_strings(bits)
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for _ in range(starts):
        raw = rng.normal(size=(2, len(strings), dim))
        states = raw[0] + 1j * raw[1]
        states /= np.linalg.norm(states, axis=1, keepdims=True)
        value = 0.0
        for _ in range(rounds):
            yes = projectors(states, strings)
            right = _right(yes, strings)
            values, vectors = np.linalg.eigh(right)
            states, before, value = vectors[:, :, -1], value, float(values[:, -1].mean())
            if value - before < 1e-13:
                break
        if best is None or value > best[0]:
            best = value, states, yes
    assert best is not None
    return best


def projectors(
    states: Complex[np.ndarray, "strings dim"], strings: Integer[np.ndarray, "strings bits"]
) -> Complex[np.ndarray, "bits dim dim"]:
    """For each question the best projector that says 1, of the states of all strings (Helstrom 1969)."""
    signs = 2.0 * strings.T - 1
    values, vectors = np.linalg.eigh(np.einsum("jx,xa,xb->jab", signs, states, states.conj()))
    return np.einsum("jak,jk,jbk->jab", vectors, values > 0, vectors.conj())


def _right(yes: Complex[np.ndarray, "bits dim dim"], strings: np.ndarray) -> Complex[np.ndarray, "strings dim dim"]:
    """The mean over the questions of the projector that answers a string rightly."""
    no = np.eye(yes.shape[-1]) - yes
    return np.stack([np.where(string[:, None, None] == 1, yes, no).mean(0) for string in strings])


def success(
    states: Complex[np.ndarray, "strings dim"], yes: Complex[np.ndarray, "bits dim dim"]
) -> Float[np.ndarray, "strings bits"]:
    """The probability of a right answer for every string and question."""
    strings = all_strings(len(yes))
    says_one = np.einsum("xa,jab,xb->xj", states.conj(), yes, states).real
    return np.where(strings == 1, says_one, 1 - says_one)
