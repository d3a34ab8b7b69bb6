"""An engine for bnplug: sums of products, by numpy's einsum."""
