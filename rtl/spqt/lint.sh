# SPDX-License-Identifier: Apache-2.0
# The points at which make lint reads the modules of this room (rtl/lint.sh).
lint sq_spqt_idx SegLen=8 Lanes=3 IndexW=6
lint sq_spqt_idx SegLen=64 Lanes=16 Fp16=1
