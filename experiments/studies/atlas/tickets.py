"""Many small networks trained at once: the next character from the last three through a hidden layer (Bengio 2003)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

READ = 3
Nets = dict[str, Tensor]
"""The weights of networks side by side: ``embedding`` (nets, vocab, dim), ``up`` (nets, 3·dim, hidden), ``down``."""


def random_nets(nets: int, vocab: int, dim: int, hidden: int, generator: torch.Generator) -> Nets:
    """Networks whose layers start at N(0, 1/inputs)."""
    shapes = {"embedding": (vocab, dim), "up": (READ * dim, hidden), "down": (hidden, vocab)}
    return {
        name: torch.randn(nets, *shape, generator=generator) / (shape[0] if name != "embedding" else 1) ** 0.5
        for name, shape in shapes.items()
    }


def log_probs(nets: Nets, context: Int[Tensor, "nets rows read"]) -> Float[Tensor, "nets rows vocab"]:
    """log P of the next character for each network's own rows."""
    count = len(context)
    vectors = nets["embedding"][torch.arange(count)[:, None, None], context].flatten(-2)
    return F.log_softmax(torch.relu(vectors @ nets["up"]) @ nets["down"], -1)


def contexts(text: Int[Tensor, " time"]) -> tuple[Int[Tensor, "places read"], Int[Tensor, " places"]]:
    """Every run of three characters of a text, and the character after it."""
    return text.long().unfold(0, READ, 1)[:-1], text[READ:].long()


def trained(nets: Nets, masks: Nets, text: Int[Tensor, " time"], steps: int, rows: int, seed: int) -> Nets:
    """The networks after ``steps`` of Adam on random places, the same for all; weights masked to zero stay zero."""
    weights = {name: (value * masks[name]).requires_grad_() for name, value in nets.items()}
    optimizer = torch.optim.Adam(weights.values(), lr=1e-2)
    generator = torch.Generator().manual_seed(seed)
    context, following = contexts(text)
    count = len(nets["up"])
    for _ in range(steps):
        places = torch.randint(len(context), (rows,), generator=generator)
        masked = {name: value * masks[name] for name, value in weights.items()}
        found = log_probs(masked, context[places].expand(count, -1, -1))
        optimizer.zero_grad()
        (-found[:, torch.arange(rows), following[places]].mean(1).sum()).backward()  # networks do not meet
        optimizer.step()
    return {name: (value * masks[name]).detach() for name, value in weights.items()}


@torch.no_grad()
def losses(nets: Nets, text: Int[Tensor, " time"]) -> Float[Tensor, " nets"]:
    """Mean nats per character of each network on a text."""
    context, following = contexts(text)
    found = log_probs(nets, context.expand(len(nets["up"]), -1, -1))
    return -found.gather(-1, following.expand(len(found), -1)[..., None])[..., 0].double().mean(1)


def pruned(nets: Nets, masks: Nets, keep: float) -> Nets:
    """Masks that keep, of every network and layer, the share ``keep`` of the remaining weights: the largest ones. The
    embedding is not pruned.
    """
    found = {"embedding": masks["embedding"]}
    for name in ("up", "down"):
        left = int(masks[name][0].sum().item())
        size = nets[name].abs().flatten(1)
        order = size.where(masks[name].flatten(1) > 0, -1.0).argsort(dim=1, descending=True, stable=True)
        kept = order[:, : max(1, round(keep * left))]
        found[name] = torch.zeros_like(size).scatter(1, kept, 1.0).view_as(masks[name])
    return found
