"""Trainable orthonormal bases that share vectors: contexts intertwined in tokens, as torch modules.

A context names some of its basis vectors by tokens; the others are free. Where the sharing has no cycle (each context
meets the earlier ones inside a single one of them: stars and trees) shared vectors are shared *exactly*: a context is
its parent's basis with the shared columns kept and the others turned by a trainable rotation about them. Where there
are cycles no such chart exists; the tokens' vectors are then free, a penalty pulls them orthogonal, and
:meth:`Bases.polish` ends on an exact realisation if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from contexts.hypergraphs.hypergraph import Hypergraph


@dataclass(frozen=True)
class Link:
    """How one context hangs on another: the parent's position (None: a root) and the columns it takes over from it."""

    parent: int | None
    taken: tuple[int, ...]


def tree_links(contexts: Sequence[Sequence[object]]) -> list[Link] | None:
    """A parent for every context so that what it shares with all earlier ones lies in the parent; None if there is a
    cycle.

    The running intersection property, in an order found greedily by most shared atoms first. Links refer to positions
    in ``contexts``; columns are positions in the parent's list.
    """
    links: dict[int, Link] = {}
    placed: set[object] = set()
    while len(links) < len(contexts):
        waiting = [k for k in range(len(contexts)) if k not in links]
        k = max(waiting, key=lambda k: len(placed & set(contexts[k])))
        shared = [v for v in contexts[k] if v in placed]
        if shared:
            parent = next((p for p in links if set(shared) <= set(contexts[p])), None)
            if parent is None:
                return None
            links[k] = Link(parent, tuple(list(contexts[parent]).index(v) for v in shared))
        else:
            links[k] = Link(None, ())
        placed |= set(contexts[k])
    return [links[k] for k in range(len(contexts))]


class Bases(nn.Module):
    """``len(contexts)`` orthonormal bases of R^d; column j of context k is the vector of its j-th token.

    contexts   token ids of the named columns, fewer than or as many as ``dimension``; other columns are free
    exact      True for stars and trees; False where the sharing has cycles (then see ``penalty`` and ``polish``)

    Raises ValueError for a context of more than d tokens or a token twice in one.
    """

    def __init__(self, contexts: Sequence[Sequence[int]], dimension: int, generator: torch.Generator) -> None:
        super().__init__()
        self.contexts = [list(c) for c in contexts]
        self.dimension = dimension
        for context in self.contexts:
            if len(context) > dimension or len(set(context)) < len(context):
                raise ValueError(f"a context holds up to {dimension} different tokens; got {context}")
        self.tokens = sorted({t for c in self.contexts for t in c})
        links = tree_links(self.contexts)
        self.exact = links is not None
        self.links = links or []
        if self.exact:
            sizes = [dimension - len(link.taken) for link in self.links]
            self.angles = nn.ParameterList(
                nn.Parameter(_draw(s, s, generator) * (1.0 if link.parent is None else 0.5) / s**0.5)
                for s, link in zip(sizes, self.links, strict=True)
            )
        else:
            self.rays = nn.Parameter(_draw(len(self.tokens), dimension, generator))
            self.rest = nn.ParameterList(
                nn.Parameter(_draw(dimension, dimension - len(c), generator)) for c in self.contexts
            )

    def forward(self) -> Float[Tensor, "contexts dim dim"]:
        """All bases, vectors as columns; orthonormal to the dtype's rounding."""
        if not self.exact:
            return self._nearest()
        made: dict[int, Tensor] = {}
        for k in self._order():
            link, turn = self.links[k], cayley(self.angles[k])
            if link.parent is None:
                made[k] = turn
                continue
            above = made[link.parent]
            others = [j for j in range(self.dimension) if j not in link.taken]
            kept, turned = above[:, list(link.taken)], above[:, others] @ turn
            # The context's own column order: shared tokens where its list has them, turned columns elsewhere.
            shared = [self.contexts[link.parent][j] for j in link.taken]
            at = [self.contexts[k].index(t) for t in shared]
            free = [j for j in range(self.dimension) if j not in at]
            source = torch.cat([kept, turned], dim=1)
            place = torch.empty(self.dimension, dtype=torch.long)
            place[at] = torch.arange(len(at))
            place[free] = torch.arange(len(at), self.dimension)
            made[k] = source[:, place]
        return torch.stack([made[k] for k in range(len(self.contexts))])

    def token_vectors(self, bases: Float[Tensor, "contexts dim dim"]) -> Float[Tensor, "named dim"]:
        """The unit vector of every named token, in the order of ``self.tokens``."""
        if not self.exact:
            return nn.functional.normalize(self.rays, dim=1)
        home = [next((k, c.index(t)) for k, c in enumerate(self.contexts) if t in c) for t in self.tokens]
        return torch.stack([bases[k][:, j] for k, j in home])

    def penalty(self) -> Float[Tensor, ""]:
        """Σ |⟨u|v⟩|² over pairs of tokens that share a context: zero for trees, the cycles' missing orthogonality
        else."""
        if self.exact:
            return self.angles[0].new_zeros(())
        unit = nn.functional.normalize(self.rays, dim=1)
        i, j = self._pairs()
        return (unit[i] * unit[j]).sum(1).square().sum()

    def sharing_error(self) -> float:
        """Largest distance between a token's vector and its column in any of its contexts."""
        with torch.no_grad():
            bases = self()
            table = dict(zip(self.tokens, self.token_vectors(bases), strict=True))
            return max(
                float((bases[k][:, j] - table[t]).norm()) for k, c in enumerate(self.contexts) for j, t in enumerate(c)
            )

    def polish(self) -> float:
        """Move the tokens of a cyclic hypergraph to the nearest exact realisation; the largest |⟨u|v⟩| that is left."""
        if self.exact:
            return 0.0
        from contexts.logic.least_squares import polish

        edges = torch.stack(self._pairs(), dim=1).numpy()
        with torch.no_grad():
            unit = nn.functional.normalize(self.rays.double(), dim=1)
            moved, error = polish(unit.numpy(), edges)
            self.rays.copy_(torch.from_numpy(moved))
        return error

    def flex(self) -> int | None:
        """How many directions the named rays can be bent in, once polished; 0 leaves nothing to train.

        See :func:`contexts.logic.rigidity.flex`. None for stars and trees, whose rotations are free by construction.
        Changes nothing.

        Raises ValueError when no exact realisation is near.
        """
        if self.exact:
            return None
        from contexts.logic.rigidity import flex

        copy = deepcopy(self)
        if (error := copy.polish()) > 1e-9:
            raise ValueError(f"no exact realisation is near: an overlap of {error:.3g} is left")
        return flex(copy.hypergraph())

    def hypergraph(self) -> Hypergraph:
        """The named part as a hypergraph with its present vectors, for bounds, flex and pictures."""
        with torch.no_grad():
            vectors = dict(zip(map(str, self.tokens), self.token_vectors(self()).double().numpy(), strict=True))
        contexts = [c for c in self.contexts if len(c) > 1]
        return Hypergraph(self.tokens, contexts, (), self.dimension, vectors)

    def _order(self) -> list[int]:
        order: list[int] = []
        while len(order) < len(self.links):
            order += [
                k
                for k, link in enumerate(self.links)
                if k not in order and (link.parent is None or link.parent in order)
            ]
        return order

    def _pairs(self) -> tuple[Tensor, Tensor]:
        at = {t: i for i, t in enumerate(self.tokens)}
        pairs = sorted({(min(at[a], at[b]), max(at[a], at[b])) for c in self.contexts for a in c for b in c if a != b})
        table = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def _nearest(self) -> Tensor:
        """The orthonormal basis nearest to (tokens' vectors, free columns), by QR: exact for tokens that are
        orthogonal."""
        table = dict(zip(self.tokens, nn.functional.normalize(self.rays, dim=1), strict=True))
        made = []
        for context, rest in zip(self.contexts, self.rest, strict=True):
            columns = torch.cat([torch.stack([table[t] for t in context], dim=1), rest], dim=1)
            q, r = torch.linalg.qr(columns)
            made.append(q * torch.sign(torch.diagonal(r)))
        return torch.stack(made)


def cayley(angles: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """(1 − A)⁻¹(1 + A) with A the antisymmetric part of ``angles``: a rotation, the identity at zero."""
    skew = (angles - angles.T) / 2
    one = torch.eye(len(angles), dtype=angles.dtype)
    return torch.linalg.solve(one - skew, one + skew)


def _draw(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    return torch.randn(rows, columns, generator=generator, dtype=torch.get_default_dtype())
