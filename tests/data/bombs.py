"""Small files that unpack to much, claim much or lead elsewhere: what a reader meets that believes whatever it is told."""

import base64
import contextlib
import io
import json
import lzma
import pickle
import resource
import struct
import time
import zipfile
import zlib

import h5py
import numpy as np
import zarr

from raffia import RaffiaError
from raffia.cli import app

ROOM = 3 * 2**30  # bytes of address space that a reader may take
LARGE = 2**30  # values, 8 GiB of them


def header(shape, columns=False):
    text = f"{{'descr': '<f8', 'fortran_order': {columns}, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def deflated(size, before=b"", wbits=-15):
    """Many zeros, packed, after a few bytes; fast, as a packed piece can be repeated after a full flush."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    start = packer.compress(before) + packer.flush(zlib.Z_FULL_FLUSH)
    piece = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + piece * (size // 2**24) + (b"\x03\x00" if wbits < 0 else packer.flush())


def archive(path, members):
    """A zip archive of one member's packed bytes each, with the length that the member says."""
    body, directory = io.BytesIO(), io.BytesIO()
    for name, (packed, length, crc) in members.items():
        sizes = struct.pack("<QQ", length, len(packed))
        extra = struct.pack("<HH", 1, 16) + sizes
        common = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 33, crc, 2**32 - 1, 2**32 - 1, len(name), len(extra))
        at = body.tell()
        body.write(b"PK\x03\x04" + common + name.encode() + extra + packed)
        directory.write(
            b"PK\x01\x02" + struct.pack("<H", 45) + common + struct.pack("<HHHII", 0, 0, 0, 0, at) + name.encode() + extra
        )
    listing = directory.getvalue()
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(listing), body.tell(), 0)
    path.write_bytes(body.getvalue() + listing + end)


def npz_long_header(path):
    start = b"\x93NUMPY\x02\x00" + (2**31 - 1).to_bytes(4, "little")
    archive(path, {f"{name}.npy": (deflated(2**31, start), 2**31 + len(start), 0) for name in "ay"})


def npz_one_row(path):
    start = header((1, LARGE))
    archive(path, {f"{name}.npy": (deflated(8 * LARGE, start), 8 * LARGE + len(start), 0) for name in "ay"})


def npz_many_rows(path):
    start = header((LARGE // 64, 64))
    archive(path, {f"{name}.npy": (deflated(8 * LARGE // 2, start), 8 * LARGE + len(start), 0) for name in "ay"})


def npz_in_columns(path):
    start = header((LARGE // 64, 64), columns=True)
    archive(path, {f"{name}.npy": (deflated(8 * LARGE // 2, start), 8 * LARGE + len(start), 0) for name in "ay"})


def npz_many_arrays(path):
    packed = deflated(2**24, start := header((2**15, 64)))
    crc = zlib.crc32(start + bytes(2**24))
    archive(path, {f"{name}.npy": (packed, 2**24 + len(start), crc) for name in ("a", "y", *map(str, range(500)))})


def mat(path, rows=2**15 - 1):
    def element(kind, content):
        return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)

    size, content = 8 * rows * 2**13, b""
    for name in (b"a", b"y"):
        body = element(6, struct.pack("<II", 6, 0)) + element(5, struct.pack("<ii", rows, 2**13)) + element(1, name)
        body += struct.pack("<II", 9, size)
        content += element(15, deflated(size, struct.pack("<II", 14, len(body) + size) + body, 15))
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + content)


def mat_many(path):
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 1, 0) * 10**6)


def hdf5_large_chunk(path):
    with h5py.File(path, "w") as file:
        for name in "ay":
            array = file.create_dataset(name, (40, 100), "f8", chunks=(40, 10**7), maxshape=(40, None), compression="gzip")
            array.id.write_direct_chunk((0, 0), deflated(8 * 40 * 10**7, wbits=15))


def hdf5_lying_chunk(path):
    with h5py.File(path, "w") as file:
        for name in "ay":
            array = file.create_dataset(name, (40, 100), "f8", chunks=(40, 100), compression="gzip")
            array.id.write_direct_chunk((0, 0), deflated(2**32, wbits=15))


def hdf5_tiny_chunks(path):
    with h5py.File(path, "w") as file:
        for name in "ay":
            file.create_dataset(name, (10**6, 10**3), "f8", chunks=(1, 1))


def hdf5_nested(path):
    with h5py.File(path, "w") as file:
        group = file
        for _ in range(3000):
            group = group.create_group("g")
        group["a"] = np.ones((2, 3))


def hdf5_many_groups(path):
    with h5py.File(path, "w", libver="latest") as file:
        for i in range(1100):
            file.create_group(str(i))


def zarr_nothing_stored(path):
    group = zarr.open_group(path, mode="w")
    for name in "ay":
        group.create_array(name, shape=(10**7, 10**5), chunks=(1, 1), dtype="f8")


def zarr_large_chunk(path, chunks=(40, 10**7), size=8 * 40 * 10**7):
    group = zarr.open_group(path, mode="w")
    for name in "ay":
        group.create_array(name, shape=(40, 100), chunks=chunks, dtype="f8", compressors=zarr.codecs.GzipCodec())
        (path / name / "c" / "0").mkdir(parents=True)
        (path / name / "c" / "0" / "0").write_bytes(deflated(size, wbits=31))


def zarr_lying_chunk(path):
    zarr_large_chunk(path, (40, 100), 2**32)


def zarr_many_arrays(path):
    path.mkdir()
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    told = {"shape": [1], "chunks": [1], "dtype": "<f8", "compressor": None, "filters": None, "fill_value": 0, "order": "C"}
    for i in range(1100):
        (path / str(i)).mkdir()
        (path / str(i) / "0").write_bytes(bytes(8))
        (path / str(i) / ".zarray").write_text(json.dumps(told | {"zarr_format": 2}))


def hdf5_as_many_as_may_be(path):
    with h5py.File(path, "w", libver="latest") as file:
        for i in range(1000):
            file[str(i)] = np.ones((2, 8))


def npz_as_many_as_may_be(path):
    np.savez_compressed(path, **{str(i): np.ones((2, 8)) for i in range(1000)})


def pt_packed(path):
    archive(path, {"a/data.pkl": (deflated(8 * LARGE), 8 * LARGE, 0)})


def pt_packed_by_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("data.pkl", "data/0", "version"):
            file.writestr(f"a/{name}", bytes(10**6))


def pth_laughs(path):
    """A list of twice the same list of twice the same list: a few bytes, 2^60 entries."""
    content = []
    for _ in range(60):
        content = [content, content]
    magic = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}, content, []]
    path.write_bytes(b"".join(pickle.dumps(part, 2) for part in magic))


def csv_many_columns(path):
    path.write_text("a,y\n" + ",".join(["1"] * 10**6) + "\n" + "1,2\n" * 5)


def csv_many_named_columns(path):
    names = [*"ay", *(f"column{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(15_000))]
    path.write_text("\n".join([",".join(names), *[",".join(["1.5"] * len(names))] * 3]))


def csv_one_line(path):
    path.write_bytes(b"1" * 3 * 10**7)


def csv_many_rows(path):
    path.write_text("a,y\n" + "1,2\n3,4\n" * 2 * 10**6)


def csv_many_samples(path):
    path.write_text("run,t,a,y\n" + "".join(f"{i},0,1,2\n{i},1,1,3\n{i},2,2,3\n" for i in range(4 * 10**5)))


def csv_quotes(path):
    path.write_bytes(b'a,y\n1,2\n3,"' + b"x" * 10**7 + b"\n" * 10**7)


def csv_wide_texts(path):
    path.write_bytes(b"a,y,remark\n1,2," + b"x" * 10**6 + b"\n" + b"3,4,x\n" * 10**6)


def csv_resampled(path):
    """Many curves of a few points and some of very many: the points are those of most curves, or few."""
    few = "".join(f"{i},0,{i},2\n{i},1,1,3\n" for i in range(60_000))
    path.write_text("run,t,a,y\n" + few + "".join(f"{10**6},{i / 10**6},1,2\n" for i in range(10**6)))


def npy_of_objects(path):
    """A list of twice the same list of twice the same list, as a pickle."""
    content = b"\x80\x04](]\x94" + b"".join(b"]h%cah%ca\x94" % (k, k) for k in range(60)) + b"e."
    text = b"{'descr': '|O', 'fortran_order': False, 'shape': (61,)}\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + content)


def npz_of_objects(path):
    text = b"{'descr': '|O', 'fortran_order': False, 'shape': ()}\n"
    start = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\x80\x04"
    archive(path, {f"{name}.npy": (deflated(2**31, start), 2**31 + len(start), 0) for name in "ay"})


def vtk(kind, body, told=""):
    start = f'<?xml version="1.0"?><VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" header_type="UInt64"{told}>'
    return start.encode() + body + b"</VTKFile>"


def vti_packed(path, packer=None, size=2**28, name="vtkZLibDataCompressor"):
    """An image of zeros, in one block for each of two fields."""
    packed = deflated(size, wbits=15) if packer is None else packer(bytes(size))
    block = struct.pack("<4Q", 1, size, size, len(packed)) + packed
    arrays = "".join(
        f'<DataArray type="Float64" Name="{array}" format="appended" offset="{at}"/>'
        for array, at in (("a", 0), ("y", len(block)))
    )
    extent = f"0 {size // 8 - 1} 0 0 0 0"
    body = f'<ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="1 1 1"><Piece Extent="{extent}">'
    body += f'<PointData>{arrays}</PointData></Piece></ImageData><AppendedData encoding="raw">_'
    path.write_bytes(vtk("ImageData", body.encode() + block + block + b"</AppendedData>", f' compressor="{name}"'))


def vti_by_lzma(path):
    vti_packed(path, lzma.compress, 2**26, "vtkLZMADataCompressor")


def vti_lying(path):
    """A block that unpacks to a thousand times what the image holds."""
    packed = deflated(2**32, wbits=15)
    block = base64.b64encode(struct.pack("<4Q", 1, 64, 64, len(packed))).decode() + base64.b64encode(packed).decode()
    arrays = "".join(f'<DataArray type="Float64" Name="{name}" format="binary">{block}</DataArray>' for name in "ay")
    body = '<ImageData WholeExtent="0 7 0 0 0 0" Origin="0 0 0" Spacing="1 1 1"><Piece Extent="0 7 0 0 0 0">'
    body += f"<PointData>{arrays}</PointData></Piece></ImageData>"
    path.write_bytes(vtk("ImageData", body.encode(), ' compressor="vtkZLibDataCompressor"'))


def vtu_laughs(path):
    entities = '<!ENTITY a0 "1 1 1 1 1 1 1 1 1 1">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    body = f"<!DOCTYPE VTKFile [{entities}]><VTKFile>&a11;</VTKFile>"
    path.write_text(f'<?xml version="1.0"?>{body}')


def vtu_nested(path):
    path.write_bytes(vtk("UnstructuredGrid", b"<a>" * 10**5 + b"</a>" * 10**5))


def vtu_many_elements(path):
    path.write_bytes(vtk("UnstructuredGrid", b"<UnstructuredGrid>" + b"<a/>" * 2 * 10**5 + b"</UnstructuredGrid>"))


def vtk_claims(path):
    """Everything that has a size claims a large one."""
    text = "# vtk DataFile Version 4.2\nx\nBINARY\nDATASET UNSTRUCTURED_GRID\n"
    path.write_text(text + "FIELD f 1000000000000\n" + "".join(f"a{i} 1000000 1000000 double\n" for i in range(10**4)))


def vtk_long_polygons(path):
    """A thousand polygons, each of another size, up to a thousand nodes."""
    sizes = np.arange(3, 1203)
    nodes = np.concatenate([np.concatenate([[size], np.arange(size)]) for size in sizes])
    text = b"# vtk DataFile Version 4.2\nx\nBINARY\nDATASET POLYDATA\nPOINTS 1300 double\n"
    text += np.random.default_rng(0).random((1300, 3)).astype(">f8").tobytes()
    text += f"\nPOLYGONS {len(sizes)} {len(nodes)}\n".encode() + nodes.astype(">i4").tobytes()
    text += (
        b"\nPOINT_DATA 1300\nSCALARS a double\nLOOKUP_TABLE d\n" + bytes(8 * 1300) + b"\nSCALARS y double\n" + bytes(8 * 1300)
    )
    path.write_bytes(text)


def msh_sparse_views(path):
    """Many nodes, and many fields that have a value at one of them."""
    points = "".join(f"{i} {i % 1000} {i // 1000} 0\n" for i in range(1, 50_000))
    views = "".join(f'$NodeData\n1\n"{i}"\n0\n3\n0\n9\n1\n1 1 1 1 1 1 1 1 1 1\n$EndNodeData\n' for i in range(900))
    path.write_text(f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n49999\n{points}$EndNodes\n{views}")


def msh_many_sections(path):
    path.write_bytes(b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n" + b"$a\n$Enda\n" * 10**5)


def xdmf_many_grids(path):
    item = '<DataItem Dimensions="1 1" Format="XML">0</DataItem>'
    grid = f'<Grid><Attribute Name="a">{item}</Attribute></Grid>'
    path.write_text(f"<Xdmf><Domain>{grid * 5 * 10**4}</Domain></Xdmf>")


BOMBS = {
    "npz with a long header": (npz_long_header, ".npz"),
    "npz of one row": (npz_one_row, ".npz"),
    "npz of many rows": (npz_many_rows, ".npz"),
    "npz in columns": (npz_in_columns, ".npz"),
    "npz of many arrays": (npz_many_arrays, ".npz"),
    "mat": (mat, ".mat"),
    "mat of many elements": (mat_many, ".mat"),
    "hdf5 with a large chunk": (hdf5_large_chunk, ".h5"),
    "hdf5 with a lying chunk": (hdf5_lying_chunk, ".h5"),
    "hdf5 in tiny chunks": (hdf5_tiny_chunks, ".h5"),
    "hdf5 of nested groups": (hdf5_nested, ".h5"),
    "hdf5 of many groups": (hdf5_many_groups, ".h5"),
    "zarr with nothing stored": (zarr_nothing_stored, ".zarr"),
    "zarr with a large chunk": (zarr_large_chunk, ".zarr"),
    "zarr with a lying chunk": (zarr_lying_chunk, ".zarr"),
    "zarr of many arrays": (zarr_many_arrays, ".zarr"),
    "npz of 1,000 arrays": (npz_as_many_as_may_be, ".npz"),
    "hdf5 of 1,000 arrays": (hdf5_as_many_as_may_be, ".h5"),
    "pt, packed": (pt_packed, ".pt"),
    "pt, packed by zip": (pt_packed_by_zip, ".pt"),
    "pth, nested": (pth_laughs, ".pth"),
    "csv of many columns": (csv_many_columns, ".csv"),
    "csv of many named columns": (csv_many_named_columns, ".csv"),
    "csv of one line": (csv_one_line, ".csv"),
    "csv of many rows": (csv_many_rows, ".csv"),
    "csv of many samples": (csv_many_samples, ".csv"),
    "csv with a quote": (csv_quotes, ".csv"),
    "csv with a wide text": (csv_wide_texts, ".csv"),
    "csv of many curves": (csv_resampled, ".csv"),
    "npy of nested objects": (npy_of_objects, ".npy"),
    "npz of packed objects": (npz_of_objects, ".npz"),
    "vti, packed": (vti_packed, ".vti"),
    "vti, packed by lzma": (vti_by_lzma, ".vti"),
    "vti with a lying block": (vti_lying, ".vti"),
    "vtu with entities": (vtu_laughs, ".vtu"),
    "vtu, nested": (vtu_nested, ".vtu"),
    "vtu of many elements": (vtu_many_elements, ".vtu"),
    "vtk of claims": (vtk_claims, ".vtk"),
    "vtk of long polygons": (vtk_long_polygons, ".vtk"),
    "msh of sparse views": (msh_sparse_views, ".msh"),
    "msh of many sections": (msh_many_sections, ".msh"),
    "xdmf of many grids": (xdmf_many_grids, ".xdmf"),
}


def write_bomb(kind, folder):
    writer, suffix = BOMBS[kind]
    path = folder / f"bomb{suffix}"
    writer(path)
    return path


def measure(path, answer):
    """Inspect a file, which opens and reads it: processor seconds, the most MiB, the message, what went to stderr."""
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    message, printed, begun = "read", io.StringIO(), time.process_time()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
            app(["inspect", str(path), "--input", "a", "--output", "y", "--box"], standalone_mode=False)
    except RaffiaError as error:
        message = str(error)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer.send((time.process_time() - begun, memory, message, printed.getvalue()))
