"""Linear models: rows centred and scaled, losses with gradients, solvers and steps."""
