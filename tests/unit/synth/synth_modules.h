// SPDX-License-Identifier: Apache-2.0
// The small modules of test_synth.c.
#pragma once

// Each in the file of its name; tiny_top is built of tiny_add, which the others do not know.
static const struct {
    const char *name, *text;
} modules[] = {
    {"tiny_and.sv", "module tiny_and (input logic a_i, input logic b_i, output logic y_o);\n"
                    "  assign y_o = a_i & b_i;\n"
                    "endmodule\n"},
    {"tiny_nand.sv",
     "module tiny_nand #(parameter int unsigned Width = 1) // no tiny_add here\n"
     "  (input logic [Width-1:0] a_i, input logic [Width-1:0] b_i, output logic [Width-1:0] y_o);\n"
     "  if (Width < 1) begin : gen_bad\n"
     "    $error(\"Width >= 1\");\n"
     "  end\n"
     "  assign y_o = ~(a_i & b_i);\n"
     "endmodule\n"},
    {"tiny_add.sv", "module tiny_add (input logic [2:0] x_i, output logic [1:0] y_o);\n"
                    "  assign y_o = 2'(x_i[0]) + 2'(x_i[1]) + 2'(x_i[2]);\n"
                    "endmodule\n"},
    {"tiny_top.sv", "module tiny_top (input logic [2:0] x_i, output logic [1:0] y_o);\n"
                    "  tiny_add u_add (.x_i, .y_o);\n"
                    "endmodule\n"},
    {"tiny_flop.sv", "module tiny_flop (input logic clk_i, input logic d_i, output logic q_o);\n"
                     "  always_ff @(posedge clk_i) q_o <= d_i;\n"
                     "endmodule\n"},
    {"sq_pe_tiny.sv", "module sq_pe_tiny (input logic a_i, input logic b_i, output logic y_o);\n"
                      "  assign y_o = a_i & b_i;\n"
                      "endmodule\n"},
    {"tiny_twins.sv",
     "module tiny_twins (input logic a_i, input logic b_i, output logic [1:0] y_o);\n"
     "  for (genvar i = 0; i < 2; i++) begin : gen_pe\n"
     "    sq_pe_tiny u_pe (.a_i, .b_i, .y_o(y_o[i]));\n"
     "  end\n"
     "endmodule\n"},
    {"sq_dma_tiny.sv",
     "module sq_dma_tiny (input logic clk_i, input logic d_i, output logic q_o);\n"
     "  always_ff @(posedge clk_i) q_o <= d_i;\n"
     "endmodule\n"},
    {"sq_sram_tiny.sv",
     "module sq_sram_tiny (input logic clk_i, input logic d_i, output logic q_o);\n"
     "  RM_IHPSG13_1P_64x64_c2_bm_bist u_macro (.A_CLK(clk_i), .A_DIN(d_i), .A_DOUT(q_o));\n"
     "endmodule\n"},
    {"tiny_chip.sv", "module tiny_chip (input logic clk_i, input logic d_i, output logic q_o);\n"
                     "  logic asked, read;\n"
                     "  sq_dma_tiny u_dma (.clk_i, .d_i, .q_o(asked));\n"
                     "  sq_sram_tiny u_sram (.clk_i, .d_i(!asked), .q_o(read));\n"
                     "  always_ff @(posedge clk_i) q_o <= !read;\n"
                     "endmodule\n"},
    {"sq_dma_wide.sv", "module sq_dma_wide (input logic en_i, input logic [63:0] d_i,\n"
                       "                    output logic [63:0] y_o);\n"
                       "  assign y_o = en_i ? d_i : '0;\n"
                       "endmodule\n"},
    {"tiny_wide.sv",
     "module tiny_wide (input logic clk_i, input logic en_i, input logic [63:0] d_i,\n"
     "                  output logic [1023:0] y_o);\n"
     "  logic en_q;\n"
     "  always_ff @(posedge clk_i) en_q <= en_i;\n"
     "  for (genvar i = 0; i < 16; i++) begin : gen_wide\n"
     "    sq_dma_wide u_wide (.en_i(en_q), .d_i, .y_o(y_o[64*i +: 64]));\n"
     "  end\n"
     "endmodule\n"},
    {"tiny_bad.sv", ""},
};

// A memory: 3 ns to its output, 0.5 ns of setup.
static const char macro[] =
    "library (memories) {\n"
    "  delay_model : table_lookup;\n"
    "  time_unit : \"1ns\"; voltage_unit : \"1V\"; current_unit : \"1mA\";\n"
    "  capacitive_load_unit (1, pf);\n"
    "  input_threshold_pct_rise : 50; output_threshold_pct_rise : 50;\n"
    "  input_threshold_pct_fall : 50; output_threshold_pct_fall : 50;\n"
    "  slew_lower_threshold_pct_rise : 20; slew_upper_threshold_pct_rise : 80;\n"
    "  slew_lower_threshold_pct_fall : 20; slew_upper_threshold_pct_fall : 80;\n"
    "  cell (RM_IHPSG13_1P_64x64_c2_bm_bist) {\n"
    "    area : 1000;\n"
    "    pin (A_CLK) { direction : input; clock : true; capacitance : 0.01; }\n"
    "    pin (A_DIN) { direction : input; capacitance : 0.01;\n"
    "      timing () { related_pin : \"A_CLK\"; timing_type : setup_rising;\n"
    "        rise_constraint (scalar) { values (\"0.5\"); }\n"
    "        fall_constraint (scalar) { values (\"0.5\"); } } }\n"
    "    pin (A_DOUT) { direction : output;\n"
    "      timing () { related_pin : \"A_CLK\"; timing_type : rising_edge;\n"
    "        cell_rise (scalar) { values (\"3\"); } rise_transition (scalar) { values (\"0.1\"); "
    "}\n"
    "        cell_fall (scalar) { values (\"3\"); } fall_transition (scalar) { values (\"0.1\"); } "
    "} }\n"
    "  }\n"
    "}\n";

// What must be refused, one at a time as tiny_bad.sv.
static const char latch[] =
    "module tiny_bad (input logic en_i, input logic d_i, output logic q_o);\n"
    "  always_latch if (en_i) q_o = d_i;\n"
    "endmodule\n";
static const char typo[] = "module tiny_bad (input logic a_i, output logic y_o);\n"
                           "  assign y_o = a_j;\n"
                           "endmodule\n";
static const char loop[] = "module tiny_bad (input logic a_i, output logic y_o);\n"
                           "  assign y_o = y_o ^ a_i;\n"
                           "endmodule\n";
