# SPDX-License-Identifier: Apache-2.0
VERIFICATION := reports/verification

MUTANT_SEEDS ?= 1,2,3
## verification: coverage, mutants, cosim-all, and the tables of reports/verification from them
.PHONY: verification
verification: coverage
	$(Q)$(MAKE) --no-print-directory mutants SEED=$(MUTANT_SEEDS)
	$(Q)$(BUILD)/sqsim cosim --block all --cases $(ALL_CASES) --seed $(SEED) --jobs $(JOBS) --json \
	  >build/cosim-all.jsonl
	$(Q)$(VERIFICATION)/tables.sh $(BUILD)/sqsim build/coverage build/mutants build/cosim-all.jsonl \
	  >$(VERIFICATION)/tables.md.new
	$(Q)mv $(VERIFICATION)/tables.md.new $(VERIFICATION)/tables.md
