"""Models served by UM-Bridge: the protocol, batches, hostile clients, and ends of all kinds."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import raffia
from raffia import Dataset, PredictorCorrectorFeatures, RaffiaError, RandomFeatureModel, ScalarFeatures, Vectors, cli

for package in ("aiohttp", "orjson"):
    pytest.importorskip(package, reason="the extra serve is not installed")

from aiohttp.test_utils import TestClient, TestServer  # noqa: E402

from raffia.serve import Served, Server, serving  # noqa: E402
from raffia.serve.gathering import Gatherer, computed  # noqa: E402

CONFORMITY = Path(os.environ.get("RAFFIA_SHARED", Path(__file__).parents[2] / "shared")) / "reference/umbridge"


def asked(url, request):
    """What a server sends for these bytes until it closes the connection."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(request)
        parts = []
        while part := client.recv(2**16):
            parts.append(part)
    return b"".join(parts)


def message(path, content, head="", method="POST"):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    lines = f"{method} {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: {len(body)}\r\n{head}\r\n"
    return lines.encode() + body


def post(url, path, content):
    """The status and the JSON of an answer."""
    head, _, body = asked(url, message(path, content)).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.fixture(scope="module")
def vectors():
    a = np.random.default_rng(0).standard_normal((60, 3))
    y = np.stack([a[:, 0] * a[:, 1], np.sin(a[:, 2])], 1)
    return RandomFeatureModel(ScalarFeatures(domain=Vectors()), 50, 1e-6, output=Vectors()).fit(a, y)


@pytest.fixture(scope="module")
def url(small_model, vectors):
    with serving({"burgers": small_model, "vectors": vectors}) as address:
        yield address


def test_a_model_of_positive_inputs_can_do_all_too():
    a = 1 + np.random.default_rng(0).random((4, 5, 5))
    model = RandomFeatureModel(PredictorCorrectorFeatures(), 4, 1e-8).fit(a, a)
    assert all(Served("m", model).support.values())


@pytest.fixture(scope="module")
def evaluate(burgers):
    return {"name": "burgers", "input": [burgers.a[0].tolist()], "config": {}}


def test_the_client_of_umbridge_gets_values_and_derivatives(url, small_model, burgers):
    umbridge = pytest.importorskip("umbridge")
    assert umbridge.supported_models(url) == ["burgers", "vectors"]
    client, operator = umbridge.HTTPModel(url, "burgers"), small_model.at()
    x, s, v = burgers.a[0].double().numpy(), np.linspace(-1, 1, 64), np.cos(np.arange(64))
    assert (client.get_input_sizes(), client.get_output_sizes()) == ([64], [64])
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(client([x.tolist()])[0], operator(x), **close)
    np.testing.assert_allclose(client.gradient(0, 0, [x.tolist()], s.tolist()), operator.vjp(x, s), **close)
    np.testing.assert_allclose(client.apply_jacobian(0, 0, [x.tolist()], v.tolist()), operator.jvp(x, v), **close)
    hessian = client.apply_hessian(0, 0, 0, [x.tolist()], s.tolist(), v.tolist())
    np.testing.assert_allclose(hessian, operator.hvp(x, s, v), **close)


@pytest.mark.skipif(not CONFORMITY.is_dir(), reason="the conformity tests of UM-Bridge are not beside this checkout")
def test_the_conformity_tests_of_umbridge_pass(url, tmp_path):
    pytest.importorskip("jsonschema")
    pytest.importorskip("requests")
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", CONFORMITY, "--model_url", url]
    done = subprocess.run(
        [sys.executable, *words, CONFORMITY / "test_model_schema.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "22 passed" in done.stdout


def test_a_config_chooses_the_grid(url, small_model, burgers):
    finer = np.interp(np.arange(128) / 128, np.arange(64) / 64, burgers.a[0], period=1)
    config = {"grid": 128}
    assert post(url, "/InputSizes", {"name": "burgers", "config": config}) == (200, {"inputSizes": [128]})
    assert post(url, "/OutputSizes", {"name": "burgers", "config": config}) == (200, {"outputSizes": [128]})
    status, found = post(url, "/Evaluate", {"name": "burgers", "input": [finer.tolist()], "config": config})
    assert status == 200
    np.testing.assert_allclose(found["output"][0], small_model.predict(finer[None])[0], rtol=1e-12, atol=1e-13)


def test_an_answer_tells_inputs_outside_the_training_data():
    a = np.random.default_rng(0).uniform(0, 1, (60, 3))
    model = raffia.fit(Dataset(a, np.sin(a), Vectors(), output=Vectors()), "linear").model
    with serving({"sines": model}) as address:
        near, far = (
            post(address, "/Evaluate", {"name": "sines", "input": [x], "config": {}})[1]["novelty"]
            for x in ([0.5] * 3, [9.0] * 3)
        )
    assert near < 1 < far
    assert far == pytest.approx(float(model.novelty(np.full((1, 3), 9.0))[0]))


def test_head_says_that_the_server_is_there(url):
    for path in ("/", "/Info"):
        head, _, body = asked(url, message(path, b"", method="HEAD")).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert body == b""


ZEROS = [0.0] * 64
WRONG = {
    "no JSON": ("/Evaluate", b"{", "InvalidInput", "must be JSON"),
    "nothing": ("/Evaluate", b"", "InvalidInput", "must be JSON"),
    "no object": ("/Evaluate", [1], "InvalidInput", "JSON object"),
    "deep": ("/Evaluate", b"[" * 10**6, "InvalidInput", "must be JSON"),
    "no text": ("/Evaluate", b"\xff\xfe{}", "InvalidInput", "must be JSON"),
    "no name": ("/Evaluate", {}, "InvalidInput", "'name' is missing"),
    "other model": ("/Evaluate", {"name": "darcy"}, "ModelNotFound", "there are burgers, vectors"),
    "name a list": ("/ModelInfo", {"name": ["burgers"]}, "ModelNotFound", "there are burgers"),
    "no input": ("/Evaluate", {"name": "burgers"}, "InvalidInput", "'input' is missing"),
    "flat": ("/Evaluate", {"name": "burgers", "input": ZEROS}, "InvalidInput", "one list of 64 numbers; got a list of 64 (float)"),
    "two": ("/Evaluate", {"name": "burgers", "input": [ZEROS, ZEROS]}, "InvalidInput", "one list of 64 numbers"),
    "short": ("/Evaluate", {"name": "burgers", "input": [[1.0]]}, "InvalidInput", "64 numbers; got a list of 1"),
    "texts": ("/Evaluate", {"name": "burgers", "input": [["1"] * 64]}, "InvalidInput", "got a list of 64 (str)"),
    "truths": ("/Evaluate", {"name": "burgers", "input": [[True, *ZEROS[1:]]]}, "InvalidInput", "bool, float"),
    "null": ("/Evaluate", {"name": "burgers", "input": [[None, *ZEROS[1:]]]}, "InvalidInput", "NoneType"),
    "NaN": ("/Evaluate", b'{"name": "burgers", "input": [[NaN]]}', "InvalidInput", "must be JSON"),
    "infinite": ("/Evaluate", b'{"name": "burgers", "input": [[1e999' + b",0" * 63 + b"]]}", "InvalidInput", "infinity"),
    "whole numbers too large": (
        "/Evaluate", b'{"name": "burgers", "input": [[1' + b"0" * 400 + b",0" * 63 + b"]]}", "InvalidInput", "",
    ),
    "config": ("/InputSizes", {"name": "burgers", "config": {"level": 1}}, "InvalidInput", "config must be empty"),
    "grid of text": ("/InputSizes", {"name": "burgers", "config": {"grid": "64"}}, "InvalidInput", "number of points"),
    "grid of axes": ("/InputSizes", {"name": "burgers", "config": {"grid": [8, 8]}}, "InvalidInput", "1 axes"),
    "vast grid": ("/InputSizes", {"name": "burgers", "config": {"grid": 10**12}}, "InvalidInput", "at most 1,048,576"),
    "grid of a vector": ("/InputSizes", {"name": "vectors", "config": {"grid": 4}}, "InvalidInput", "Vectors"),
    "coarse grid": (
        "/Evaluate", {"name": "burgers", "input": [[0.0]], "config": {"grid": 1}}, "InvalidInput", "",
    ),
    "place": (
        "/Gradient", {"name": "burgers", "input": [ZEROS], "outWrt": 1, "inWrt": 0, "sens": ZEROS}, "InvalidInput", "outWrt must be 0",
    ),
    "no place": ("/Gradient", {"name": "burgers", "input": [ZEROS], "sens": ZEROS}, "InvalidInput", "'outWrt' is missing"),
    "direction": (
        "/ApplyJacobian", {"name": "vectors", "input": [[0, 0, 0]], "outWrt": 0, "inWrt": 0, "vec": [1, 2]}, "InvalidInput", "vec must",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_requests_get_errors_of_the_protocol(case, url):
    path, content, kind, words = WRONG[case]
    status, found = post(url, path, content)
    assert (status, set(found), set(found["error"])) == (400, {"error"}, {"type", "message"})
    assert found["error"]["type"] == kind
    assert words in found["error"]["message"]
    assert len(found["error"]["message"]) < 1000


HOSTILE = {
    "no HTTP": b"\x16\x03\x01\x02\x00\r\n\r\n",
    "no host": b"GET /Info HTTP/1.1\r\n\r\n",
    "folded": b"GET /Info HTTP/1.1\r\nHost: here\r\n there\r\n\r\n",
    "space before colon": b"GET /Info HTTP/1.1\r\nHost : here\r\n\r\n",
    "null byte": b"GET /Info HTTP/1.1\r\nHost: he\x00re\r\n\r\n",
    "two lengths": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "negative length": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n{}",
    "length and chunks": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "no chunk": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "long chunk": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    "vast chunk": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffff\r\n{}",
    "vast length": b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: 999999999999\r\n\r\n{}",
    "address": b"GET http://[::1 HTTP/1.1\r\nHost: here\r\n\r\n",
}


@pytest.fixture(scope="module")
def impatient(small_model):
    with serving({"burgers": small_model}, seconds=1.0) as address:
        yield address


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_requests_are_refused_and_the_server_goes_on(case, impatient, evaluate):
    assert asked(impatient, HOSTILE[case]).split()[1] == b"400"
    assert post(impatient, "/Evaluate", evaluate)[0] == 200


def test_a_client_that_sends_a_vast_head_is_left(impatient, evaluate):
    with suppress(ConnectionResetError):
        assert asked(impatient, b"GET /Info HTTP/1.1\r\nHost: here\r\nX: " + b"x" * 10**6).split()[1] == b"400"
    assert post(impatient, "/Evaluate", evaluate)[0] == 200


def test_a_body_above_the_limit_is_refused_while_it_comes(url, evaluate):
    status, found = post(url, "/Evaluate", b" " * 40_000_000)  # the client sends all of it before it reads
    assert (status, found["error"]["type"]) == (400, "InvalidInput")
    assert "at most 32,000,000 bytes" in found["error"]["message"]
    assert post(url, "/Evaluate", evaluate)[0] == 200


def test_a_small_body_above_a_small_limit_is_refused_too(small_model):
    head = b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
    chunks = head + b"Transfer-Encoding: chunked\r\n\r\n65\r\n%s\r\n0\r\n\r\n" % (b" " * 101)
    with serving({"m": small_model}, largest=100) as url:
        assert post(url, "/ModelInfo", {"name": "m"})[0] == 200
        assert post(url, "/ModelInfo", b" " * 101)[0] == 400
        assert asked(url, chunks).startswith(b"HTTP/1.1 400 ")


def test_unknown_paths_and_methods_have_statuses_of_http(url):
    assert post(url, "/evaluate", {})[0] == 404
    assert asked(url, message("/Evaluate", b"", method="GET")).startswith(b"HTTP/1.1 405 ")
    assert asked(url, message("/../../etc/passwd", b"", method="GET")).startswith(b"HTTP/1.1 404 ")


def test_chunks_pipelines_expectations_and_old_clients_are_served(url, evaluate):
    body = json.dumps(evaluate).encode()
    expected = asked(url, message("/Evaluate", evaluate)).partition(b"\r\n\r\n")[2]
    chunks = b"".join(b"%x;note=1\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\nTrailer: 1\r\n\r\n"
    head = b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
    assert asked(url, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks).endswith(expected)
    patient = asked(url, head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert patient.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    both = asked(
        url, message("/Info", b"", method="GET").replace(b"Connection: close\r\n", b"") + message("/Evaluate", evaluate)
    )
    assert both.count(b"HTTP/1.1 200 OK") == 2
    assert both.endswith(expected)
    assert b"burgers" in asked(url, b"GET /Info HTTP/1.0\r\n\r\n")
    assert b"burgers" in asked(url, b"GET http://here/Info?x=1 HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")


def test_whoever_is_too_slow_is_told_so_or_left(small_model):
    with serving({"m": small_model}, seconds=0.1) as url:
        slow = asked(url, b"POST /Evaluate HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n{")
        assert b"did not arrive within 0.1 seconds" in slow
        assert asked(url, b"GET /Info HTT") == b""


def test_more_connections_than_the_server_takes_are_told_to_come_again(small_model):
    with serving({"m": small_model}, connections=1) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as first:
            first.sendall(b"GET /Info HTTP/1.1\r\nHost: here\r\n\r\n")
            assert first.recv(100).startswith(b"HTTP/1.1 200")
            assert asked(url, b"").startswith(b"HTTP/1.1 503 ")
        time.sleep(0.2)  # in which the server sees that the first client has gone
        assert post(url, "/ModelInfo", {"name": "m"})[0] == 200


class Stub(Served):
    """A model whose output is twice the input; it counts batches, and fails for some inputs."""

    name, support = "stub", {"Evaluate": True, "Gradient": False}
    input_size = output_size = 1
    novelty = None

    def __init__(self):
        self.batches = []

    def at(self, grid):
        return self

    def function(self, call, grid):
        return self.double

    def double(self, x):
        self.batches.append(len(x))
        if (x < 0).any():
            raise ZeroDivisionError("of all\nbatches")
        return np.where(x > 1e3, np.nan, 2 * x)


def answers(stub, path, requests):
    """The status and the JSON of each answer, to requests at the same time."""

    async def talk():
        app = Server(models={"stub": stub}).application(Gatherer())
        async with TestClient(TestServer(app)) as client:

            async def answer(content):
                async with client.post(path, json={"name": "stub"} | content) as response:
                    return response.status, await response.json()

            return await asyncio.gather(*map(answer, requests))

    return asyncio.run(talk())


def test_requests_at_the_same_time_are_batches_and_each_has_its_own_answer():
    stub = Stub()
    *good, failed, endless = answers(stub, "/Evaluate", [{"input": [[x]]} for x in (*range(600), -1, 2000)])
    assert good == [(200, {"output": [[2.0 * x]]}) for x in range(600)]
    assert len(stub.batches) < 300
    assert (failed[0], endless[0]) == (500, 500)
    assert failed[1]["error"] == {
        "type": "InvalidOutput",
        "message": "the model failed (ZeroDivisionError: of all batches).",
    }
    assert "not finite" in endless[1]["error"]["message"]


def test_what_comes_while_a_batch_is_computed_is_the_next_batch():
    stub = Stub()

    async def talk():
        gatherer = Gatherer()
        return await asyncio.gather(*(gatherer.rows(stub.double, np.array([float(x)])) for x in range(600)))

    np.testing.assert_array_equal(np.concatenate(asyncio.run(talk())), 2.0 * np.arange(600))
    assert stub.batches == [256, 256, 88]


def test_what_a_model_cannot_do_is_said():
    ((status, answer),) = answers(Stub(), "/Gradient", [{}])
    assert (status, answer["error"]["type"]) == (400, "UnsupportedFeature")


def test_a_batch_that_fails_is_computed_one_by_one():
    def reciprocal(x):
        if (x == 0).any():
            raise RaffiaError("zero")
        return 1 / x

    rows = computed(reciprocal, [(np.array([x]),) for x in (1.0, 0.0, 4.0)])
    assert (rows[0], rows[2]) == (1.0, 0.25)
    assert str(rows[1]) == "zero"


def test_two_hundred_clients_lose_nothing(url, small_model, burgers):
    inputs = np.random.default_rng(1).uniform(0.5, 1.5, (200, 1)) * burgers.a[:1].double().numpy()
    expected = small_model.predict(inputs)

    def client(i):
        body = message("/Evaluate", {"name": "burgers", "input": [inputs[i].tolist()]})
        return [json.loads(asked(url, body).partition(b"\r\n\r\n")[2])["output"][0] for _ in range(3)]

    with ThreadPoolExecutor(200) as clients:
        found = list(clients.map(client, range(200)))
    np.testing.assert_allclose(np.array(found), np.repeat(expected[:, None], 3, 1), rtol=1e-10, atol=1e-12)


def started(*words, port=0):
    """A server in a process of its own, and where it is."""
    command = [sys.executable, "-m", "raffia", "serve", *map(str, words), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = []
    for line in server.stdout:
        said.append(line.strip())
        if line.startswith("serving at"):
            return server, line.split()[2], said
    raise AssertionError(server.stderr.read())


@pytest.mark.slow
def test_a_server_that_was_killed_and_started_again_answers_as_before(small_model, evaluate, tmp_path):
    small_model.save(tmp_path / "burgers.safetensors")
    request = message("/Evaluate", evaluate)
    server, url, said = started(tmp_path / "burgers.safetensors")
    assert said[0] == "burgers: 64 → 64 numbers; Evaluate, Gradient, ApplyJacobian, ApplyHessian"
    before = asked(url, request).partition(b"\r\n\r\n")[2]
    server.kill()
    server.communicate()
    again, where, _ = started(tmp_path / "burgers.safetensors", port=url.rpartition(":")[2])
    assert where == url
    assert asked(url, request).partition(b"\r\n\r\n")[2] == before
    again.send_signal(signal.SIGTERM)
    assert again.communicate()[1] == "raffia: stopped by SIGTERM.\n"
    assert again.returncode == 128 + signal.SIGTERM


def test_requests_at_hand_are_answered_before_the_server_stops(small_model, evaluate, monkeypatch):
    begun = threading.Event()

    def slow(x, *_):
        begun.set()
        time.sleep(0.2)
        return x

    monkeypatch.setattr(Served, "function", lambda *_: slow)
    with ThreadPoolExecutor(1) as client, serving({"burgers": small_model}) as url:
        begun.clear()  # it was tried before the server started
        answer = client.submit(asked, url, message("/Evaluate", evaluate))
        begun.wait(10)
    assert json.loads(answer.result().partition(b"\r\n\r\n")[2])["output"] == evaluate["input"]


def test_what_is_wrong_at_the_start_is_said(url, small_model):
    port = int(url.rpartition(":")[2])
    with pytest.raises(RaffiaError, match=f"--port {port} cannot be listened on"), serving({"m": small_model}, port=port):
        pass


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["m.safetensors", "other/m.safetensors"],
            "two models are called 'm': name one of them, as in other=other/m.safetensors.",
        ),
        (
            ["m.safetensors", "--data", "1.npz", "--data", "2.npz"],
            "--data is one file for each model, in their order; got 2 for 1.",
        ),
        (["m.safetensors", "--data", "nothing.npz"], "nothing.npz"),
        (["forward=nothing.safetensors"], "nothing.safetensors"),
        (["m.safetensors", "--host", "256.0.0.1", "--port", "0"], "--host 256.0.0.1 --port 0 cannot be listened on"),
    ],
)
def test_a_command_that_cannot_serve_says_why_in_one_line(words, said, small_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    for file in ("m.safetensors", "other/m.safetensors"):
        small_model.save(file)
    monkeypatch.setattr("sys.argv", ["raffia", "serve", *words])
    with pytest.raises(SystemExit) as done:
        cli.main()
    err = capsys.readouterr().err
    assert (done.value.code, err.count("\n")) == (2, 1)
    assert said in err


def test_a_model_without_derivatives_says_so(small_model, monkeypatch):
    def refuse(*_):
        raise RaffiaError("no second derivatives")

    monkeypatch.setattr(type(small_model.at()), "hvp", refuse)
    assert Served("m", small_model).support == {
        "Evaluate": True,
        "Gradient": True,
        "ApplyJacobian": True,
        "ApplyHessian": False,
    }
