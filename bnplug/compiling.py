"""How every kernel is compiled: cached on disk, without the interpreter's lock, with exact arithmetic.

Threads are joblib's, never numba's, and ``fastmath`` is off: results do not depend on the number
of threads, and ``-inf`` keeps its meaning.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True)
