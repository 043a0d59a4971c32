"""OpenQASM read in: Qiskit's own dumps, hand-written programs, and what is refused with its line."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from qattn.circuits.compile.export import openqasm
from qattn.circuits.compile.openqasm_reader import from_openqasm, read_openqasm
from qattn.circuits.ir.ansatz import build
from qattn.circuits.ir.circuit import Circuit
from qattn.circuits.simulate.statevector import run

DUMPS = json.loads((Path(__file__).parent / "data" / "qiskit_circuits.json").read_text())["circuits"]
NONE = torch.zeros(0, dtype=torch.float64)
HEAD = 'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[3] q;\nbit[3] c;\n'


def state(circuit: Circuit, *values: float) -> np.ndarray:
    return run(circuit, torch.tensor(values, dtype=torch.float64)).amplitudes().numpy()


def unitary(text: str) -> np.ndarray:
    circuit = from_openqasm(HEAD + text)
    columns = torch.eye(2**circuit.qubits, dtype=torch.complex128)
    return run(circuit, NONE, states=columns).amplitudes().mT.numpy()


def same(a: str, b: str) -> bool:
    """Equal up to one global phase."""
    return abs(np.vdot(unitary(a), unitary(b))) / 8 == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda d: f"{d['format']}-{d['seed']}")
def test_qiskits_dumps_give_qiskits_states(dump: dict) -> None:
    theirs = np.array(dump["state"]) @ [1, 1j]
    assert abs(np.vdot(state(from_openqasm(dump["text"])), theirs)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("for int i in [0:1] { h q[i]; }", "h q[0]; h q[1];"),
        ("for uint i in {0, 2} h q[i];", "h q[0]; h q[2];"),
        ("for int i in [2:-2:0] { rx(i*pi/4) q[i]; }", "rx(pi/2) q[2];"),
        ("h q;", "h q[0]; h q[1]; h q[2];"),
        ("cx q[0], q[1:2];", "cx q[0], q[1]; cx q[0], q[2];"),
        ("x q[-1];", "x q[2];"),
        ("/* measure; */ h q[0]; // x q[0];", "h q[0];"),
        ("ctrl @ ctrl @ x q[0], q[1], q[2];", "ccx q[0], q[1], q[2];"),
        ("ctrl(2) @ z q[0], q[1], q[2];", "h q[2]; ccx q[0], q[1], q[2]; h q[2];"),
        ("negctrl @ x q[0], q[1];", "x q[0]; cx q[0], q[1]; x q[0];"),
        ("ctrl @ gphase(0.3) q[0];", "p(0.3) q[0];"),
        ("inv @ u3(0.1, 0.2, 0.3) q[0];", "u3(-0.1, -0.3, -0.2) q[0];"),
        ("inv @ sx q[0]; pow(2) @ sx q[0];", "sx q[0];"),
        ("pow(-2) @ s q[0];", "z q[0];"),
        ("gate f(a, b) r, s { rx(2*a) r; barrier r, s; cp(b) r, s; } inv @ f(0.1, 0.2) q[2], q[0];",
         "cp(-0.2) q[2], q[0]; rx(-0.2) q[2];"),
        ("gate x r { h r; } x q[0];", "h q[0];"),
        ("const float half = pi/2; rz(half**2 - sin(half)) q[1];", f"rz({(math.pi / 2) ** 2 - 1}) q[1];"),
        ("ctrl @ u3(0.1, 0.2, 0.3) q[0], q[1];", "cu(0.1, 0.2, 0.3, 0) q[0], q[1];"),
        ("cu(0.1, 0.2, 0.3, 0.4) q[0], q[1];",  # as Qiskit's qelib1.inc builds it of CNOTs
         "p(0.4) q[0]; p((0.3+0.2)/2) q[0]; p((0.3-0.2)/2) q[1]; cx q[0],q[1]; u3(-0.1/2, 0, -(0.2+0.3)/2) q[1];"
         "cx q[0],q[1]; u3(0.1/2, 0.2, 0) q[1];"),
        ("reset q[0]; reset q; h q[0];", "h q[0];"),
    ],
)  # fmt: skip
def test_programs_mean_what_the_language_says(text: str, plain: str) -> None:
    assert same(text, plain)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("h q[0];\nc[0] = measure q[0];\nh q[0];", "measures, resets or decides on its way"),
        ("h q[0];\n%%%;", "'%%%;' (line 6) is not understood"),
        ("h q[0] x q[1];", "line 5: expected ;, got 'x'"),
        ("h q[3];", "line 5: q[3] is out of range, it has places 0 to 2"),
        ("qubit[999999999] r;", "line 5: a register has 1 to 10000 places"),
        ("if (c[0] == 1) x q[0];", "line 5: the condition reads no bit that was measured"),
        ("c[0] = measure q[0]; if (c[0] == 1) break;", "at the end of a loop alone"),
        ("for int i in [0:1] { c[0] = measure q[i]; if (c[0]) break; }", "rounds differ by 'i'"),
        ("while (c[0] == 0) { h q[0]; }", "line 5: loops without an end known beforehand are not read"),
        ("def f(qubit r) { h r; }", "line 5: subroutines are not read"),
        ("int n = 3;", "variables that change (write const) are not read"),
        ('include "mine.inc";', "mine.inc is not read: known are qelib1.inc and stdgates.inc"),
        ("foo q[0];", "unknown gate 'foo'"),
        ("gate f r { f r; }\nf q[0];", "unknown gate 'f'"),
        ("gate f r { h s; } f q[0];", "there is no qubit register 's'"),
        ("gate f(a) r { rx(b) r; } f(1) q[0];", "'b' is not declared"),
        ("rx q[0];", "rx takes 1 angles and 1 qubits, got 0 and 1"),
        ("cx q[0], q[0];", "a qubit is named twice"),
        ("rx(1/0) q[0];", "division by 0"),
        ("ctrl @ U(1, 2, 3) q[0], q[1];", "a controlled U depends on the phase of U"),
        ("pow(0.5) @ x q[0];", "only whole powers are read"),
        ("h q[0]; reset q[0];", "measures, resets or decides on its way"),
        ("c[0] = measure q[0]; c[1] = measure q[0];", "measures, resets or decides on its way"),
        ("c = measure q[0];", "1 qubits are measured into 3 bits"),
        ("c[0] = 1;", "only `= measure`"),
        ("for int i in [0:9999999999] { h q[0]; }", "a range of more than 1000000"),
        ("qubit q;", "'q' is declared already"),
        ("gate f r { h r; ", "the body of gate f is not closed"),
        ("input float a; input float b; rx(a*b) q[0];", "an angle is linear in its parameter"),
        ("h q[0.5];", "expected a whole number, got 0.5"),
        ("x", "expected name, got 'the end'"),
    ],
)
def test_what_is_not_read_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="OpenQASM") as caught:
        from_openqasm(HEAD + text)
    assert sentence in str(caught.value)


def test_gates_of_a_library_need_its_include_and_texts_need_qubits() -> None:
    with pytest.raises(ValueError, match="line 2: gate 'h' belongs to a library"):
        from_openqasm("OPENQASM 2.0; qreg q[1];\nh q[0];")
    assert np.allclose(np.abs(state(from_openqasm("OPENQASM 2.0; qreg q[1]; U(pi,0,pi) q[0];"))), [0, 1])
    with pytest.raises(ValueError, match="there is no qubit"):
        from_openqasm("OPENQASM 3.0;")
    with pytest.raises(ValueError, match=r"expected OPENQASM 2\.0 or 3\.0, got 4\.0"):
        from_openqasm("OPENQASM 4.0;")


def test_registers_follow_each_other_and_inputs_are_parameters() -> None:
    text = 'include "stdgates.inc"; input angle a; qubit[2] r; qubit s; bit[2] c; rx(2*a) s; rx(a) r; '
    found = read_openqasm(text + "c[1] = measure r[0]; c[0] = measure s;")
    assert found.circuit.names == ("a",)
    assert found.measured == (2, 0)
    p = np.abs(state(found.circuit, math.pi / 2)) ** 2
    assert p[1::2] == pytest.approx([0.25] * 4)  # s turned by π is wire 2, the others by π/2


@pytest.mark.parametrize("version", [2, 3])
def test_random_circuits_survive_writing_and_reading(version: int) -> None:
    for name in ("StronglyEntanglingLayers", "QAOA", "HeisenbergRing", "GivensPyramid", "Sim6"):
        circuit = build(name, 3, 2)
        bound = circuit.bound(np.random.default_rng(0).normal(size=circuit.n_parameters))
        again = from_openqasm(openqasm(bound, version))
        columns = torch.eye(8, dtype=torch.complex128)
        a, b = (run(c, NONE, states=columns).amplitudes() for c in (bound, again))
        assert abs(torch.vdot(a.flatten(), b.flatten())).item() / 8 == pytest.approx(1, abs=1e-12)


def test_import_writes_a_circuit_file(ask, tmp_path: Path) -> None:
    (tmp_path / "bell.qasm").write_text(
        HEAD.replace("3] q", "2] q") + "h q[0]; cx q[0], q[1]; p(-pi/3) q[1]; c[0] = measure q[1];"
    )
    written = tmp_path / "bell.yaml"
    assert ask("import", tmp_path / "bell.qasm", "--out", written).code == 0
    text = written.read_text()
    assert '  - ["CNOT", 0, 1]' in text
    for file in (written, tmp_path / "bell.qasm"):  # every verb reads .qasm as well
        assert ask("simulate", file, "--json").json["probabilities"] == pytest.approx([0.5, 0.5])
    told = ask("import", tmp_path / "bell.qasm", "--json").json
    assert (told["gates"], told["circuit"]["measure"]["probabilities"]) == (3, [1])
    (tmp_path / "free.qasm").write_text('include "stdgates.inc"; input float a; qubit q; rx(a) q;')
    assert "parameters" not in ask("import", tmp_path / "free.qasm", "--json").json["circuit"]
    assert "no value for the input 'a'" in ask("simulate", tmp_path / "free.qasm").err
    for words, sentence in (
        (("import", tmp_path / "bell.qasm", "--out", tmp_path / "b.txt"), "ending in .yaml or .json"),
        (("simulate", tmp_path / "bell.qasm", "--set", "qubits=3"), "--set overrides keys of YAML"),
        (("import", written), "OpenQASM, line 1"),
    ):
        answer = ask(*words)
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert sentence in answer.err
