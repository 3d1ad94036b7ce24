"""The statistics, on known numbers."""

import unittest

from stats import median, median_interval, verdict


class Median(unittest.TestCase):
    def test_odd(self):
        self.assertEqual(median([3, 1, 2]), 2)

    def test_even_count_takes_the_mean_of_both(self):
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_one(self):
        self.assertEqual(median([7]), 7)

    def test_none(self):
        with self.assertRaises(ValueError):
            median([])


class Interval(unittest.TestCase):
    """Ranks as in printed tables of the sign test's 95 % interval."""

    def test_too_few_values(self):
        self.assertIsNone(median_interval([1.1, 1.2, 1.3, 1.4, 1.5]))

    def test_ranks(self):
        for n, ranks in ((6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)),
                         (12, (3, 10)), (15, (4, 12)), (20, (6, 15))):
            self.assertEqual(median_interval(range(1, n + 1)), ranks, n)

    def test_order_does_not_matter(self):
        self.assertEqual(median_interval([6, 1, 5, 2, 4, 3]), (1, 6))


class Verdict(unittest.TestCase):
    def test_all(self):
        self.assertEqual(verdict((1.01, 1.2)), "faster")
        self.assertEqual(verdict((0.8, 0.99)), "slower")
        self.assertEqual(verdict((0.99, 1.2)), "cannot tell")
        self.assertEqual(verdict((1.0, 1.2)), "cannot tell")
        self.assertEqual(verdict(None), "cannot tell")
