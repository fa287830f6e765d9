"""How many requests a server answers: one after another, and from 200 clients at once.   python benchmarks/serve.py [MODEL]

Clients are a process of their own, keep their connections and send 50 requests each, every one with an input of its own; each answer is
compared with `predict`, so that none is lost or mixed up. Server and clients share the cores of the machine. What batches gain depends on
what a model does: features of vectors and kernels are matrix products, of which many rows cost little more than one; Fourier features
take as long for each input as for one, and there the server is as fast as `predict`.
"""

import argparse
import asyncio
import json
import math
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from raffia import Burgers, FourierFeatures, RandomFeatureModel, ScalarFeatures, Vectors

CLIENTS, EACH, ALONE = 200, 50, 1000
DATA = Burgers(fine_points=256).dataset(256, points=64, seed=0)


def parameters():
    """Ten parameters to a curve, by 1024 features."""
    x = torch.randn(256, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return RandomFeatureModel(ScalarFeatures(domain=Vectors()), 1024, 1e-6, output=DATA.domain).fit(x, DATA.y)


def functions():
    """Functions to functions, by 1024 features that are numbers."""
    return RandomFeatureModel(ScalarFeatures(32), 1024, 1e-6).fit(DATA.a, DATA.y)


def kernel():
    """Functions to functions, by the kernel of such features."""
    return RandomFeatureModel(ScalarFeatures(None, 2.0), math.inf, 1e-6, normalize="function").fit(DATA.a, DATA.y)


def fourier():
    """Functions to functions, by 256 features that are functions."""
    return RandomFeatureModel(FourierFeatures(32), 256, 1e-6).fit(DATA.a, DATA.y)


MODELS = {make.__name__: make for make in (parameters, functions, kernel, fourier)}


async def client(port, bodies):
    """Send one request after another; the answers, and the seconds each took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers, waits = [], []
    for body in bodies:
        began = time.perf_counter()
        writer.write(b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        answers.append(await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])))
        waits.append(time.perf_counter() - began)
    writer.close()
    return answers, waits


async def crowd(port, bodies, clients):
    each = len(bodies) // clients
    began = time.perf_counter()
    found = await asyncio.gather(*(client(port, bodies[i * each : (i + 1) * each]) for i in range(clients)))
    seconds = time.perf_counter() - began
    answers = np.array([json.loads(answer)["output"][0] for answers, _ in found for answer in answers])
    return answers, seconds, np.concatenate([waits for _, waits in found])


def attend(connection, port, bodies, clients):
    connection.send(asyncio.run(crowd(port, bodies, clients)))


def measured(port, bodies, expected, clients):
    """Requests a second, and what there is to say of them; clients are in a process of their own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=attend, args=(there, port, bodies, clients))
    process.start()
    answers, seconds, waits = here.recv()
    process.join()
    apart = np.abs(answers - expected).max() / np.abs(expected).max()
    assert answers.shape == expected.shape
    assert apart < 1e-9
    median, slow = 1e3 * np.quantile(waits, [0.5, 0.99])
    print(
        f"{f'{clients} clients' if clients > 1 else 'one at a time':>14}: {len(answers)} answers, all right ({apart:.0e}), in "
        f"{seconds:.1f} s: {len(answers) / seconds:.0f} a second; half within {median:.1f} ms, 99 of 100 within {slow:.1f} ms",
        flush=True,
    )
    return len(answers) / seconds


def contest(name, folder):
    model = MODELS[name]()
    size = model.input_grid_.size
    inputs = torch.randn(CLIENTS * EACH, size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    if size > 10:  # functions: waves with random amplitudes
        x, k = torch.arange(size) / size, torch.arange(1, 11)
        inputs = (inputs[:, :10] / k**2) @ torch.sin(2 * math.pi * k[:, None] * x).double()
    expected = model.predict(inputs).numpy()
    bodies = [json.dumps({"name": name, "input": [a], "config": {}}).encode() for a in inputs.tolist()]
    file = Path(folder) / f"{name}.safetensors"
    model.save(file)
    print(f"{name}. {MODELS[name].__doc__}", flush=True)
    with subprocess.Popen(
        [sys.executable, "-m", "raffia", "serve", str(file), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            port = next(int(line.rpartition(":")[2]) for line in server.stdout if line.startswith("serving at"))
            asyncio.run(crowd(port, bodies[:50], 1))
            alone = measured(port, bodies[:ALONE], expected[:ALONE], 1)
            together = measured(port, bodies, expected, CLIENTS)
        finally:
            server.terminate()
    print(f"                throughput {together / alone:.1f} times that of one at a time", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}; all if not said")
    with tempfile.TemporaryDirectory() as folder:
        for name in parser.parse_args().models or MODELS:
            contest(name, folder)


if __name__ == "__main__":
    main()
