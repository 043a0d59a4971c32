"""The circuit rung: gates in PennyLane's own hands, the contract of a language model, and what the audit measures."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from qattn.circuits.ir.ansatz import ANSATZE, build
from qattn.circuits.simulate import pennylane_device, statevector
from qattn.circuits.simulate.whole_unitary import unitaries
from qattn.core.audit import causality_defect, inner_product_drift, linearity_defect, norm_drift, reversal_error
from qattn.core.measurement import Bits
from qattn.core.states import random_states
from qattn.lm.circuit import DENSE, CircuitConfig, CircuitLM, phase_table

SIZES = {
    "layers": 2,
    "heads": 1,
    "key_dim": 4,
    "hidden": 8,
    "embedding": 5,
    "rank": 2,
    "angle_init_scale": 1.0,
    "init_scale": 1.0,
}
WIDE = {
    "qubits": DENSE.bit_length(),
    "pairs": "ring",
    "layers": 1,
}  # one qubit above the mixers that are multiplied out


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(seed: int = 1, dtype: torch.dtype = torch.float64, **changes: object) -> CircuitLM:
    config = CircuitConfig(**({"vocab": 7, "qubits": 3} | SIZES | changes))  # type: ignore[arg-type]
    return CircuitLM(config, generator(seed)).to(dtype)


def texts(batch: int = 2, time: int = 6, vocab: int = 7, seed: int = 5) -> torch.Tensor:
    return torch.randint(vocab, (batch, time), generator=generator(seed))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize(
    "changes",
    [{}, {"qubits": 4, "pairs": "ring", "depth": 2}, {"ansatz": "StronglyEntanglingLayers"}, WIDE],
    ids=["all pairs", "ring", "with CNOT", "gate by gate"],
)
@torch.no_grad()
def test_pennylane_finds_the_same_state_on_the_same_parameters(
    changes: dict[str, object], dtype: torch.dtype, tolerance: float
) -> None:
    for seed in (1, 2) if changes == {} else (3,):
        model, tokens = small(seed, dtype, **changes), texts(1, 2, seed=seed)
        angles = model.angles(tokens)
        ours = model.evolve(model.prepare(), angles)[0]
        values = angles[:, 0].transpose(0, 1).flatten(1)
        theirs = pennylane_device.state_vector(model.template, model.gate_parameters(), values, "default.qubit")
        assert ours.dtype == {torch.float32: torch.complex64, torch.float64: torch.complex128}[dtype]
        assert (ours - theirs).abs().max() < tolerance
        chances = theirs.abs().square()
        words = torch.stack([chances[:, w :: model.config.vocab].sum(-1) for w in range(model.config.vocab)], -1)
        floor = model.floor
        assert floor is not None
        expected = (1 - floor) * words + floor / model.config.vocab
        assert (model(tokens)[0].exp() - expected).abs().max() < tolerance


def test_gradients_agree_with_pennylanes_backpropagation() -> None:
    """Of the probability of one token: through the mixers' and the start's gates, and through the text's angles."""
    model = small(floor=False)
    angles = model.angles(texts(1, 1)).detach().requires_grad_()
    chance = model.predict(angles)[0, 0, 3].exp()
    ours = torch.autograd.grad(chance, [angles, model.preparation, model.mixing])
    parameters = model.gate_parameters().detach().requires_grad_()
    values = angles.detach().flatten().requires_grad_()

    def measure() -> object:
        import pennylane as qml

        return qml.probs(wires=range(3))

    theirs = pennylane_device.node(model.template, measure, diff_method="backprop")(parameters, values)[3]
    by_gate, by_text = torch.autograd.grad(theirs, [parameters, values])
    assert abs(chance.item() - theirs.item()) < 1e-12
    assert (torch.cat([ours[1], ours[2].flatten()]) - by_gate).abs().max() < 1e-12
    assert (ours[0].flatten() - by_text).abs().max() < 1e-12


def test_wide_registers_have_the_same_gradient_as_finite_differences() -> None:
    model = small(**WIDE, control="token")
    tokens, gradients = texts(1, 2), {}
    loss = model(tokens)[0, :, 3].sum()
    loss.backward()
    for name in ("mixing", "preparation", "attention.project"):
        parameter = dict(model.named_parameters())[name]
        towards = torch.randn(parameter.shape, generator=generator(7), dtype=torch.float64)
        gradients[name] = (parameter.grad * towards).sum().item()  # type: ignore[operator]
        ends = []
        with torch.no_grad():
            for step in (1e-5, -2e-5):
                parameter.add_(step * towards)
                ends.append(model(tokens)[0, :, 3].sum().item())
            parameter.add_(1e-5 * towards)
        assert gradients[name] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6, abs=1e-8), name


@pytest.mark.parametrize("name", list(ANSATZE))
def test_whole_matrices_are_the_engines_and_so_are_their_gradients(name: str) -> None:
    circuit = build(name, 3, 2)
    values = torch.randn(2, circuit.n_parameters, generator=generator(3), dtype=torch.float64, requires_grad=True)
    if circuit.n_inputs:
        with pytest.raises(ValueError, match="not one matrix"):
            unitaries(circuit, values)
        return
    identity = torch.eye(8, dtype=torch.complex128)
    fast = unitaries(circuit, values)
    slow = torch.stack([statevector.run(circuit, row, states=identity).amplitudes().mT for row in values])
    assert (fast - slow).abs().max() < 1e-12
    if circuit.n_parameters:
        weights = torch.randn(fast.shape, generator=generator(4), dtype=torch.complex128)
        grads = [torch.autograd.grad((each * weights).real.sum(), values)[0] for each in (fast, slow)]
        assert (grads[0] - grads[1]).abs().max() < 1e-12


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_heisenberg_ring_is_the_exponential_of_its_terms(n: int) -> None:
    """One layer is the product over e^{−iθP/2} in the order of the gates; at zero the identity."""
    from scipy.linalg import expm

    from qattn.circuits.ir.gates import pauli_matrix

    circuit = build("HeisenbergRing", n, 1)
    values = torch.randn(1, circuit.n_parameters, generator=generator(n), dtype=torch.float64)
    expected = torch.eye(2**n, dtype=torch.complex128)
    for operation, value in zip(circuit.operations, values[0], strict=True):
        word = ["I"] * n
        for wire in operation.wires:
            word[wire] = operation.name[-1]
        expected = torch.as_tensor(expm(-0.5j * value.item() * pauli_matrix("".join(word)))) @ expected
    assert (unitaries(circuit, values)[0] - expected).abs().max() < 1e-12
    assert (unitaries(circuit, 0 * values)[0] - torch.eye(2**n)).abs().max() < 1e-15


@pytest.mark.parametrize("changes", [{}, {"control": "token", "decay": "learned"}, {"readout": "povm", "qubits": 2}])
def test_step_agrees_with_forward_at_every_position(changes: dict[str, object]) -> None:
    model = small(**changes)
    full, state, sizes = model(texts()), model.start(2), set()
    for position in range(6):
        log_probs, state = model.step(texts()[:, position], state)
        torch.testing.assert_close(log_probs, full[:, position], rtol=0, atol=1e-11)
        sizes.add((state.recent.numel(), state.memory.outer.numel(), state.memory.weight.numel()))
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("changes", "dtype", "budget"),
    [
        ({"layers": 6}, torch.float32, 1e-5),
        ({"layers": 6}, torch.float64, 1e-12),
        ({"readout": "povm"}, torch.float64, 1e-12),
        (WIDE, torch.float64, 1e-12),
    ],
)
@torch.no_grad()
def test_the_audit_is_within_its_budget(changes: dict[str, object], dtype: torch.dtype, budget: float) -> None:
    model = small(1, dtype, **changes)
    evolve, unevolve, shape, of = model.state_map(texts())
    a, b = (random_states(shape, of, generator=generator(seed), dtype=dtype) for seed in (6, 7))
    assert norm_drift(evolve, a) < budget
    assert inner_product_drift(evolve, a, b) < budget
    assert linearity_defect(evolve, a, b) < budget
    assert reversal_error(evolve, unevolve, a) < budget
    assert causality_defect(model, texts(), 7) < budget
    assert (model(texts()).exp().sum(-1) - 1).abs().max() < budget
    completeness = model.completeness()
    assert completeness is not None
    assert completeness < budget
    assert model.strict


def test_the_text_enters_by_phases_alone() -> None:
    """The angle layers change no population: one layer without a mixer behind it says the same after every text."""
    model = small(layers=1)
    with torch.no_grad():
        model.mixing.zero_()
    torch.testing.assert_close(model(texts(seed=1)), model(texts(seed=2)), rtol=0, atol=1e-13)


def test_bit_strings_modulo_the_vocabulary_are_a_complete_measurement() -> None:
    """Eight bit strings for three tokens: 0, 3, 6 mean token 0; 1, 4, 7 token 1; 2, 5 token 2."""
    readout = Bits(8, 3)
    basis = torch.eye(8, dtype=torch.complex128)
    assert readout(basis).argmax(-1).tolist() == [0, 1, 2, 0, 1, 2, 0, 1]
    assert torch.equal(readout(basis).sum(-1), torch.ones(8, dtype=torch.float64))
    uniform = torch.full((8,), 8**-0.5, dtype=torch.complex128)
    torch.testing.assert_close(readout(uniform), torch.tensor([3, 3, 2], dtype=torch.float64) / 8)


def test_the_phase_table_is_made_of_rz_and_rzz() -> None:
    table = phase_table(2, [(0, 1)])
    assert table.tolist() == [[-0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, -0.5, 0.5], [-0.5, 0.5, 0.5, -0.5]]


def test_few_angles_and_few_gates() -> None:
    """The point of the rung: numbers that grow with the qubits and their pairs and not with 2^qubits."""
    model = CircuitLM(CircuitConfig(65, qubits=8, layers=6, depth=1, heads=4))
    assert model.config.angle_count == 8 + 8 * 7 // 2
    assert model.mixing.shape == (6, 3 * 8 + 3 * 8)
    groups = model.parameter_groups()
    assert set(groups) == {"embedding", "control", "mixers", "start", "floor"}
    named = [name for group in groups.values() for name in group]
    assert sorted(named) == sorted(name for name, parameter in model.named_parameters() if parameter.requires_grad)
    gates = model.template.resources()
    assert gates["by_name"]["IsingZZ"] == 6 * (28 + 8) + 8


def test_flops_agree_with_torchs_own_counter() -> None:
    """torch counts a complex product as a real one; the phases are one real product, the mixers complex ones."""
    model, tokens = small(dtype=torch.float32, readout="povm"), texts(1, 6)  # fewer tokens than words: nothing shared
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        angles = model.angles(tokens)
        _ = angles.flatten(1, 2) @ model.signs
        real = counter.get_total_flops()
        mixers, frame, state = model.mixers(), model.readout.frame(), model.prepare().expand(6, -1)
        counter.flop_counts.clear()
        for mixer in mixers:
            state = state @ mixer.mT
        _ = state @ frame.mT
        register = counter.get_total_flops()
    assert real + 4 * register == 6 * model.flops_per_token(6)


def test_frozen_groups_do_not_move() -> None:
    model = small(frozen=("mixers", "start"))
    assert not model.mixing.requires_grad
    assert not model.preparation.requires_grad
    assert "mixers" not in model.parameter_groups()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qubits": 2}, "4 bit strings cannot name a vocabulary of 7: take 3 qubits or more, or readout povm"),
        ({"qubits": 5, "readout": "povm"}, "rank x vocabulary >= dim, got 2 x 7 < 32: raise rank to 5"),
        ({"qubits": 13}, "at most 12 qubits, got 13"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"heads": 4}, r"the 6 angles of a layer \(3 qubits, 3 pairs\) must be divisible by heads, got 4"),
        ({"pairs": "some"}, "pairs must be 'ring' or 'all', got 'some'"),
        ({"ansatz": "Haar"}, "unknown ansatz 'Haar'; known are "),
        ({"ansatz": "QAOAEmbedding"}, "a mixer does not read data, ansatz QAOAEmbedding does"),
        ({"ansatz": "Sim1", "qubits": 1, "vocab": 2}, "ansatz Sim1 needs at least 2 qubits, got 1"),
        ({"readout": "overlap"}, "readout must be 'projective', 'povm' or 'softmax', got 'overlap'"),
        ({"decay": "slow"}, "'fixed' or 'learned', got 'slow'"),
        ({"frozen": ("head",)}, "frozen must name parameter groups"),
    ],
)  # fmt: skip
def test_impossible_sizes_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_the_seed_alone_decides_the_start() -> None:
    first, second = small(4), small(4)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    assert math.isfinite(first(texts()).sum().item())
