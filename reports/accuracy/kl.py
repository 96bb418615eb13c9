#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far formats take a model from itself: KL and loss of a list of variants in a CSV file, and a page of them.

  kl.py measure SQSIM MODEL EVAL_TOKENS CALIB_TOKENS SEQUENCES VARIANTS CSV REVISION
  kl.py page VARIANTS CSV VERDICTS COMMAND

VARIANTS: lines "label | format option=value ...", options as --options of sqsim eval, layer-format among them (one rule: commas
end a cell); other lines are passed over. Rows are appended as they are measured, as many at a time as ten minutes or BATCH allow,
and what the file already holds is not measured again: a run that was stopped goes on where it was. The file's first line says of which model, tokens and
sequences it is; a file of others is refused. `kl_by_sequence` is what paired intervals need: means over the predicted tokens,
separated by blanks. Bits are of what is encoded and empty for the other side: of activations as sqsim run counts them, masks and
scales of blocks included; of weights as stored.

The page: "## title | variant" begins a table, in which every row is compared with that variant. VERDICTS: lines "claim | a | b | f":
the claim holds where KL of variant a is at most f times that of variant b. What is said of a claim depends on the numbers alone:
it holds or not where the whole interval of the ratio says so, and is open otherwise. What is not measured is left out and counted.
Intervals: 95 %, percentiles of 2000 resamples of the sequences, the same ones for both variants. COMMAND is what measures them.
"""
import csv, ctypes, functools, json, os, re, subprocess, sys, time

COLUMNS = ("variant,act_bits,weight_bits,loss_reference,loss_difference,difference_se,kl,"
           "kl_low,kl_high,kl_median,kl_p99,top1,seconds,revision,kl_by_sequence")
BATCH = 16  # formats of one sqsim eval, which reads and calibrates the model once for all; at most 16
RESAMPLES = 2000
HEAD = ("| format | bits of an activation | stored bits of a weight | KL, nats a token | ratio of KL | loss more, standard error "
        "| same top token |\n|---|---|---|---|---|---|---|")


def fail(text):
    print("kl.py:", text, file=sys.stderr)
    sys.exit(2)


def lines_of(path, n):
    """Lines of n fields between " | "; of those with #, only titles."""
    for line in open(path):
        fields = line.rstrip("\n").split(" | ")
        if len(fields) >= n and (line[0] != "#" or line.startswith("## ")):
            yield fields[:n]


# ---- measure ------------------------------------------------------------------------------------

class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def digest(paths):
    """XXH3 of files as sim/io/sq_digest.h chains it."""
    xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    xxh3.argtypes, xxh3.restype = (ctypes.c_char_p, ctypes.c_size_t), Hash

    def of(data):
        h = xxh3(data, len(data))
        return h.high.to_bytes(8, "big") + h.low.to_bytes(8, "big")
    total = bytes(16)
    for path in paths:
        data = open(path, "rb").read()
        total = of(total + len(data).to_bytes(8, "little") + of(data))
    return total.hex()


def options(variant):
    name, *rest = variant.split()
    return [name] + ["--" + option for option in rest]


def row_of(summary, variant, seconds, revision):
    def number(v, form):
        return "" if v is None else format(v, form)
    kl = summary["kl_mean_95"] or (float("nan"),) * 2
    figures = [summary[key] for key in ("loss_reference", "loss_difference", "loss_difference_se", "kl_mean")]
    figures += [*kl, summary["kl_median"], summary["kl_p99"], summary["top1_agreement"]]
    act = None if summary.get("operand") == "weights" else summary["activation_bits"]
    return ",".join([variant, number(act, ".6g"), number(summary["stored_bits_per_weight"], ".6g")] +
                    [format(float("nan") if v is None else v, ".6f") for v in figures] +
                    [f"{seconds:.1f}", revision, " ".join(f"{v:.9g}" for v in summary["kl_by_sequence"])])


def evaluate(sqsim, model, tokens, calib, sequences, variants):
    """Summaries of sqsim eval."""
    command = [sqsim, "eval", model, "--tokens", tokens, "--calib", calib, "--sequences", sequences]
    for i, variant in enumerate(variants):
        command += ["--and" if i else "--format"] + options(variant)
    out = subprocess.run(command + ["--summary", "--json", "--by-sequence"], capture_output=True, text=True)
    if out.returncode:
        fail(out.stderr.strip())
    summaries = [json.loads(line) for line in out.stdout.splitlines()]
    if summaries[0]["sequences"] != int(sequences):
        fail(f"SEQUENCES = {sequences}, need 1..{summaries[0]['sequences']}")
    return summaries


def measure(sqsim, model, tokens, calib, sequences, variants, path, revision):
    weights = model if os.path.isfile(model) else model + "/model.safetensors"
    head = f"# kl_grid: {sequences} sequences, %s predicted tokens, inputs xxh3-128:{digest([weights, tokens, calib])}"
    lines = open(path).read().split("\n")[:-1] if os.path.exists(path) else []  # without a row that was not finished
    if lines and not re.fullmatch(re.escape(head).replace("%s", r"\d+"), lines[0]):
        fail(f"{os.path.basename(path)} is of other inputs; remove it to measure anew")
    wanted = list(dict.fromkeys(variant for label, variant in lines_of(variants, 2) if label[0] != "#"))
    wanted = [variant for variant in wanted if variant not in {line.split(",")[0] for line in lines}]
    seconds = 600  # of a variant, of which the first runs alone
    while wanted:
        n = max(1, min(BATCH, int(600 / seconds)))
        batch, wanted, start = wanted[:n], wanted[n:], time.monotonic()
        summaries = evaluate(sqsim, model, tokens, calib, sequences, batch)
        seconds = (time.monotonic() - start) / len(batch)
        lines = lines or [head % summaries[0]["tokens"], COLUMNS]
        lines += [row_of(summary, variant, seconds, revision) for summary, variant in zip(summaries, batch)]
        with open(path + ".new", "w") as out:
            out.write("\n".join(lines) + "\n")
        os.replace(path + ".new", path)
        for summary, variant in zip(summaries, batch):
            print(f"KL {summary['kl_mean']:.4f}  {seconds:5.1f} s  {variant}", file=sys.stderr)


# ---- page ---------------------------------------------------------------------------------------

@functools.cache
def resamples(n):
    """Indices of sequences by the generator of models/sq_rng.h, seed 0."""
    state, mask, drawn = 0, 2 ** 64 - 1, []
    for _ in range(RESAMPLES * n):
        z = state = state + 0x9e3779b97f4a7c15 & mask
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
        drawn.append(((z ^ z >> 31) >> 32) * n >> 32)
    return [drawn[i:i + n] for i in range(0, len(drawn), n)]


def ratio(a, b):
    a, b = ([float(v) for v in row["kl_by_sequence"].split()] for row in (a, b))
    n = min(len(a), len(b))
    drawn = sorted(sum(a[i] for i in one) / sum(b[i] for i in one) for one in resamples(n))
    return sum(a[:n]) / sum(b[:n]), drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40 - 1]


def verdicts(path, rows):
    print("\n## Verdicts\n\n| claim | KL of the first | of the second | ratio | here |\n|---|---|---|---|---|")
    n_open = 0
    for claim, a, b, most in lines_of(path, 4):
        if a not in rows or b not in rows:
            n_open += 1
            continue
        a, b, most = rows[a], rows[b], float(most)
        value, low, high = ratio(a, b)
        word = "confirmed" if high <= most else "**withdrawn**" if low > most else "open: the interval holds both"
        print(f"| {claim} | {float(a['kl']):.4f} | {float(b['kl']):.4f} | {value:.3f} [{low:.3f}, {high:.3f}], "
              f"claimed <= {most:g} | {word} |")
    if n_open:
        print(f"\n{n_open} more claims wait for variants that are not measured yet.")


def tables(path, rows, command):
    title, base, n_missing = "", None, 0
    for label, variant in lines_of(path, 2):
        if label.startswith("## "):
            title, base = f"\n{label}\n\nRatios are to `{variant}`.\n\n{HEAD}\n", rows.get(variant)
        elif variant not in rows:
            n_missing += 1
        else:
            row = rows[variant]
            to = "" if not base else "1" if base is row else "%.3f [%.3f, %.3f]" % ratio(row, base)
            kl, low, high, more, se, top1 = (float(row[key]) for key in ("kl", "kl_low", "kl_high", "loss_difference", "difference_se", "top1"))
            print(f"{title}| {label} | {row['act_bits']} | {row['weight_bits']} | {kl:.4f} [{low:.4f}, {high:.4f}] | {to} | "
                  f"{more:+.4f}, {se:.4f} | {top1:.3f} |")
            title = ""  # stands before its first row
    if n_missing:
        print(f"\n{n_missing} variants of {os.path.basename(path)} are not measured yet: `{command}` goes on.")


def page(variants, path, claims, command):
    with open(path) as f:
        print(f"<!-- {command}: kl_table of {f.readline()[2:].strip()} -->")
        rows = {row["variant"]: row for row in list(csv.DictReader(f, COLUMNS.split(",")))[1:]}
    verdicts(claims, rows)
    tables(variants, rows, command)


VERBS = {"measure": (measure, 8), "page": (page, 4)}
verb, n = VERBS.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
if len(sys.argv) != 2 + n or not verb:
    fail("need measure SQSIM MODEL EVAL_TOKENS CALIB_TOKENS SEQUENCES VARIANTS CSV REVISION, or page VARIANTS CSV VERDICTS COMMAND")
verb(*sys.argv[2:])
