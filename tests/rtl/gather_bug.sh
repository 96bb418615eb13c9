#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gather_bug.sh HOME: rtl/ and the bridge, as SQSIM_HOME wants them, with a bug in sq_gather.sv: bit 2
# of element 2 of the gathered activations is lost.
set -e
mkdir -p "$1/build" "$1/sim/cosim"
cp -r rtl "$1/"
cp sim/cosim/sq_{bridge,rtl}.h "$1/sim/cosim/"
sed -i "s/gathered_q3 <= gathered;/gathered_q3 <= gathered \& ~((Rows*HighPerBank*ActW)'(1) << (2 * ActW + 2));/" \
  "$1/rtl/core/sq_gather.sv"
! cmp -s rtl/core/sq_gather.sv "$1/rtl/core/sq_gather.sv"
