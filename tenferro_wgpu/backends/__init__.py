"""What an operation costs: backends execute primitives; nothing here knows about gradients."""
