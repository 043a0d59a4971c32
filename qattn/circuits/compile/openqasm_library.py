"""The gates of OpenQASM's standard libraries (``qelib1.inc`` and ``stdgates.inc``, with Qiskit's additions)."""

from __future__ import annotations

from qattn.circuits.ir.gates import GATES

# A name of the language and the gate of ours that is the same matrix, phase included.
GATE_NAMES: dict[str, str] = {
    **{gate.qasm: gate.name for gate in GATES.values() if gate.qasm},
    "phase": "PhaseShift", "u": "U3", "cu1": "ControlledPhaseShift", "cphase": "ControlledPhaseShift", "iswap": "ISWAP",
    "ecr": "ECR", "rxx": "IsingXX", "ryy": "IsingYY", "rzz": "IsingZZ", "ccz": "CCZ", "c3x": "MultiControlledX",
    "mcx": "MultiControlledX", "c4x": "MultiControlledX",
}  # fmt: skip
INCLUDES = ("qelib1.inc", "stdgates.inc")
CONTROLS = {"c3x": 3, "mcx": 3, "c4x": 4}  # of the gates that have no fixed size here

DEFINED = """
gate sxdg a { inv @ sx a; }
gate csx c, t { ctrl @ sx c, t; }
gate cs c, t { cp(pi/2) c, t; }
gate csdg c, t { cp(-pi/2) c, t; }
gate cu3(theta, phi, lam) c, t { ctrl @ u3(theta, phi, lam) c, t; }
gate cu(theta, phi, lam, gamma) c, t { p(gamma) c; ctrl @ u3(theta, phi, lam) c, t; }
gate dcx a, b { cx a, b; cx b, a; }
gate rzx(theta) a, b { h b; cx a, b; rz(theta) b; cx a, b; h b; }
gate c3sqrtx a, b, c, t { ctrl(3) @ sx a, b, c, t; }
gate rccx a, b, c {
  u2(0, pi) c; p(pi/4) c; cx b, c; p(-pi/4) c; cx a, c; p(pi/4) c; cx b, c; p(-pi/4) c; u2(0, pi) c;
}
gate rc3x a, b, c, d {
  u2(0, pi) d; p(pi/4) d; cx c, d; p(-pi/4) d; u2(0, pi) d;
  cx a, d; p(pi/4) d; cx b, d; p(-pi/4) d; cx a, d; p(pi/4) d; cx b, d; p(-pi/4) d;
  u2(0, pi) d; p(pi/4) d; cx c, d; p(-pi/4) d; u2(0, pi) d;
}
"""
