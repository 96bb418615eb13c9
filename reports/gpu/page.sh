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
  "$SQSIM" compare --machine "$1" ${records:+--gpu "$records"} --m 4096 --m 1 --plot "$to/$name.svg"
  printf '```\n'
  [ "$name" != h100_sxm ] || printf '\n![predicted speedups of %s](%s.svg)\n' "$name" "$name"
  if [ -n "$records" ]; then
    printf '\nEvery kernel, ours and those of the libraries:\n\n```text\n'
    "$SQSIM" compare --gpu "$records"
    printf '```\n\nThe machine file was not fitted to these times. Every GEMM of the libraries and of the SQ split:\n\n```text\n'
    "$SQSIM" compare --machine "$1" --gpu "$records" 2>&1 || true # its refusal says what is missing
    printf '```\n'
  fi
}

echo "<!-- make gpu-report: page.sh; $("$SQSIM" --version | head -1); revision $(reports/revision.sh) -->"
cat <<'TEXT'
# Simulated and measured speedup

This page has the times that the model of a GPU (`sim/gpu/sq_gpu.h`) predicts for the linear layers of whole models. Beside them stand
the times of the kernels in [gpu](../../gpu/README.md), if `make gpu-measure` has left its records here. The lines are the output of
`sqsim compare`; `make gpu-report` also draws pictures of the other machines (NAME.svg), of all formats (speedups.png) and of a GPU
left out (unseen.png) here. A ceiling (the highest rate of large products or copies) is `measured` on such a GPU, `fitted` to measured times,
`published`, or `expected` by a law from the data sheet. No library has a kernel for 2:4 with one token.
TEXT
section sim/machines/h100_sxm.yaml
cat <<'TEXT'

## Measured by others

These are times of vendors' libraries ([traces/gpu_measured](../../traces/gpu_measured/README.md)). The machines are fitted to one shape in
ten of them; the lines below are of the other nine.

```text
TEXT
for pair in A100:a100_pcie_80g RTX4090:rtx4090; do
  "$SQSIM" compare --gpu "traces/gpu_measured/${pair%:*}.csv" --machine "sim/machines/${pair#*:}.yaml" \
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

### What the measured times say about the formats

<!-- findings -->
TEXT
"$HERE/findings.sh" "$SQSIM"
cat <<'TEXT'
<!-- /findings -->

### All formats, all GPUs

<!-- joined -->
```text
TEXT
"$SQSIM" compare --joined --plot "$to/speedups.png"
cat <<'TEXT'
```
<!-- /joined -->

## One GPU left out

How far can you trust a prediction for a GPU without measured times? For each GPU in turn, model and roofline are fitted to one shape in ten
of the times of all *other* GPUs and tried on this one (left columns). The right columns show the errors after a fit to one shape in ten of
its own times. Each row gives the median error of the times by model and by roofline, and the rank correlation of predicted and measured
speedups by model (`rank`) and by roofline (`roof`). `kernels` are times of the kernel alone; `all` includes times with quantizing and host time.

```text
TEXT
"$SQSIM" compare --cross --plot "$to/unseen.png"
cat <<'TEXT'
```
TEXT
for machine in sim/machines/{a100_pcie_80g,h100_pcie,h200,rtx4090}.yaml; do
  [ -z "$("$HERE/records.sh" "$SQSIM" "$machine")" ] || section "$machine"
done
