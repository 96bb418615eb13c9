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

# Values stay the same; without it no comparison of floats inside a loop becomes a vector operation.
$(BUILD)/obj/models/number/sq_grid.o $(BUILD)/obj/models/number/sq_codes.o: CFLAGS_ALL += -O3 -fno-trapping-math
$(BUILD)/obj/models/number/sq_codes_gemm.o $(BUILD)/obj/models/number/sq_codes_combine.o $(BUILD)/obj/models/number/sq_codes_dot.o $(BUILD)/obj/models/number/sq_codes_fp.o: CFLAGS_ALL += -O3
$(BUILD)/obj/models/scaled/sq_bs_gemm.o $(BUILD)/obj/models/scaled/sq_bs_dot.o $(BUILD)/obj/models/scaled/sq_bs_panel.o $(BUILD)/obj/models/scaled/sq_bs_lane.o: CFLAGS_ALL += -O3
$(BUILD)/obj/models/scaled/sq_bs_plain.o $(BUILD)/obj/models/number/sq_gemm_values.o $(BUILD)/obj/models/number/sq_dot.o: CFLAGS_ALL += -O3
$(BUILD)/obj/models/sp24/sq_sp24.o $(BUILD)/obj/models/gqsa/sq_gqsa.o: CFLAGS_ALL += -O3
$(BUILD)/obj/models/spqt/sq_spqt_gemm.o $(BUILD)/obj/models/spqr/sq_spqr_gemm.o $(BUILD)/obj/models/gqsa/sq_gqsa_gemm.o: CFLAGS_ALL += -O3
$(BUILD)/obj/models/scaled/sq_bs_mx.o $(BUILD)/obj/models/scaled/sq_bs_nv.o $(BUILD)/obj/models/scaled/sq_bs_sq.o $(BUILD)/obj/models/scaled/sq_bs_table_rows.o: CFLAGS_ALL += -O3 -fno-trapping-math
$(BUILD)/obj/models/spqr/sq_spqr_errors.o: CFLAGS_ALL += -O3 -fno-trapping-math
$(BUILD)/obj/models/quant/sq_column_loop.o $(BUILD)/obj/models/quant/sq_calibration.o $(BUILD)/obj/models/quant/sq_smooth.o $(BUILD)/obj/models/quant/sq_algorithm2.o: CFLAGS_ALL += -O3 -fno-trapping-math
