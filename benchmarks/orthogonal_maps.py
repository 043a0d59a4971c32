"""Time of a training step and drift from the manifold of every parametrization of the mixers.

    python benchmarks/orthogonal_maps.py --dim 64 --layers 4 --steps 200

A step is the matrices, the gradient of a quadratic loss, and Adam; drift is the largest entry of |W†W − 1| at the end,
in float32. Times are medians of this machine, one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from qattn.core.orthogonal_maps import NAMES, REAL_ONLY
from qattn.core.unitaries import Field, Mixers, isometry_defect


def measure(name: str, field: Field, dim: int, layers: int, steps: int) -> tuple[float, float, float]:
    """Milliseconds per step, drift at the end, and the loss left of the starting one (a share)."""
    generator = torch.Generator().manual_seed(0)
    goal = Mixers(layers, dim, field, 1.0, generator=generator)().detach()
    mixers = Mixers(layers, dim, field, parametrization=name, generator=generator)
    optimizer = torch.optim.Adam(mixers.parameters(), lr=4e-3)
    times, losses = [], []
    for _ in range(steps):
        begun = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = (mixers() - goal).abs().square().mean()
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - begun)
        losses.append(loss.item())
    return 1e3 * statistics.median(times), isometry_defect(mixers().detach()), losses[-1] / losses[0]


def main() -> None:
    """Print a table of all parametrizations in both fields."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--dim", 64), ("--layers", 4), ("--steps", 200)):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{given.layers} matrices of {given.dim} x {given.dim}, {given.steps} steps")
    print(f"{'parametrization':16} {'field':8} {'ms/step':>8} {'drift':>9} {'loss left':>9}")
    fields: tuple[Field, ...] = ("real", "complex")
    for field in fields:
        for name in NAMES:
            if field == "real" or name not in REAL_ONLY:
                spent, drift, left = measure(name, field, given.dim, given.layers, given.steps)
                print(f"{name:16} {field:8} {spent:8.2f} {drift:9.1e} {left:9.3f}")


if __name__ == "__main__":
    main()
