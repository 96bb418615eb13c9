# rtl/: lint. Verilated objects are built by the program (sim/cosim/sq_rtl_build.c), netlists by sim/synth.
## lint (test): read every RTL module alone by Verilator -Wall and Yosys (SHORT=1: that at one point each); clang-format
.PHONY: lint
lint: format-check $(BUILD)/sqsim
	$(Q)SHORT="$(SHORT)" SQSIM="$(abspath $(BUILD)/sqsim)" VERILATOR="$(VERILATOR)" YOSYS="$(YOSYS)" rtl/lint.sh

## export-orfs (packages): sources, constraints and settings of a block for OpenROAD-flow-scripts: DESIGN=pe_nvfp4 PERIOD=20
.PHONY: export-orfs
DESIGN ?= pe_nvfp4
PERIOD ?= 20
export-orfs: $(BUILD)/sqsim
	$(Q)SQSIM="$(abspath $(BUILD)/sqsim)" rtl/export_orfs.sh "$(DESIGN)" "$(PERIOD)" "$(BUILD)/orfs"
