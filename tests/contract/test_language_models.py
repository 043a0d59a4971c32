"""What every kind of model in the registry keeps, with its default sizes and in its variants: the one contract."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from experiments.lm.builders import build
from experiments.lm.contract import (
    CountedModel,
    FirstToken,
    HiddenMatrices,
    LanguageModel,
    RegisterModel,
    SoftmaxModel,
    StreamModel,
    StringModel,
    claims_unitarity,
)
from experiments.lm.contract_checks import check_language_model, close
from experiments.lm.evaluate import IGNORED, accuracy, evaluate, mean_nats
from experiments.lm.optim import build_optimizers
from experiments.lm.unitarity_audit import audit_model
from experiments.runs import checkpoint, state_file
from experiments.schema.audit_columns import AUDIT_COLUMNS
from experiments.schema.model_kinds import MODELS
from experiments.schema.optimizer_options import Optimizer
from experiments.tasks.tokenizers import (
    ByteTokenizer,
    CharacterTokenizer,
    PairTokenizer,
    SymbolTokenizer,
    Tokenizer,
)

VOCAB, BLOCK, BATCH, TIME = 26, 12, 3, 10
VARIANTS: dict[str, dict[str, Any]] = {
    "ngram, kneser_ney": {"kind": "ngram", "smoothing": "kneser_ney"},
    "transformer, modern": {"kind": "transformer", "preset": "modern"},
    "transformer, four tokens": {"kind": "transformer", "preset": "vanilla", "front": "ngram"},
    "lstm, three tokens": {"kind": "lstm", "front": "ngram", "ngram": 3},
    "transformer, vanilla": {"kind": "transformer", "preset": "vanilla"},
    "unitary, real": {"kind": "unitary", "field": "real", "control": "additive"},
    "unitary, dephased": {"kind": "unitary", "dim": 8, "dephasing": 0.5},
    "unitary, overlap": {"kind": "unitary", "readout": "overlap", "decay": "learned"},
    "unitary, softmax": {"kind": "unitary", "readout": "softmax", "control": "token"},
    "unitary, frozen": {"kind": "unitary", "frozen": ("mixers",), "floor": False},
    "unitary_recurrent, table": {"kind": "unitary_recurrent", "transition": "table"},
    "unitary_recurrent, cayley": {"kind": "unitary_recurrent", "transition": "cayley", "field": "real"},
    "unitary_recurrent, softmax": {"kind": "unitary_recurrent", "readout": "softmax"},
    "instrument, dephased": {"kind": "instrument", "dephasing": 1.0, "floor": True},
    "born_machine, unitary": {"kind": "born_machine", "transition": "unitary", "rank": 2},
    "unitary, geotorch": {"kind": "unitary", "field": "real", "parametrization": "geotorch"},
    "unitary, normalised keys": {"kind": "unitary", "qk_norm": True, "decay": "learned"},
    "no_register, normalised keys": {"kind": "no_register", "qk_norm": True},
    "unitary, no attention": {"kind": "unitary", "attention": False},
    "no_register, control": {"kind": "no_register", "reads": "control"},
    "no_register, angles": {"kind": "no_register", "reads": "angles", "attention": False},
    "classical_recurrent, linear": {"kind": "classical_recurrent", "transition": "linear", "readout": "softmax"},
    "unitary, transformer": {"kind": "unitary", "control": "transformer", "embedding": 16, "blocks": 1, "heads": 2},
    "no_register, transformer": {"kind": "no_register", "control": "transformer", "embedding": 16, "blocks": 1},
    "selected, real": {"kind": "selected", "field": "real", "copies": 3, "acceptance": 0.0},
    "mean_field, softmax": {"kind": "mean_field", "readout": "softmax"},
    "circuit, softmax": {"kind": "circuit", "readout": "softmax"},
    "circuit, povm": {"kind": "circuit", "qubits": 6, "readout": "povm", "pairs": "ring"},
}
SMALL = {"dim": 16, "layers": 2, "hidden": 16, "qubits": 7, "features": 4}
"""Sizes for speed, where a kind has them; all else is its default."""
KINDS = {kind: {"kind": kind} for kind in MODELS} | VARIANTS


def made(name: str, seed: int = 0) -> Any:
    """One model in float64 and evaluation mode; a counted one has counted."""
    settings = KINDS[name]
    fields = MODELS[settings["kind"]].model_fields
    small = {
        key: value for key, value in SMALL.items() if key in fields and (key != "hidden" or "control" not in fields)
    }
    config = MODELS[settings["kind"]](**small | settings)
    model = build(name, config.model_copy(update=config.filled()), VOCAB, BLOCK, seed, "float64")
    if isinstance(model, CountedModel):
        model.count(torch.cat([texts(), texts(40 + seed)]).flatten())
    generator = torch.Generator().manual_seed(50 + seed)
    for parameter in model.parameters():  # some start at zero, where much is trivially true
        if parameter.requires_grad:
            parameter.data += 0.02 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def texts(seed: int = 1) -> Tensor:
    return torch.randint(VOCAB, (BATCH, TIME), generator=torch.Generator().manual_seed(seed))


every_kind = pytest.mark.parametrize("name", KINDS)


@every_kind
def test_the_checks_that_any_author_can_call(name: str) -> None:
    """Members, probabilities, causality, steps, groups, operations and moves: experiments.lm.contract_checks."""
    check_language_model(made(name), VOCAB, texts=BATCH, time=TIME, seed=1)


@every_kind
@torch.no_grad()
def test_the_past_changes_something(name: str) -> None:
    model, tokens = made(name), texts()
    changed = tokens.clone()
    changed[:, 6:] = (changed[:, 6:] + 5) % VOCAB
    assert not torch.equal(model(changed)[:, 6:], model(tokens)[:, 6:])


@every_kind
def test_the_groups_are_those_that_the_row_names(name: str) -> None:
    assert set(made(name).parameter_groups()) <= {*MODELS[KINDS[name]["kind"]].groups, "counts"}


@every_kind
@torch.no_grad()
def test_a_softmax_says_its_log_z_and_a_measurement_has_none(name: str) -> None:
    model = made(name)
    softmax = MODELS[KINDS[name]["kind"]](**KINDS[name]).has_softmax
    assert isinstance(model, SoftmaxModel) or not softmax
    if isinstance(model, SoftmaxModel):
        log_probs, log_z = model.with_log_partition(texts())
        assert close(log_probs, model(texts()))
        assert (log_z is not None) is softmax
        biases = [p for key, p in model.named_parameters() if key in ("bias", "head.bias", "readout.bias")]
        if log_z is not None and biases:  # a constant added to every logit is one more in log Z and in no probability
            biases[0] += 1.0
            shifted, more = model.with_log_partition(texts())
            assert close(shifted, log_probs)
            assert close(more, log_z + 1)


@every_kind
def test_every_model_but_counts_multiplies(name: str) -> None:
    model = made(name)
    assert (model.flops_per_token(1) > 0) is not isinstance(model, CountedModel)


@every_kind
@pytest.mark.parametrize("wrong", [-1, VOCAB])
@torch.no_grad()
def test_a_token_outside_the_vocabulary_is_named_in_one_wording(name: str, wrong: int) -> None:
    model, tokens = made(name), texts()
    tokens[1, 4] = wrong
    low, high = int(tokens.min()), int(tokens.max())
    with pytest.raises(ValueError, match=rf"^tokens must lie in 0…{VOCAB - 1}, got {low}…{high}$"):
        model(tokens)
    column = tokens[:, 4]
    with pytest.raises(ValueError, match=rf"^tokens must lie in 0…{VOCAB - 1}, got {column.min()}…{column.max()}$"):
        model.step(column, model.start(BATCH))


@pytest.mark.parametrize("tokenizer", [CharacterTokenizer.fit("abc"), ByteTokenizer(), SymbolTokenizer(["0", "1"]),
                                       PairTokenizer.fit("ab ab ab", 258)], ids=lambda one: one.kind)  # fmt: skip
def test_an_id_outside_the_vocabulary_is_not_decoded(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([]) == ""
    for wrong in (-1, tokenizer.size):
        with pytest.raises(ValueError, match=rf"^tokens must lie in 0…{tokenizer.size - 1}, got {min(0, wrong)}…"):
            tokenizer.decode([0, wrong])


def test_a_batch_without_a_target_teaches_nothing_and_is_not_measured() -> None:
    model, tokens = made("lstm"), texts()
    none = torch.full_like(tokens, IGNORED)
    loss = mean_nats(model(tokens), none)
    loss.backward()
    assert loss == 0
    assert all(not parameter.grad.any() for parameter in model.parameters())
    for measure in (evaluate, accuracy):
        with pytest.raises(ValueError, match="no target to measure on"):
            measure(model, [(tokens, none)])
    half = torch.where(torch.arange(TIME) < 4, tokens, IGNORED)
    assert torch.equal(mean_nats(model(tokens), half), mean_nats(model(tokens)[:, :4], tokens[:, :4]))


def advance(model: Any, optimizers: list[torch.optim.Optimizer], steps: range) -> None:
    model.train()
    for step in steps:
        tokens = texts(100 + step)
        for each in optimizers:
            each.zero_grad(set_to_none=True)
        mean_nats(model(tokens[:, :-1]), tokens[:, 1:]).backward()
        for each in optimizers:
            each.step()


@every_kind
def test_a_resumed_training_is_bit_for_bit_the_uninterrupted_one(name: str, tmp_path: Path) -> None:
    model, other = made(name), made(name, seed=1)
    file = tmp_path / "checkpoint.safetensors"
    if isinstance(model, CountedModel):
        state_file.save(file, checkpoint.weights(model), {})
        checkpoint.restore(other, state_file.load(file)[0], file)
        assert torch.equal(other(texts()), model(texts()))
        return
    options = Optimizer(kind="muon", muon_lr=0.02) if isinstance(model, HiddenMatrices) else Optimizer()
    ours, theirs = (build_optimizers(one, options) for one in (model, other))
    stream = torch.Generator()
    advance(model, ours, range(2))
    checkpoint.save_training(file, model, ours, stream, {"step": 2})
    advance(model, ours, range(2, 4))
    assert checkpoint.load_training(file, other, theirs, stream)[0] == {"step": 2}
    advance(other, theirs, range(2, 4))
    for (key, parameter), (_, found) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        assert torch.equal(parameter, found), key
    moved = [not torch.equal(a, b) for a, b in zip(made(name).parameters(), model.parameters(), strict=True)]
    assert any(moved)


class Broken(nn.Module):
    """One distribution after every text, with one thing wrong in it."""

    context_limit = None

    def __init__(self, wrong: str) -> None:
        super().__init__()
        self.wrong, self.logits = wrong, nn.Parameter(torch.arange(VOCAB, dtype=torch.float64))
        self.beside = nn.Parameter(torch.zeros(1)) if wrong == "groups" else None
        if wrong == "moves":
            self.table = torch.zeros(2)

    def forward(self, tokens: Tensor) -> Tensor:
        logits = self.logits.expand(*tokens.shape, -1)
        if self.wrong == "causality":
            logits = logits * tokens.sum(1, keepdim=True)[..., None]
        return logits.log_softmax(-1) + (self.wrong == "probabilities")

    def start(self, batch: int) -> list[int]:
        return [0]

    def step(self, token: Tensor, state: list[int]) -> tuple[Tensor, list[int]]:
        state[0] += 1
        seen = state[0] if self.wrong == "state" else self.wrong == "steps"
        return (self.logits * (1 + seen)).log_softmax(-1).expand(len(token), -1), state

    def parameter_groups(self) -> dict[str, list[str]]:
        return {"head": ["logits"]}

    def flops_per_token(self, length: int) -> int:
        return -length if self.wrong == "operations" else 0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("probabilities", "do not sum to one"),
        ("causality", "a later token changes an earlier prediction"),
        ("steps", "step and forward differ at position 0"),
        ("state", "step changes the state that it is given"),
        ("groups", r"\['beside'\] in it or trained, but not both"),
        ("operations", "flops_per_token: -1 in a text of one token"),
        ("moves", "table is neither a parameter nor a buffer"),
    ],
)
def test_each_check_finds_what_it_is_for(wrong: str, sentence: str) -> None:
    check_language_model(Broken(""), VOCAB)
    with pytest.raises(AssertionError, match=sentence):
        check_language_model(Broken(wrong), VOCAB)


@every_kind
def test_a_model_pickles_unless_its_weights_are_parametrized_by_torch(name: str) -> None:
    """Then state dicts are the way, as everywhere in this project."""
    model = made(name)
    if "geotorch" in name:
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            pickle.dumps(model)
    else:
        assert torch.equal(pickle.loads(pickle.dumps(model))(texts()), model(texts()))


@every_kind
def test_the_audit_has_every_column_or_says_why_not(name: str) -> None:
    model = made(name)
    found = audit_model(model, texts())
    assert set(AUDIT_COLUMNS) <= found.keys()
    assert {key for key in AUDIT_COLUMNS if found[key] is None} == set(found["reasons"])
    numbers = {key for key in AUDIT_COLUMNS if found[key] is not None}
    declared = set(MODELS[KINDS[name]["kind"]].audited)
    assert numbers == declared if name in MODELS else numbers <= declared
    assert found["causality"] < 1e-9
    assert found["normalisation"] < 1e-9
    assert (found["passed"] is None) is not claims_unitarity(model)
    if claims_unitarity(model):
        assert found["passed"] is True


OWN_DEFAULTS = {"transition", "dim", "longest"}
"""What a kind's row sets otherwise than the class that it shares with another kind, or from the task."""


@pytest.mark.parametrize("kind", sorted(set(MODELS) - {"transformer", "lstm", "ngram"}))
def test_yaml_and_python_have_the_same_defaults(kind: str) -> None:
    config = MODELS[kind](kind=kind)
    model = config.model_copy(update=config.filled()).build(96, BLOCK, torch.Generator().manual_seed(0))
    written = {key: value for key, value in vars(model.config).items() if key not in ("vocab", *OWN_DEFAULTS)}
    default = vars(type(model.config)(vocab=96, **{"longest": BLOCK} if "longest" in vars(model.config) else {}))
    assert written == {key: default[key] for key in written}
    if kind != "permutation":
        assert vars(model.config).get("dim") == default.get("dim")


def test_presets_and_the_lstm_have_the_same_defaults_in_yaml_and_python() -> None:
    from inspect import signature

    from classical import LSTM, PRESETS, NGram
    from classical.kneser_ney import KneserNey

    for preset, make in PRESETS.items():
        config = MODELS["transformer"](kind="transformer", preset=preset)
        assert config.build(VOCAB, BLOCK, torch.Generator().manual_seed(0)).config == make(VOCAB, BLOCK)
        assert config.places == make(VOCAB, BLOCK).position
    for kind, module in (("lstm", LSTM), ("ngram", NGram), ("ngram", KneserNey)):
        fields, parameters = MODELS[kind].model_fields, signature(module).parameters
        shared = set(fields) & set(parameters)
        assert shared
        for key in shared:
            assert parameters[key].default in (parameters[key].empty, fields[key].default), key


@every_kind
def test_twins_are_kinds_that_claim_no_unitarity(name: str) -> None:
    settings = KINDS[name]
    for twin in MODELS[settings["kind"]](**settings).twins().values():
        whole = twin.model_copy(update=twin.filled())
        assert not claims_unitarity(build(name, whole, VOCAB, BLOCK, 0))


def test_the_smaller_protocols_tell_the_kinds_apart() -> None:
    models = {kind: made(kind) for kind in MODELS}

    def which(protocol: type) -> set[str]:
        return {kind for kind, model in models.items() if isinstance(model, protocol)}

    assert which(CountedModel) == {"ngram"}
    assert which(StreamModel) == {"transformer"}
    assert which(StringModel) == {"born_machine"}
    assert which(FirstToken) == {"instrument"}
    assert which(RegisterModel) == set(MODELS) - {"transformer", "lstm", "ngram", "no_register"}
    assert which(LanguageModel) == set(MODELS)
