# SPDX-License-Identifier: Apache-2.0
"""The Python package as its users have it: installed from the wheel (tests/cli/python.t). Judged by
arithmetic in numpy, by `sqsim` ($SQSIM) on the same files, and by the safetensors package."""
import json
import os
import pathlib
import subprocess

import numpy
import pytest

import sqsim

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "traces" / "tiny-llama"
PROGRAM = os.environ.get("SQSIM", str(ROOT / "build" / "sqsim"))
RNG = numpy.random.default_rng(1)
W = RNG.standard_normal((48, 256)).astype(numpy.float32)
X = RNG.standard_normal((512, 256)).astype(numpy.float32)


def run(*arguments):
    """Rows and summary of a command's --json."""
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json"], capture_output=True, text=True, check=True)
    return sqsim.read_json(done.stdout)


def relative(got, want):
    return numpy.linalg.norm(got.astype(float) - want) / numpy.linalg.norm(want)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "tiny.sq.safetensors"
    run("quantize", "-o", path)
    return path


def test_version_is_that_of_the_program():
    text = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()
    assert sqsim.version() == f"{text[1]} ({text[3]})"


@pytest.mark.parametrize("name", sqsim.formats())
def test_format_decodes_and_multiplies(name):
    layer = sqsim.encode(W, name, calibration=X)
    assert layer.shape == W.shape
    decoded = layer.decode()
    assert 0 < relative(decoded, W) < 0.75
    if name.startswith(("mx", "nv", "sq_b")):  # blocks of activations too: here those of weights alone
        assert relative(layer.product(X[:8]), X[:8].astype(float) @ decoded.T) < 0.25
        layer = sqsim.encode(W, name, calibration=X, operand="weights")
        assert numpy.array_equal(layer.decode(), decoded)
    limit = 0.6 if name == "spqt" else 0.15 if name.startswith("sq_a") else 0.02
    assert relative(layer.product(X[:8]), X[:8].astype(float) @ decoded.T) < limit


def test_other_arrays_are_converted():
    layer = sqsim.encode(numpy.asfortranarray(W.astype(numpy.float64)), algorithm="rtn")
    assert numpy.array_equal(layer.decode(), sqsim.encode(W, algorithm="rtn").decode())
    assert numpy.array_equal(layer.product(X[:8:2]), layer.product(X[:8])[::2])


def test_refusals_are_exceptions():
    with pytest.raises(sqsim.Error, match="bank = 33") as caught:
        sqsim.encode(W, bank=33)
    assert caught.value.status >= 10
    with pytest.raises(sqsim.Error, match="calibration"):
        sqsim.encode(W)
    assert sqsim.needs_calibration() and not sqsim.needs_calibration(algorithm="rtn")
    bad = W.copy()
    bad[3, 4] = numpy.nan
    with pytest.raises(sqsim.Error):
        sqsim.encode(bad, algorithm="rtn")
    with pytest.raises(ValueError, match="255 columns"):
        sqsim.encode(W, algorithm="rtn").product(X[:, :255])
    with pytest.raises(ValueError, match="1 dimensions"):
        sqsim.encode(W[0], algorithm="rtn")


def test_files_both_ways(tmp_path):
    path = tmp_path / "two.sq.safetensors"
    layers = {name: sqsim.encode(w, algorithm="rtn", bank=64) for name, w in (("a", W), ("b.c", -W))}
    sqsim.write(path, layers)
    sqsim.validate(path)
    file = sqsim.WeightFile(path)
    assert list(file) == ["a", "b.c"] and len(file) == 2 and file.format == "sq_w" and "a" in file
    for name in file:
        assert numpy.array_equal(file[name].decode(), layers[name].decode())
        assert numpy.array_equal(file[name].product(X[:5]), layers[name].product(X[:5]))
    assert sum("tensor" in row for row in run("inspect", path)[0]) == 8
    with pytest.raises(KeyError):
        file["no"]
    data = bytearray(path.read_bytes())
    data[-5] ^= 4
    path.write_bytes(data)
    with pytest.raises(sqsim.Error):
        sqsim.validate(path)


def test_cycles_are_those_of_the_program():
    figures = sqsim.cycles("sq_w", 40, 300, 1000, bank=64)
    _, summary = run("run", "--m", 40, "--n", 300, "--k", 1000, "--bank", 64, "--timing-only")
    assert figures["cycles"] == summary["cycles"]
    assert sum(v for k, v in figures.items() if k.startswith("low.")) == figures["cycles"]
    machine = ROOT / "sim" / "machines" / "edge4.yaml"
    figures = sqsim.cycles("gqsa", 1, 300, 1000, machine=machine)
    _, summary = run("run", "--m", 1, "--n", 300, "--k", 1000, "--format", "gqsa", "--machine", machine)
    assert (figures["cycles"], figures["bytes"]) == (summary["cycles"], summary["bytes"])


def test_evaluation_is_that_of_the_program(weights):
    _, summary = run("eval", "--weights", weights, "--sequences", 2, "--summary")
    assert sqsim.evaluate(MODEL, weights=weights, sequences=2)["loss"] == pytest.approx(summary["loss"], abs=1e-11)


@pytest.fixture(scope="module")
def weights_alone(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "alone.sq.safetensors"
    run("quantize", "--operand", "weights", "-o", path)
    return path


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_export_is_a_model_again(weights_alone, tmp_path, dtype):
    target = tmp_path / "exported"
    sqsim.export_huggingface(MODEL, weights_alone, target, dtype=dtype)
    assert json.loads((target / "config.json").read_text())["torch_dtype"] == dtype
    rows, _ = run("inspect", target)
    assert len(rows) >= 14
    # As it is: the loss of the decoded weights, but for what rounding them to 16 bits changes.
    assert sqsim.evaluate(target, sequences=2)["loss"] == pytest.approx(
        sqsim.evaluate(MODEL, weights=weights_alone, sequences=2)["loss"], abs=1e-6 if dtype == "float32" else 1e-4)
    with pytest.raises(FileExistsError):
        sqsim.export_huggingface(MODEL, weights_alone, target)


def test_export_holds_the_decoded_weights(weights, tmp_path):
    load = pytest.importorskip("safetensors.numpy").load_file
    sqsim.export_huggingface(MODEL, weights, tmp_path / "e")
    tensors = load(tmp_path / "e" / "model.safetensors")
    file = sqsim.WeightFile(weights)
    assert len(file) == 14
    for name in file:
        assert numpy.array_equal(tensors[name + ".weight"], file[name].decode())


def test_export_of_another_model_leaves_nothing(tmp_path):
    path = tmp_path / "w.sq.safetensors"
    sqsim.write(path, {"no.such.layer": sqsim.encode(W, algorithm="rtn")})
    with pytest.raises(ValueError, match="no.such.layer"):
        sqsim.export_huggingface(MODEL, path, tmp_path / "e")
    assert os.listdir(tmp_path) == ["w.sq.safetensors"]


def test_sweeps_as_rows_and_frames(tmp_path):
    spec, db = tmp_path / "s.yaml", tmp_path / "s.db"
    spec.write_text("name: s\naxes: {n: [64], k: [128, 256], m: [1, 8]}\nmeasures: [cycles]\n")
    printed, _ = run("sweep", spec, "--db", db, "-o", tmp_path / "s.csv")
    rows = sqsim.read_sweep(db)
    assert [{k: r[k] for k in rows[0]} for r in printed] == rows  # flat as they are
    assert len(rows) == 4 and {(r["k"], r["m"]) for r in rows} == {(128, 1), (128, 8), (256, 1), (256, 8)}
    assert all(r["cycles"] > 0 for r in rows)
    with pytest.raises(ValueError, match="sweep = t, need one of s"):
        sqsim.read_sweep(db, "t")
    pandas = pytest.importorskip("pandas")
    frame = sqsim.frame(str(db))
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 4 and frame["cycles"].dtype.kind == "i"
    table = pandas.read_csv(tmp_path / "s.csv")
    assert table["cycles"].dtype.kind == "i" and sorted(table["cycles"]) == sorted(frame["cycles"])
    assert json.loads((tmp_path / "s.csv.json").read_text())["provenance"]["tool"].startswith("sqsim")


def test_json_as_rows_and_frames():
    done = subprocess.run([PROGRAM, "run", "--m", "1", "--workload", "--json"], capture_output=True, check=False)
    assert done.returncode == 2
    rows, summary = run("run", "--workload", ROOT / "traces/workloads/llama-2-7b_decode_1.csv", "--format", "dense")
    assert rows[0]["causes.low.busy"] > 0 and summary["provenance"]["tool"].startswith("sqsim")
    pandas = pytest.importorskip("pandas")
    assert isinstance(sqsim.frame(rows), pandas.DataFrame) and len(sqsim.frame(rows)) == len(rows)


def test_number_of_the_readme():
    assert sqsim.cycles("sq_w", m=2048, n=28672, k=8192)["cycles"] == 29360133
