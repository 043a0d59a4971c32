"""Training throughput: our transformer against a plain GPT-2-style one of the same shapes, in one process.

    python benchmarks/train_throughput.py        # nanoGPT's CPU recipe: 4 layers, 4 heads, dim 128, 64 x 12, V 65

A step is forward, backward and a fused AdamW update on random tokens, one thread; the unitary model has the parameters
of the GPT-2-style one and a register of 64, as in the comparison of its controls (`unitary_controls`). MB kept is what
the forward pass keeps for the backward one. The rounds of the models alternate, so that a neighbour on the machine
slows all of them alike; the ratio is the median over rounds of the ratios within a round.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from classical import Transformer, gpt2_style, modern
from qattn import UnitaryConfig, UnitaryLM

Step = Callable[[Tensor, Tensor], None]


class PlainBlock(nn.Module):
    """A pre-norm block in the plainest PyTorch: what the reference repeats."""

    def __init__(self, dim: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim, bias=False), nn.GELU(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.norm2(x))


class PlainGPT(nn.Module):
    """The reference: logits and `cross_entropy`, tied head, learned positions, nothing of this project."""

    def __init__(self, vocab: int, block: int, dim: int, layers: int, heads: int):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, dim), nn.Embedding(block, dim)
        self.blocks = nn.ModuleList(PlainBlock(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim, bias=False)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.tokens.weight
        for weight in self.parameters():
            if weight.ndim == 2:
                nn.init.normal_(weight, std=0.02)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        logits = self.head(self.norm(h))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.view(-1))


def contract_loss(model: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss of any model of ours: it returns log-probabilities, and −log P of the target is gathered from them."""
    return lambda x, y: -model(x).gather(-1, y[..., None]).mean()


def trainer(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor]) -> Step:
    """One training step of ``model``."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)

    def step(x: Tensor, y: Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss(x, y).backward()
        optimizer.step()

    return step


def models(args: argparse.Namespace) -> dict[str, tuple[nn.Module, Callable[[Tensor, Tensor], Tensor]]]:
    """The rows of the table. The first is the reference of every ratio; a further model is one line here."""
    shape = {"dim": args.dim, "layers": args.layers, "heads": args.heads}
    reference = PlainGPT(args.vocab, args.block, **shape)
    rows: dict[str, tuple[nn.Module, Callable[[Tensor, Tensor], Tensor]]] = {"reference": (reference, reference.loss)}
    classical = Transformer(gpt2_style(args.vocab, args.block, **shape))
    ours: dict[str, nn.Module] = {
        "gpt2_style": classical,
        "modern": Transformer(modern(args.vocab, args.block, **shape)),
        "unitary": equal_unitary(args.vocab, count(classical), args.register),
    }
    return rows | {name: (model, contract_loss(model)) for name, model in ours.items()}


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def equal_unitary(vocab: int, parameters: int, dim: int) -> UnitaryLM:
    """The strictly unitary model (L = 4, MLP control) whose hidden layer makes up ``parameters`` to 1 %."""
    narrow, wide = (count(UnitaryLM(UnitaryConfig(vocab, dim=dim, hidden=hidden))) for hidden in (1, 2))
    return UnitaryLM(UnitaryConfig(vocab, dim=dim, hidden=max(1, 1 + (parameters - narrow) // (wide - narrow))))


def kept_bytes(model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], args: argparse.Namespace) -> int:
    """Memory that the forward pass keeps for the backward one, parameters apart; every storage counts once."""
    storages: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    x, y = torch.randint(args.vocab, (2, args.batch, args.block), generator=torch.Generator().manual_seed(0))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        total = loss(x, y)
    for tensor in (x, y, *model.parameters()):
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    del total
    return sum(storages.values())


def measure(steps: dict[str, Step], args: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds per step of each model, round by round; the order turns by one each round."""
    generator = torch.Generator().manual_seed(0)
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for round_ in range(-1, args.rounds):  # round −1 warms up
        for name in names[round_ % len(names) :] + names[: round_ % len(names)]:
            batches = torch.randint(args.vocab, (args.steps, 2, args.batch, args.block), generator=generator)
            start = time.perf_counter()
            for x, y in batches:
                steps[name](x, y)
            if round_ >= 0:
                seconds[name].append((time.perf_counter() - start) / args.steps)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    defaults = {
        "layers": 4, "heads": 4, "dim": 128, "block": 64, "batch": 12, "vocab": 65, "register": 64,
        "rounds": 100, "steps": 2,
    }  # fmt: skip
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = models(args)
    seconds = measure({name: trainer(*row) for name, row in rows.items()}, args)
    reference = next(iter(rows))
    kept = {name: kept_bytes(*row, args) for name, row in rows.items()}
    report = {
        name: {
            "parameters": count(rows[name][0]),
            "megabytes_kept": kept[name] / 1e6,
            "tokens_per_second": args.batch * args.block / statistics.median(times),
            "ratio": statistics.median(r / t for r, t in zip(seconds[reference], times, strict=True)),
        }
        for name, times in seconds.items()
    }
    if args.json:
        print(json.dumps(report))
        return
    print(f"{'model':12} {'parameters':>10} {'MB kept':>8} {'tokens/s':>10}   model / {reference}")
    for name, row in report.items():
        sizes = f"{row['parameters']:10,} {row['megabytes_kept']:8.1f}"
        print(f"{name:12} {sizes} {row['tokens_per_second']:10,.0f}   {row['ratio']:.3f}")
    pairs = zip(seconds["gpt2_style"], seconds["unitary"], strict=True)
    print(f"unitary / gpt2_style at equal parameters: {statistics.median(c / u for c, u in pairs):.3f}")


if __name__ == "__main__":
    main()
