"""The k-th smallest of values that lie sorted in several parts, without putting them together. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


def kth(parts: Sequence[Sequence[float]], k: int) -> float:
    """Counted from 0. Raises `IndexError` where there are not so many.

    What is left of each part is narrowed down by the middle value of the longest, in as many steps as a binary search
    has.
    """
    low, high = [0] * len(parts), [len(part) for part in parts]
    if not 0 <= k < sum(high):
        raise IndexError(k)
    while True:
        longest = max(range(len(parts)), key=lambda index: high[index] - low[index])
        middle = parts[longest][(low[longest] + high[longest]) // 2]
        below = [bisect_left(part, middle) for part in parts]
        up_to = [bisect_right(part, middle) for part in parts]
        if k < sum(below):
            high = [min(pair) for pair in zip(high, below, strict=True)]
        elif k >= sum(up_to):
            low = [max(pair) for pair in zip(low, up_to, strict=True)]
        else:
            return middle
