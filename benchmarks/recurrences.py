"""Recurrent unitary models: the fast passes beside the naive loops they are compared with, forward and backward.

    python benchmarks/recurrences.py             # batch 32, 64 tokens, 65 symbols
    python benchmarks/recurrences.py --batch 1

One thread. Rounds alternate, so that a neighbour on the machine slows both alike; the ratio is the median over rounds
of the ratios within a round, of processor time.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from qattn.lm.instrument import InstrumentConfig, InstrumentLM
from qattn.lm.instrument_scan import kraus_recursion, kraus_recursion_naive
from qattn.lm.recurrent import RecurrentConfig, UnitaryRecurrentLM
from qattn.lm.unitary_scan import apply_unitaries, apply_unitaries_naive, reflections, reflections_naive

Pass = Callable[..., Tensor]


def seconds(run: Pass, arguments: list[Tensor]) -> float:
    """Processor time of one pass forward and backward."""
    clock = time.process_time()
    states = run(*arguments)
    wanted = [part for part in arguments if part.requires_grad]
    torch.autograd.grad(states.abs().square().sum() + states.real.sum(), wanted)
    return time.process_time() - clock


def compare(name: str, fast: Pass, naive: Pass, arguments: list[Tensor], rounds: int) -> dict[str, float | str]:
    times = [(seconds(fast, arguments), seconds(naive, arguments)) for _ in range(rounds + 1)][1:]
    return {
        "pass": name,
        "fast_ms": 1e3 * statistics.median(one for one, _ in times),
        "naive_ms": 1e3 * statistics.median(other for _, other in times),
        "naive_over_fast": statistics.median(other / one for one, other in times),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--batch", 32), ("--time", 64), ("--dim", 64), ("--vocab", 65), ("--rounds", 5)):
        parser.add_argument(name, type=int, default=default)
    given = parser.parse_args()
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(given.vocab, (given.batch, given.time), generator=generator)
    rows = []
    for factors, field in ((1, "real"), (2, "complex")):
        config = RecurrentConfig(given.vocab, dim=given.dim, factors=factors, field=field)  # type: ignore[arg-type]
        model = UnitaryRecurrentLM(config, generator)
        psi = model.prepare().detach().expand(given.batch, -1).clone()
        arguments = [part.detach().requires_grad_() for part in (psi, *model.gates(tokens))]
        arguments[2].requires_grad_(field == "complex")
        rows.append(compare(f"{factors} {field} reflections", reflections, reflections_naive, arguments, given.rounds))
    model = UnitaryRecurrentLM(RecurrentConfig(given.vocab, dim=given.dim, transition="table"), generator)
    psi = model.prepare().detach().expand(given.batch, -1).clone().requires_grad_()
    unitaries = model.transition.unitaries().detach().requires_grad_()
    rows.append(compare("table", apply_unitaries, apply_unitaries_naive, [psi, unitaries, tokens], given.rounds))
    for dim in (24, 48):
        instrument = InstrumentLM(InstrumentConfig(given.vocab, dim=dim), generator)
        rho = instrument.prepare().detach().expand(given.batch, -1, -1).clone().requires_grad_()
        arguments = [rho, instrument.stacked().detach().clone().requires_grad_(), tokens]
        rows.append(compare(f"instrument {dim}", kraus_recursion, kraus_recursion_naive, arguments, given.rounds))
    for row in rows:
        print(json.dumps(row))


if __name__ == "__main__":
    main()
