"""One training loop for every model: same tokens in the same order, resumable bit for bit, loud about NaN."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from experiments.errors import UserError
from experiments.lm.contract import CountedModel, PenalisedModel, SoftmaxModel
from experiments.lm.evaluate import evaluate, mean_nats
from experiments.lm.optim import build_optimizers, schedule
from experiments.runs import checkpoint, state_file
from experiments.runs.event_log import Event
from experiments.runs.interrupt import held_interrupt
from experiments.runs.run_folder import RunFolder
from experiments.tasks import Task, TokenTask

Watch = Callable[[dict[str, Any]], None]


class Diverged(Exception):
    """The loss or a gradient is no longer a finite number; carries the step, and the events logged before it."""

    def __init__(self, step: int, what: str, events: list[Event]) -> None:
        super().__init__(f"{what} is not a finite number at step {step}")
        self.step = step
        self.events = events


@dataclass
class Counters:
    """Where a training stands: the next step, the loss summed since the last log line, the time spent in steps (seconds
    on the wall, and of the processor, which other programs on the machine do not stretch), and all that was logged.
    """

    step: int = 0
    loss_sum: float = 0.0
    loss_count: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    events: list[Event] = field(default_factory=list)


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
    """Train ``model`` on ``task`` to ``training.steps``, resuming from the folder's checkpoint when there is one.

    The counters returned carry every event, so that no final figure depends on the log. A first Ctrl-C is held back
    until the step is whole and saved. Raises :class:`Diverged` when the loss or the gradient is NaN or infinite; the
    last checkpoint stays.
    """
    if isinstance(model, CountedModel):
        return _count(model, task, folder, watch)
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # dropout draws from the global generator; its state is in the checkpoint
        return _fit(model, task, training, optimizer, seed, folder, watch)


def _count(model: Any, task: Task, folder: RunFolder, watch: Watch) -> Counters:
    """A model that counts instead of training: one step, the whole training split at once."""
    if not isinstance(task, TokenTask):
        raise UserError(f"{task.name}: a model of counts (kind ngram) needs a text, and kind {task.kind} is none")
    clock, cpu = time.perf_counter(), time.process_time()
    model.count(task.train)
    seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
    event = {"step": 1, "val_nats": evaluate(model, task.windows())}
    folder.rewind([event])
    watch({**event, "steps": 1})
    return Counters(1, 0.0, 0, seconds, cpu_seconds, [event])


def _fit(
    model: nn.Module, task: Task, training: Any, optimizer: Any, seed: int, folder: RunFolder, watch: Watch
) -> Counters:
    generator = stream(seed)
    optimizers = build_optimizers(model, optimizer)
    counters, problem = Counters(), None
    if state_file.exists(folder.checkpoint):
        kept, problem = checkpoint.load_training(folder.checkpoint, model, optimizers, generator)
        counters = Counters(**kept)
    if not folder.rewind(counters.events) and problem is None:
        problem = f"{folder.metrics.path}: does not agree with the checkpoint of step {counters.step}, which is used"

    def tell(event: Event, **more: Any) -> None:
        counters.events.append(event)
        folder.log(event)
        watch({**event, **more, "steps": training.steps})

    if problem is not None:
        tell({"step": counters.step, "note": problem})
    windows = task.windows()
    began, since = time.perf_counter(), counters.step
    model.train()
    with held_interrupt() as interrupted:
        while counters.step < training.steps:
            norm = _step(model, task, training.batch, optimizer, optimizers, generator, counters, training.steps)
            done = counters.step == training.steps
            if counters.step % training.log_every == 0 or done:
                rate = (time.perf_counter() - began) / (counters.step - since)
                event = _progress(counters, norm, training.batch * task.span)
                tell(event, seconds_left=rate * (training.steps - counters.step))
            if counters.step % training.evaluate_every == 0 or done:
                value = evaluate(model, windows)
                if not math.isfinite(value):
                    raise Diverged(counters.step, "the validation loss", counters.events)
                tell({"step": counters.step, "val_nats": value})
            if counters.step % training.checkpoint_every == 0 or done or interrupted():
                checkpoint.save_training(folder.checkpoint, model, optimizers, generator, asdict(counters))
            if interrupted():
                raise KeyboardInterrupt
    return counters


def _step(
    model: nn.Module,
    task: Task,
    batch: int,
    optimizer: Any,
    optimizers: list[torch.optim.Optimizer],
    generator: torch.Generator,
    counters: Counters,
    steps: int,
) -> float:
    """One update; counts it and its loss, and returns the norm of the gradient before it was clipped."""
    scale = schedule(counters.step, steps, optimizer.warmup, optimizer.min_lr / optimizer.lr, optimizer.schedule)
    for group in (group for each in optimizers for group in each.param_groups):
        group["lr"] = group["base"] * scale
    clock, cpu = time.perf_counter(), time.process_time()
    inputs, targets = task.batch(batch, generator)
    log_probs, penalty = predict(model, inputs, optimizer.z_loss)
    loss = mean_nats(log_probs, targets)
    for each in optimizers:
        each.zero_grad(set_to_none=True)
    (loss + penalty).backward()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    norm = torch.nn.utils.clip_grad_norm_(parameters, optimizer.clip, foreach=True)
    value, size = loss.item(), norm.item()
    for number, what in ((value, "the training loss"), (size, "the gradient")):
        if not math.isfinite(number):
            raise Diverged(counters.step, what, counters.events)
    for each in optimizers:
        each.step()
    counters.seconds += time.perf_counter() - clock
    counters.cpu_seconds += time.process_time() - cpu
    counters.step += 1
    counters.loss_sum += value
    counters.loss_count += 1
    return size


def predict(model: nn.Module, inputs: Tensor, z_loss: float) -> tuple[Tensor, Tensor | float]:
    """Log-probabilities, and what is added to their loss: the model's own term, or z_loss E[(log Z)²] of a softmax."""
    if isinstance(model, PenalisedModel):
        return model.penalised(inputs)
    if z_loss and isinstance(model, SoftmaxModel):
        log_probs, log_z = model.with_log_partition(inputs)
        return log_probs, 0.0 if log_z is None else z_loss * log_z.square().mean()
    return model(inputs), 0.0


def _progress(counters: Counters, norm: float, tokens_per_step: int) -> Event:
    """The event of a log line: the mean loss since the last one, which is forgotten."""
    event = {
        "step": counters.step,
        "train_nats": counters.loss_sum / counters.loss_count,
        "gradient_norm": norm,
        "tokens_per_second": counters.step * tokens_per_step / counters.seconds,
    }
    counters.loss_sum, counters.loss_count = 0.0, 0
    return event
