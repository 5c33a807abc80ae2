"""Measurements of the library; ``python -m benchmarks`` runs them all."""
