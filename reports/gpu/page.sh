#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The page of reports/gpu and its plots, from the machine files, and from the records beside it where
# there are any: page.sh SQSIM FOLDER
set -euo pipefail
SQSIM=$(readlink -f "$1")
HERE=$(dirname "$0")
to=$2

section() { # MACHINE
  local name records
  name=$(basename "$1" .yaml)
  records=$("$HERE/records.sh" "$SQSIM" "$1")
  printf '\n## %s\n\n' "$name"
  if [ -n "$records" ]; then
    printf 'Measured times: [%s](%s).\n' "$(basename "$records")" "$(basename "$records")"
  else
    printf 'No GPU of this kind has run the kernels yet: every time below is modelled.\n'
  fi
  printf '\n```text\n'
  "$SQSIM" compare --machine "$1" ${records:+--gpu "$records"} --m 4096 --m 1 --plot "$to/$name.svg" | sed '/^measured: single layers/,$d'
  printf '```\n'
  reports/svg.sh "$to/$name.svg"
  [ "$name" != h100_sxm ] || printf '\n![predicted speedups of %s](%s.svg)\n' "$name" "$name"
  if [ -n "$records" ]; then
    printf '\nMeasured times follow. Every kernel, ours and those of the libraries, at 4096, 16 and 1 tokens; `sqsim compare --gpu %s` prints all others:\n\n```text\n' "$records"
    "$SQSIM" compare --gpu "$records" | awk '$1 !~ /^[0-9]+$/ || $1 ~ /^(4096|16|1)$/'
    printf '```\n\nThe machine file was not fitted to these times. Every GEMM of the libraries and of the SQ split; `sqsim compare --machine %s --gpu %s`\nsays which kinds it leaves out, and with `--m 4096` what the difference of each layer comes from. The worst row, more by `--worst`:\n\n```text\n' "$1" "$records"
    { "$SQSIM" compare --machine "$1" --gpu "$records" --worst 1 2>&1 || true; } | sed '/^  left out: /d' # its refusal says what is missing
    printf '```\n'
  fi
}

echo "<!-- make gpu-report: page.sh; $("$SQSIM" --version | head -1); revision $(reports/revision.sh) -->"
cat <<'TEXT'
# Simulated and measured speedup

This page has the times that the model of a GPU (`sim/gpu/sq_gpu.h`) predicts for the linear layers of whole models. Beside them stand
the times of the kernels in [gpu](../../gpu/README.md), if `make gpu-measure` has left its records here. The lines are the output of
`sqsim compare`. No library has a kernel for 2:4 with one token.

The model starts from the *ceilings* of a GPU: the highest rates that large copies and products reach. A ceiling is `measured` on such a
GPU, `fitted` to measured times, `published`, or `expected` from the data sheet by a law, which was fitted to measured times of six GPUs.

- `make gpu-measure` runs on a GPU, measures the kernels and writes traces of their operands and outputs.
- `sqsim cosim traces/gpu/*.safetensors` takes these traces through golden model, cycle model and RTL. `make test` does so with the
  traces of the same kernels in an emulator.
- `make gpu-report` makes this page: it puts measured times beside predicted ones. It also draws pictures of the other machines (NAME.svg) and of a GPU left out (unseen.png) here.

An H100 has run the kernels ([their times](#h100_sxm)), and its 12 traces go through the RTL without a difference.
In the tables M is the number of tokens. `W4A8` has weights of 4 and activations of 8 bits, `FP8B` is FP8 with a scale for each block.
`SQ BF16+FP8 s=0.75` is a static split: it multiplies a quarter of the input channels in BF16 and three quarters in FP8.
In "BF16 x" the BF16 of cuBLASLt was timed in turn with the kernel, in a run whose power was limited, so it is slower there than at its best, and
activations of `sq_gemm_pair` come encoded unless the line says so: encoded in the same time, .75 gives 1.11 in place of 1.38.
TEXT
section sim/machines/h100_sxm.yaml
cat <<'TEXT'

## An H200, predicted

DRAM and BF16 were measured on an H200, the other ceilings are expected. `sqsim run --machine sim/machines/h200.yaml` times the formats that have
a kernel in gpu/, and refuses the block-scaled ones. [The sheet](../formats/sheet.md) has the cycles of all formats on an accelerator.

<!-- run: sqsim compare -->
```text
TEXT
"$SQSIM" compare
cat <<'TEXT'
```

## Measured by others

These are times of vendors' libraries ([traces/gpu_measured](../../traces/gpu_measured/README.md)). The machines are fitted to one shape in
ten of them; the lines below are of the other nine. These other shapes are not wholly unseen: the data also guided the structure of the
model. [docs/gpu.md](../../docs/gpu.md) shows how to describe a GPU of your own.

The last line for each GPU is a baseline, a roofline: the time of a product is a constant plus the larger of two times, that of its MACs
at a fixed rate and that of its bytes at a fixed bandwidth. Its three constants for each kind of product are fitted to the same rows as
the model.

```text
TEXT
for pair in A100:a100_pcie_80g RTX4090:rtx4090; do
  "$SQSIM" compare --gpu "traces/gpu_measured/${pair%:*}.csv" --machine "sim/machines/${pair#*:}.yaml" --worst 1 \
    --plot "$to/${pair#*:}.svg"
done
printf '```\n'
cat <<'TEXT'

## Formats on accelerator and GPU

The table says how many times as fast each format is as its base: on the simulated accelerator (`sim/machines/default.yaml`), on each GPU
as measured, and on each GPU as predicted by model and roofline, which were fitted to all other GPUs. All figures of a line are of the same
shapes. The simulated speedup becomes the measured one in five steps, each with a factor. The last column names the largest step:

- **data sheet**: the GPU has other ratios between its rates and its bandwidth than the accelerator, whose array multiplies 16 bits in
  four passes;
- **power**: only a share of these rates lasts, mostly because of the power limit;
- **launch and tail**: fixed costs of a kernel, and the work of the busiest SM beyond its share;
- **quantizing**: a kernel that quantizes the activations, where its time is included;
- **library**: what the model does not explain, mostly the kernels of the library.

### Beside the claims of papers

`make joined` prints this table. Its rows are the formats for which a paper claims a speedup. Its columns are the speedup on the
simulated accelerator, the speedup measured on GPUs, the predictions of model and roofline for GPUs that they were not fitted to, and the
claim of the paper. A range goes from the GPU with the lowest to the one with the highest speedup. The time of a static split is put together
from the measured times of its two data types. The table mixes prefill and decode and has few rows, so its rank correlations mean little.

<!-- papers -->
TEXT
"$HERE/joined.sh" "$SQSIM"
cat <<'TEXT'
<!-- /papers -->

### What the measured times say about the formats

<!-- findings -->
TEXT
"$HERE/findings.sh" "$SQSIM"
cat <<'TEXT'
<!-- /findings -->

### All formats, all GPUs

`sqsim compare --joined` prints every format of [formats.csv](../../traces/gpu_measured/formats.csv) on every GPU: simulated,
measured and predicted speedup, and the largest step. `--plot FILE.png` draws them.

## One GPU left out

How far can you trust a prediction for a GPU without measured times? For each GPU in turn, model and roofline are fitted to one shape in ten
of the times of all *other* GPUs and tried on this one (left columns). The right columns show the errors after a fit to one shape in ten of
its own times. The lines are of all files; `sqsim compare --cross` prints each GPU and kind. Each row gives the median error of the times by
model and by roofline, and the rank correlation of predicted and measured speedups by model (`rank`) and by roofline (`roof`). `kernels` are times of the kernel alone; `all` includes times with quantizing and host time.
Over all files, half of the model's times of kernels are within 11.8 % of the measured ones (M >= 128), and half of the roofline's within 23.2 %.

```text
TEXT
"$SQSIM" compare --cross --plot "$to/unseen.png" | awk 'NR <= 3 || /^all files/ {on = 1} on; NR == 3 {on = 0}'
cat <<'TEXT'
```
TEXT
for machine in sim/machines/{a100_pcie_80g,h100_pcie,h200,rtx4090}.yaml; do
  [ -z "$("$HERE/records.sh" "$SQSIM" "$machine")" ] || section "$machine"
done
