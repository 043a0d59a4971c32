"""What an ansatz can reach and how it answers: expressibility, sensitivity, noise."""
