# SPDX-License-Identifier: Apache-2.0
# peers.py llama SQSIM MODEL TOKENS | probe MODEL | scalesim SQSIM DIR: what others take for the same work, beside sqsim, in
# this run: seconds by the clock, peak memory of sqsim, and ratios. Times on a machine that others use are
# of that moment.
import json, os, struct, subprocess, sys, time

THREADS = 2


def sqsim(*argv):
    """Seconds, peak GB and the last JSON object of a run of sqsim."""
    env = dict(os.environ, OMP_NUM_THREADS=str(THREADS), OPENBLAS_NUM_THREADS=str(THREADS))
    env.pop("OPENBLAS_CORETYPE", None)
    start = time.monotonic()
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, env=env, text=True)
    out = p.stdout.read()
    _, status, use = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit(f"peers: {' '.join(argv)} failed")
    return time.monotonic() - start, use.ru_maxrss * 1024 / 1e9, json.loads(out.splitlines()[-1])


def read_tokens(path):
    with open(path, "rb") as f:
        head = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    part = lambda name, code: [v[0] for v in struct.iter_unpack(
        "<" + code, body[slice(*head[name]["data_offsets"])])]
    ids, offsets = part("ids", "i"), part("offsets", "q")
    return [ids[a:b] for a, b in zip(offsets, offsets[1:])]


def open_llama(model, n, is_repacked):
    """A model whose logits of up to n tokens are kept. is_repacked: weights in llama.cpp's layouts for this processor."""
    import llama_cpp.llama_cpp as api
    from llama_cpp import Llama
    defaults = api.llama_model_default_params

    def without():
        p = defaults()
        p.use_extra_bufts = False
        return p
    if not is_repacked:
        api.llama_model_default_params = without
    return Llama(model_path=model, n_ctx=n, n_batch=n, n_ubatch=n, n_threads=THREADS, n_threads_batch=THREADS,
                 logits_all=True, verbose=False)


def probe(model):
    open_llama(model, 64, True).eval(list(range(100, 116)))


def llama(program, model, tokens):
    import numpy as np
    from llama_cpp import __version__
    # Release 0.3.36 dies in its AMX products on some processors.
    is_repacked = subprocess.run([sys.executable, __file__, "probe", model], stderr=subprocess.DEVNULL).returncode == 0
    if not is_repacked:
        print("llama.cpp ends by a signal with its own layouts of weights (AMX); it runs without them here")
    sequences = read_tokens(tokens)
    longest = max(map(len, sequences))
    m = open_llama(model, longest, is_repacked)
    m.eval(sequences[0][:16])  # pages of the model
    seconds = loss = n = 0
    for s in sequences:
        m.reset()
        start = time.monotonic()
        m.eval(s)
        logits = m.scores[:len(s) - 1]
        seconds += time.monotonic() - start
        top = logits.max(axis=1)
        sums = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
        loss += float((sums - logits[np.arange(len(s) - 1), s[1:]]).sum())
        n += len(s) - 1
    print(f"SmolLM2-135M, {len(sequences)} sequences, {n} predicted tokens, {THREADS} threads; sqsim has its "
          "reference pass in it")
    print(f"{'':34} {'seconds':>8} {'of llama.cpp':>12} {'peak GB':>8} {'loss':>9} {'loss, as it is':>14}")
    print(f"{'llama.cpp (' + __version__ + '), one pass':34} {seconds:8.2f} {1:12.2f} {'':8} {loss / n:9.5f}", flush=True)
    rtn = ["--algorithm", "rtn"]
    for name, options in {"sqsim dense W8A8": ["--format", "dense", "--weight-bits", "8", "--act-bits", "8", *rtn],
                          "sqsim nvfp4": ["--format", "nvfp4", *rtn], "sqsim sq_b": ["--format", "sq_b", *rtn]}.items():
        s, gb, r = sqsim(program, "eval", model, "--tokens", tokens, "--summary", "--no-cache", "--json", *options)
        print(f"{name:34} {s:8.2f} {s / seconds:12.2f} {gb:8.2f} {r['loss']:9.5f} {r['loss_reference']:14.5f}", flush=True)


CONFIG = """[general]
run_name = gemm
[architecture_presets]
ArrayHeight = 32
ArrayWidth = 32
IfmapSramSzkB = 256
FilterSramSzkB = 256
OfmapSramSzkB = 512
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Bandwidth = 64
Dataflow = os
MemoryBanks = 1
ReadRequestBuffer = 32
WriteRequestBuffer = 32
[layout]
IfmapCustomLayout = False
IfmapSRAMBankBandwidth = 10
IfmapSRAMBankNum = 10
IfmapSRAMBankPort = 2
FilterCustomLayout = False
FilterSRAMBankBandwidth = 10
FilterSRAMBankNum = 10
FilterSRAMBankPort = 2
[sparsity]
SparsitySupport = false
SparseRep = ellpack_block
OptimizedMapping = false
BlockSize = 8
RandomNumberGeneratorSeed = 40
[run_presets]
InterfaceBandwidth = CALC
UseRamulatorTrace = False
"""


def scale(program, directory):
    import contextlib, csv, glob, io
    from scalesim.scale_sim import scalesim
    machine = os.path.join(directory, "one_lane.yaml")
    with open("sim/machines/default.yaml") as f:
        text = f.read()
    for old, new in (("low_lanes: 16", "low_lanes: 1"), ("high_lanes: 4", "high_lanes: 1")):
        assert old in text
        text = text.replace(old, new)
    with open(machine, "w") as f:
        f.write(text)
    for name, text in (("c.cfg", CONFIG), ("layout.csv", "Layer,\n")):
        with open(os.path.join(directory, name), "w") as f:
            f.write(text)
    print("A GEMM on 32 x 32 PEs of one multiplier, output stationary in both, 8 bits. SCALE-Sim counts cycles of the "
          "array; sqsim those of a machine with buffers and DRAM")
    print(f"{'M = N = K':12} {'MAC cycles':>12} {'SCALE-Sim':>12} {'sqsim':>12} {'SCALE-Sim s':>12} {'sqsim s':>8} {'times as fast':>14}")
    for size in (128, 256):
        topology = os.path.join(directory, "gemm.csv")
        with open(topology, "w") as f:
            f.write(f"Layer,M,N,K,\ngemm,{size},{size},{size},\n")
        out = os.path.join(directory, f"out{size}")
        start = time.monotonic()
        with contextlib.redirect_stdout(io.StringIO()):
            scalesim(save_disk_space=True, verbose=False, config=os.path.join(directory, "c.cfg"), topology=topology,
                     layout=os.path.join(directory, "layout.csv"), input_type_gemm=True).run_scale(top_path=out)
        theirs = time.monotonic() - start
        with open(glob.glob(out + "/*/COMPUTE_REPORT.csv")[0]) as f:
            row = {k.strip(): v for k, v in list(csv.DictReader(f))[0].items() if k}
        cycles = float(next(v for k, v in row.items() if k.startswith("Total Cycles")))
        s, _, r = sqsim(program, "run", "--machine", machine, "--format", "dense", "--weight-bits", "8", "--json",
                        "--m", str(size), "--n", str(size), "--k", str(size))
        print(f"{size:<12} {size ** 3 // 1024:12} {cycles:12.0f} {r['cycles']:12} {theirs:12.2f} {s:8.3f} {theirs / s:14.0f}", flush=True)


if __name__ == "__main__":
    {"llama": llama, "probe": probe, "scalesim": scale}[sys.argv[1]](*sys.argv[2:])
