"""What a person touches: the eager runtime and its tensors."""
