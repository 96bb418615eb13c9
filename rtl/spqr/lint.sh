# SPDX-License-Identifier: Apache-2.0
# The points at which make lint reads the modules of this room (rtl/lint.sh).
for w in 1 2 16; do lint sq_spqr_dec Words=$w; done
