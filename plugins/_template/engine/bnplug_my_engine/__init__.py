"""An engine of inference for bnplug: sums of products, by numpy's einsum."""
