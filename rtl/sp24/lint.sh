# SPDX-License-Identifier: Apache-2.0
# The points at which make lint reads the modules of this room (rtl/lint.sh).
lint sq_meta24 Rows=2 Groups=4 ActW=4
