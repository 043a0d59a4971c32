"""The contract of :mod:`experiments.lm.contract` put to the test on one model: for the tests of whoever writes one.

    from experiments.lm.contract_checks import check_language_model
    check_language_model(MyModel(vocab=26), vocab=26)

Every function raises ``AssertionError`` with a sentence that says what is broken, and returns nothing. Give a model in
float64 and evaluation mode, whose parameters do not all lie where they start (zeros make much trivially true).
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from experiments.lm.contract import CountedModel, HiddenMatrices, LanguageModel

TOLERANCE = 1e-9
"""Of log-probabilities in float64, relative to 1 + their size."""

Texts = Int[Tensor, "texts time"]


def check_language_model(model: LanguageModel, vocab: int, *, texts: int = 3, time: int = 10, seed: int = 0) -> None:
    """Every check of this module on ``texts`` random texts of ``time`` tokens below ``vocab``.

    A model whose ``context_limit`` is shorter gets texts as long as that.
    """
    time = min(time, model.context_limit or time)
    tokens = torch.randint(vocab, (texts, time), generator=torch.Generator().manual_seed(seed))
    check_probabilities(model, tokens, vocab)
    check_causality(model, tokens, vocab)
    check_steps(model, tokens)
    check_groups(model)
    check_operations(model, time)
    check_moves(model, tokens)


@torch.no_grad()
def check_probabilities(model: LanguageModel, tokens: Texts, vocab: int) -> None:
    """The members are there, and log-probabilities (batch, time, vocab) sum to one. Raises ``AssertionError``."""
    assert isinstance(model, LanguageModel), "a member of LanguageModel is missing"
    log_probs = model.forward(tokens)
    shape = (*tokens.shape, vocab)
    assert log_probs.shape == shape, f"forward: expected the shape {shape}, got {tuple(log_probs.shape)}"
    total = log_probs.exp().sum(-1)
    assert close(total, torch.ones_like(total)), "the probabilities of a position do not sum to one"


@torch.no_grad()
def check_causality(model: LanguageModel, tokens: Texts, vocab: int) -> None:
    """Neither later tokens nor the other texts of a batch change a prediction. Raises ``AssertionError``."""
    before, cut = model.forward(tokens), tokens.shape[1] // 2
    changed = tokens.clone()
    changed[:, cut:] = (changed[:, cut:] + 1) % vocab
    assert close(model.forward(changed)[:, :cut], before[:, :cut]), "a later token changes an earlier prediction"
    assert close(model.forward(tokens[:1]), before[:1]), "the other texts of a batch change a prediction"


@torch.no_grad()
def check_steps(model: LanguageModel, tokens: Texts) -> None:
    """``step`` agrees with ``forward`` and leaves the state it was given as it was. Raises ``AssertionError``."""
    whole, state = model.forward(tokens), model.start(len(tokens))
    for place, column in enumerate(tokens.unbind(1)):
        again, _ = model.step(column, state)
        log_probs, state = model.step(column, state)
        assert torch.equal(again, log_probs), f"step changes the state that it is given, at position {place}"
        assert close(log_probs, whole[:, place]), f"step and forward differ at position {place}"


def check_groups(model: LanguageModel) -> None:
    """``parameter_groups`` names every trained number once (a counted model: its counts). Raises ``AssertionError``."""
    assert isinstance(model, nn.Module)
    listed = [name for names in model.parameter_groups().values() for name in names]
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    counts = {name for name, _ in model.named_buffers() if name.startswith("counts")}
    wanted = counts if isinstance(model, CountedModel) else trained
    assert len(listed) == len(set(listed)), "parameter_groups names a parameter twice"
    assert set(listed) == wanted, f"parameter_groups: {sorted(set(listed) ^ wanted)} in it or trained, but not both"
    if isinstance(model, HiddenMatrices):
        parameters, matrices = dict(model.named_parameters()), set(model.hidden_matrices())
        assert matrices <= trained, f"hidden_matrices: {sorted(matrices - trained)} are not trained"
        assert all(parameters[name].ndim == 2 for name in matrices), "hidden_matrices names what is no matrix"


def check_operations(model: LanguageModel, time: int) -> None:
    """``flops_per_token`` is a whole number that does not fall with the length. Raises ``AssertionError``."""
    short, long = model.flops_per_token(1), model.flops_per_token(time)
    assert isinstance(short, int), f"flops_per_token: expected a whole number, got {short!r}"
    assert 0 <= short <= long, f"flops_per_token: {short} in a text of one token, {long} in one of {time}"


@torch.no_grad()
def check_moves(model: LanguageModel, tokens: Texts) -> None:
    """``.to`` moves all of the model: to single precision, to every device of this machine, and to the device "meta",
    which keeps no numbers. Raises ``AssertionError``. The model stays on "meta".
    """
    assert isinstance(model, nn.Module)
    left = left_behind(model)
    assert not left, f"{left[0]} is neither a parameter nor a buffer, so .to(device) leaves it behind"
    in_double, counted = model.forward(tokens), isinstance(model, CountedModel)
    single = model.to(torch.float32).forward(tokens)
    wanted = torch.float64 if counted else torch.float32
    assert single.dtype == wanted, f"after .to(torch.float32) forward gives {single.dtype}"
    assert close(single.double(), in_double, 2e-3), "single and double precision differ by more than rounding"
    for device in () if counted else ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):  # counts: in NumPy
        moved = model.to(device)
        found = moved.forward(tokens.to(device)), moved.step(tokens[:, 0].to(device), moved.start(len(tokens)))[0]
        assert all(one.device.type == device for one in found), f"after .to({device!r}) a result is elsewhere"
    kinds = {tensor.device.type for tensor in model.to("meta").state_dict().values()}
    assert kinds <= {"meta"}, f"after .to('meta') parts of the model are on {sorted(kinds - {'meta'})}"


def left_behind(model: nn.Module) -> list[str]:
    """Tensors of a model that are neither parameters nor buffers, which ``.to(device)`` does not move."""
    found = []
    for prefix, part in model.named_modules():
        values = {key: value for key, value in vars(part).items() if not key.startswith("_")}
        found += [f"{prefix}.{key}" for key, value in values.items() if isinstance(value, Tensor)]
    return found


def close(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"], tolerance: float = TOLERANCE) -> bool:
    """Whether two tensors agree, relative to 1 + their size."""
    return bool(((a - b).abs() <= tolerance * (1 + b.abs())).all())
