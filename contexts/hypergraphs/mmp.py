"""MMP, Megill's notation of hypergraphs (Pavičić, Merlet, McKay, Megill, J. Phys. A 38, 1577 (2005)).

One character per atom from an alphabet of 90, each ``+`` before it adding 90; commas between blocks, a period at the
end.
"""

from __future__ import annotations

import re
from typing import Any

from contexts.hypergraphs import entries
from contexts.hypergraphs.hypergraph import Hypergraph
from contexts.hypergraphs.parsing import shown

ALPHABET = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!\"#$%&'()*-/:;<=>?@[\\]^_`{|}~"


def read_mmp(text: str, dimension: int | None = None, name: str = "") -> Hypergraph:
    """Parse an MMP string. Atoms are named by their MMP characters and ordered as the alphabet is.

    A name and a colon with a blank may stand before it (``18-9: 1234,…``), coordinates after its period, as in
    ``… . 1={0,0,0,1},2={0,0,1,sqrt(2)}`` (:func:`contexts.hypergraphs.surds.parse`).

    Line breaks, and blanks around blocks, are skipped and a missing final period is tolerated. The dimension is the
    largest block's size unless given. Raises ValueError for an unknown character, a ``+`` before no character, an empty
    block (two commas), a blank inside one (a comma is missing), a block of one atom, or text after the period.
    """
    text = text.removeprefix("\ufeff")
    if named := re.match(r"\s*(\S+):\s+(?=\S)", text):
        name, text = named[1], text[named.end() :]
    text, _, rest = text.partition(".")
    body = "".join(text.split())
    if gap := re.search(r"[^\s,.]+[ \t]+[^\s,.]+", text):
        raise ValueError(f"a blank stands inside the MMP block {gap[0]!r}: put a comma between blocks")
    if not body:
        raise ValueError("an MMP string needs at least one block; got none")
    contexts = []
    for number, block in enumerate(body.split(","), start=1):
        if not block:
            raise ValueError(f"MMP block {number} is empty: two commas in a row, or a comma at an end")
        atoms = _mmp_atoms(block, number)
        if len(atoms) < 2:
            raise ValueError(
                f"MMP block {number} ({block!r}) has one atom; a block needs two or more (is a comma too many there?)"
            )
        contexts.append(atoms)
    sizes = sorted({len(c) for c in contexts})
    if dimension is not None and sizes[-1] > dimension:
        long = next(i for i, c in enumerate(contexts, start=1) if len(c) == sizes[-1])
        raise ValueError(
            f"MMP block {long} has {sizes[-1]} atoms, more than dimension {dimension} can hold (is a "
            "comma missing there?)"
        )
    vertices = sorted({v for c in contexts for v in c}, key=mmp_number)
    return Hypergraph(vertices, contexts, (), dimension or sizes[-1], name=name, **_mmp_vectors(rest))


def _mmp_vectors(text: str) -> dict[str, Any]:
    """``vectors`` and ``exact`` from the coordinates ``1={0,0,1},2={…}`` after an MMP string's period, if any."""
    packed = "".join(text.split()).rstrip(".,")
    if not packed:
        return {}
    entry = r"(\+*.)=\{([^{}]*)\}"
    if not re.fullmatch(f"{entry}(,{entry})*", packed):
        raise ValueError(
            f"after its period an MMP string has coordinates such as 1={{0,0,1}},2={{0,1,0}}; got {shown(packed)} "
            "(several hypergraphs: one per line, qattn contexts batch)"
        )
    found: dict[str, list[str]] = {}
    for atom, numbers in re.findall(entry, packed):
        if atom in found:
            raise ValueError(f"the coordinates of atom {atom!r} are given twice")
        found[atom] = numbers.split(",")
    return entries.rays_of(found, None)


def write_mmp(h: Hypergraph) -> str:
    """The MMP string, with its final period. Atoms keep names that are MMP characters; otherwise they are numbered in
    order.

    Raises ValueError for exclusive pairs and for atoms in no context: MMP has no notation for either.
    """
    if h.pair_masks:
        raise ValueError(
            f"MMP cannot write the {len(h.pair_masks)} exclusive pairs; complete the contexts first, or write JSON"
        )
    if free := [v for v in h.vertices if not h.multiplicity[v]]:
        raise ValueError(f"MMP cannot write atom {free[0]!r}, which is in no context; write JSON")
    if all(_is_mmp_name(v) for v in h.vertices):
        names = {v: v for v in h.vertices}
    else:
        names = {v: mmp_character(i + 1) for i, v in enumerate(h.vertices)}
    return ",".join("".join(names[v] for v in context) for context in h.contexts) + "."


def mmp_character(number: int) -> str:
    """The MMP name of atom ``number`` (from 1): ``1`` … ``~``, then ``+1`` … ``+~``, ``++1`` …"""
    prefix, place = divmod(number - 1, len(ALPHABET))
    return "+" * prefix + ALPHABET[place]


def mmp_number(character: str) -> int:
    """Inverse of :func:`mmp_character`."""
    return len(ALPHABET) * (len(character) - 1) + ALPHABET.index(character[-1]) + 1


def _is_mmp_name(name: str) -> bool:
    return bool(name) and name[-1] in ALPHABET and set(name[:-1]) <= {"+"}


def _mmp_atoms(block: str, number: int) -> list[str]:
    atoms, prefix = [], ""
    for character in block:
        if character == "+":
            prefix += "+"
        elif character in ALPHABET:
            atoms.append(prefix + character)
            prefix = ""
        else:
            raise ValueError(
                f"MMP block {number} ({block!r}) has the character {character!r}, which is not in the MMP alphabet"
            )
    if prefix:
        raise ValueError(f"MMP block {number} ({block!r}) ends in '+', which must come before a character")
    return atoms
