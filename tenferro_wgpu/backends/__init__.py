"""What an operation costs: backends execute primitives; nothing here knows about gradients."""

from .protocol import Backend, Capabilities

__all__ = ["Backend", "Capabilities"]
