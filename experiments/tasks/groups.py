"""Word problems of finite groups: read group elements, say their product so far.

S3 is solvable, A5 and S5 are not; the word problem of a non-solvable group is complete for NC¹ (Barrington 1989), out
of reach of constant-depth circuits and so of transformers of fixed depth, unless TC⁰ = NC¹.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
from jaxtyping import Integer

from experiments.tasks.sequences import IGNORED, SequenceTask, uniform

GROUPS = {"Z2": (2, False), "S3": (3, False), "A4": (4, True), "A5": (5, True), "S5": (5, False)}
"""Points that the group permutes, and whether only even permutations are in it."""


@cache
def elements(group: str) -> tuple[tuple[int, ...], ...]:
    """The permutations of a group, in lexicographic order: the identity is number 0."""
    points, even = GROUPS[group]
    return tuple(p for p in itertools.permutations(range(points)) if not even or _parity(p) == 0)


@cache
def product_table(group: str) -> np.ndarray:
    """``table[a, b]`` is the number of b∘a: first a, then b."""
    all_of_it = elements(group)
    number = {p: i for i, p in enumerate(all_of_it)}
    return np.array([[number[tuple(b[x] for x in a)] for b in all_of_it] for a in all_of_it])


def running_products(inputs: Integer[np.ndarray, "n time"], group: str) -> Integer[np.ndarray, "n time"]:
    """The product of all elements up to each position, along the last axis."""
    table = product_table(group)
    products = np.empty_like(inputs)
    state = np.zeros(inputs.shape[:-1], dtype=inputs.dtype)
    for place in range(inputs.shape[-1]):
        state = table[state, inputs[..., place]]
        products[..., place] = state
    return products


def swaps(group: str) -> Integer[np.ndarray, " elements"]:
    """The numbers of the transpositions, which generate every full symmetric group."""
    moved = [sum(x != i for i, x in enumerate(p)) for p in elements(group)]
    return np.array([number for number, points in enumerate(moved) if points == 2], dtype=np.int64)


def word_problem(
    name: str,
    group: str,
    length: int,
    test_length: int,
    inputs: str,
    asked: str,
    supervise: str,
    seed: int,
    validation: int,
) -> SequenceTask:
    """Uniform elements, or uniform transpositions (``inputs: swaps``); the target is the running product, or where it
    takes the first point (``asked: point``), at every position or (``supervise: last``) at the end.
    """
    size, points = len(elements(group)), GROUPS[group][0]
    read = swaps(group) if inputs == "swaps" else np.arange(size)
    symbols = ["".join(str(x + 1) for x in p) for p in elements(group)]
    answer = np.arange(size) if asked == "product" else size + np.array([p[0] for p in elements(group)])

    def draw(lengths: np.ndarray, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        inputs = read[rng.integers(len(read), size=(len(lengths), width))]
        targets = answer[running_products(inputs, group)]
        return inputs, at_the_end(targets, lengths) if supervise == "last" else targets

    chance, guess = uniform(size if asked == "product" else points)
    return SequenceTask(
        name, "word_problem", symbols if asked == "product" else [*symbols, *(str(x + 1) for x in range(points))], draw,
        (1, length), {f"length {test_length}": (test_length, test_length)}, chance, 0.0, guess, seed=seed,
        validation=validation,
        notes=[
            f"Running products in {group}, {size} elements; trained on lengths 1 to {length}.",
            *(["Only transpositions are read."] if inputs == "swaps" else []),
            *(["Asked is where the product takes the first point."] if asked == "point" else []),
        ],
    )  # fmt: skip


def at_the_end(
    targets: Integer[np.ndarray, "n time"], lengths: Integer[np.ndarray, " n"]
) -> Integer[np.ndarray, "n time"]:
    """Only the last target of each row; the others are ignored."""
    last = np.arange(targets.shape[1]) == (lengths - 1)[:, None]
    return np.where(last, targets, IGNORED)


def _parity(permutation: tuple[int, ...]) -> int:
    return sum(a > b for a, b in itertools.combinations(permutation, 2)) % 2
