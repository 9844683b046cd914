"""Samples that small shapes shatter, found by search; larger than the other rules give."""

from __future__ import annotations

from typing import NamedTuple


class StoredSample(NamedTuple):
    """The order of the points in each feature; point 0 is lowest in the last ``corner`` ones."""

    orders: tuple[tuple[int, ...], ...]
    corner: int


# A line for each sample: the shape, the corner, and the order of the points in each feature, a
# hexadecimal digit for each point.
_SAMPLES = """
((..).) 0 012345678 485176032 748562103 647805321 864137502
((..).) 5 07314652 04235671 06427315 03641257 01263754
(((..).).) 1 14576302 04562713
(((..).).) 5 0638421795a 0895a614732 05491a27683 0386517a942 02963518a47
((..)(..)) 1 27043615 01243576
((..)(..)) 2 0165423 0265314
((..)(..)) 2 5407613289 0943761825 0856317924
((..)(..)) 3 031854267 057214368 087143256
((..)(..)) 4 0825746391 0978542163 0965374182 0162594837
((..)(..)) 5 0683495172a 0798524a631 041a9526873 032879156a4 0a739645218
((((..).).).) 2 0973624581 0834652917
(((..)(..)).) 2 0534672981 0236945178
(((..)(..)).) 3 0a2b54671839 03b8749261a5 073b6528149a
(((..).)(..)) 2 0175946823 0873692145
(((..).)(..)) 3 07a52b461389 062b78519a43 04b95362718a
(((((..).).).).) 2 06724a13b859 057819b4326a
((((..)(..)).).) 2 0ab493786251 06b5729a8413
((((..).)(..)).) 2 087ab4213695 06153a47b289
((((..).).)(..)) 2 01ab92638475 032467b8195a
(((..)(..))(..)) 2 0a9b47381625 0153b6798a24
(((..).)((..).)) 2 029613b548a7 081756a2349b
(((((..).).)(..)).) 0 0123456789abcd 18c29d6a4705b3
(((((..).).).)(..)) 2 0da2c43b189756 05b283ca4d7169
((((..)(..))(..)).) 2 0423cb681957ad 05b29c4a1638d7
((((..)(..)).)(..)) 2 0d2c43ba189756 0b5283ca4d7169
((((..).)((..).)).) 2 0bd16a5428379c 02a15b3647c8d9
((((..).)(..))(..)) 2 0a2c3b418975d6 05c123a8467bd9
((((..).).)((..).)) 2 09a2cb3186754d 05b23cad178469
(((..)(..))((..).)) 2 06a2cb3189754d 05b23ca41678d9
"""


def _samples() -> dict[str, tuple[StoredSample, ...]]:
    samples: dict[str, tuple[StoredSample, ...]] = {}
    for line in _SAMPLES.strip().splitlines():
        shape, corner, *orders = line.split()
        sample = StoredSample(
            tuple(tuple(int(i, 16) for i in order) for order in orders), int(corner)
        )
        samples[shape] = (*samples.get(shape, ()), sample)
    return samples


STORED = _samples()
