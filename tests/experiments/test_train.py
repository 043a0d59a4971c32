"""Training: one stream for all, bit-for-bit resume, evaluation that touches nothing, loud failure."""

from __future__ import annotations

import itertools
import math
import signal
from pathlib import Path

import pytest
import torch
from torch import nn

from experiments.errors import UserError
from experiments.lm.builders import build_for, load_task
from experiments.lm.evaluate import evaluate, mean_nats
from experiments.lm.optim import Muon, build_optimizers, orthogonalise, schedule
from experiments.lm.run import run_job
from experiments.lm.train import Diverged, collapse, fit, predict, stream
from experiments.runs import checkpoint, state_file
from experiments.runs.run_folder import RunFolder
from experiments.schema import Job, jobs
from tests.experiments.tiny import experiment, losses


def train(job: Job, folder: Path, steps: int | None = None) -> tuple[nn.Module, RunFolder]:
    """Train as the engine does; ``steps`` stops early, as a kill would, after the last checkpoint."""
    task = load_task(job)
    model = build_for(job, task)
    run = RunFolder(folder)

    class Killed(Exception):
        pass

    def watch(event: dict[str, object]) -> None:
        if steps is not None and event["step"] == steps:
            raise Killed

    try:
        fit(model, task, job.training, job.model.optimizer, job.seed, run, watch)
    except Killed:
        pass
    finally:
        run.close()
    return model, run


@pytest.mark.parametrize("model", [0, 1])
@pytest.mark.parametrize(
    "overrides",
    [(), ("training.optimizer.kind=muon",), ("models.classical.dropout=0.3",)],
    ids=["adamw", "muon", "dropout"],
)
def test_resume_is_bit_for_bit(tmp_path: Path, model: int, overrides: tuple[str, ...]) -> None:
    """10 + 10 steps equal 20: losses, parameters and the training stream, also with dropout and Muon."""
    job = jobs(experiment(tmp_path, *overrides))[model]
    whole, run = train(job, tmp_path / "whole")
    train(job, tmp_path / "parts", steps=15)  # dies at 15, after the checkpoint of step 10
    assert RunFolder(tmp_path / "parts").checkpoint.exists()
    resumed, again = train(job, tmp_path / "parts")
    assert losses(run.events()) == losses(again.events())
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_half_written_last_line_and_a_stray_temporary_file_do_no_harm(tmp_path: Path) -> None:
    job = jobs(experiment(tmp_path))[1]
    _, run = train(job, tmp_path / "whole")
    train(job, tmp_path / "killed", steps=15)
    with open(tmp_path / "killed" / "metrics.jsonl", "a", encoding="utf-8") as log:
        log.write('{"step": 17, "train_na')
    (tmp_path / "killed" / ".checkpoint.xyz.partial.safetensors").write_bytes(b"half")
    _, again = train(job, tmp_path / "killed")
    assert losses(run.events()) == losses(again.events())


def test_how_often_evaluation_runs_changes_no_training_loss(tmp_path: Path) -> None:
    logs = []
    for every in (1, 20):
        job = jobs(experiment(tmp_path, f"training.evaluate_every={every}", "models.classical.dropout=0.2"))[0]
        _, run = train(job, tmp_path / str(every))
        logs.append([event["train_nats"] for event in run.events() if "train_nats" in event])
    assert logs[0] == logs[1]


def test_every_model_of_a_seed_sees_the_same_windows_and_seeds_differ(tmp_path: Path) -> None:
    todo = jobs(experiment(tmp_path))
    task = load_task(todo[0])
    first, second = (task.batch(4, stream(job.seed))[0] for job in todo[:2])
    assert torch.equal(first, second)
    assert not torch.equal(first, task.batch(4, stream(todo[2].seed))[0])


@pytest.mark.parametrize("model", [0, 1])
def test_evaluation_is_independent_of_batch_size_and_dropout(tmp_path: Path, model: int) -> None:
    """Batches of 1, 7 and 64 with a short last window: the token-weighted mean over the whole split."""
    job = jobs(experiment(tmp_path, "training.dtype=float64", "models.classical.dropout=0.5"))[model]
    task = load_task(job)
    network = build_for(job, task).train()
    windows = task.windows()
    assert len(windows) == 2
    values = [evaluate(network, windows, size) for size in (1, 7, 64)]
    assert max(values) - min(values) < 1e-9
    assert network.training
    twin = build_for(jobs(experiment(tmp_path, "training.dtype=float64"))[model], task)
    assert evaluate(twin, windows) == pytest.approx(values[0], abs=1e-9)
    by_hand = sum(-network.eval()(x)[0, -1, y[0, -1]].item() for x, y in [
        (torch.cat([a.flatten() for a, _ in windows])[None, max(0, n // 16 * 16) : n + 1],
         torch.cat([b.flatten() for _, b in windows])[None, max(0, n // 16 * 16) : n + 1])
        for n in range(len(task.validation) - 1)
    ]) / (len(task.validation) - 1)  # fmt: skip
    assert by_hand == pytest.approx(values[0], abs=1e-9)


def test_ignored_targets_do_not_count() -> None:
    log_probs = torch.log_softmax(torch.randn(1, 4, 5, generator=torch.Generator().manual_seed(0)), -1)
    targets = torch.tensor([[1, -100, 2, -100]])
    expected = -(log_probs[0, 0, 1] + log_probs[0, 2, 2]) / 2
    torch.testing.assert_close(mean_nats(log_probs, targets), expected)


def test_loss_is_cross_entropy() -> None:
    logits = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    targets = torch.randint(5, (3, 4), generator=torch.Generator().manual_seed(1))
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
    torch.testing.assert_close(mean_nats(torch.log_softmax(logits, -1), targets), expected)


def test_nan_stops_the_run_and_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    job = jobs(experiment(tmp_path))[0]
    task = load_task(job)
    model = build_for(job, task)
    run = RunFolder(tmp_path / "nan")

    def poison(event: dict[str, object]) -> None:
        if event["step"] == 10:
            with torch.no_grad():
                next(model.parameters()).fill_(math.nan)

    with pytest.raises(Diverged, match=r"not a finite number at step 10"):
        fit(model, task, job.training, job.model.optimizer, job.seed, run, poison)
    run.close()
    tensors, metadata = state_file.load(run.checkpoint)
    assert metadata["counters"]["step"] == 5
    assert all(torch.isfinite(t).all() for name, t in tensors.items() if name.startswith("model."))


def test_tied_weights_are_stored_once_and_stay_tied(tmp_path: Path) -> None:
    job = jobs(experiment(tmp_path))[0]
    model = build_for(job, load_task(job))
    names = list(checkpoint.weights(model))
    assert len(names) == len(set(names)) == len(list(model.parameters()))
    state_file.save(tmp_path / "m.safetensors", checkpoint.weights(model), {})
    other = build_for(jobs(experiment(tmp_path))[2], load_task(job))
    checkpoint.restore(other, state_file.load(tmp_path / "m.safetensors")[0], tmp_path)
    tokens = load_task(job).windows()[0][0][:2]
    assert torch.equal(other(tokens), model(tokens))


@pytest.mark.parametrize("raw", [b"", b"\x80\x04cposix\nsystem\n", b"{}", b"\x08\0\0\0\0\0\0\0{}      "])
def test_a_damaged_or_foreign_checkpoint_is_one_sentence(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(raw)
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: not a state"):
        state_file.load(path)


def test_constrained_parameters_and_vectors_get_no_weight_decay(tmp_path: Path) -> None:
    job = jobs(experiment(tmp_path))[1]
    model = build_for(job, load_task(job))
    groups = build_optimizers(model, job.model.optimizer)[0].param_groups
    decayed = {group["name"] for group in groups if group["weight_decay"] > 0}
    assert decayed == {"embedding", "control"}
    assert sum(len(group["params"]) for group in groups) == sum(p.requires_grad for p in model.parameters())


def test_the_z_loss_is_the_mean_square_of_log_z_and_of_a_softmax_alone(tmp_path: Path) -> None:
    """Its gradient, by the definition, and what it does: log Z comes near zero. A Born readout trains as without it."""
    todo = jobs(experiment(tmp_path, "training.optimizer={z_loss: 0.5, lr: 3e-2}"))
    for job in todo[:2]:
        task, ends = load_task(job), []
        inputs, targets = task.batch(4, stream(0))
        for weight in (0.5, 0.0):
            optimizer = job.model.optimizer.model_copy(update={"z_loss": weight})
            model = build_for(job, task)
            folder = RunFolder(tmp_path / f"{job.model_name} {weight}")
            fit(model, task, job.training, optimizer, 0, folder)
            folder.close()
            ends.append(model)
        if job.model.kind != "transformer":
            assert torch.equal(ends[0](inputs), ends[1](inputs))
            continue
        log_z = [end.with_log_partition(inputs)[1].abs().mean().item() for end in ends]
        assert log_z[0] < 0.8 * log_z[1], log_z
        model = build_for(job, task).double()
        logits = model.norm(model.evolve(model.embed(inputs))) @ model.embedding.weight.mT
        by_hand = mean_nats(logits.log_softmax(-1), targets) + 0.5 * logits.exp().sum(-1).log().square().mean()
        log_probs, penalty = predict(model, inputs, 0.5)
        torch.testing.assert_close(mean_nats(log_probs, targets) + penalty, by_hand, rtol=1e-12, atol=0)


def test_muon_steps_along_the_orthogonal_factor() -> None:
    """Singular values after Newton–Schulz lie in 0.6–1.3 (Jordan 2024), the singular vectors are the gradient's."""
    matrix = torch.randn(12, 20, generator=torch.Generator().manual_seed(0))
    for m in (matrix, matrix.mT):
        u, _, vh = torch.linalg.svd(m, full_matrices=False)
        inner = u.mT @ orthogonalise(m) @ vh.mT
        assert (inner - torch.diag(inner.diagonal())).abs().max() < 1e-4
        assert ((inner.diagonal() > 0.6) & (inner.diagonal() < 1.3)).all()
    parameter = nn.Parameter(torch.zeros(12, 20))
    parameter.grad = matrix
    Muon([parameter], lr=0.1).step()
    torch.testing.assert_close(parameter.detach(), -0.1 * orthogonalise(matrix), rtol=1e-4, atol=1e-5)


def test_muon_leaves_the_map_to_the_angles_alone(tmp_path: Path) -> None:
    """A step of unit singular values there would turn every angle by a radian."""
    mlp = ("models.unitary.control=mlp", "models.unitary.hidden=8")
    for index, expected in ((0, {"attention", "feedforward"}), (1, {"control"})):
        job = jobs(experiment(tmp_path, "training.optimizer={kind: muon}", *mlp))[index]
        model = build_for(job, load_task(job))
        adamw, muon = build_optimizers(model, job.model.optimizer)
        assert {group["name"] for group in muon.param_groups} == expected
        moved = {id(p) for each in (adamw, muon) for group in each.param_groups for p in group["params"]}
        assert moved == {id(p) for p in model.parameters() if p.requires_grad}
        if index:
            names = {
                name
                for name, p in model.named_parameters()
                for g in muon.param_groups
                if any(p is q for q in g["params"])
            }
            assert names == {"control.up", "control.down"}


def test_schedule_warms_up_and_ends_at_the_final_rate() -> None:
    values = [schedule(step, 100, 10, 0.1, "cosine") for step in range(101)]
    assert values[0] == pytest.approx(1 / 11)
    assert values[10] == 1
    assert values[100] == pytest.approx(0.1)
    assert all(a >= b for a, b in itertools.pairwise(values[10:]))
    assert schedule(55, 100, 10, 0.1, "cosine") == pytest.approx(0.55)
    assert schedule(99, 100, 10, 0.1, "constant") == 1


def test_a_collapse_is_found_and_a_noisy_descent_is_not() -> None:
    noise = torch.randn(200, generator=torch.Generator().manual_seed(0)).mul(0.1).tolist()
    falling = [[10 * i, 1.7 + 2 / (1 + i) + noise[i]] for i in range(200)]
    assert collapse(falling) is None
    assert collapse(falling[:50] + [[10 * i, 1.7 + 1.5 * (i == 55)] for i in range(50, 200)]) is None  # one bad batch
    found = collapse(falling[:50] + [[10 * i, 3.65] for i in range(50, 200)])
    assert found is not None
    assert found["step"] == 500
    assert found["to"] == pytest.approx(3.65)


@pytest.mark.parametrize("lost", ["the last line", "everything", "a digit"])
def test_a_log_behind_the_checkpoint_changes_no_figure(tmp_path: Path, lost: str) -> None:
    """A power cut may lose what the log had not pushed to the disk yet: the checkpoint's own events are the truth."""
    job = jobs(experiment(tmp_path))[1]
    whole = run_job(job, tmp_path / "whole", None)
    train(job, tmp_path / "cut")  # trained to the end, the checkpoint of the last step written, the result not
    log = tmp_path / "cut" / "metrics.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    other = [line.replace('nats": ', 'nats": 1') for line in lines]
    changed = {"the last line": lines[:-1], "everything": [], "a digit": other}
    log.write_text("".join(changed[lost]), encoding="utf-8")
    notes = []
    resumed = run_job(job, tmp_path / "cut", None, lambda event: notes.append(event.get("note")))
    assert (resumed["val_nats"], resumed["history"]) == (whole["val_nats"], whole["history"])
    assert "does not agree with the checkpoint of step 20, which is used" in notes[0]


@pytest.mark.parametrize("damaged", ["tensor", "step"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path, damaged: str) -> None:
    job = jobs(experiment(tmp_path))[0]
    whole, run = train(job, tmp_path / "whole")
    train(job, tmp_path / "parts", steps=15)  # dies at 15: checkpoints of steps 5 and 10
    path = RunFolder(tmp_path / "parts").checkpoint
    raw = path.read_bytes()
    changed = raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:] if damaged == "tensor" else raw.replace(b"step", b"stap", 1)
    path.write_bytes(changed)
    resumed, again = train(job, tmp_path / "parts")
    assert any("the state before it is used" in event.get("note", "") for event in again.events())
    assert losses(run.events()) == losses(again.events())
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))
    for name in ("checkpoint.safetensors", "checkpoint.previous.safetensors"):
        (tmp_path / "parts" / name).write_bytes(changed)
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .*delete this run's folder and repeat"):
        train(job, tmp_path / "parts")


def test_an_interrupt_is_held_back_until_the_step_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs(experiment(tmp_path))[1]
    whole, run = train(job, tmp_path / "whole")
    task_type = type(load_task(job))
    batch, made = task_type.batch, []

    def interrupted(self: object, *arguments: object) -> object:
        made.append(1)
        if len(made) == 13:
            signal.raise_signal(signal.SIGINT)
        return batch(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(task_type, "batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(job, tmp_path / "parts")
    assert state_file.load(RunFolder(tmp_path / "parts").checkpoint)[1]["counters"]["step"] == 13
    resumed, again = train(job, tmp_path / "parts")
    assert losses(run.events()) == losses(again.events())
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))
