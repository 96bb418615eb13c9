# SPDX-License-Identifier: Apache-2.0
# The points at which make lint reads the modules of this room (rtl/lint.sh).
lint sq_gqsa_walk GroupLen=2 GroupW=3 AtW=8 RowW=4
lint sq_gqsa_walk
lint sq_gqsa_scale TagW=5
lint sq_top_gqsa
lint sq_top_gqsa IsBf16=1
