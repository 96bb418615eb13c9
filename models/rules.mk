# models/: golden model, pure C11. Built with -O3 and for several instruction sets where it pays.
MODELS_SRC := $(wildcard models/*.c models/*/*.c)
MODELS_OBJ := $(MODELS_SRC:%.c=$(BUILD)/obj/%.o)

$(BUILD)/obj/%.o: %.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CCACHE) $(CC) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/libsqmodels.a: $(MODELS_OBJ)
	$(Q)rm -f $@
	$(Q)ar rcs $@ $^

-include $(MODELS_OBJ:.o=.d)

# Kernels. To track variables for a debugger takes a quarter of the time that their compilation takes.
KERNEL_O3 := -O3 -fno-var-tracking
KERNELS := number/sq_codes_gemm number/sq_codes_combine number/sq_codes_dot number/sq_codes_fp scaled/sq_bs_gemm \
  scaled/sq_bs_dot scaled/sq_bs_panel scaled/sq_bs_lane scaled/sq_bs_plain number/sq_gemm_values number/sq_dot \
  sp24/sq_sp24 gqsa/sq_gqsa spqt/sq_spqt_gemm spqr/sq_spqr_gemm gqsa/sq_gqsa_gemm
$(KERNELS:%=$(BUILD)/obj/models/%.o): CFLAGS_ALL += $(KERNEL_O3)
# With -fno-trapping-math values stay the same; without it no comparison of floats inside a loop becomes a vector operation.
KERNELS_NO_TRAP := number/sq_grid number/sq_codes scaled/sq_bs_mx scaled/sq_bs_nv scaled/sq_bs_sq scaled/sq_bs_table_rows \
  spqr/sq_spqr_errors quant/sq_column_loop quant/sq_calibration quant/sq_smooth quant/sq_algorithm2
$(KERNELS_NO_TRAP:%=$(BUILD)/obj/models/%.o): CFLAGS_ALL += $(KERNEL_O3) -fno-trapping-math
# With -O2 its loops become the same vectors, in a third of the time that -O3 takes for it, more than a minute.
$(BUILD)/obj/models/scaled/sq_bs_table_rows.o: CFLAGS_ALL += -O2 -ftree-vectorize -fvect-cost-model=dynamic
