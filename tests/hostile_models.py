"""Model files that claim much or hold what no model has: what a reader meets that believes whatever it is told."""

import copy
import json

import torch
from safetensors import safe_open
from safetensors.torch import save_file

HUGE = 10**12


def header_and_tensors(path):
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        return metadata, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)


def settings_in(content, way=()):
    """Every setting of every object of a header: the dictionary that holds it, its name, and its way from the top."""
    if isinstance(content, dict):
        inner = content["arguments"]["dict"] if "class" in content else content
        for name, value in inner.items():
            if "class" in content:
                yield inner, name, (*way, content["class"], name)
            yield from settings_in(value, (*way, content["class"]) if "class" in content else way)
    for entry in content if isinstance(content, list) else ():
        yield from settings_in(entry, way)


def written(path, metadata, tensors, content):
    save_file(tensors, path, metadata=metadata | {"content": json.dumps(content)})
    return path


def changed(source, path, change):
    """A copy of a model file with another header; `change` gets its content and its tensors."""
    metadata, tensors = header_and_tensors(source)
    content = json.loads(metadata["content"])
    change(content, tensors)
    return written(path, metadata, tensors, content)


def parts(content):
    trained = content["dict"]["trained"]["arguments"]["dict"]
    return {name: trained[name]["arguments"]["dict"] for name in ("settings", "frame", "solution")}


def configuration(cls, **arguments):
    return {"class": cls, "arguments": {"dict": arguments}}


CIRCLE = configuration("Domain", dim=1, periodic=True, extent=1.0)


def features(cls, **arguments):
    def change(content, tensors):
        parts(content)["settings"]["feature_map"] = configuration(cls, **arguments)

    return change


def network(cls, **sizes):
    return features("NeuralFeatures", network=configuration(cls, **sizes), domain=CIRCLE)


def many_modes(content, tensors):
    parts(content)["settings"]["feature_map"]["arguments"]["dict"]["n_modes"] = 10**8


def many_features(content, tensors):
    parts(content)["settings"]["n_features"] = HUGE


def many_points(content, tensors):
    parts(content)["frame"]["output_nodes"] = configuration("Grid", domain=CIRCLE, shape={"tuple": [HUGE]})
    parts(content)["frame"]["values"] = configuration("Grid", domain=configuration("Domain", dim=0), shape={"tuple": []})


def many_nodes(content, tensors):
    """Nodes without weights, which would have to be estimated."""
    tensors["nodes"] = torch.rand(50_000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mesh = configuration("Mesh", nodes={"tensor": "nodes"}, weights=None, domain=None, origin=None)
    parts(content)["frame"]["input"] = mesh


CUBE = configuration("Domain", dim=3, periodic=True, extent=1.0)
ORIGIN = {"tuple": [0.0, 0.0, 0.0]}


def a_mesh(content, tensors, count):
    """Coordinates and weights of a byte each, which take eight times as much once they are numbers."""
    tensors["nodes"], tensors["weights"] = torch.zeros(count, 3, dtype=torch.uint8), torch.ones(count, dtype=torch.uint8)
    return configuration("Mesh", nodes={"tensor": "nodes"}, weights={"tensor": "weights"}, domain=CUBE, origin=ORIGIN)


def large_mesh(content, tensors):
    parts(content)["frame"]["input"] = a_mesh(content, tensors, 2_400_000)


def one_tensor_for_many(content, tensors):
    """A thousand meshes of one tensor: 80 GB, were it copied for each."""
    mesh = a_mesh(content, tensors, 2_400_000)
    parts(content)["settings"]["solver"] = {"list": [copy.deepcopy(mesh) for _ in range(1000)]}


def unions_of_unions(content, tensors):
    nest = configuration("FourierFeatures", n_modes=8, domain=CIRCLE)
    for _ in range(60):
        nest = configuration("Union", maps={"tuple": [nest]}, scales=None, shares=None)
    parts(content)["settings"]["feature_map"] = nest


def deep_lists(content, tensors):
    nest = 0
    for _ in range(400):  # below the limit of the JSON module, not of ours
        nest = {"list": [nest]}
    parts(content)["settings"]["solver"] = nest


def many_objects(content, tensors):
    """Objects as small as they can be, as many as 10 MB hold."""
    parts(content)["settings"]["solver"] = {"list": [configuration("Cholesky")] * 150_000}


def many_maps(content, tensors):
    one = configuration("FourierFeatures", domain=configuration("Domain", dim=1))
    parts(content)["settings"]["feature_map"] = configuration("Union", maps={"tuple": [one] * 50_000})


def long_numbers(content, tensors):
    parts(content)["settings"]["ridge"] = 10**4000


HOSTILE = {
    "n_modes 1e8": many_modes,
    "n_features 1e12": many_features,
    "an output of 1e12 points": many_points,
    "50,000 nodes without weights": many_nodes,
    "a mesh of 2,400,000 nodes": large_mesh,
    "one tensor for a thousand meshes": one_tensor_for_many,
    "unions of unions": unions_of_unions,
    "lists of lists": deep_lists,
    "150,000 objects": many_objects,
    "a union of 50,000 maps": many_maps,
    "a ridge of 4,000 digits": long_numbers,
    "1e12 modes of a bridge": features("BrownianBridge", n_modes=HUGE, domain=CIRCLE),
    "1e12 channels": features("FourierFeatures", n_modes=8, domain=configuration("Channels", of=CIRCLE, count=HUGE)),
    "1e12 degrees of freedom": features("ScalarFeatures", law="student", dof=HUGE, domain=CIRCLE),
    "a network of width 1e6": network("SpectralNetwork", width=10**6),
    "a network of 1e9 layers": network("SpectralNetwork", width=1, n_modes=1, layers=10**9),
    "a network of rank 1e9": network("BranchTrunk", rank=10**9),
    "1e12 corrections": features("PredictorCorrectorFeatures", steps=HUGE),
}
"""What a small model's file is made into, by a change of its header and its tensors."""
