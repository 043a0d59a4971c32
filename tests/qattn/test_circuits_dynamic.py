"""Measurements in between: against PennyLane, teleportation, and the published numbers of repeat-until-success."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pennylane as qml
import pytest
import torch

from experiments.schema import CONFIGS
from qattn.circuits.compile.export_dynamic import dynamic_openqasm
from qattn.circuits.compile.openqasm_reader import read_openqasm
from qattn.circuits.ir.circuit import Operation, gate
from qattn.circuits.ir.dynamic import Condition, DynamicCircuit, If, Measure, Repeat, Reset, Step
from qattn.circuits.ir.hamiltonian import Hamiltonian
from qattn.circuits.ir.spec import DynamicSpec, from_dict, read_spec
from qattn.circuits.ir.spec_values import SpecError
from qattn.circuits.ir.spec_writer import to_dict
from qattn.circuits.simulate.branching import TooManyBranchesError, branches
from qattn.circuits.simulate.dynamic import simulate_any, simulate_dynamic
from qattn.circuits.simulate.pennylane_device import convert
from qattn.circuits.simulate.readout import Measurement

CIRCUITS = CONFIGS / "circuits"
NONE = np.zeros(0)
WORDS = ("XIZ", "ZZI", "IYX")


def random_dynamic(rng: np.random.Generator, keep: bool) -> list[Step]:
    """Rotations and entanglers on three wires, two measurements, a reset and conditions on both bits."""

    def turns() -> list[Step]:
        found = [gate(name, w, float(rng.uniform(0, 6))) for w in range(3) for name in ("RX", "RZ")]
        return [*found, gate("CNOT", 0, 2)]

    inner: tuple[Step, ...] = (gate("RY", 1, 0.4), gate("CNOT", 1, 0))
    other: tuple[Step, ...] = (gate("Hadamard", 2),)
    return [
        *turns(),
        Measure(int(rng.integers(3)), 0, 1 if keep else None),
        *turns(),
        If(Condition((0,), frozenset({1})), inner, other),
        Measure(1, 1),
        Reset(int(rng.integers(3))),
        *turns(),
        If(Condition((0, 1), frozenset({1, 2})), (gate("PauliX", 0),)),
    ]


def in_pennylane(steps: list[Step], values: dict[int, object]) -> None:
    for step in steps:
        if isinstance(step, Operation):
            convert(step, list(step.angles))
        elif isinstance(step, Measure):
            values[step.bit] = qml.measure(step.wire, postselect=step.keep)
        elif isinstance(step, Reset):
            qml.measure(step.wire, reset=True)
        elif isinstance(step, If):
            number = sum(values[b] * 2**k for k, b in enumerate(reversed(step.condition.bits)))
            size = range(2 ** len(step.condition.bits))
            holds = [number == v for v in size if v in step.condition.values]
            fails = [number == v for v in size if v not in step.condition.values]
            for cases, block in ((holds, step.then), (fails, step.otherwise)):
                for case in cases:
                    for op in block:
                        qml.cond(case, lambda op=op: convert(op, list(op.angles)))()


@pytest.mark.parametrize("keep", [False, True])
def test_branching_agrees_with_pennylanes_deferred_measurements(keep: bool) -> None:
    rng = np.random.default_rng(5)
    steps = random_dynamic(rng, keep)

    @qml.qnode(qml.device("default.qubit"), mcm_method="deferred")
    def peer():
        values: dict[int, object] = {}
        in_pennylane(steps, values)
        shares = qml.probs(wires=[0, 1, 2]), qml.probs(op=[values[0], values[1]])
        return *shares, *(qml.expval(qml.pauli.string_to_pauli_word(word)) for word in WORDS)

    probabilities, bits, *means = peer()
    circuit = DynamicCircuit(3, tuple(steps), ("a", "b"))
    got = simulate_dynamic(DynamicSpec(circuit, NONE))
    assert got["probabilities"] == pytest.approx(probabilities, abs=1e-12)
    got_bits = [got["outcomes"].get(format(k, "02b"), 0.0) for k in range(4)]
    assert got_bits == pytest.approx(bits, abs=1e-12)
    read = simulate_dynamic(DynamicSpec(circuit, NONE, None, Measurement("expectations", words=WORDS)))
    assert read["expectations"] == pytest.approx(means, abs=1e-12)
    h = Hamiltonian(3, WORDS, (0.5, -1.0, 0.25))
    total = simulate_dynamic(DynamicSpec(circuit, NONE, None, Measurement("hamiltonian", hamiltonian=h)))
    assert total["energy"] == pytest.approx(np.dot(means, h.coefficients), abs=1e-12)
    assert ("kept" in got) == keep


def test_shots_scatter_around_the_branches() -> None:
    circuit = DynamicCircuit(3, tuple(random_dynamic(np.random.default_rng(5), True)), ("a", "b"))
    exact = simulate_dynamic(DynamicSpec(circuit, NONE))
    drawn = simulate_dynamic(DynamicSpec(circuit, NONE), shots=5_000, seed=1)
    assert drawn == simulate_dynamic(DynamicSpec(circuit, NONE), shots=5_000, seed=1)
    assert drawn["kept"] == pytest.approx(exact["kept"], abs=5 * 0.5 / np.sqrt(5_000))
    sigma = 5 * 0.5 / np.sqrt(5_000 * exact["kept"])
    assert drawn["probabilities"] == pytest.approx(exact["probabilities"], abs=sigma)
    assert drawn["outcomes"] == pytest.approx(exact["outcomes"], abs=sigma)
    read = DynamicSpec(circuit, NONE, None, Measurement("expectations", words=WORDS))
    means = simulate_dynamic(read, shots=5_000, seed=2)["expectations"]
    assert means == pytest.approx(simulate_dynamic(read)["expectations"], abs=2 * sigma)


def teleportation() -> list[Step]:
    return [
        gate("RY", 0, 0.7), gate("RZ", 0, 1.1), gate("Hadamard", 1), gate("CNOT", 1, 2),
        gate("CNOT", 0, 1), gate("Hadamard", 0), Measure(0, 0), Measure(1, 1),
        If(Condition((1,), frozenset({1})), (gate("PauliX", 2),)),
        If(Condition((0,), frozenset({1})), (gate("PauliZ", 2),)),
    ]  # fmt: skip


def test_teleportation_arrives_whatever_was_measured() -> None:
    """Bennett et al., PRL 70, 1895 (1993): four outcomes of probability 1/4, and wire 2 has the state in all."""
    circuit = DynamicCircuit(3, tuple(teleportation()), ("z", "x"))
    got = simulate_dynamic(DynamicSpec(circuit, NONE))
    assert got["outcomes"] == pytest.approx(dict.fromkeys(("00", "01", "10", "11"), 0.25), abs=1e-14)
    back: tuple[Step, ...] = (gate("RZ", 2, -1.1), gate("RY", 2, -0.7))
    undone = DynamicCircuit(3, (*teleportation(), *back), ("z", "x"))
    assert simulate_dynamic(DynamicSpec(undone, NONE, None, Measurement(wires=(2,))))["probabilities"] == pytest.approx(
        [1, 0], abs=1e-14
    )
    corrected = DynamicCircuit(3, (*teleportation()[:8], *back), ("z", "x"))
    assert simulate_dynamic(DynamicSpec(corrected, NONE, None, Measurement(wires=(2,))))["probabilities"][0] < 0.8


def round_of_success() -> tuple[Step, ...]:
    toffoli = gate("Toffoli", 0, 1, 2)
    h = (gate("Hadamard", 0), gate("Hadamard", 1))
    failed = If(Condition((0, 1), frozenset({1, 2, 3})), (gate("PauliZ", 2),))
    return (*h, toffoli, gate("S", 2), toffoli, *h, Measure(0, 0), Measure(1, 1), Reset(0), Reset(1), failed)


@pytest.mark.parametrize("rounds", [1, 8])
def test_repeat_until_success_has_the_published_probabilities(rounds: int) -> None:
    """Nielsen and Chuang, exercise 4.41: with probability 5/8 the rotation about z with cos θ = 3/5, else Z."""
    success = Condition((0, 1), frozenset({0}))
    start: tuple[Step, ...] = (gate("Hadamard", 2),)
    circuit = DynamicCircuit(3, (*start, Repeat(success, rounds, round_of_success())), ("a", "b"))
    found = branches(circuit, torch.zeros(0, dtype=torch.float64))
    failed = (3 / 8) ** rounds
    got = simulate_dynamic(DynamicSpec(circuit, NONE, None, Measurement("expectations", words=("IIX", "IIY"))))
    assert got["outcomes"]["00"] == pytest.approx(1 - failed, abs=1e-12)
    assert len(found) <= 4  # rounds that begin alike are one branch
    # |+> turned about z by theta has <X> = cos theta; |+> itself, where all rounds failed, has 1
    assert got["expectations"][0] == pytest.approx(0.6 * (1 - failed) + failed, abs=1e-12)
    assert abs(got["expectations"][1]) == pytest.approx(0.8 * (1 - failed), abs=1e-12)


def test_single_precision_and_long_repetitions_keep_their_weight() -> None:
    success = Condition((0, 1), frozenset({0}))
    circuit = DynamicCircuit(3, (gate("Hadamard", 2), Repeat(success, 30, round_of_success())), ("a", "b"))
    spec = DynamicSpec(circuit, NONE, None, Measurement("expectations", words=("IIX",)))
    assert simulate_dynamic(spec, dtype="float32")["expectations"] == pytest.approx([0.6], abs=1e-5)
    assert simulate_dynamic(spec, shots=20, seed=0)["outcomes"] == {"00": 1.0}


def test_what_dynamic_circuits_refuse() -> None:
    bit = Condition((0,), frozenset({1}))
    flip: tuple[Step, ...] = (gate("PauliX", 0),)
    for steps, words in (
        ((If(bit, flip),), "reads the bit 'm' before"),
        ((If(bit, flip), Measure(0, 0)), "reads the bit 'm' before"),
        ((Measure(1, 0),), "wire 1 is measured, and the 1 qubits are 0 to 0"),
        ((Measure(0, 1),), "no classical bit 1"),
        ((Measure(0, 0, 2),), "is 0 or 1, got 2"),
        ((Measure(0, 0), Repeat(bit, 0, flip)), "1 to 10000 rounds, got 0"),
        ((Operation("BitFlip", (0,), (0.1,)),), "do not go together"),
    ):
        with pytest.raises(ValueError, match=words):
            DynamicCircuit(1, steps, ("m",))
    nothing = DynamicCircuit(1, (Measure(0, 0, 1),), ("m",))
    with pytest.raises(ValueError, match="discards every run"):
        simulate_dynamic(DynamicSpec(nothing, NONE))
    many = [step for k in range(13) for step in (gate("RX", 0, 1.0), Measure(0, k))]
    wide = DynamicCircuit(1, tuple(many), tuple(f"m{k}" for k in range(13)))
    with pytest.raises(TooManyBranchesError, match="give a number of shots"):
        simulate_dynamic(DynamicSpec(wide, NONE))
    assert sum(simulate_dynamic(DynamicSpec(wide, NONE), shots=50, seed=0)["outcomes"].values()) == pytest.approx(1)
    mixed = DynamicCircuit(1, (gate("Hadamard", 0), Measure(0, 0)), ("m",))
    with pytest.raises(ValueError, match="mixture of 2 states"):
        simulate_dynamic(DynamicSpec(mixed, NONE, None, Measurement("state")))


def probabilities(data: dict) -> list[float]:
    return simulate_any(read_spec(data))["probabilities"]


def test_blocks_are_the_gates_they_stand_for() -> None:
    blocks = {
        "qubits": 3,
        "gates": [
            {"for": "k", "in": 3, "gates": [["RY", "k", "theta[k]"], ["RZ", "k", "pi/(k+2) + a"]]},
            {"repeat": 2, "gates": [{"for": "j", "in": [0, 1], "gates": [["CNOT", "j", "j+1"]]}, ["RX", 1, "2*a"]]},
            {"adjoint": [["S", 0], ["RY", 1, "theta[2]"], ["CNOT", 0, 2]]},
            {"control": [0, 1], "values": [1, 0], "gates": [["RX", 2, 0.4]]},
        ],
        "parameters": {"theta": [0.3, "pi/5", 0.9], "a": "-1/4"},
    }
    rows = [["CNOT", 0, 1], ["CNOT", 1, 2], ["RX", 1, -0.5]]
    plain = [
        ["RY", 0, 0.3], ["RZ", 0, np.pi / 2 - 0.25], ["RY", 1, np.pi / 5], ["RZ", 1, np.pi / 3 - 0.25],
        ["RY", 2, 0.9], ["RZ", 2, np.pi / 4 - 0.25], *rows, *rows,
        ["CNOT", 0, 2], ["RY", 1, -0.9], ["Adjoint(S)", 0],
    ]  # fmt: skip
    spec = from_dict(blocks)
    assert spec.circuit.names == ("theta[0]", "a", "theta[1]", "theta[2]")
    inner = np.eye(8, dtype=complex)
    c, s = np.cos(0.2), -1j * np.sin(0.2)
    inner[4:6, 4:6] = [[c, s], [s, c]]  # acts where wire 0 is 1 and wire 1 is 0
    turned = {"gate": "QubitUnitary", "wires": [0, 1, 2], "matrix": [[[v.real, v.imag] for v in r] for r in inner]}
    assert probabilities(blocks) == pytest.approx(probabilities({"qubits": 3, "gates": [*plain, turned]}), abs=1e-14)


def test_a_file_with_measurements_is_the_circuit_it_describes() -> None:
    data = {
        "qubits": 3,
        "gates": [
            ["Hadamard", 2],
            {"repeat": 8, "until": {"a": 0, "b": 0}, "gates": [
                ["Hadamard", 0], ["Hadamard", 1], ["Toffoli", 0, 1, 2], ["S", 2], ["Toffoli", 0, 1, 2],
                ["Hadamard", 0], ["Hadamard", 1], {"measure": [0, 1], "bit": ["a", "b"]}, {"reset": [0, 1]},
                {"if": {"a": 0, "b": 0}, "gates": [], "else": [["PauliZ", 2]]},
            ]},
        ],
        "measure": {"expectations": ["IIX"]},
    }  # fmt: skip
    failed = (3 / 8) ** 8
    got = simulate_any(read_spec(data))
    assert got["expectations"] == pytest.approx([0.6 * (1 - failed) + failed], abs=1e-12)
    with pytest.raises(SpecError, match="gates without measurements"):
        from_dict(data)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"if": {"m": 1}, "gates": []}, "gates[0].if.m: the bit 'm' is read before"),
        ({"measure": 0}, "gates[0].bit: expected a list, got None"),
        ({"measure": [0, 1], "bit": ["a"]}, "a name per measured wire, 2, got 1"),
        ({"measure": 5, "bit": "a"}, "gates[0].measure: expected a whole number of at most 1, got 5"),
        ({"measure": 0, "bit": "a", "keep": 1}, "unknown key 'keep'"),
        ({"repeat": 0, "gates": []}, "gates[0].repeat: expected a whole number of at least 1, got 0"),
        ({"repeat": 3}, "gates[0].gates: expected a list such as"),
        ({"for": "k", "in": 3, "gates": [["RX", "k", 0.1]]}, "RX on wires [2]: wire 2 is out of range"),
        (
            {"for": "k", "in": 2, "gates": [["RX", "k/2", 0.1]]},
            "expected a wire, a whole number, got 0.5 (wires come before angles)",
        ),
        ({"adjoint": [{"reset": 0}]}, "an inverse is one of gates"),
        ({"control": 0, "gates": [["RX", 0, 0.1]]}, "a wire is named twice"),
        ({"control": 0, "values": 2, "gates": []}, "gates[0].values: expected a whole number of at most 1, got 2"),
        (["RX", 0, "theta[0.5]"], "a place in an array is a whole number"),
    ],
)
def test_blocks_that_do_not_fit_are_refused_with_their_place(entry: object, words: str) -> None:
    with pytest.raises(SpecError) as error:
        read_spec({"qubits": 2, "gates": [entry], "seed": 0})
    assert words in str(error.value)


def test_parameter_values_that_do_not_fit_are_refused() -> None:
    gates = [["RX", 0, "t[0]"], ["RX", 0, "t[1]"], ["RX", 0, "b"]]
    for values, words in (
        ({"t": [1, 2, 3], "b": 0}, "parameters.t: no angle reads t[2]"),
        ({"t": [1], "b": 0}, "no value for 't[1]'"),
        ({"t": [1, 2], "b": "2*c"}, "parameters.b: the value '2*c': 'c' is not a number"),
        ({"t": 1, "b": 0}, "parameters.t: expected a list, got 1"),
    ):
        with pytest.raises(SpecError) as error:
            read_spec({"qubits": 1, "gates": gates, "parameters": values})
        assert words in str(error.value)


def test_the_shipped_circuits_with_measurements_run_and_are_drawn(ask) -> None:
    sent = ask("simulate", CIRCUITS / "teleportation.yaml", "--json").json
    bloch = [np.sin(np.pi / 3) * np.cos(np.pi / 4), np.sin(np.pi / 3) * np.sin(np.pi / 4), 0.5]
    assert sent["expectations"] == pytest.approx(bloch, abs=1e-12)
    assert "z x = 0 1  0.250000" in ask("simulate", CIRCUITS / "teleportation.yaml").out
    turned = ask("simulate", CIRCUITS / "repeat_until_success.yaml", "--json").json
    assert turned["expectations"][0] == pytest.approx(0.6, abs=1e-7)  # 20 rounds fail with (3/8)^20
    picture = ask("draw", CIRCUITS / "repeat_until_success.yaml").out
    assert "until a, b = 00" in picture
    assert picture.count("┤↗") == 4  # two measurements and two resets
    assert "measures, resets or decides" in ask("analyse", CIRCUITS / "teleportation.yaml").err


def results(found) -> dict:
    return simulate_any(DynamicSpec(found, np.zeros(found.n_parameters)))


QASM = 'OPENQASM 3.0; include "stdgates.inc"; qubit[3] q; bit[2] c; bit d;'


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        # bit 0 of a register is the least significant one: c is 2 when c[1] is 1
        ("x q[1]; c[0] = measure q[0]; c[1] = measure q[1]; if (c == 2) x q[2]; d = measure q[2];", {"011": 1}),
        ("x q[1]; c = measure q[0:1]; if (c >= 1 && !c[0]) { x q[2]; } d = measure q[2];", {"011": 1}),
        ("x q[0]; c = measure q[0:1]; if (c == 2) y q[1]; else x q[2]; d = measure q[2];", {"101": 1}),
        ("h q[0]; c[0] = measure q[0]; h q[0]; c[1] = measure q[0];",
         {"000": 0.25, "010": 0.25, "100": 0.25, "110": 0.25}),
        ("x q; reset q[0]; c = measure q[0:1]; if (c[0] == false || c[1]) x q[2]; d = measure q[2];", {"010": 1}),
        ("for int i in [1:3] { h q[0]; c[0] = measure q[0]; if (c[0] == 1) { break; } }", {"000": 1 / 8, "100": 7 / 8}),
        # a result that nobody keeps has a bit of its own, the last one
        ("x q[0]; measure q[0]; x q[0]; c[0] = measure q[0]; x q[1]; c[1] = measure q[1];", {"0101": 1}),
    ],
)  # fmt: skip
def test_openqasm_with_measurements_in_between(text: str, outcomes: dict[str, float]) -> None:
    got = results(read_openqasm(QASM + text).circuit)["outcomes"]
    assert got == pytest.approx(outcomes, abs=1e-12)


def test_dynamic_circuits_come_back_from_openqasm_and_from_plain_data() -> None:
    circuit = DynamicCircuit(3, tuple(random_dynamic(np.random.default_rng(5), False)), ("a", "b"))
    wanted = results(circuit)
    text = dynamic_openqasm(circuit)
    back = read_openqasm(text).circuit
    assert isinstance(back, DynamicCircuit)
    again = read_spec(to_dict(DynamicSpec(circuit, NONE)))
    for found in (results(back), simulate_any(again)):
        assert found["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-10)
        assert found["outcomes"] == pytest.approx(wanted["outcomes"], abs=1e-10)
    kept = DynamicCircuit(1, (gate("Hadamard", 0), Measure(0, 0, 1)), ("m",))
    with pytest.raises(ValueError, match="post-selection has no form"):
        dynamic_openqasm(kept)


def test_repetitions_travel_through_the_command_line(ask, tmp_path: Path) -> None:
    out = tmp_path / "rus.qasm"
    assert ask("export", CIRCUITS / "repeat_until_success.yaml", "--to", "qasm3", "--out", out).code == 0
    assert "for int round in [1:20] {" in out.read_text()
    there = ask("simulate", out, "--json").json
    assert there["outcomes"]["00"] == pytest.approx(1 - (3 / 8) ** 20, abs=1e-12)
    assert ask("import", out, "--out", tmp_path / "rus.yaml").code == 0
    assert ask("simulate", tmp_path / "rus.yaml", "--json").json["outcomes"] == pytest.approx(there["outcomes"])
    assert "to qasm3 alone, not to qasm2" in ask("export", CIRCUITS / "teleportation.yaml", "--to", "qasm2").err
