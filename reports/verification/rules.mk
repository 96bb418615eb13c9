# SPDX-License-Identifier: Apache-2.0
VERIFICATION := reports/verification

## verification: coverage, mutants, cosim-all, and the tables of reports/verification from them
.PHONY: verification
verification: coverage mutants
	$(Q)$(BUILD)/sqsim cosim --block all --cases $(ALL_CASES) --seed $(SEED) --jobs $(JOBS) --json \
	  >build/cosim-all.jsonl
	$(Q)$(VERIFICATION)/tables.sh $(BUILD)/sqsim build/coverage build/mutants build/cosim-all.jsonl \
	  >$(VERIFICATION)/tables.md.new
	$(Q)mv $(VERIFICATION)/tables.md.new $(VERIFICATION)/tables.md
