"""A file that leads to other files, or has lost a part of itself, is refused: raffia reads what was named, and all of it."""

import os

import h5py
import numpy as np
import pytest
import zarr

from raffia import RaffiaError
from raffia.data import open_source, variables
from tests.data.examples import ARRAYS, write


@pytest.fixture
def secret(tmp_path):
    """Another file of the user's."""
    path = tmp_path / "secret"
    path.write_bytes(ARRAYS["a"].tobytes())
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["a"] = ARRAYS["a"]
    return path


def external(file, secret):
    file.create_dataset("inner/leads", (7, 12), "f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def virtual(file, secret):
    layout = h5py.VirtualLayout((7, 12), "f8")
    layout[...] = h5py.VirtualSource(f"{secret}.h5", "a", (7, 12))
    file.create_virtual_dataset("inner/leads", layout)


def link(file, secret):
    file["inner/leads"] = h5py.ExternalLink(f"{secret}.h5", "/a")


@pytest.mark.parametrize("suffix", [".h5", ".nc", ".mat"])
@pytest.mark.parametrize("lead", [external, virtual, link])
def test_hdf5_that_leads_to_another_file_is_refused(lead, suffix, tmp_path, secret):
    path = tmp_path / f"d{suffix}"
    with h5py.File(path, "w") as file:
        file["y"] = ARRAYS["y"]
        lead(file, secret)
    with pytest.raises(RaffiaError, match=rf"d{suffix}: inner/leads is a link to another file.*Copy the values"):
        variables(path)


def test_links_within_an_hdf5_file_are_other_names_of_what_is_there(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["a"] = ARRAYS["a"]
        file["soft"], file["hard"], file["broken"] = h5py.SoftLink("/a"), file["a"], h5py.SoftLink("/nothing")
        file["g/up"] = file["/"]  # a circle
    found = variables(tmp_path / "d.h5")
    assert len(found) == 1
    np.testing.assert_array_equal(next(iter(found.values())).read(), ARRAYS["a"])


@pytest.mark.parametrize("kind", ["zarr 2", "zarr 3"])
@pytest.mark.parametrize("what", ["chunk", "folder", "description", "pipe"])
def test_links_in_a_zarr_store_are_refused(kind, what, tmp_path):
    path = write(kind, tmp_path)
    array = path / "a"
    victim = {
        "chunk": array / ("c/1/0" if kind == "zarr 3" else "1.0"),
        "folder": array / "c" if kind == "zarr 3" else array,
        "description": array / ("zarr.json" if kind == "zarr 3" else ".zarray"),
        "pipe": array / ("c/1/0" if kind == "zarr 3" else "1.0"),
    }[what]
    victim.rename(tmp_path / "elsewhere")
    os.mkfifo(victim) if what == "pipe" else victim.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RaffiaError, match=r"a.zarr: .* is a link to another place or no plain file"):
        variables(path)["a"].read()


@pytest.mark.parametrize("rows", [None, slice(2, 5)])
@pytest.mark.parametrize("kind", ["zarr 2", "zarr 3"])
def test_a_chunk_that_is_not_there_is_not_zeros(kind, rows, tmp_path):
    path = write(kind, tmp_path)
    key = "c/1/0" if kind == "zarr 3" else "1.0"
    (path / "a" / key).unlink()
    variable = variables(path)["a"]
    np.testing.assert_array_equal(variable.read(slice(0, 3)), ARRAYS["a"][:3])
    with pytest.raises(RaffiaError, match=rf"a.zarr: array a has no chunk {key}: .*Copy the store again.*write_empty_chunks"):
        variable.read(rows)
    with pytest.raises(RaffiaError, match="has no chunk"):
        open_source(path, input="a", output="k", periodic=False).dataset()


def test_a_sharded_array_is_refused_with_a_remedy(tmp_path):
    zarr.create_array(tmp_path / "a.zarr", data=np.ones((8, 4)), chunks=(2, 4), shards=(4, 4))
    with pytest.raises(RaffiaError, match=r"sharding_indexed.*not in shards"):
        variables(tmp_path / "a.zarr")


def test_chunks_of_the_fill_value_are_read_if_they_were_written(tmp_path):
    with zarr.config.set({"array.write_empty_chunks": True}):
        zarr.create_array(tmp_path / "full.zarr", data=np.zeros((6, 4)), chunks=(3, 4))
    zarr.create_array(tmp_path / "left.zarr", data=np.zeros((6, 4)), chunks=(3, 4))
    np.testing.assert_array_equal(variables(tmp_path / "full.zarr")["full"].read(), np.zeros((6, 4)))
    with pytest.raises(RaffiaError, match="write_empty_chunks"):
        variables(tmp_path / "left.zarr")["left"].read()


@pytest.mark.parametrize("codec", ["pickle", "json2", "msgpack2", "vlen-utf8", "bz2", "none-such"])
def test_codecs_that_may_do_anything_are_refused_and_nothing_is_printed(codec, tmp_path, capfd):
    path = write("zarr 2", tmp_path)
    told = (path / "a" / ".zarray").read_text()
    (path / "a" / ".zarray").write_text(told.replace('"filters": null', f'"filters": [{{"id": "{codec}"}}]'))
    if codec == "vlen-utf8":
        assert set(variables(path)) == {"y", "k"}  # texts are no numbers
    else:
        with pytest.raises(RaffiaError, match=rf"a.zarr.* is written with {codec}"):
            variables(path)
    assert capfd.readouterr() == ("", "")
