"""Small files that unpack to much or claim much: opening and inspecting one takes little, and ends in the table or in one line."""

import pytest

from tests.data.bombs import BOMBS, mat, measure, write_bomb
from tests.processes import CONTEXT

SECONDS, MEBIBYTES = 5, 1024


def measured(path):
    """What `measure` says of a file that is read in a process of its own."""
    mine, theirs = CONTEXT.Pipe()
    reader = CONTEXT.Process(target=measure, args=(path, theirs))
    reader.start()
    theirs.close()
    ended = mine.poll(4 * SECONDS)
    if not ended:
        reader.kill()
    assert ended
    answer = mine.recv()
    reader.join()
    return answer


def test_a_matlab_file_that_unpacks_to_gigabytes_is_refused_in_a_second_and_half_a_gigabyte(tmp_path):
    mat(tmp_path / "bomb.mat", rows=2**14)
    assert 1.8 * 10**6 < (tmp_path / "bomb.mat").stat().st_size < 2.4 * 10**6
    seconds, mebibytes, said, _ = measured(tmp_path / "bomb.mat")
    assert "bomb.mat unpacks to many times its size" in said
    assert seconds < 1
    assert mebibytes < 500


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_takes_little_whatever_it_claims(kind, tmp_path):
    path = write_bomb(kind, tmp_path)
    assert sum(file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path])) < 4 * 10**7
    seconds, mebibytes, said, printed = measured(path)
    print(f"{kind}: {seconds:.2f} s, {mebibytes:.0f} MiB; {said}")
    assert seconds < SECONDS
    assert mebibytes < MEBIBYTES
    assert path.name in said or said == "read"
    assert "memory" not in said  # refused before it was asked for
    assert printed == ""
