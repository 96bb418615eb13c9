// SPDX-License-Identifier: Apache-2.0
// Gather, the data half of stage 3 of SPEC D.8: one row of activations through the controls of
// sq_gather_sel. One instance per PE. Lanes without an element give 0. Combinational.
//
// Window (crossbar only): lane h is wired to elements h .. BankLen - Lanes + h alone. That is all it
// needs where a bank owns exactly Lanes slots and all of them are taken at once: the element of rank
// h has h others below it and Lanes - 1 - h above. No concentrator has fewer crosspoints.
module sq_gather_mux #(
  parameter  int unsigned BankLen = 32,
  parameter  int unsigned Lanes = 4,
  parameter  int unsigned ActW = 8,
  parameter  int unsigned Gather = sq_pkg::GATHER_CROSSBAR,
  parameter  bit          Window = 1'b0,
  localparam int unsigned Stages = $clog2(BankLen),
  localparam int unsigned CtlW = sq_pkg::gather_ctl_w(Gather, BankLen, Lanes)
) (
  input  logic [CtlW-1:0]         ctl_i,
  input  logic [BankLen*ActW-1:0] act_i,  // element 0 in the low bits
  output logic [Lanes*ActW-1:0]   act_o   // lane 0 in the low bits
);

  if (Gather == sq_pkg::GATHER_CROSSBAR) begin : gen_crossbar
    logic [ActW-1:0] taken;  // OR of the selected elements so far
    always_comb begin
      for (int unsigned h = 0; h < Lanes; h++) begin
        taken = '0;
        for (int unsigned i = Window ? h : 0; i <= (Window ? BankLen - Lanes + h : BankLen - 1); i++)
        begin
          taken = taken | (act_i[i*ActW +: ActW] & {ActW{ctl_i[h*BankLen+i]}});
        end
        act_o[h*ActW +: ActW] = taken;
      end
    end
  end else begin : gen_log
    logic [ActW-1:0] elem[BankLen];  // updated in ascending order, stage by stage
    always_comb begin
      for (int unsigned i = 0; i < BankLen; i++) elem[i] = act_i[i*ActW +: ActW];
      for (int unsigned s = 0; s < Stages; s++) begin
        for (int unsigned j = 0; j + (1 << s) < BankLen; j++) begin
          if (ctl_i[s*BankLen+j]) elem[j] = elem[j+(1<<s)];
        end
      end
      for (int unsigned h = 0; h < Lanes; h++) begin
        act_o[h*ActW +: ActW] = elem[h] & {ActW{ctl_i[Stages*BankLen+h]}};
      end
    end
  end

endmodule
