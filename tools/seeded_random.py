"""Random numbers that are the same on every machine and under every NumPy version.

NumPy promises a stable stream only for its bit generators, not for the distributions built on them.
The samples here are therefore made from Philox's raw words with integer arithmetic and one product.
"""

from __future__ import annotations

import math

import numpy as np


class SeededRandom:
    """A stream of samples, keyed by a seed and consumed in call order."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.Philox(key=seed)

    def normal(self, shape: tuple[int, ...]) -> np.ndarray:
        """Float64 samples of mean 0 and variance 1, nearly normal, bounded by sqrt(12).

        The sum of four independent uniform 16-bit integers has mean 2*(2^16-1) and variance
        4*(2^32-1)/12.
        """
        words = self._bits.random_raw(math.prod(shape))
        quarters = words.view(np.uint16).reshape(-1, 4).astype(np.int64)
        centred = quarters.sum(axis=1) - 2 * 0xFFFF
        return (centred / math.sqrt((2**32 - 1) / 3)).reshape(shape)

    def integers(self, count: int, bound: int) -> list[int]:
        """`count` integers in [0, bound); the bias of the modulus is below bound / 2^64."""
        return [int(word % bound) for word in self._bits.random_raw(count).tolist()]
