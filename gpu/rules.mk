# gpu/: CUDA kernels and measurement. Optional: nothing here is part of `make all`. Without nvcc the
# kernels are still compiled, by the C++ compiler, for the emulator of tests/gpu, and tested.
NVCC      ?= $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc))
CUDA_LIB  ?= $(if $(NVCC),$(dir $(NVCC))../lib64)
CXX_GPU   ?= g++
# Where cusparseLt.h and its library are, if not in the toolkit; see README.
CUSPARSELT ?= $(shell python3 -c "import nvidia.cusparselt as m; print(list(m.__path__)[0])" 2>/dev/null)

GPU_BUILD  := $(BUILD)/gpu
GPU_INC    := -I.
# wgmma needs the sm_90a target, and only that: files and a -gencode of their own.
GPU_ARCHES := 80 89 90
GPU_CU90A  := $(wildcard gpu/*/sq_gemm_wgmma*.cu)
GPU_CU     := $(filter-out $(GPU_CU90A),$(wildcard gpu/*.cu gpu/*/*.cu))
gencode     = -gencode=arch=compute_$(1),code=$(or $(2),sm)_$(1)

NVCC_FLAGS := -O3 -std=c++17 -lineinfo --fmad=false -Werror all-warnings -Xptxas -v,-warn-spills \
              -Xcompiler -Wall,-Wextra,-Werror,-Wno-unknown-pragmas $(GPU_INC) \
              $(if $(CUSPARSELT),-I$(CUSPARSELT)/include)

# GPU_STATIC=1: a program that needs only the CUDA libraries where it runs.
GPU_LDLIBS := $(if $(filter 1,$(GPU_STATIC)),-l:liblapacke.a -l:libopenblas.a -l:libgfortran.a \
                -l:libquadmath.a -l:libjansson.a -l:libxxhash.a -l:libpcre2-8.a -l:libutf8proc.a -l:libgomp.a -lpthread -Xcompiler \
                -static-libstdc++$(,)-static-libgcc,-llapacke -lopenblas -ljansson -lxxhash -lpcre2-8 -lutf8proc -lgomp)

# ---- files of plain C, needed with and without nvcc ------------------------------------------------
GPU_C_OBJ  := $(patsubst gpu/%.c,$(BUILD)/obj/gpu/%.o,$(filter-out gpu/measure/sq_gpu_verify.c,$(wildcard gpu/*/*.c)))
GPU_LIBS   := $(GPU_C_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a

$(GPU_BUILD)/sq_gpu_verify: $(BUILD)/obj/gpu/measure/sq_gpu_verify.o $(GPU_LIBS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDLIBS) -o $@

# ---- kernels -----------------------------------------------------------------------------------------
# An object bears its name alone, wherever the source lies.
vpath %.cu $(sort $(dir $(wildcard gpu/*.cu gpu/*/*.cu)))
objects = $(patsubst %.cu,$(1)/%.o,$(notdir $(2)))
GPU_OBJ := $(call objects,$(GPU_BUILD),$(GPU_CU) $(GPU_CU90A))

define nvcc_compile
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) $(NVCC_FLAGS) $(foreach a,$(1),$(call gencode,$(a))) $(2) \
	  -MMD -MP -MF $@.d -MT $@ -c $< -o $@.new > $@.log 2>&1 || { grep -v '^ptxas info' $@.log; exit 1; }
	$(Q)if grep -E '[1-9][0-9]* bytes spill' $@.log; then echo "$<: registers are spilled"; exit 1; fi
	$(Q)if grep 'are serialized' $@.log; then echo "$<: no two wgmma overlap"; exit 1; fi
	$(Q)mv $@.new $@
endef

$(call objects,$(GPU_BUILD),$(GPU_CU90A)): $(GPU_BUILD)/%.o: %.cu
	$(call nvcc_compile,90a)
$(call objects,$(GPU_BUILD),$(GPU_CU)): $(GPU_BUILD)/%.o: %.cu
	$(call nvcc_compile,$(GPU_ARCHES),-gencode=arch=compute_90$(,)code=compute_90)
$(GPU_BUILD)/sq_facts.o: $(BUILD)/sq_revision.h
$(GPU_BUILD)/sq_facts.o: NVCC_FLAGS += -include $(BUILD)/sq_revision.h \
  -DSQ_NVCC_FLAGS='"-O3 --fmad=false sm_80 sm_89 sm_90 sm_90a, PTX of compute_90"'

-include $(GPU_OBJ:=.d)

$(GPU_BUILD)/sq_gpu_measure: $(GPU_OBJ) $(GPU_LIBS)
	$(Q)$(NVCC) -o $@ $^ -L$(CUDA_LIB) -lcublasLt $(GPU_LDLIBS) -ldl -Xlinker -rpath=$(CUDA_LIB)

## gpu (gpu): CUDA kernels for sm_80, sm_89, sm_90, sm_90a, no warnings, no spills, no serialized wgmma (skipped without nvcc)
.PHONY: gpu
ifeq ($(NVCC),)
gpu:
	@echo "gpu: skipped: no nvcc"
else
gpu: $(GPU_BUILD)/sq_gpu_measure
	$(Q)echo "gpu: $$(cat $(GPU_BUILD)/*.o.log | grep -c 'Used .* registers') kernels for sm_80 sm_89 sm_90" \
	  "sm_90a, 0 warnings, 0 spills: $<"
endif

## gpu-measure (gpu): on a GPU: check, time, write reports/gpu and traces/gpu (BUDGET=seconds; MORE=1: what a budget left over); else check what is stored
GPU_PROGRAM := $(if $(NVCC),sq_gpu_measure,sq_gpu_verify)
# The traces then go through cycle model and RTL; sqsim says so where Verilator is missing (exit 3).
.PHONY: gpu-measure
gpu-measure: $(GPU_BUILD)/$(GPU_PROGRAM) $(BUILD)/sqsim
	$(Q)mkdir -p reports/gpu traces/gpu/operand
	$(Q)rc=0; $(if $(CUSPARSELT),CUSPARSELT_LIB=$(CUSPARSELT)/lib/libcusparseLt.so.0) \
	  $(GPU_BUILD)/$(GPU_PROGRAM) $(if $(NVCC),$(if $(MORE),$(or $(BUDGET),400) more,$(BUDGET))) || rc=$$?; \
	traces=$$(find traces/gpu -maxdepth 1 -name '*.safetensors' | sort); \
	if [ -n "$$traces" ] && [ $$rc != 1 ]; then \
	  cosim=0; $(BUILD)/sqsim cosim $$traces || cosim=$$?; [ $$cosim = 0 ] || [ $$cosim = 3 ] || rc=$$cosim; fi; \
	exit $$rc

# ---- the same kernels in the emulator ----------------------------------------------------------------
EMU_JOBS := gpu/measure/sq_layer_bench.cu $(wildcard gpu/measure/*_jobs.cu)
EMU_SRC := $(filter-out gpu/measure/sq_facts.cu gpu/measure/sq_peaks.cu gpu/measure/sq_bench.cu gpu/measure/sq_cublaslt.cu gpu/measure/sq_cusparselt.cu gpu/measure/sq_measure.cu \
             $(EMU_JOBS),$(wildcard gpu/*.cu gpu/*/*.cu))
EMU_OBJ := $(call objects,$(BUILD)/emu,$(EMU_SRC)) $(BUILD)/emu/emulate.o
# The measured jobs as well, for a test that stands in for the clock and the libraries.
EMU_JOBS_OBJ := $(call objects,$(BUILD)/emu,$(EMU_JOBS))
EMU_FAKE_OBJ := $(EMU_JOBS_OBJ) $(BUILD)/emu/fake_device.o
$(BUILD)/tests/gpu/test_jobs: EMU_OBJ += $(EMU_FAKE_OBJ)
$(BUILD)/tests/gpu/test_jobs: $(EMU_FAKE_OBJ)
# Fibers move the stack under the sanitizers' feet: the emulator is built without them.
EMU_CXX := $(CXX_GPU) -std=c++17 -DSQ_EMULATE -O1 -g -ffp-contract=off -Wall -Wextra -Werror \
             -Wno-unknown-pragmas -Wno-unused-function $(GPU_INC) -MMD -MP

$(BUILD)/emu/%.o: %.cu
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(EMU_CXX) -x c++ -c $< -o $@
$(BUILD)/emu/emulate.o: tests/gpu/emulate.cpp
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(EMU_CXX) -c $< -o $@

# The measuring program itself on a device that is not there, for measure.t.
$(BUILD)/emu/fake_device.o: tests/gpu/fake_device.cpp
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(EMU_CXX) -c $< -o $@
$(BUILD)/emu/sq_facts.o: EMU_CXX += -include $(BUILD)/sq_revision.h -DSQ_NVCC_FLAGS='"none"'
$(BUILD)/emu/sq_facts.o: $(BUILD)/sq_revision.h
$(BUILD)/tests/gpu/fake_measure: $(BUILD)/emu/sq_measure.o $(BUILD)/emu/sq_facts.o $(BUILD)/emu/sq_peaks.o $(EMU_OBJ) $(EMU_FAKE_OBJ) $(GPU_LIBS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX_GPU) $(filter-out $(GPU_LIBS),$^) $(GPU_LIBS) $(LDLIBS) -fopenmp -o $@

GPU_TEST_SRC := $(wildcard tests/gpu/test_*.cpp)
GPU_TEST_BIN := $(GPU_TEST_SRC:tests/%.cpp=$(BUILD)/tests/%)
# The traces of gpu-measure by the kernels in the emulator, for trace.t.
GPU_TRACES   := $(BUILD)/tests/gpu/make_traces
$(GPU_TEST_BIN) $(GPU_TRACES): $(BUILD)/tests/gpu/%: tests/gpu/%.cpp $(EMU_OBJ) $(GPU_LIBS)
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(EMU_CXX) -c $< -o $@.o
	$(Q)$(CXX_GPU) $@.o $(EMU_OBJ) $(GPU_LIBS) $(LDLIBS) -fopenmp -lcmocka -o $@

GPU_TEST_C    := $(wildcard tests/gpu/test_*.c)
GPU_TEST_CBIN := $(GPU_TEST_C:tests/%.c=$(BUILD)/tests/%)
$(GPU_TEST_CBIN): $(GPU_C_OBJ)
$(GPU_TEST_CBIN): LDLIBS := $(GPU_C_OBJ) $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a $(LDLIBS)

-include $(EMU_OBJ:.o=.d) $(EMU_FAKE_OBJ:.o=.d) $(BUILD)/emu/sq_measure.d $(GPU_TEST_BIN:=.d) $(GPU_TRACES).d $(GPU_C_OBJ:.o=.d) $(GPU_TEST_CBIN:=.o.d)

## test-gpu (gpu): kernels in the emulator, maps, records; what nvcc says of them where it is
.PHONY: test-gpu
test-gpu: $(GPU_TEST_BIN) $(GPU_TEST_CBIN) $(GPU_BUILD)/sq_gpu_verify \
          $(GPU_TRACES) $(BUILD)/tests/gpu/fake_measure $(BUILD)/sqsim $(if $(NVCC),gpu)
	$(Q)GPU_BUILD=$(GPU_BUILD) GPU_VERIFY=$(abspath $(GPU_BUILD))/sq_gpu_verify $(PROVE) \
	  $(GPU_TEST_BIN) $(GPU_TEST_CBIN) tests/gpu/verify.t \
	  tests/gpu/trace.t tests/gpu/mutants.t tests/gpu/measure.t

# `make test` runs what needs no nvcc; nvcc's own checks are test-gpu's. The emulator runs fibers, which the
# sanitizers do not follow: under SAN=1 only the plain C tests run.
ifeq ($(SAN),1)
UNIT_BIN += $(GPU_TEST_CBIN)
san-build test-san test-unit: $(GPU_TEST_CBIN)
else
UNIT_BIN += $(GPU_TEST_BIN) $(GPU_TEST_CBIN)
test-build test-unit: $(GPU_TEST_BIN) $(GPU_TEST_CBIN)
RTL_TEST += tests/gpu/verify.t tests/gpu/trace.t tests/gpu/mutants.t tests/gpu/measure.t
test-build test-rtl for-gpu: $(GPU_TEST_BIN) $(GPU_TRACES) $(GPU_BUILD)/sq_gpu_verify
test-rtl for-gpu: $(BUILD)/tests/gpu/fake_measure
endif
