"""The numbers of the audit "is it really unitary?": their names, their order, and what each one measures."""

from __future__ import annotations

AUDIT_COLUMNS = {
    "norm_drift": "how far the length of the state moves from 1 between preparation and readout",
    "inner_product_drift": "how far the overlap of two initial states moves under one text",
    "linearity": "‖U(αa+βb) − αUa − βUb‖: does the register act linearly on its state?",
    "reversal": "‖U⁻¹Uψ − ψ‖: does running backwards give the initial state back?",
    "causality": "what changing future tokens changes in earlier predictions",
    "completeness": "‖ΣE_w − 1‖: do the measurement's operators sum to the identity?",
    "normalisation": "largest |Σp − 1| over all predictions",
}
"""Name → one line for the report's table; each number is a largest error."""

OF_PREDICTIONS = ("causality", "normalisation")
"""What can be measured of any language model."""
OF_VECTORS = ("norm_drift", "inner_product_drift", "linearity")
"""What needs vectors that the text moves."""
OF_REGISTERS = tuple(AUDIT_COLUMNS)
"""What can be measured of a register that is read by a measurement: all of it."""
