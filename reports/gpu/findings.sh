#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the measured times say about the formats, with figures from `sqsim compare`: findings.sh SQSIM
set -euo pipefail
SQSIM=$1
JOINED=$("$SQSIM" compare --joined --json)
B200=$("$SQSIM" compare --gpu traces/gpu_measured/B200.csv --machine sim/machines/b200.yaml --json)
x() { # FORMAT M RECORDS [KEY]: a speedup of the joined table
  grep -F "{\"format\":\"$1\",\"m\":\"$2\",\"records\":\"$3\"" <<<"$JOINED" |
    grep -o "\"${4:-measured_speedup}\":[0-9.e+-]*" | awk -F: '{printf "%.2f", $2} END {exit NR != 1}'
}
splits() { # PAIR RECORDS: of the three shares
  echo "$(x "SQ $1 s=0.5" ">=2048" "$2"), $(x "SQ $1 s=0.75" ">=2048" "$2") and $(x "SQ $1 s=0.875" ">=2048" "$2")"
}
us() { # DTYPE SPARSITY: at 8192 x 8192 x 8192 on the B200
  grep "\"dtype\":\"$1\",\"sparsity\":\"$2\",\"m\":8192,\"n\":8192,\"k\":8192," <<<"$B200" |
    grep -o '"measured_us":[0-9.e+-]*' | awk -F: '{printf "%.0f", $2} END {exit NR != 1}'
}
H200=gemm_h200_sxm_trtllm_1.2.0rc5.csv L40S=gemm_l40s_trtllm_1.0.0.csv A100=gemm_a100_sxm_trtllm_1.0.0.csv
TRT=gemm_b200_sxm_trtllm_1.3.0rc20.csv VLLM=gemm_b200_sxm_vllm_0.24.0.csv
cat <<TEXT
**2:4 in FP4 is slower than dense FP4 on a B200.** For M from 2048 on, 2:4 reaches $(x "NVFP4 2:4 over NVFP4" ">=2048" B200.csv) of the dense
speed; at 8192 x 8192 x 8192 it takes $(us NVFP4 2:4) us and dense FP4 $(us NVFP4 dense) us. In FP8 it is $(x "FP8 2:4 over FP8" ">=2048" B200.csv) times as fast as dense, in BF16
$(x "BF16 2:4 over BF16" ">=2048" B200.csv) times. For the formats: 2:4 on top of 4 bits gives no speed there (cuSPARSELt 0.8.1), only fewer bytes. Weights that are to be both sparse and of
4 bits have to gain by their bytes, with few tokens. With many tokens, 2:4 pays in 8 and in 16 bits.

**Dense INT8 is slower than FP8 on a B200, and slower than BF16.** For M from 2048 on it reaches $(x "INT8 over FP8" ">=2048" B200.csv) of the speed of FP8; at
8192 x 8192 x 8192 it takes $(us INT8 dense) us and FP8 $(us FP8 dense) us. Over all M from 128 on it reaches $(x "INT8 over BF16" ">=128" B200.csv) of the speed of BF16. On an RTX 4090 it is the other way
round: INT8 is $(x "INT8 over FP8" ">=2048" RTX4090.csv) times as fast as FP8. For the formats: dense W4A8 and the static split of INT8 and INT4 multiply in INT8. On
this GPU they need a base of FP8 and a low part of NVFP4. And INT8 2:4, which is $(x "INT8 2:4 over INT8" ">=2048" B200.csv) times as fast as dense INT8 there, does
not owe that to its zeros: in BF16, 2:4 brings $(x "BF16 2:4 over BF16" ">=2048" B200.csv).

**A static split of BF16 and FP8 reaches the paper's table where the kernel alone is timed.** Composed of the times of both types, it is
$(splits BF16+FP8 RTX4090.csv) times as fast as BF16 on an RTX 4090, and $(splits BF16+FP8 B200.csv) on a B200 (s = 0.5, 0.75, 0.875). The paper has 1.32,
1.56 and 1.71 for INT8 and INT4 on Llama-3-70B, 1.07, 1.14 and 1.17 on Llama-3-8B. In layers of frameworks, which quantize the activations first,
it is $(splits BF16+FP8 $H200) on an H200 and $(splits BF16+FP8 $TRT) on a B200. So the split pays where the
layer in front of it writes quantized activations, and hardly where a kernel of its own quantizes them.

**8 and 4 bits on a B200.** The data have INT4 times of no GPU: the split of INT8 and INT4 is predicted, not measured. FP8 and NVFP4
come nearest to it. Their split is $(splits FP8+NVFP4 $TRT) times as fast as FP8 in TensorRT-LLM, $(splits FP8+NVFP4 $VLLM) in vLLM.

**Weights of 4 bits pay with few tokens only.** W4A16 is $(x "W4A16 over BF16" 1 $A100) (A100), $(x "W4A16 over BF16" 1 $H200) (H200) and $(x "W4A16 over BF16" 1 $L40S) (L40S) times as fast as BF16 for one token. The
simulated accelerator, which launches nothing, gets $(x "W4A16 over BF16" 1 $A100 simulated_speedup) from its bytes; launches and tails alone multiply that by $(x "W4A16 over BF16" 1 $A100 "launch and tail"), $(x "W4A16 over BF16" 1 $H200 "launch and tail") and $(x "W4A16 over BF16" 1 $L40S "launch and tail"). For
M from 128 on it is $(x "W4A16 over BF16" ">=128" $A100), $(x "W4A16 over BF16" ">=128" $H200) and $(x "W4A16 over BF16" ">=128" $L40S) times as fast. GQSA, SpQt and SpQR store such weights: on these GPUs they are formats of the decode.
TEXT
