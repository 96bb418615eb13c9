# SPDX-License-Identifier: Apache-2.0
"""The Python package as its users have it: installed from the wheel (tests/package/python.t). Judged by
arithmetic in numpy, by `sqsim` ($SQSIM) on the same files, and by the safetensors package."""
import ctypes
import gc
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import pickle
import shutil
import sqlite3
import subprocess
import sys
import warnings

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


# ---- what must never reach C -------------------------------------------------------------------


def fresh(code, *arguments):
    """Python code in a process of its own, so that a crash is a failed test and nothing more."""
    return subprocess.run([sys.executable, "-c", "import copy, gc, pickle, threading, numpy, sqsim\n" + code, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def test_copies_are_the_object_itself():
    done = fresh("""
w = numpy.random.default_rng(1).standard_normal((64, 512)).astype("f4")
layer = sqsim.encode(w, algorithm="rtn")
want = layer.decode()
for again in (copy.copy(layer), copy.deepcopy(layer), copy.deepcopy([layer])[0]):
    layer = None
    del layer
    gc.collect()
    other = [sqsim.encode(-w, algorithm="rtn") for _ in range(8)]  # takes the memory, if it was freed
    assert numpy.array_equal(again.decode(), want)
    layer = again
print("same")
""")
    assert done.stdout == "same\n", (done.returncode, done.stderr)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickles(protocol, tmp_path):
    layer = sqsim.encode(W, algorithm="rtn")
    sqsim.write(tmp_path / "w", {"a": layer})
    for thing in (layer, sqsim.WeightFile(tmp_path / "w")):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(thing, protocol)


def test_handles_are_made_by_functions_alone():
    for make in (sqsim.Layer, lambda: sqsim.Layer(5), lambda: sqsim.Layer(ctypes.c_void_p(8))):
        with pytest.raises(TypeError, match="sqsim.Layer|Layer is made by"):
            make()
    layer = sqsim.encode(W, algorithm="rtn")
    for change in (lambda: setattr(layer, "_handle", None), lambda: delattr(layer, "_handle"),
                   lambda: object.__new__(sqsim.Layer).decode()):
        with pytest.raises(AttributeError):
            change()
    assert layer.decode().shape == W.shape


@pytest.mark.parametrize("call", [
    "sqsim.validate(X)", "sqsim.WeightFile(X)", "sqsim.write(X, {'a': L})", "sqsim.evaluate(X)",
    "sqsim.evaluate(X, 'sq_w', algorithm='rtn')", "sqsim.evaluate(X, weights='w')", "sqsim.evaluate(M, weights=X or 5)",
    "sqsim.read_sweep(X)", "sqsim.frame(X)", "sqsim.export_huggingface(X, 'w', 'new')",
    "sqsim.export_huggingface(M, X, 'new')", "sqsim.export_huggingface(M, 'w', X)"])
def test_paths_that_are_none(call):
    done = fresh(f"""
M = {str(MODEL)!r}
L = sqsim.encode(numpy.ones((8, 64), "f4"), algorithm="rtn")
for X in (None, 5, {{}}, b"a\\0b", "a\\0b"):
    try:
        {call}
    except (TypeError, ValueError):
        print("refused")
""")
    assert (done.returncode, done.stdout) == (0, 5 * "refused\n"), done.stderr


@pytest.mark.parametrize("value", [2**64 + 8, 2**64, -1, -2**63, 2**63, 8.0, "8", None, numpy.float32(8)])
def test_sizes_are_whole_numbers_in_range(value):
    for sizes in ((value, 64, 64), (64, value, 64), (64, 64, value)):
        with pytest.raises((ValueError, TypeError), match="[mnk] = |[mnk] is "):
            sqsim.cycles("sq_w", *sizes)
    with pytest.raises((ValueError, TypeError), match="sequences"):
        sqsim.evaluate(MODEL, sequences=value)
    for most in (2**40, 2**63 - 1):
        with pytest.raises(sqsim.Error, match="need 1"):
            sqsim.cycles("sq_w", most, 64, 64)
    assert sqsim.cycles("sq_w", numpy.int8(8), 64, 64) == sqsim.cycles("sq_w", 8, 64, 64)


@pytest.mark.parametrize("bank", [2**64 + 32, 2**32 + 32, -32, "32 ", " 32", "+32", "3\0002", 32.5, [32], float("nan"), 1e300])
def test_options_are_whole_numbers_in_range(bank):
    with pytest.raises((sqsim.Error, ValueError, TypeError)):
        sqsim.encode(W, algorithm="rtn", bank=bank)


def test_names_with_nul_are_refused(tmp_path):
    layer = sqsim.encode(W, algorithm="rtn")
    for call in (lambda: sqsim.encode(W, "sq_w\0x", algorithm="rtn"), lambda: sqsim.encode(W, algorithm="rtn\0x"),
                 lambda: sqsim.encode(W, **{"algorithm": "rtn", "bank\0x": 64}), lambda: sqsim.needs_calibration("sq_w\0"),
                 lambda: sqsim.cycles("sq_w\0x", 1, 64, 64), lambda: sqsim.write(tmp_path / "w", {"a\0b": layer})):
        with pytest.raises(ValueError, match="NUL"):
            call()
    for wrong in (None, 5, b"sq_w"):
        with pytest.raises(TypeError, match="format is "):
            sqsim.encode(W, wrong)
    for wrong in (None, 5, W):
        with pytest.raises(TypeError, match="need sqsim.Layer"):
            sqsim.write(tmp_path / "w", {"a": wrong})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["sq_w", "gqsa", "mxfp4"])
def test_what_is_written_opens_again(format, tmp_path):
    layer = sqsim.encode(W, format, **({"operand": "weights"} if format == "mxfp4" else {"algorithm": "rtn"}))
    names = [chr(c) for c in range(1, 256)] + ["lo", "a.lo", "a.", ".a", ".", "..", "__metadata__", "sq_digest", 'a"sq_digest":"',
             "k_orig", "N", "x.N", "\\", "\u2028", "\U0001f600", "a" * 255, "\ufeff", "\ud800", "a/b", ""]
    for number, name in enumerate(names):
        path = tmp_path / str(number)
        try:
            sqsim.write(path, {name: layer, name + "x" if len(name) < 255 else "x": layer})
        except (sqsim.Error, UnicodeEncodeError):
            assert not path.exists(), name
            continue
        file = sqsim.WeightFile(path)
        assert name in file and numpy.array_equal(file[name].decode(), layer.decode())
    for control in [*range(1, 32), 127]:
        assert not (tmp_path / str(control - 1)).exists()
    assert (tmp_path / str(ord("a") - 1)).exists()


def test_arrays_that_are_no_matrix_of_numbers():
    for wrong in (W + 1j, W.astype(str), W.astype(object), W.view([("x", "f4")]), W.view("M8[s]") if W.itemsize == 8 else W.astype("M8[s]"),
                  numpy.ma.masked_array(W, W > 0)):
        with pytest.raises(TypeError):
            sqsim.encode(wrong, algorithm="rtn")
        with pytest.raises(TypeError):
            sqsim.encode(W, algorithm="rtn").product(wrong)
    for wrong in (W[:0], W[:, :0]):
        with pytest.raises(sqsim.Error, match="= 0, need 1"):
            sqsim.encode(wrong, algorithm="rtn")
    with pytest.raises(sqsim.Error, match="m = 0"):
        sqsim.encode(W, algorithm="rtn").product(X[:0])
    with pytest.raises(sqsim.Error):
        sqsim.encode(W, calibration=X[:0])
    for wrong in (5, [1, 2], W[None], "a", None):
        with pytest.raises((TypeError, ValueError)):
            sqsim.encode(wrong, algorithm="rtn")
    with pytest.warns(RuntimeWarning), pytest.raises(sqsim.Error):
        sqsim.encode(W.astype(float) * 1e300, algorithm="rtn")
    want = sqsim.encode(W, algorithm="rtn").decode()
    for same in (W[::-1][::-1], W.T.copy().T, W.astype(">f4"), W.astype(float), numpy.repeat(W, 2, axis=1)[:, ::2]):
        assert numpy.array_equal(sqsim.encode(same, algorithm="rtn").decode(), want)
    assert numpy.array_equal(sqsim.encode(numpy.broadcast_to(W[:1], W.shape), algorithm="rtn").decode(),
                             numpy.broadcast_to(want[:1], W.shape))


def test_threads_share_layers_and_files(weights):
    done = fresh("""
import sys
file = sqsim.WeightFile(sys.argv[1])
name, layer = next(iter(file)), file[next(iter(file))]
x = numpy.random.default_rng(1).standard_normal((4, layer.shape[1])).astype("f4")
want, wrong = layer.product(x), []
def work():
    for _ in range(10):
        if not numpy.array_equal(file[name].product(x), want) or not numpy.array_equal(layer.product(x), want):
            wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
def forever():
    while True: layer.product(x)
for _ in range(3): threading.Thread(target=forever, daemon=True).start()
print("wrong", len(wrong), flush=True)
""", weights)
    assert (done.returncode, done.stdout) == (0, "wrong 0\n"), done.stderr


def test_layers_outlive_their_file(weights):
    file = sqsim.WeightFile(weights)
    name = next(iter(file))
    layer, want = file[name], file[name].decode()
    del file
    gc.collect()
    assert numpy.array_equal(layer.decode(), want)


# ---- files -------------------------------------------------------------------------------------


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
    machine = "edge4"
    figures = sqsim.cycles("gqsa", 1, 300, 1000, machine=machine)
    _, summary = run("run", "--m", 1, "--n", 300, "--k", 1000, "--format", "gqsa", "--machine", machine)
    assert (figures["cycles"], figures["bytes"]) == (summary["cycles"], summary["bytes"])


def test_sums_are_those_of_the_vectors():
    rows = (ROOT / "traces" / "tensor_core" / "h100_e4m3.csv").read_text().splitlines()[1:50]
    for a, b, c, d in ([[int(code, 16) for code in field.split()] for field in row.split(",")] for row in rows):
        got = sqsim.dot(a, b, sum="h100", type="e4m3", c=numpy.uint32(c[0]).view(numpy.float32))
        assert got == numpy.uint32(d[0]).view(numpy.float32)


def test_the_chip_gives_the_product():
    rng = numpy.random.default_rng(7)
    w, x = (rng.standard_normal(shape, dtype=numpy.float32) for shape in ((24, 128), (3, 128)))
    layer = sqsim.encode(w, "nvfp4")
    image = layer.image(x, base=0x7ffffffff000)
    memory, figures = image.run()
    stepped, of_stepped = image.run(stepping=True)
    assert image.descriptor == 0x7ffffffff000 and figures["cycles"] > 0
    assert figures == of_stepped and (memory == stepped).all()
    assert (image.check(memory) == layer.product(x)).all()
    assert figures["cycles"] == figures["busy"] + figures["wait"] + figures["blocked"]
    with pytest.raises(sqsim.Error, match="the layer gives"):
        image.check(image.memory)
    with pytest.raises(sqsim.Error, match="multiple of 4096"):
        layer.image(x, base=5)
    with pytest.raises(sqsim.Error, match="has no key 'chip'"):
        layer.image(x, machine="default")


def test_evaluation_is_that_of_the_program(weights):
    _, summary = run("eval", "--weights", weights, "--sequences", 2, "--summary")
    assert sqsim.evaluate(MODEL, weights=weights, sequences=2)["loss"] == pytest.approx(summary["loss"], abs=1e-11)


@pytest.fixture(scope="module")
def weights_alone(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "alone.sq.safetensors"
    run("quantize", "--operand", "weights", "-o", path)
    return path


def read_tensors(path):
    """Names to float64 arrays of a safetensors file, by its specification."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            part = data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]]
            values = numpy.frombuffer(part, {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[entry["dtype"]])
            if entry["dtype"] == "BF16":
                values = (values.astype("<u4") << 16).view("<f4")
            tensors[name] = values.reshape(entry["shape"]).astype(float)
    return tensors


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_export_is_a_model_again(weights_alone, tmp_path, dtype):
    target = tmp_path / "exported"
    sqsim.export_huggingface(MODEL, weights_alone, target, dtype=dtype)
    shutil.copy(MODEL / "tokens_eval.safetensors", target)
    assert json.loads((target / "config.json").read_text())["torch_dtype"] == dtype
    rows, _ = run("inspect", target)
    assert len(rows) >= 14
    # Every weight is the decoded one, rounded to the nearest of the dtype, ties to even; the loss follows.
    file, bits = sqsim.WeightFile(weights_alone), {"float32": 24, "bfloat16": 8, "float16": 11}[dtype]
    tensors = read_tensors(target / "model.safetensors")
    for name in file:
        mantissa, exponent = numpy.frexp(file[name].decode().astype(float))
        step = exponent - bits if dtype != "float16" else numpy.maximum(exponent, -13) - bits
        assert numpy.array_equal(tensors[name + ".weight"], numpy.ldexp(numpy.rint(numpy.ldexp(mantissa, exponent - step)), step))
    assert sqsim.evaluate(target, sequences=2)["loss"] == pytest.approx(
        sqsim.evaluate(MODEL, weights=weights_alone, sequences=2)["loss"], abs=1e-6 if dtype == "float32" else 1e-3)
    with pytest.raises(FileExistsError):
        sqsim.export_huggingface(MODEL, weights_alone, target)


def test_bfloat16_is_the_nearest_ties_to_even():
    x = (numpy.arange(0, 0x7f70, 5, dtype=numpy.uint32)[:, None] << 16 | numpy.array([0, 0x7fff, 0x8000, 0x8001], dtype=numpy.uint32)).view(numpy.float32)
    for v in (x, -x):
        got = (sqsim.huggingface._convert(v, "BF16").astype(numpy.uint32) << 16).view(numpy.float32)
        step = numpy.maximum(numpy.frexp(v.astype(float))[1], -125) - 8
        assert numpy.array_equal(got, numpy.ldexp(numpy.rint(numpy.ldexp(v.astype(float), -step)), step))


def test_shards_are_exported_as_one_model(weights_alone, tmp_path):
    model, whole = tmp_path / "model", read_tensors(MODEL / "model.safetensors")
    shutil.copytree(MODEL, model)
    (model / "model.safetensors").unlink()
    names, of = sorted(whole), {}
    for shard, part in (("a.safetensors", names[:3]), ("b.safetensors", names[3:])):
        with sqsim.huggingface._Writer(model / shard, [(n, "F32", whole[n].shape, 4 * whole[n].size) for n in part]) as file:
            for n in part:
                file.write(whole[n].astype("<f4").tobytes())
        of.update(dict.fromkeys(part, shard))
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": of}))
    sqsim.export_huggingface(MODEL, weights_alone, tmp_path / "one")
    sqsim.export_huggingface(model, weights_alone, tmp_path / "two")
    one, two = read_tensors(tmp_path / "one" / "model.safetensors"), {}
    for shard in set(of.values()):
        two.update(read_tensors(tmp_path / "two" / shard))
    assert all(numpy.array_equal(one[n], two[n]) for n in one) and one.keys() == two.keys()
    index = json.loads((tmp_path / "two" / "model.safetensors.index.json").read_text())
    assert index == {"metadata": {"total_size": 4 * sum(v.size for v in two.values())}, "weight_map": of}


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


def letters():
    """The byte-level alphabet of GPT-2, by byte."""
    keep = [*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in keep]
    return [chr(b) if b in keep else chr(256 + rest.index(b)) for b in range(256)]


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    """The embedded model as GGUF, with a byte-level tokenizer: one merge, one control token."""
    spec = importlib.util.spec_from_file_location("gguf_write", ROOT / "tests" / "llm" / "gguf_write.py")
    writer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(writer)
    tokens = letters()
    tokens[254], tokens[255] = "<|end|>", "he"
    more = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": [3 if t == "<|end|>" else 1 for t in tokens], "tokenizer.ggml.merges": ["h e"],
            "tokenizer.ggml.bos_token_id": 254, "tokenizer.ggml.eos_token_id": 254, "tokenizer.ggml.add_bos_token": True,
            "tokenizer.chat_template": "{{ messages }}"}
    container = writer.container
    writer.container = lambda values, tensors: container({**values, **more}, tensors)
    path = tmp_path_factory.mktemp("gguf") / "m.gguf"
    writer.main(str(MODEL), str(path))
    for name in ("tokens_eval.safetensors", "tokens_calib.safetensors"):
        shutil.copy(MODEL / name, path.parent)
    return path


STORY = "Then the hen saw the other 12 sheep.<|end|>She said: \u00e9l\u00e8ve, he!\n\n  Who?" * 3


def test_gguf_is_evaluated(gguf, weights, tmp_path):
    for how in ({}, {"format": "sq_w", "algorithm": "rtn"}, {"weights": weights}, {"format": "sq_a_static"}):
        figures = [sqsim.evaluate(model, sequences=1, **how) for model in (gguf, MODEL)]
        assert str(figures[0]) == str(figures[1])  # NaN bits as well
    assert sqsim.evaluate(gguf, weights=sqsim.WeightFile(weights), sequences=1) == sqsim.evaluate(gguf, weights=weights, sequences=1)
    (tmp_path / "story").write_text(STORY)
    sqsim.tokenize(gguf, tmp_path / "story", tmp_path / "ids", window=32)
    ids = sqsim.evaluate(gguf, tokens=tmp_path / "ids")
    _, summary = run("eval", gguf, "--text", tmp_path / "story", "--window", 32, "--format", "dense", "--weight-bits", 16,
                     "--act-bits", 16, "--summary")
    assert (ids["loss"], ids["tokens"]) == (pytest.approx(summary["loss"], abs=1e-11), summary["tokens"])
    for wrong in (1, 257):
        with pytest.raises(sqsim.Error, match=f"window = {wrong}"):
            sqsim.tokenize(gguf, tmp_path / "story", tmp_path / "no", window=wrong)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_gguf_is_exported(gguf, weights_alone, tmp_path, dtype):
    target = tmp_path / "exported"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sqsim.export_huggingface(gguf, weights_alone, target, dtype=dtype)
    assert sorted(p.name for p in target.iterdir()) == [
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    config, of_model = (json.loads((d / "config.json").read_text()) for d in (target, MODEL))
    for key in of_model.keys() - {"torch_dtype", "bos_token_id", "eos_token_id", "rms_norm_eps", "transformers_version",
                                  "head_dim", "hidden_act", "initializer_range", "attention_bias", "mlp_bias", "model_type"}:
        assert config.get(key) == of_model[key], key
    assert (config["model_type"], config["torch_dtype"], config["bos_token_id"]) == ("llama", dtype, 254)
    assert config["rms_norm_eps"] == pytest.approx(of_model["rms_norm_eps"], rel=1e-6)
    other = tmp_path / "other"
    sqsim.export_huggingface(MODEL, weights_alone, other, dtype=dtype)
    a, b = (read_tensors(d / "model.safetensors") for d in (target, other))
    assert a.keys() == b.keys()
    for name in b:  # the embedding and norms, which are F16, in the dtype as well
        assert numpy.array_equal(a[name], b[name]) or dtype == "bfloat16" and relative(a[name], b[name]) < 2**-8, name
    shutil.copy(MODEL / "tokens_eval.safetensors", target)
    assert sqsim.evaluate(target, sequences=1)["loss"] == pytest.approx(
        sqsim.evaluate(gguf, weights=weights_alone, sequences=1)["loss"], abs=1e-6 if dtype == "float32" else 2e-2)


def test_tokenizer_of_gguf_is_exported(gguf, weights_alone, tmp_path):
    sqsim.export_huggingface(gguf, weights_alone, tmp_path / "e")
    (tmp_path / "story").write_text(STORY)
    for model in (gguf, tmp_path / "e"):
        sqsim.tokenize(model, tmp_path / "story", tmp_path / f"ids-{model.name}", window=64)
    assert (tmp_path / "ids-m.gguf").read_bytes() == (tmp_path / "ids-e").read_bytes()
    ids = numpy.frombuffer((tmp_path / "ids-e").read_bytes()[-4 * 128:], "<i4")  # two windows, BOS first
    assert ids[0] == 254 and 255 in ids and list(ids).count(254) > 1
    config = json.loads((tmp_path / "e" / "tokenizer_config.json").read_text())
    assert config["bos_token"] == config["eos_token"] == "<|end|>" and config["chat_template"] == "{{ messages }}"
    tokenizers = pytest.importorskip("tokenizers")
    package = tokenizers.Tokenizer.from_file(str(tmp_path / "e" / "tokenizer.json"))
    assert package.encode(STORY).ids[:len(ids)] == list(ids)
    assert package.decode(package.encode(STORY).ids, skip_special_tokens=False).removeprefix("<|end|>") == STORY


def test_what_gguf_does_not_hold_is_said(weights_alone, tmp_path):
    subprocess.run([sys.executable, ROOT / "tests" / "llm" / "gguf_write.py", MODEL, tmp_path / "m.gguf",
                    "tokenizer.ggml.model=llama"], check=True)
    with pytest.warns(UserWarning) as said:
        sqsim.export_huggingface(tmp_path / "m.gguf", weights_alone, tmp_path / "e")
    text = [str(w.message) for w in said]
    assert any("no tokenizer.json" in t and "only byte-level BPE" in t for t in text) and len(text) == 3, text
    assert sorted(p.name for p in (tmp_path / "e").iterdir()) == ["config.json", "model.safetensors"]
    (tmp_path / "no.gguf").write_bytes(b"GGUF")
    for wrong in ("no.gguf", "none.gguf"):
        with pytest.raises(sqsim.Error):
            sqsim.export_huggingface(tmp_path / wrong, weights_alone, tmp_path / "f")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith("f")]


def test_export_takes_what_a_checkpoint_has(weights_alone, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(MODEL, model)
    kept = ["LICENSE", "USE_POLICY.md", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"]
    for name in [*kept, "train.py", "README.md", ".env", "model_old.safetensors", "optimizer.pt", "notes.txt"]:
        (model / name).write_text("{}")
    (model / "sub").mkdir()
    sqsim.export_huggingface(model, weights_alone, tmp_path / "e")
    assert sorted(p.name for p in (tmp_path / "e").iterdir()) == sorted([*kept, "config.json", "model.safetensors"])
    for name in ("../model/model.safetensors", "/etc/passwd", "x"):
        (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
        with pytest.raises(ValueError, match="names the shard"):
            sqsim.export_huggingface(model, weights_alone, tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_export_follows_no_links(weights_alone, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for folder in ("plain", "hub/snapshots/1"):  # copied, and as huggingface_hub keeps them
        model = tmp_path / folder
        model.mkdir(parents=True)
        store = tmp_path / "hub" / "blobs"
        store.mkdir(exist_ok=True, parents=True)
        for name in ("config.json", "model.safetensors"):
            shutil.copy(MODEL / name, store / name if "hub" in folder else model / name)
            if "hub" in folder:
                (model / name).symlink_to(f"../../blobs/{name}")
        for name, aim in {"LICENSE": secret, "NOTICE.txt": "../../secret", "tokenizer.json": "../secret", "vocab.txt": ".env"}.items():
            (model / name).symlink_to(aim)
        (model / ".env").write_text("secret")
        with pytest.warns(UserWarning, match="is a link"):
            sqsim.export_huggingface(model, weights_alone, tmp_path / "e")
        assert sorted(p.name for p in (tmp_path / "e").iterdir()) == ["config.json", "model.safetensors"]
        shutil.rmtree(tmp_path / "e")
    (tmp_path / "plain" / "config.json").unlink()
    (tmp_path / "plain" / "config.json").symlink_to(MODEL / "config.json")
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="config.json is a link"):
        sqsim.export_huggingface(tmp_path / "plain", weights_alone, tmp_path / "e")


def test_export_reads_with_the_checks_of_the_library(weights_alone, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(MODEL, model)
    good = (MODEL / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(good[:8], "little")
    header = json.loads(good[8:start])
    names = [n for n in header if n != "__metadata__"]
    header.get("__metadata__", {}).pop("sq_digest", None)

    def file(change):
        h = json.loads(json.dumps(header))
        change(h)
        text = json.dumps(h).encode()
        return len(text).to_bytes(8, "little") + text + good[start:]

    def overlap(h):
        h[names[1]]["data_offsets"] = h[names[0]]["data_offsets"]
        h[names[1]]["shape"], h[names[1]]["dtype"] = h[names[0]]["shape"], h[names[0]]["dtype"]

    for bad in (good[:-100], good + b"x", good[:start], good[:4], b"", file(overlap),
                file(lambda h: h[names[0]].update(shape=[1])), file(lambda h: h[names[0]].update(dtype="F99")),
                file(lambda h: h[names[0]].update(data_offsets=[-4, 4])), file(lambda h: h.pop(names[0]))):
        (model / "model.safetensors").write_bytes(bad)
        with pytest.raises(sqsim.Error):
            sqsim.export_huggingface(model, weights_alone, tmp_path / "e")
    assert sorted(os.listdir(tmp_path)) == ["model"]


FORKED = """
import os, sys, threading, numpy, sqsim
w = numpy.random.default_rng(1).standard_normal((64, 256)).astype("f4")
def work():
    layer = sqsim.encode(w, "sq_w", calibration=w)
    return float(layer.product(w).sum())
want = work()
threading.Thread(target=work).start()
def check(depth):
    child = os.fork()
    if child == 0:
        os._exit(0 if work() == want and (depth == 0 or check(depth - 1) == 0) else 1)
    return os.waitpid(child, 0)[1]
assert [check(2) for _ in range(3)] == [0, 0, 0] and work() == want
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert [r.get() for r in [pool.apply_async(work) for _ in range(4)]] == [want] * 4
"""


def test_a_forked_child_computes():
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "4"})


@pytest.mark.parametrize("name", sqsim.formats())
def test_layers_have_their_arrays(name, tmp_path):
    layer = sqsim.encode(W, name, calibration=X)
    arrays = layer.arrays()
    stored = sum(a.nbytes for n, a in arrays.items() if not n.startswith("perm_"))  # which follow from the mask
    assert layer.format == name and stored > 0
    if name not in ("spqr", "gqsa"):  # sizes that only the layer knows
        assert stored * 8 / W.size == pytest.approx(layer.bits, rel=0.05)
    for a in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            a[...] = 0
    sqsim.write(tmp_path / "w", {"x": layer})  # the tensors of a file are these
    data = (tmp_path / "w").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    assert {n for n in header if n != "__metadata__"} == {"x." + n for n in arrays}
    kinds = {"F32": "f4", "F16": "f2", "U8": "u1", "I8": "i1", "I32": "i4", "I64": "i8"}
    for n, a in arrays.items():
        entry = header["x." + n]
        assert (tuple(entry["shape"]), numpy.dtype(kinds[entry["dtype"]])) == (a.shape, a.dtype)
        assert a.tobytes() == data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]]
    loaded = sqsim.WeightFile(tmp_path / "w")["x"].arrays()
    assert all(numpy.array_equal(loaded[n], arrays[n]) for n in arrays)
    copied = layer.arrays()
    del layer
    gc.collect()
    assert all(numpy.array_equal(copied[n], arrays[n]) for n in arrays)


def test_codes_times_scales_are_the_weights():
    layer = sqsim.encode(W, "dense", algorithm="rtn", smooth="none", weight_bits=4, group=64)
    a = layer.arrays()
    codes = sqsim.unpack(a["lo"], 4)
    assert codes.shape == W.shape and codes.dtype == numpy.int8 and a["s_lo"].shape == (48, 4)
    assert numpy.array_equal(layer.decode(), codes * numpy.repeat(a["s_lo"], 64, axis=1))
    layer = sqsim.encode(W, "sq_w", algorithm="rtn", bank=32, group=128)
    a = layer.arrays()
    low, high = sqsim.unpack(a["lo"], 4), sqsim.unpack(a["hi"], 8)
    is_high, w = low == -8, numpy.array(low * numpy.repeat(a["s_lo"], 128, axis=1))
    for row in range(48):  # high codes follow each other in the order of their elements
        w[row, is_high[row]] = high[row] * numpy.repeat(a["s_hi"], 128, axis=1)[row, is_high[row]]
    assert numpy.array_equal(layer.decode(), w)
    assert sqsim.encode(W, "dense", operand="act", algorithm="rtn").arrays() == {}
    bits = RNG.integers(0, 256, (3, 21), dtype=numpy.uint8)
    for width in range(1, 9):
        rows = [int.from_bytes(row.tobytes(), "little") for row in bits]
        want = [[row >> width * i & (1 << width) - 1 for i in range(168 // width)] for row in rows]
        assert sqsim.unpack(bits, width, signed=False).tolist() == want
        assert sqsim.unpack(bits, width).tolist() == [[v - (v >> width - 1 << width) for v in row] for row in want]
    for wrong in (0, 9, -1, 2**64 + 4):
        with pytest.raises(ValueError):
            sqsim.unpack(bits, wrong)


def test_version_is_one():
    assert sqsim.__version__ == importlib.metadata.version("sqsim") == sqsim.version().split()[0]


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


def test_damaged_sweeps_are_refused(tmp_path):
    spec, db = tmp_path / "s.yaml", tmp_path / "s.db"
    spec.write_text("name: s\naxes: {n: [64], k: [128], m: [1, 8]}\nmeasures: [cycles]\n")
    run("sweep", spec, "--db", db)
    rows = sqsim.read_sweep(db)
    # A name is a name: not a URI, in which %62 is b and ? begins options.
    for name in ("a%62.db", "a?mode=memory", "a#b", "file:x"):
        db.with_name("ab.db").write_bytes(b"")
        (tmp_path / name).write_bytes(db.read_bytes())
        assert sqsim.read_sweep(tmp_path / name) == rows
    for change in ("UPDATE point SET measures = replace(measures, '\"cycles\":', '\"cycles\":1')",
                   "UPDATE point SET parameters = replace(parameters, '\"m\":1', '\"m\":2')",
                   "UPDATE provenance SET text = text || ' '", "UPDATE sweep SET spec = spec || ' '"):
        other = tmp_path / "other.db"
        other.write_bytes(db.read_bytes())
        connection = sqlite3.connect(other)
        with connection:
            assert connection.execute(change).rowcount >= 1
        connection.close()
        with pytest.raises(sqsim.Error, match="damaged"):
            sqsim.read_sweep(other)
    for wrong, why in ((tmp_path / "none.db", "No such file"), (spec, "database"), (tmp_path, "regular")):
        with pytest.raises(sqsim.Error, match=why):
            sqsim.read_sweep(wrong)
    assert not (tmp_path / "none.db").exists()


def test_described_formats_in_a_fresh_process(tmp_path):
    """By the short name of a shipped description, and by the path of one."""
    text = (ROOT / "sim/format/scaled/formats/nf4.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("name: nf4", "name: mine"))
    code = "import sqsim, numpy; w = numpy.ones((8, 64), 'f'); [sqsim.encode(w, f) for f in ('hif4', 'mine.yaml', 'mine.yaml')]; print('hif4' in sqsim.formats())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_json_as_rows_and_frames():
    done = subprocess.run([PROGRAM, "run", "--m", "1", "--workload", "--json"], capture_output=True, check=False)
    assert done.returncode == 2
    rows, summary = run("run", "--workload", ROOT / "traces/workloads/llama-2-7b_decode_1.csv", "--format", "dense")
    assert rows[0]["causes.low.busy"] > 0 and summary["provenance"]["tool"].startswith("sqsim")
    pandas = pytest.importorskip("pandas")
    assert isinstance(sqsim.frame(rows), pandas.DataFrame) and len(sqsim.frame(rows)) == len(rows)


def test_number_of_the_readme():
    assert sqsim.cycles("sq_w", m=2048, n=28672, k=8192)["cycles"] == 29360133


def test_pandas_is_an_extra():
    metadata = importlib.metadata.metadata("sqsim")
    assert metadata.get_all("Provides-Extra") == ["pandas"]
    assert metadata.get_all("Requires-Dist") == ["numpy", 'pandas; extra == "pandas"']
    done = fresh("""
import sys
sys.modules["pandas"] = None
try: sqsim.frame([{"a": 1}])
except ImportError as error: print(error)
""")
    assert "pip install 'sqsim[pandas]'" in done.stdout, done.stderr
