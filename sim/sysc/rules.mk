# sim/sysc/: SystemC. Lock step of C models and verilated RTL, and a TLM-2.0 platform.
SYSC_POINT := -DSQ_SC_ROWS=2 -DSQ_SC_COLS=2 -DSQ_SC_LOW_LANES=4 -DSQ_SC_HIGH_LANES=2 \
              -DSQ_SC_BANK=8 -DSQ_SC_HIGH=2
SYSC_CORE   := -GRows=2 -GCols=2 -GLowLanes=4 -GHighLanes=2 -GBankLen=8 -GHighPerBank=2
SYSC_GATHER := -GRows=1 -GBankLen=8 -GHighPerBank=2
SYSC_DIR := $(BUILD)/sysc
VERILATOR_ROOT ?= /usr/share/verilator
SYSC_CXX = $(CCACHE) $(CXX) -std=c++17 -O1 -Wall -Wextra -I. $(SYSC_POINT)
SYSC_RTL := $(addprefix rtl/,$(shell cat rtl/files.f))

$(SYSC_DIR)/%/lib.a: $(SYSC_RTL) sim/sysc/rules.mk
	$(Q)mkdir -p $(@D)
	$(Q)SYSTEMC_INCLUDE=/usr/include SYSTEMC_LIBDIR=/usr/lib $(VERILATOR) --sc --assert -O3 \
	  --x-assign unique --x-initial unique --unroll-count 256 -Irtl -Wall rtl/lint.vlt \
	  rtl/verilate.vlt --top-module sq_$* --prefix Vsq_$* --Mdir $(@D)/obj \
	  $(if $(filter core,$*),$(SYSC_CORE),$(SYSC_GATHER)) -CFLAGS -std=c++17 $(SYSC_RTL)
	$(Q)$(MAKE) -s -C $(@D)/obj -f Vsq_$*.mk OBJCACHE="$(CCACHE)" OPT_FAST=-O1 OPT_SLOW=-O0 \
	  OPT_GLOBAL=-O1 Vsq_$*__ALL.a verilated.o verilated_threads.o > $(@D)/build.log 2>&1
	$(Q)cp $(@D)/obj/Vsq_$*__ALL.a $@

$(SYSC_DIR)/sq_sc_lockstep: sim/sysc/sq_sc_lockstep.cpp $(wildcard sim/sysc/*.h) \
    $(SYSC_DIR)/core/lib.a $(SYSC_DIR)/gather/lib.a $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)$(SYSC_CXX) -I$(SYSC_DIR)/core/obj -I$(SYSC_DIR)/gather/obj -isystem $(VERILATOR_ROOT)/include -isystem $(VERILATOR_ROOT)/include/vltstd \
	  $< $(SYSC_DIR)/core/lib.a $(SYSC_DIR)/gather/lib.a $(SYSC_DIR)/core/obj/verilated.o $(SYSC_DIR)/core/obj/verilated_threads.o \
	  $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a -lsystemc $(LDLIBS) -fopenmp -o $@

$(SYSC_DIR)/sq_tlm_platform: sim/sysc/sq_tlm_platform.cpp sim/sysc/sq_tlm_core.h \
    $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(SYSC_CXX) $< $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a -lsystemc $(LDLIBS) -fopenmp -o $@

$(SYSC_DIR)/sq_chip_platform: tests/package/chip_platform.cpp $(wildcard lib/sq_chip*.h) sim/machine/sq_device.h lib/sq_driver.h \
    $(BUILD)/obj/lib/sq_api_device.o \
    $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(SYSC_CXX) $< $(BUILD)/obj/lib/sq_api_device.o $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a -lsystemc $(LDLIBS) -fopenmp -o $@

$(SYSC_DIR)/chip_speed: tests/package/chip_speed.cpp $(wildcard lib/sq_chip*.h) $(BUILD)/libsqsim.so $(BUILD)/libsqsim-driver.a
	$(Q)mkdir -p $(@D)
	$(Q)$(SYSC_CXX) $< -L$(BUILD) -lsqsim -lsqsim-driver -lsystemc -Wl,-rpath,$(abspath $(BUILD)) -o $@

## sysc (verify): SystemC: C models and RTL in lock step, and the TLM-2.0 platform; the chip in three speeds
.PHONY: sysc
sysc: $(SYSC_DIR)/sq_sc_lockstep $(SYSC_DIR)/sq_tlm_platform $(SYSC_DIR)/sq_chip_platform $(SYSC_DIR)/chip_speed
	$(Q)SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 $(SYSC_DIR)/sq_chip_platform $(CURDIR) 200 $(SEED)
	$(Q)SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 $(SYSC_DIR)/sq_sc_lockstep $(CASES) $(SEED)
	$(Q)SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 $(SYSC_DIR)/sq_tlm_platform $(SEED)
	$(Q)SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 $(SYSC_DIR)/chip_speed 0.2
	$(Q)SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 $(SYSC_DIR)/chip_speed 0.2 nvfp4
