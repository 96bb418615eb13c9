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
  "$SQSIM" compare --machine "$1" ${records:+--gpu "$records"} --plot "$to/$name.svg"
  printf '```\n\n![predicted speedups of %s](%s.svg)\n' "$name" "$name"
  if [ -n "$records" ]; then
    printf '\nEvery GEMM of the vendors'"'"' libraries and of the SQ split:\n\n```text\n'
    "$SQSIM" compare --machine "$1" --gpu "$records" 2>&1 || true # its refusal says what is missing
    printf '```\n'
  fi
}

echo "<!-- make gpu-report: page.sh; $("$SQSIM" --version | head -1); revision $(reports/revision.sh) -->"
cat <<'TEXT'
# Simulated and measured speedup

What the model of a GPU (`sim/gpu/sq_gpu.h`) predicts for the linear layers of whole models, and what the kernels
in [gpu](../../gpu/README.md) took on one, where `make gpu-measure` has left its records here. The lines
under each head are the output of `sqsim compare`; a ceiling is `measured` (read on such a GPU), `fitted` to
measured times, `published`, or `expected` by a law from the data sheet. No library has a kernel for one token and 2:4.
TEXT
section sim/machines/h200.yaml
cat <<'TEXT'

## Measured by others

The times of [traces/gpu_measured](../../traces/gpu_measured/README.md), libraries only; the machines are fitted to one shape in
ten of them, which is left out here.

```text
TEXT
for pair in A100:a100_pcie_80g RTX4090:rtx4090; do
  "$SQSIM" compare --gpu "traces/gpu_measured/${pair%:*}.csv" --machine "sim/machines/${pair#*:}.yaml" \
    --plot "$to/${pair#*:}.svg"
done
printf '```\n\n![A100](a100_pcie_80g.svg)\n![RTX 4090](rtx4090.svg)\n'
cat <<'TEXT'

## Formats on accelerator and GPU

How many times as fast each format is as its base: on the simulated accelerator (`sim/machines/default.yaml`), on each GPU as measured,
and on each GPU as predicted by model and roofline that were fitted to all other GPUs. All figures of a line are of the same shapes. The
last column says what changes the speedup most on the way from the simulated to the measured one, and its factor:

- **data sheet**: rates and bandwidth of the GPU stand to each other in another way than those of the accelerator, whose array
  multiplies 16 bits in four passes;
- **power**: share of these rates that lasts, most of all by the power limit;
- **launch and tail**: fixed costs of a kernel, and the busiest SM;
- **quantizing**: a kernel that quantizes the activations, where it is timed too;
- **library**: what the model does not explain, most of all the kernels of the library.

### What the measured times say about the formats

<!-- findings -->
TEXT
"$HERE/findings.sh" "$SQSIM"
cat <<'TEXT'
<!-- /findings -->

### All formats, all GPUs

![predicted over measured speedups](speedups.png)

<!-- joined -->
```text
TEXT
"$SQSIM" compare --joined --plot "$to/speedups.png"
cat <<'TEXT'
```
<!-- /joined -->

## One GPU left out

How far to trust a prediction for a GPU without measured times: model and roofline are fitted to one shape in ten of the times of
all *other* GPUs, then tried on this one (left columns), and once more after a fit to one shape in ten of its own times (right
columns). Each row gives the median error of times, model and roofline, and the rank correlation of predicted and measured speedups,
model and roofline (`roof`). `kernels` are times of the kernel alone; `all` has those with quantizing and a framework's host time too.

![predicted over measured times of GPUs left out of the fit](unseen.png)

```text
TEXT
"$SQSIM" compare --cross --plot "$to/unseen.png"
cat <<'TEXT'
```
TEXT
for machine in sim/machines/{a100_pcie_80g,h100_pcie,rtx4090}.yaml; do
  [ -z "$("$HERE/records.sh" "$SQSIM" "$machine")" ] || section "$machine"
done
