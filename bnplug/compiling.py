"""How every kernel is compiled: cached on disk, without the interpreter's lock, with exact arithmetic.

Threads are joblib's, never numba's, and ``fastmath`` is off: results do not depend on the number
of threads, and ``-inf`` keeps its meaning.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True)
"""Compiles a function: ``@kernel`` before it.

A kernel returns one number, one truth value or nothing; whatever else it finds goes into arrays that it is given. To
make a Python object of an array, a tuple or a named tuple, numba runs Python code and does not look whether that
failed: if Ctrl-C was pressed while the kernel ran, it fails, and the interpreter crashes. A number takes no such code.
"""
