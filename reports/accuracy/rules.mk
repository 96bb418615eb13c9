# reports/accuracy: the grid of formats on models and outlier-profile inputs. Two to six minutes a
# model on two idle cores; STORIES and PROFILE are not shipped.
ACCURACY := reports/accuracy
STORIES  ?= ../shared/data/models/stories260K
PROFILE  ?= ../shared/data/act_scales/opt-125m.act_scales.safetensors

$(BUILD)/accuracy_grid: $(ACCURACY)/accuracy_grid.c $(ACCURACY)/subject.c $(BUILD)/libsqsim.a $(BUILD)/libsqmodels.a
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $^ $(LDLIBS) -o $@

# $(call accuracy,NAME,ARGUMENTS,AXIS): CSV, tables and plot of one subject.
define accuracy
{ printf '# make accuracy: accuracy_grid on %s; revision %s; %s\n' "$(1)" \
    "$$(git describe --always --dirty 2>/dev/null || echo unknown)" "$$($(CC) --version | head -1)" && \
  $(BUILD)/accuracy_grid $(2); } > $(ACCURACY)/$(1).csv.new && \
mv $(ACCURACY)/$(1).csv.new $(ACCURACY)/$(1).csv && \
{ sed -n '1s/^# \(.*\)/<!-- \1 -->/p' $(ACCURACY)/$(1).csv && \
  awk -F, -f $(ACCURACY)/tables.awk $(ACCURACY)/$(1).csv; } > $(ACCURACY)/$(1).md && \
$(GNUPLOT) -e "csv='$(ACCURACY)/$(1).csv'; svg='$(ACCURACY)/$(1).svg'; what='$(3)'" \
  $(ACCURACY)/plot.gp
endef

## accuracy: regenerate reports/accuracy: the grid of formats on models and outlier profiles
.PHONY: accuracy
accuracy: $(BUILD)/accuracy_grid
	$(Q)$(call accuracy,tiny-llama,traces/tiny-llama 8,nats per token)
	$(Q)if [ -d "$(STORIES)" ]; then $(call accuracy,stories260k,$(STORIES),nats per token); \
	  else echo "accuracy: skipped stories260K: no $(STORIES)"; fi
	$(Q)if [ -f "$(PROFILE)" ]; then $(call accuracy,opt-125m-profile,--profile $(PROFILE),relative output error); \
	  else echo "accuracy: skipped outlier profiles: no $(PROFILE)"; fi
