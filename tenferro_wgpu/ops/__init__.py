"""What operations mean: primitives, their shape, dtype and derivative rules, and the public calls.

No arithmetic happens here and no backend is named.
"""
