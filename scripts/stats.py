"""Statistics of paired measurements: median, its interval, and a verdict."""

from math import comb

CONFIDENCE = 0.95


def median(values):
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of nothing")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values):
    """Interval that holds the true median with CONFIDENCE, by the sign test.

    It asks nothing of the distribution: each value lies below the true median
    with probability 1/2, so how many do is binomial.  None if there are too few
    values for that confidence (fewer than six).
    """
    ordered = sorted(values)
    n = len(ordered)
    tail = 0    # ways in which fewer than k of n values lie below the median
    k = 0
    while k < n // 2:
        tail += comb(n, k)
        if 1 - 2 * tail / 2 ** n < CONFIDENCE:
            break
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else None


def verdict(interval):
    """What an interval of ratios patched/base says."""
    if interval and interval[0] > 1:
        return "faster"
    if interval and interval[1] < 1:
        return "slower"
    return "cannot tell"
