"""Log parameters of a network, and the networks that they make."""
