import tracemalloc

import numpy as np
import pytest
import torch
from scipy import stats

from raffia import RaffiaError
from raffia.measures import uniform_noise, white_noise
from raffia.measures.noise import philox4x32


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_known_answers_of_its_authors(counter, key, words):
    assert tuple(int(w[0]) for w in philox4x32([np.array([c]) for c in counter], key)) == words


def test_draws_nest_in_rows_and_in_modes_and_any_slice_can_be_drawn_alone():
    full = white_noise(20, (3, 31), seed=5, stream="s")
    assert torch.equal(white_noise(7, (3, 31), 5, "s"), full[:7])
    assert torch.equal(white_noise(20, (3, 8), 5, "s"), full[:, :, :8])
    assert torch.equal(white_noise(20, (2, 31), 5, "s"), full[:, :2])
    assert torch.equal(white_noise(range(11, 14), (3, 31), 5, "s"), full[11:14])


def test_rows_beyond_32_bits_are_rows_of_their_own():
    far = white_noise(range(2**32, 2**32 + 2), (4,), 0, "s")
    assert not torch.equal(far, white_noise(2, (4,), 0, "s"))


def test_seeds_and_streams_are_independent():
    a, b, c = white_noise(500, (100,), 0, "s"), white_noise(500, (100,), 1, "s"), white_noise(500, (100,), 0, "t")
    for other in (b, c):
        assert abs(float((a * other).mean())) < 4 / np.sqrt(a.numel())


def test_numbers_are_standard_normal_and_uniform():
    normal = white_noise(400, (251,), 7, "s").flatten().numpy()
    assert stats.kstest(normal, "norm").pvalue > 1e-3
    assert stats.kstest(uniform_noise(400, (251,), 7, "s").flatten().numpy(), "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(normal[:-1], normal[1:])[0, 1]) < 4 / np.sqrt(len(normal))


def test_one_number_is_pinned_forever():
    """Model files do not hold θ: they rely on these numbers never changing."""
    assert white_noise(2, (3,), 42, "theta")[1].tolist() == PINNED


PINNED = [0.6447128258386206, -2.290881405136031, -0.3316336559620659]


@pytest.mark.parametrize("seed", [-1, 2**32, True])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(RaffiaError, match="a seed must be an integer"):
        white_noise(2, (3,), seed, "s")


@pytest.mark.parametrize("rows", [0, range(3, 3), range(0, 10, 2), range(-2, 2)])
def test_bad_rows_are_refused(rows):
    with pytest.raises(RaffiaError, match="rows must be"):
        white_noise(rows, (3,), 0, "s")


def test_drawing_takes_hardly_more_memory_than_what_is_drawn():
    tracemalloc.start()
    drawn = white_noise(4, (2**18,), seed=0, stream="x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * drawn.nbytes
