# sim/: cycle model, files, commands. sim/cli is the program, the other folders are the library.
SIM_PROG_SRC := $(wildcard sim/cli/*.c sim/cli/*/*.c)
SIM_LIB_SRC  := $(filter-out $(SIM_PROG_SRC),$(wildcard sim/*/*.c sim/*/*/*.c))
SIM_PROG_OBJ := $(SIM_PROG_SRC:%.c=$(BUILD)/obj/%.o)
# The driver is freestanding: models of a host call it as firmware does.
SIM_LIB_OBJ  := $(SIM_LIB_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/lib/sq_driver.o

# The tables of blocks as C.
BLOCK_TABLES := $(patsubst %,$(BUILD)/%.h,$(wildcard sim/block/*/*.block))
$(BUILD)/%.block.h: %.block sim/block/table.awk
	$(Q)mkdir -p $(@D)
	$(Q)awk -f sim/block/table.awk $< > $@
$(SIM_LIB_OBJ): | $(BLOCK_TABLES)

# What steps a chip very many times.
$(BUILD)/obj/sim/machine/sq_chip_state.o $(BUILD)/obj/sim/machine/sq_chip_tiles.o: CFLAGS_ALL += -O3
$(BUILD)/obj/sim/block/array/sq_engine_array_block.o $(BUILD)/obj/sim/block/scaled/sq_engine_scaled_block.o: CFLAGS_ALL += -O3
$(BUILD)/obj/sim/block/output/sq_output_sim.o: CFLAGS_ALL += -O3

# The plotting library of the page of `sqsim report`, inside the program.
D3 ?= /usr/share/javascript/d3/d3.min.js
$(BUILD)/sq_d3.c: $(D3)
	$(Q)mkdir -p $(@D)
	$(Q){ echo '#include <stddef.h>'; echo 'extern const unsigned char sq_d3[];'; \
	  echo 'extern const size_t sq_d3_nbytes;'; echo 'const unsigned char sq_d3[] = {'; \
	  od -An -v -tu1 $< | sed 's/  *\([0-9]\)/,\1/g; s/^,//; s/$$/,/'; echo '};'; \
	  echo 'const size_t sq_d3_nbytes = sizeof sq_d3;'; } > $@
$(BUILD)/obj/sq_d3.o: $(BUILD)/sq_d3.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CFLAGS_ALL) -c $< -o $@

# YAML files inside the library, as names and texts: a machine names a DRAM device (sq_dram_device.h), --sum one that sums
# (sq_sum_device.h), and no path. $(call embed,ARRAY,ARRAY OF NAMES,FILES,FIRST NAME)
define embed
	$(Q)mkdir -p $(@D)
	$(Q){ echo 'extern const char *const $(1)[][2];'; echo 'const char *const $(1)[][2] = {'; \
	  for f in $(3); do printf '{"%s",\n' "$$(basename $$f .yaml)"; \
	    sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; done; echo '{0, 0}};'; \
	  echo 'extern const char *const $(2)[];'; echo 'const char *const $(2)[] = {$(4)'; \
	  for f in $(3); do printf '"%s", ' "$$(basename $$f .yaml)"; done; echo '0};'; } > $@
endef
DRAM_DEVICES := $(sort $(wildcard sim/dram/devices/*.yaml))
SUM_DEVICES  := $(sort $(wildcard sim/gpu/sums/*.yaml))
$(BUILD)/sq_dram_devices.c: $(DRAM_DEVICES) sim/rules.mk
	$(call embed,sq_dram_devices,sq_dram_device_names,$(DRAM_DEVICES))
$(BUILD)/sq_sum_devices.c: $(SUM_DEVICES) sim/rules.mk
	$(call embed,sq_sum_devices,sq_sum_choice,$(SUM_DEVICES),"spec"$(,))
DEVICE_OBJ := $(BUILD)/obj/sq_dram_devices.o $(BUILD)/obj/sq_sum_devices.o
$(DEVICE_OBJ): $(BUILD)/obj/%.o: $(BUILD)/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/libsqsim.a: $(SIM_LIB_OBJ) $(BUILD)/obj/sq_d3.o $(DEVICE_OBJ)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/sqsim: $(SIM_PROG_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDLIBS) -o $@

# The revision that every provenance record names, in a tarball that of its file REVISION; touched only when it changes.
.PHONY: FORCE
$(BUILD)/sq_revision.h: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '#define SQ_REVISION "%s"\n' "$$(reports/revision.sh 2>/dev/null || echo unknown)" > $@.new
	$(Q)cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(BUILD)/obj/sim/cli/sq_cli.o: $(BUILD)/sq_revision.h
$(BUILD)/obj/sim/cli/sq_cli.o: CFLAGS_ALL += -include $(BUILD)/sq_revision.h

# Digest of the sources that numbers come from: part of the key of every point of a sweep.
CODE_SRC := $(sort $(MODELS_SRC) $(wildcard models/*.h models/*/*.h sim/*/*.h sim/*/*/*.h sim/block/*/*.block) $(SIM_LIB_SRC) $(DRAM_DEVICES) $(SUM_DEVICES))
$(BUILD)/sq_code.h: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '#define SQ_CODE "%.16s"\n' "$$(cat $(CODE_SRC) | sha256sum)" > $@.new
	$(Q)cmp -s $@.new $@ && rm $@.new || mv $@.new $@
SEES_CODE := $(BUILD)/obj/sim/cli/sq_cmd_sweep.o $(BUILD)/obj/sim/llm/sq_reference.o
$(SEES_CODE): $(BUILD)/sq_code.h
$(SEES_CODE): CFLAGS_ALL += -include $(BUILD)/sq_code.h

-include $(SIM_LIB_OBJ:.o=.d) $(SIM_PROG_OBJ:.o=.d)

# Values stay the same; without it no comparison of floats inside a loop becomes a vector operation.
$(addprefix $(BUILD)/obj/sim/llm/,sq_llama.o sq_softmax.o sq_attention.o): CFLAGS_ALL += -O3 -fno-trapping-math

include sim/sysc/rules.mk

# The engines of cores and machines: small functions that call one another for every job.
$(BUILD)/obj/sim/machine/sq_mapping_search.o $(BUILD)/obj/sim/machine/sq_mapping_layout.o: CFLAGS_ALL += -O3
$(BUILD)/obj/sim/machine/sq_mapping_sums.o: CFLAGS_ALL += -O3
$(BUILD)/obj/sim/machine/sq_machine_run.o: CFLAGS_ALL += -O3
$(BUILD)/obj/sim/block/core/sq_core_sim.o $(BUILD)/obj/sim/block/core/sq_core_run.o: CFLAGS_ALL += -O3
$(BUILD)/obj/sim/block/flow/sq_unit_kinds.o $(BUILD)/obj/sim/block/flow/sq_unit_run.o: CFLAGS_ALL += -O3
