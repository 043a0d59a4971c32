"""Language models whose register moves by unitaries, one file per rung of the ladder; ``base`` has what they share."""
