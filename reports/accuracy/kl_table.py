#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A page of what kl_grid measured: tables and verdicts.

kl_table.py VARIANTS CSV VERDICTS COMMAND

COMMAND is what measures them, for the page. VARIANTS as kl_grid reads it; "## title | variant" begins a table, in which every row is
compared with that variant. VERDICTS: lines "claim | a | b | f": the claim holds where KL of variant a is at most f times that of
variant b. What is said of a claim depends on the numbers alone: it holds or not where the whole interval of the ratio says so, and is
open otherwise. What is not measured is left out and counted.

Intervals: 95 %, percentiles of 2000 resamples of the sequences, the same ones for both variants.
"""
import csv
import functools
import os
import sys

RESAMPLES = 2000
HEAD = """
| format | bits of an activation | stored bits of a weight | KL, nats a token | ratio of KL | loss more, standard error | same top token |
|---|---|---|---|---|---|---|"""


@functools.cache
def resamples(n):
    """RESAMPLES lists of n of n sequences, drawn as models/sq_rng.h does from the seed 0."""
    state, mask, drawn = 0, (1 << 64) - 1, []
    for _ in range(RESAMPLES * n):
        state = z = state + 0x9e3779b97f4a7c15 & mask
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
        drawn.append(((z ^ z >> 31) >> 32) * n >> 32)
    return [drawn[i:i + n] for i in range(0, len(drawn), n)]


@functools.cache
def sums(values):
    """The KL of each resample, and of the sequences as they are."""
    return [sum(values[i] for i in sample) for sample in resamples(len(values))], sum(values)


def ratio(a, b):
    """KL of row a over that of row b, with its interval."""
    n = min(len(a["sequences"]), len(b["sequences"]))
    (x, whole_x), (y, whole_y) = (sums(row["sequences"][:n]) for row in (a, b))
    drawn = sorted(p / q for p, q in zip(x, y))
    return whole_x / whole_y, drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40 - 1]


def read(path):
    """The first line, which says of what the rows are, and the rows by variant."""
    with open(path, encoding="utf-8") as f:
        header, _ = next(f), next(f)
        rows = {}
        for cell in csv.reader(f):
            rows.setdefault(cell[0], {"bits": cell[1:3], "loss": [float(v) for v in cell[4:6]], "kl": [float(v) for v in cell[6:9]],
                                      "top1": float(cell[11]), "sequences": tuple(float(v) for v in cell[14].split())})
    return header[2:].rstrip("\n"), rows


def lines(path, n):
    """Those of n fields; of comments alone those that begin a table."""
    with open(path, encoding="utf-8") as f:
        for line in f:
            field = line.rstrip("\n").split(" | ")
            if len(field) >= n and (line.startswith("## ") or not line.startswith("#")):
                yield field


def verdicts(rows, path):
    missing = 0
    print("\n## Verdicts\n\n| claim | KL of the first | of the second | ratio | here |\n|---|---|---|---|---|")
    for claim, first, second, most in lines(path, 4):
        a, b, most = rows.get(first), rows.get(second), float(most)
        if not a or not b:
            missing += 1
            continue
        value, low, high = ratio(a, b)
        print(f"| {claim} | {a['kl'][0]:.4f} | {b['kl'][0]:.4f} | {value:.3f} [{low:.3f}, {high:.3f}], claimed <= {most:g} |",
              "confirmed" if high <= most else "**withdrawn**" if low > most else "open: the interval holds both", "|")
    if missing:
        print(f"\n{missing} more claims wait for variants that are not measured yet.")


def tables(rows, path, command):
    missing, base, title = 0, None, ""
    for label, variant in lines(path, 2):
        row = rows.get(variant)
        if label.startswith("## "):
            base, title = row, f"\n{label}\n\nRatios are to `{variant}`.\n{HEAD}\n"
        elif not row:
            missing += 1
        else:
            times = "" if not base else "1" if base is row else "{:.3f} [{:.3f}, {:.3f}]".format(*ratio(row, base))
            print(title + "| {} | {} | {} | {:.4f} [{:.4f}, {:.4f}] | {} | {:+.4f}, {:.4f} | {:.3f} |".format(
                label, *row["bits"], *row["kl"], times, *row["loss"], row["top1"]))
            title = "" # with its first row
    if missing:
        print(f"\n{missing} variants of {os.path.basename(path)} are not measured yet: `{command}` goes on.")


def main(variants, path, claims, command):
    header, rows = read(path)
    print(f"<!-- {command}: kl_table of {header} -->")
    verdicts(rows, claims)
    tables(rows, variants, command)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("kl_table.py: need VARIANTS CSV VERDICTS COMMAND")
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError, IndexError, StopIteration) as e: # a file that cannot be read, a short row
        sys.exit(f"kl_table.py: cannot read the lists or the rows: {e}")
