"""Arrays of objects in NumPy's files: plain arrays in them are read, and whatever else a pickle may do is refused, undone."""

import builtins
import os
import pickle
import struct
import subprocess
import time
import zipfile

import numpy as np
import pytest

from raffia import Domain, RaffiaError
from raffia.data import open_source, variables
from raffia.data.readers.numpy_files import loaded
from tests.data.test_source import said, waves

RNG = np.random.default_rng(2)
X = RNG.standard_normal((5, 4))


def objects(*entries):
    array = np.empty(len(entries), object)
    array[:] = entries
    return array


def as_npy(content, shape=()):
    """The bytes of an .npy file of objects with this pickle."""
    header = f"{{'descr': '|O', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def test_deepxde_datasets_of_functions_places_and_outputs_are_read(tmp_path):
    places = np.linspace(0, 1, 64)[:, None].astype(np.float32)
    inputs = waves(30, np.linspace(0, 1, 50), periodic=False).astype(np.float32)
    outputs = waves(30, places[:, 0], periodic=False).astype(np.float32)
    np.savez(tmp_path / "d.npz", X=objects(inputs, places), y=outputs)
    source = open_source(tmp_path / "d.npz")
    data = source.dataset()
    np.testing.assert_array_equal(data.a, inputs)
    np.testing.assert_array_equal(data.y, outputs)
    assert said(source, "inputs are X0, outputs are y", "X1 gives the coordinates")
    assert source.output_space == Domain(1, periodic=False)


def test_dictionaries_in_an_array_of_no_axes_give_names(tmp_path):
    content = {"a": X, "more": {"u": X.T, "n": np.float64(2.5)}, "title": "a text", "nothing": None, "numbers": [1, 2.5, 3]}
    np.save(tmp_path / "d.npy", content, allow_pickle=True)
    np.savez_compressed(tmp_path / "d.npz", data=content, plain=X)
    found = variables(tmp_path / "d.npy")
    assert set(found) == {"a", "more.u", "numbers"}
    np.testing.assert_array_equal(found["more.u"].read(), X.T)
    np.testing.assert_array_equal(found["numbers"].read(), [1, 2.5, 3])
    assert set(variables(tmp_path / "d.npz")) == {"data.a", "data.more.u", "data.numbers", "plain"}


def test_many_arrays_of_one_shape_are_samples_and_so_are_lists_of_dictionaries(tmp_path):
    u = RNG.standard_normal((20, 7, 3))
    np.savez(tmp_path / "d.npz", u=objects(*u), records=objects(*[{"a": row, "k": float(row[0, 0])} for row in u]))
    found = variables(tmp_path / "d.npz")
    assert set(found) == {"u", "records.a", "records.k"}
    for rows in (None, slice(3, 9), slice(0, 0)):
        np.testing.assert_array_equal(found["u"].read(rows), u if rows is None else u[rows])
    np.testing.assert_array_equal(found["records.a"].read(), u)
    np.testing.assert_array_equal(found["records.k"].read(), u[:, 0, 0])


def test_an_array_of_numbers_that_are_objects_is_one_of_numbers(tmp_path):
    np.save(tmp_path / "d.npy", X.astype(object), allow_pickle=True)
    np.testing.assert_array_equal(variables(tmp_path / "d.npy")["d"].read(), X)
    np.save(tmp_path / "d.npy", np.arange(200).astype(object), allow_pickle=True)
    np.testing.assert_array_equal(variables(tmp_path / "d.npy")["d"].read(), np.arange(200))


def test_samples_of_different_shapes_are_refused_with_a_remedy(tmp_path):
    np.save(tmp_path / "d.npy", objects(*[np.ones(5 + i) for i in range(20)]), allow_pickle=True)
    with pytest.raises(RaffiaError, match=r"d.npy.*20 arrays of different shapes, such as \(5,\) and \(6,\).*Resample"):
        variables(tmp_path / "d.npy")


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("kind", ["f8", "f4", "f2", "i8", "u1", "i2", "?", ">f8", ">i4", "<U5", "S3"])
def test_every_plain_array_comes_back_bit_by_bit(kind, protocol):
    for array in (
        np.arange(24).astype(kind).reshape(2, 3, 4),
        np.asfortranarray(np.arange(6).astype(kind).reshape(2, 3)),
        np.array([], kind),
    ):
        content = pickle.dumps([array, (array,), {"a": array}], protocol=protocol)
        found = loaded(content, len(content))
        for one in (found[0], found[1][0], found[2]["a"]):
            np.testing.assert_array_equal(one.values, array)
            assert one.values.dtype == array.dtype


class Reduced:
    """Unpickled, it calls what it was given."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


class WithState:
    """Unpickled, it gets a state."""

    def __setstate__(self, state):
        pass


class Sub(np.ndarray):
    pass


def attacks(folder):
    """Everything that a pickle can ask for beyond plain arrays; most would leave the folder `ran`, if they were obeyed."""
    ran = str(folder / "ran")
    yield "os.system", Reduced(os.system, (f"mkdir {ran}",))
    yield "os.mkdir", Reduced(os.mkdir, (ran,))
    yield "eval", Reduced(builtins.eval, (f"__import__('os').mkdir({ran!r})",))
    yield "exec", Reduced(builtins.exec, (f"import os; os.mkdir({ran!r})",))
    yield "getattr", Reduced(builtins.getattr, ("", "join"))
    yield "import", Reduced(builtins.__import__, ("os",))
    yield "subprocess", Reduced(subprocess.Popen, (["mkdir", ran],))
    yield "open", Reduced(builtins.open, (ran, "w"))
    yield "numpy load", Reduced(np.load, (ran,))
    yield "numpy fromfile", Reduced(np.fromfile, (ran,))
    yield "numpy memmap", Reduced(np.memmap, (ran, "u1", "w+", 0, (8,)))
    yield "numpy ones", Reduced(np.ones, ((2, 2),))
    yield "numpy frombuffer", Reduced(np.frombuffer, (b"12345678",))
    yield "numpy f2py", Reduced(np.lib.format.open_memmap, (ran, "w+"))
    yield "setstate", WithState()
    yield "an exception", ValueError("x")
    yield "complex", 1j
    yield "a set", {1, 2}
    yield "a frozen set", frozenset([1])
    yield "a slice", slice(1)
    yield "a range", range(3)
    yield "a class", os.PathLike
    yield "a function", os.mkdir
    yield "a subclass of arrays", np.ones(3).view(Sub)
    yield "a masked array", np.ma.array([1.0, 2.0], mask=[0, 1])
    yield "a record", np.zeros(2, [("a", "f8"), ("b", "i4")])
    yield "dates", np.array(["2020-01-01"], "M8[D]")
    yield "complex numbers", np.array([1j])
    yield "a long integer", 10**30
    yield "a random generator", np.random.default_rng(0)
    yield "a hidden one", {"a": X, "list": [X, (X, {"b": Reduced(os.mkdir, (ran,))})]}


@pytest.mark.parametrize("protocol", [0, 2, 3, 4, 5])
def test_whatever_else_a_pickle_asks_for_is_refused_and_does_not_run(protocol, tmp_path):
    for name, attack in attacks(tmp_path):
        for number, content in enumerate((attack, objects(attack, X), {"a": X, "b": attack})):
            path = tmp_path / f"bomb{number}.npy"
            path.write_bytes(as_npy(pickle.dumps(content, protocol=protocol)))
            with pytest.raises(RaffiaError, match="bomb"):
                variables(path)
            assert not (tmp_path / "ran").exists(), name


RAW = {
    "inst": b"(S'mkdir {ran}'\nios\nsystem\n.",
    "obj": b"(cos\nsystem\nS'mkdir {ran}'\no.",
    "newobj": b"cbuiltins\nobject\n)\x81.",
    "newobj_ex": b"\x80\x04cbuiltins\nobject\n)}\x92.",
    "persistent": b"Pfile\n.",
    "binary persistent": b"U\x01aQ.",
    "extension": b"\x82\x01.",
    "next buffer": b"\x97.",
    "read-only buffer": b"U\x01a\x98.",
    "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0fndarray.__new__\x93.",
    "a name of NumPy in another module": b"cnumpy.lib.npyio\nload\n(S'{ran}'\ntR.",
    "a name that is no text": b"\x80\x04K\x01K\x02\x93.",
    "a name made of a tuple": b"\x80\x04)\x8c\x01a\x93.",
    "an array as a function": b"cnumpy\nndarray\n(K\x01tR.",
    "a name left over": b"cnumpy\nndarray\n.",
    "a type left over": b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR.",
    "a mark left over": b"(.",
    "nothing left over": b".",
    "too much left over": b"K\x01K\x02.",
    "memory that is not there": b"h\x07.",
    "a large place in memory": b"K\x01r\xff\xff\xff\x7f0h\x01.",
    "no mark": b"K\x01t.",
    "append to a number": b"K\x01K\x02a.",
    "enter into a list": b"]K\x01K\x02s.",
    "a list as a key": b"}]K\x01s.",
    "bytes that are not there": b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fab.",
    "more bytes than there are": b"\x80\x04B\xff\xff\xff\x7fab.",
    "a long of many bytes": b"\x8b\xff\xff\xff\x7f\x01.",
    "a long of many digits": b"L" + b"9" * 10**5 + b"L\n.",
    "a state for a list": b"]}b.",
    "nothing": b"",
}


@pytest.mark.parametrize("name", RAW)
def test_raw_instructions_beyond_plain_values_are_refused(name, tmp_path):
    path = tmp_path / "bomb.npy"
    path.write_bytes(as_npy(RAW[name].replace(b"{ran}", str(tmp_path / "ran").encode())))
    with pytest.raises(RaffiaError, match=r"bomb.npy"):
        variables(path)
    assert not (tmp_path / "ran").exists()


def reconstruction(
    shape=b"(K\x02t",
    data=b"C\x10" + bytes(16),
    kind=b"f8",
    state=b"(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb",
    columns=b"\x89",
):
    """The instructions that make a plain array, with some of them replaced."""
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR"
    return (
        b"\x80\x03"
        + empty
        + b"(K\x01"
        + shape
        + b"cnumpy\ndtype\n(\x8c"
        + bytes([len(kind)])
        + kind
        + b"K\x00K\x01tR"
        + state
        + columns
        + data
        + b"tb."
    )


def test_arrays_whose_shape_type_and_bytes_do_not_go_together_are_refused(tmp_path):
    path = tmp_path / "bomb.npy"
    path.write_bytes(as_npy(reconstruction()))
    np.testing.assert_array_equal(variables(path)["bomb"].read(), [0, 0])
    for wrong in (
        {"shape": b"(K\x03t"}, {"shape": b"(J\xff\xff\xff\xfft"}, {"shape": b"(\x8a\x06\xff\xff\xff\xff\xff\x7ft"}, {"shape": b"K\x02"},
        {"data": b"C\x08" + bytes(8)}, {"data": b"\x8c\x10abcdefghijklmnop"}, {"data": b"]"}, {"data": b"N"},
        {"kind": b"O8"}, {"kind": b"V8"}, {"kind": b"c16"}, {"kind": b"f8,f8"}, {"kind": b"(2,)f8"}, {"kind": b"M8"}, {"kind": b"f16"},
        {"state": b"(K\x03\x8c\x01<(tNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"}, {"state": b"(K\x03\x8c\x01?NNNK\x00K\x00K\x00tb"},
    ):  # fmt: skip
        path.write_bytes(as_npy(reconstruction(**wrong)))
        with pytest.raises(RaffiaError, match=r"bomb.npy"):
            variables(path)


def test_the_class_of_an_array_cannot_be_another(tmp_path):
    path = tmp_path / "bomb.npy"
    path.write_bytes(as_npy(reconstruction().replace(b"cnumpy\nndarray\n", b"cnumpy\nmemmap\n", 1)))
    with pytest.raises(RaffiaError, match=r"it names numpy.memmap"):
        variables(path)


def test_bombs_take_little_time_and_are_refused(tmp_path):
    bombs = {
        "laughs": b"\x80\x04](]\x94" + b"".join(b"]h%cah%ca\x94" % (k, k) for k in range(60)) + b"e.",
        "itself": b"\x80\x04]\x94h\x00a.",
        "a dictionary in itself": b"\x80\x04}\x94\x8c\x01ah\x00s.",
        "deep": b"\x80\x04" + b"]" * 20_000 + b"a" * 19_999 + b".",
        "deep tuples": b"\x80\x04)" + b"\x85" * 20_000 + b".",
        "marks": b"(" * 2 * 10**5 + b".",
        "lists": b"]" * 2 * 10**5 + b".",
        "one array, many times": b"(" + reconstruction(b"(K\x02K\x02t", b"B\x20\x00\x00\x00" + bytes(32))[2:-1] + b"q\x00"
        + b"]q\x01(" + b"h\x00" * 10**4 + b"el.",
        "a tuple of tuples as a name": b"\x80\x04)\x94" + b"".join(b"h%ch%c\x86\x94" % (k, k) for k in range(60)) + b"h\x3bh\x3b\x93.",
    }  # fmt: skip
    for name, content in bombs.items():
        path = tmp_path / "bomb.npy"
        path.write_bytes(as_npy(content))
        begun = time.process_time()
        with pytest.raises(RaffiaError, match=r"bomb.npy"):
            variables(path)
        assert time.process_time() - begun < 5, name


def test_a_pickle_that_unpacks_to_much_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", as_npy(b"\x80\x04]" + b"N" * 3 * 10**7 + b"."))
    with pytest.raises(RaffiaError, match=r"bomb.npz is damaged.*a.npy unpacks to more"):
        variables(path)
    assert path.stat().st_size < 10**6
