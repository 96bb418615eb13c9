#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make demo` shows: a model writes text on the chip, a layer goes through the RTL, formats are compared.

demo.py SQSIM FOLDER [rtl] [tokens=N]: runs the program SQSIM, prints as it goes, and leaves FOLDER/index.html, one page
without scripts and without anything from elsewhere. Every number in it was printed by a command of SQSIM, of the same
machine (sim/machines/chip.yaml). With `rtl` the RTL writes the text too, and it must be the same in the same cycles.
"""
import html
import json
import os
import subprocess
import sys

FORMATS = ["dense", "sq_w", "nvfp4", "mxfp4", "sq_b"]
FORMAT, LAYER, PROMPT = "nvfp4", "model.layers.0.mlp.up_proj", "The "


def lines(sqsim, *arguments):
    """JSON lines of a command, as they come."""
    with subprocess.Popen([sqsim, *arguments, "--json"], stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            yield json.loads(line)
    if run.returncode:
        sys.exit(f"demo: sqsim {' '.join(arguments)} ended with {run.returncode}")


def generate(sqsim, body, n, shows):
    tokens, summary = [], None
    for line in lines(sqsim, "generate", "--prompt", PROMPT, "--format", FORMAT, "--on", body,
                      "--tokens", str(n)):
        if "token" in line:
            tokens.append(line)
            if shows:
                print(line["text"].replace("\n", " "), end="", flush=True)
        else:
            summary = line
    return tokens, summary


def compare(sqsim):
    """A row of every format: loss by eval, time by run, on the same chip."""
    ands = [word for name in FORMATS[1:] for word in ("--and", name, "--algorithm", "rtn")]
    losses = list(lines(sqsim, "eval", "--format", FORMATS[0], "--algorithm", "rtn", *ands, "--summary"))
    rows = []
    for name, loss in zip(FORMATS, losses):
        time = list(lines(sqsim, "run", "--machine", "chip", "--format", name, "--m", "1"))[-1]
        rows.append({"format": name, "bits": loss["stored_bits_per_weight"], "act": loss["activation_bits"],
                     "kl": loss["kl_mean"], "low": loss["kl_mean_95"][0], "high": loss["kl_mean_95"][1],
                     "ms": 1000 * time["seconds"]})
    return rows


# ---- the page -----------------------------------------------------------------------------------------

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b2430; margin: 0 auto; padding: 1rem; max-width: 60rem }
h1 { font-size: 1.5rem; line-height: 1.2 } h2 { font-size: 1.1rem; margin-top: 2rem }
.text { display: flex; flex-wrap: wrap; gap: 2px 0; align-items: flex-start }
.text span { display: inline-flex; flex-direction: column; align-items: center; min-width: .8rem; white-space: pre }
.text b { font: 600 1.15rem/1.3 ui-monospace, monospace } .text i { background: #3b7dd8; width: 6px; margin-top: 2px }
.text .given b { color: #7a8694 }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100% }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid #d9dee5; white-space: nowrap }
th:first-child, td:first-child { text-align: left } svg { width: 100%; height: auto; display: block }
.key span { display: inline-block; margin-right: 1.2rem } .key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .35rem }
"""
PARTS = [("busy", "the engine multiplies", "#3b7dd8"), ("wait", "it waits for operands from memory", "#e0a030"),
         ("blocked", "it cannot go on", "#b04040")]


def picture_of_text(tokens):
    most = max(t["cycles"] for t in tokens)
    out = [f'<span class="given"><b>{html.escape(c)}</b></span>' for c in PROMPT]
    for t in tokens:
        height = 28 * t["cycles"] / most
        out.append(f'<span title="{t["cycles"]} cycles"><b>{html.escape(t["text"])}</b>'
                   f'<i style="height:{height:.1f}px"></i></span>')
    return f'<div class="text">{"".join(out)}</div>'


def picture_of_cycles(summary):
    x, bars = 0.0, []
    for key, what, colour in PARTS:
        width = 1000 * summary[key] / summary["cycles"]
        bars.append(f'<rect x="{x:.2f}" y="0" width="{width:.2f}" height="40" fill="{colour}">'
                    f'<title>{summary[key]} cycles: {what}</title></rect>')
        x += width
    key = "".join(f'<span><i style="background:{colour}"></i>{what}: {100 * summary[name] / summary["cycles"]:.1f} %</span>'
                  for name, what, colour in PARTS)
    return f'<svg viewBox="0 0 1000 40" role="img" aria-label="where the cycles go">{"".join(bars)}</svg><p class="key">{key}</p>'


def table(rows):
    head = "<tr><th>format</th><th>bits a weight</th><th>bits an activation</th><th>KL, nats a token</th><th>95 %</th><th>ms a token</th></tr>"
    body = "".join(f'<tr><td>{r["format"]}</td><td>{r["bits"]:.2f}</td><td>{r["act"]:.2f}</td><td>{r["kl"]:.4f}</td>'
                   f'<td>{r["low"]:.4f} to {r["high"]:.4f}</td><td>{r["ms"]:.4f}</td></tr>' for r in rows)
    return f'<div class="scroll"><table>{head}{body}</table></div>'


def page(tokens, summary, layer, rows, said):
    per_token = tokens[-1]["cycles"]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>sqsim: a chip that writes text</title><style>{STYLE}</style></head><body>
<h1>A chip writes text</h1>
<p>{said[0]}</p>
{picture_of_text(tokens)}
<h2>Where the cycles go</h2>
<p>{said[1]}</p>
{picture_of_cycles(summary)}
<h2>The same layer in RTL</h2>
<p>{html.escape(layer["layer"])}, {layer["n"]} x {layer["k"]} in {FORMAT}, went through the verilated chip beside both models:
{layer["values"]} outputs and {layer["cycles"]} cycles were compared, <b>{layer["value_mismatches"]} values and {layer["cycle_mismatches"]} cycles differ</b>.</p>
<h2>Five formats on the chip</h2>
<p>{said[2]}</p>
{table(rows)}
<p>A token takes {per_token} cycles of the machine {summary["machine"]}, whose YAML says {summary["clock_hz"] / 1e6:g} MHz and no netlist does. Attention and the
product with the vocabulary are the host's and take none here.</p>
</body></html>
"""


def main(sqsim, folder, *options):
    n = next((int(o[7:]) for o in options if o.startswith("tokens=")), 64)
    print(f"\n== the embedded model writes {n} bytes on the chip, in {FORMAT} (cycle model)\n\n{PROMPT}", end="", flush=True)
    tokens, summary = generate(sqsim, "chip", n, True)
    waits = 100 * summary["wait"] / summary["cycles"]
    print(f"\n\n{tokens[-1]['cycles']} cycles a token; {waits:.0f} % of them the engine waits for memory; "
          f"{summary['tokens_per_s']:.0f} tokens a second at {summary['clock_hz'] / 1e6:g} MHz, which the machine says and no netlist")
    if "rtl" in options:
        print("\n== the same by the RTL, through Verilator\n", flush=True)
        other, of_rtl = generate(sqsim, "rtl", n, False)
        same = [(t["id"], t["cycles"], t["logits"]) for t in other] == [(t["id"], t["cycles"], t["logits"]) for t in tokens]
        print(f"text, cycles and logits of all {n} tokens are {'the same' if same else 'NOT the same'}")
        if not same:
            return 1
    print(f"\n== layer {LAYER} through the verilated chip", flush=True)
    layer, cosim = lines(sqsim, "cosim", "--block", "top", "--layers", "--machine", "chip", "--format", FORMAT,
                         "--layer", LAYER, "--m", "1")
    wrong = layer["value_mismatches"] + layer["cycle_mismatches"]
    print(f"{layer['values']} outputs, {layer['cycles']} cycles compared: {wrong} differences")
    print("\n== five formats: loss of the model, time of a token on this chip\n", flush=True)
    rows = compare(sqsim)
    print(f"{'format':8}{'bits a weight':>15}{'KL':>10}   {'95 %':18}{'ms a token':>12}")
    for r in rows:
        print(f"{r['format']:8}{r['bits']:15.2f}{r['kl']:10.4f}   {r['low']:.4f} to {r['high']:.4f}  {r['ms']:12.4f}")
    best, fast = min(rows, key=lambda r: r["kl"]), min(rows, key=lambda r: r["ms"])
    said = (f"Grey is the prompt; the model wrote the other {n} bytes, each with a bar of the cycles that its layers took on the chip "
            f"(the first has the whole prompt before it).",
            f"In {waits:.0f} % of the cycles the engine waits: with one token at a time every weight is read for one multiplication, so the bits "
            "a weight takes decide the time.",
            f"Read the table from both ends: {fast['format']} takes the least time with {fast['bits']:.2f} bits a weight, {best['format']} loses least, "
            f"KL {best['kl']:.4f}, with {best['bits']:.2f}.")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as out:
        out.write(page(tokens, summary, layer, rows, said))
    print("\n" + "\n".join(said) + f"\n\nwritten: {os.path.join(folder, 'index.html')}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
