"""What a notebook shows of an object: fragments of HTML that load nothing, beside the plain text that `repr` gives.

They take the colours of the notebook, so that they are readable on light and on dark ground, and whatever names and
labels hold is text in them.
"""
