"""How sure a comparison is: intervals, paired tests, verdicts, and figures that others published."""
