"""One training loop for every model: same tokens in the same order, resumable bit for bit, loud about NaN."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from experiments.errors import UserError
from experiments.lm.evaluate import evaluate, mean_nats
from experiments.lm.optim import build_optimizers, schedule
from experiments.runs import checkpoint
from experiments.runs.run_folder import RunFolder
from experiments.tasks import Task

Watch = Callable[[dict[str, Any]], None]


class Diverged(Exception):
    """The loss or a gradient is no number any more; carries the step."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"{what} is not a finite number at step {step}")
        self.step = step


@dataclass
class Counters:
    """Where a training stands: the next step, the loss summed since the last log line, and the time spent in steps:
    seconds on the wall, and of the processor (which other programs on the machine do not stretch).
    """

    step: int = 0
    loss_sum: float = 0.0
    loss_count: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def collapse(points: list[list[float]], rise: float = 0.5) -> dict[str, float] | None:
    """Whether a training fell off its edge of stability and never came back: [step, training nats] points → where.

    Unitary models can scramble their angles within a few steps and then stay near the loss of a model that knows
    nothing. Named when the last points (a tenth of them) lie more than ``rise`` nats above the lowest ones so far.
    """
    if len(points) < 4:
        return None
    lowest, at = min((loss, index) for index, (_, loss) in enumerate(points))
    tail = [loss for _, loss in points[-max(1, len(points) // 10) :]]
    if sum(tail) / len(tail) <= lowest + rise:
        return None
    step = next(step for step, loss in points[at:] if loss > lowest + rise)
    return {"step": step, "from": lowest, "to": sum(tail) / len(tail)}


def stream(seed: int) -> torch.Generator:
    """The generator of the training stream. It depends on the seed alone, so every model of a comparison sees the same
    windows in the same order.
    """
    return torch.Generator().manual_seed(1_000_003 + seed)


def fit(
    model: nn.Module,
    task: Task,
    training: Any,
    optimizer: Any,
    seed: int,
    folder: RunFolder,
    watch: Watch = lambda _: None,
) -> Counters:
    """Train ``model`` on ``task`` to ``training.steps``, going on from the folder's checkpoint when there is one.

    Raises :class:`Diverged` when the loss or the gradient is NaN or infinite; the last checkpoint stays.
    """
    if hasattr(model, "count"):
        return _count(model, task, folder, watch)
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # dropout draws from the global generator; its state is in the checkpoint
        return _fit(model, task, training, optimizer, seed, folder, watch)


def _count(model: Any, task: Task, folder: RunFolder, watch: Watch) -> Counters:
    """A model that counts instead of training: one step, the whole training split at once."""
    text = getattr(task, "train", None)
    if text is None:
        raise UserError(f"{task.name}: a model of counts (kind ngram) needs a text, and kind {task.kind} is none")
    folder.rewind(0)
    clock, cpu = time.perf_counter(), time.process_time()
    model.count(text)
    counters = Counters(1, 0.0, 0, time.perf_counter() - clock, time.process_time() - cpu)
    event = {"step": 1, "val_nats": evaluate(model, task.windows())}
    folder.log(event)
    watch({**event, "steps": 1})
    return counters


def _fit(
    model: nn.Module, task: Task, training: Any, optimizer: Any, seed: int, folder: RunFolder, watch: Watch
) -> Counters:
    generator = stream(seed)
    optimizers = build_optimizers(model, optimizer)
    counters = Counters()
    if folder.checkpoint.exists():
        counters = Counters(**checkpoint.load_training(folder.checkpoint, model, optimizers, generator))
    folder.rewind(counters.step)
    windows = task.windows()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    final = optimizer.min_lr / optimizer.lr
    tokens_a_step = training.batch * task.span
    model.train()
    began, since = time.perf_counter(), counters.step
    while counters.step < training.steps:
        step = counters.step
        scale = schedule(step, training.steps, optimizer.warmup, final, optimizer.schedule)
        for group in (group for each in optimizers for group in each.param_groups):
            group["lr"] = group["base"] * scale
        clock, cpu = time.perf_counter(), time.process_time()
        inputs, targets = task.batch(training.batch, generator)
        loss = mean_nats(model(inputs), targets)
        for each in optimizers:
            each.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, optimizer.clip, foreach=True)
        value = loss.item()
        if not math.isfinite(value):
            raise Diverged(step, "the training loss")
        if not math.isfinite(norm.item()):
            raise Diverged(step, "the gradient")
        for each in optimizers:
            each.step()
        counters.seconds += time.perf_counter() - clock
        counters.cpu_seconds += time.process_time() - cpu
        counters.step += 1
        counters.loss_sum += value
        counters.loss_count += 1
        done = counters.step == training.steps
        if counters.step % training.log_every == 0 or done:
            event = {
                "step": counters.step,
                "train_nats": counters.loss_sum / counters.loss_count,
                "gradient_norm": norm.item(),
                "tokens_per_second": counters.step * tokens_a_step / counters.seconds,
            }
            counters.loss_sum, counters.loss_count = 0.0, 0
            folder.log(event)
            rate = (time.perf_counter() - began) / (counters.step - since)
            watch({**event, "steps": training.steps, "seconds_left": rate * (training.steps - counters.step)})
        if counters.step % training.evaluate_every == 0 or done:
            event = {"step": counters.step, "val_nats": evaluate(model, windows)}
            if not math.isfinite(event["val_nats"]):
                raise Diverged(counters.step, "the validation loss")
            folder.log(event)
            watch({**event, "steps": training.steps})
        if counters.step % training.checkpoint_every == 0 or done:
            checkpoint.save_training(folder.checkpoint, model, optimizers, generator, asdict(counters))
    return counters
