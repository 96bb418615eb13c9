#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A sweep as a Slurm job array: task I of N computes shard I/N into DIR/part-I.db.
#
#   SQSIM=build/sqsim sbatch --array=1-8 sim/sweeps/slurm_array.sh SPEC.yaml DIR
#   sqsim sweep --merge DIR/part-*.db --db all.db        # when they are done
#
# A task that was killed or requeued goes on where it was; submitting again computes what is
# missing. --cpus-per-task sets the threads of a task.
#SBATCH --job-name=sqsim-sweep
#SBATCH --ntasks=1
#SBATCH --requeue
set -eu
[ $# = 2 ] || { echo "usage: sbatch --array=1-N slurm_array.sh SPEC.yaml DIR" >&2; exit 2; }
: "${SLURM_ARRAY_TASK_ID:?not a task of a job array, need sbatch --array=1-N}"
[ "$SLURM_ARRAY_TASK_MIN" = 1 ] && [ "$SLURM_ARRAY_TASK_MAX" = "$SLURM_ARRAY_TASK_COUNT" ] ||
  { echo "need --array=1-N, without gaps" >&2; exit 2; }
mkdir -p "$2"
exec "${SQSIM:-sqsim}" sweep "$1" --db "$2/part-$SLURM_ARRAY_TASK_ID.db" \
  --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --jobs "${SLURM_CPUS_PER_TASK:-1}"
