"""Derivatives: the reverse tape and forward-mode dual values, both programs over primitives."""
