#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sim/sweeps/slurm_array.sh on a real Slurm of one node, started and stopped here: the shards of a
# job array, one of them killed in between, merge into the bytes of an undisturbed run. Skipped
# aloud where Slurm is not installed or cannot start.
. "$(dirname "$0")/lib.sh"
script=$ROOT/sim/sweeps/slurm_array.sh
PATH=$PATH:/usr/sbin

(cd "$W" && "$script" a b >"$W.out" 2>"$W.err"); RC=$?
ok "outside an array: one line" eval '[ $RC != 0 ] && [ "$(wc -l <"$W.err")" = 1 ]'
(cd "$W" && "$script" >"$W.out" 2>"$W.err"); RC=$?
ok "without arguments: usage, exit 2" eval '[ $RC = 2 ] && grep -q ^usage: "$W.err"'
(cd "$W" && SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=4 \
  SLURM_ARRAY_TASK_COUNT=2 "$script" a b >"$W.out" 2>"$W.err"); RC=$?
ok "an array that does not begin at 1" eval '[ $RC = 2 ] && grep -q "need --array=1-N" "$W.err"'

for tool in slurmctld slurmd sbatch squeue sinfo; do
  if ! command -v $tool >/dev/null; then
    skip "a job array" "no $tool: Debian's slurm-wlm is not installed"
    finish
  fi
done

# Ports of our own, no munge: nobody else talks to this Slurm.
host=$(hostname -s)
port=$((20000 + $$ % 20000))
export SLURM_CONF=$W/slurm.conf
mkdir "$W/state" "$W/spool"
cat >"$SLURM_CONF" <<EOS
ClusterName=sqsim
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/none
CredType=cred/none
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$W/state
SlurmdSpoolDir=$W/spool
SlurmctldPidFile=$W/slurmctld.pid
SlurmdPidFile=$W/slurmd.pid
SlurmctldLogFile=$W/slurmctld.log
SlurmdLogFile=$W/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
EOS
slurmctld -D >/dev/null 2>&1 & ctld=$!
slurmd -D >/dev/null 2>&1 & node=$!
trap 'stop; rm -rf "$W" "$W.out" "$W.err"' EXIT
stop() {
  scancel -u "$(id -un)" 2>/dev/null
  kill $node $ctld 2>/dev/null
  wait $node $ctld 2>/dev/null
}
for ((i = 0; i < 240; i++)); do
  sinfo -h -o %t 2>/dev/null | grep -q '^\(idle\|mix\)' && break
  sleep 0.5
done
if [ $i = 240 ]; then
  sed 's/^/# /' "$W/slurmctld.log" "$W/slurmd.log" 2>/dev/null | tail -5
  stop
  skip "a job array" "Slurm is installed but did not start within two minutes"
  finish
fi

printf '%s\n' 'name: array' 'axes:' '  n: [64..1024+64]' '  k: [64..1024+64]' '  m: [1..64*2]' \
  'measures: [cycles, causes]' >"$W/array.yaml"
points=1792
array() { # runs the array and waits for its end
  (cd "$W" && SQSIM=$SQSIM timeout $HANG sbatch --parsable --wait --array=1-4 -o "$W/job-%a.log" "$@" \
    "$script" array.yaml parts >"$W.out" 2>"$W.err")
}
array; RC=$?
ok "a job array of four tasks" [ $RC = 0 ]
ok "every task says what it did" [ "$(cat "$W"/job-?.log | grep -c "^array: $((points / 4)) points")" = 4 ]
says "merge: all points" "$points points added" sweep --merge parts/part-1.db parts/part-2.db parts/part-3.db parts/part-4.db --db all.db
accept "one run without Slurm" sweep array.yaml --db alone.db -o alone.csv
says "the merged one: computes nothing" "0 computed, $points already there" sweep array.yaml --db all.db -o all.csv
ok "same bytes" cmp "$W/alone.csv" "$W/all.csv"
# A part that is lost, and one that is half done: submitting again computes just these.
rm "$W/parts/part-2.db"
(ulimit -f 300; cd "$W" && rm parts/part-3.db && "$SQSIM" sweep array.yaml --db parts/part-3.db --shard 3/4 >/dev/null 2>&1)
array --cpus-per-task=2; RC=$?
ok "submitted again" [ $RC = 0 ]
ok "only what was missing" grep -q " 0 computed, $((points / 4)) already" "$W/job-1.log"
ok "a lost part in full" grep -q " $((points / 4)) computed, 0 already" "$W/job-2.log"
accept "merge again" sweep --merge parts/part-1.db parts/part-2.db parts/part-3.db parts/part-4.db --db all2.db
accept "export again" sweep array.yaml --db all2.db -o all2.csv
ok "same bytes again" cmp "$W/alone.csv" "$W/all2.csv"
stop
ok "Slurm is gone" eval '! kill -0 $ctld 2>/dev/null && ! kill -0 $node 2>/dev/null'
finish
