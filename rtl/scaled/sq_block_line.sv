// SPDX-License-Identifier: Apache-2.0
// Edge of sq_array_scaled and sq_array_parts: a block of codes of a line (row or column) as the integers that its PEs
// multiply, and its scale as significand and exponent (SPEC Q.1, Q.3). Combinational, once a line.
//
// Elements (sq_pkg: element_w, element_fraction) are signed integers in units of the smallest step:
//   E2M1, E2M3, E3M2   2, 8 and 16 times their values
//   PLUS               E2M1, but that the element at place_i of a block with a scale is
//                      sign, 1.xxx * 4
//   IF4                2 times the value: of E2M1, or of INT4 where the scale of the block has a sign
//   RAZER              2 times the value of E2M1; -0 is 5 with the sign of the scale
//   E4M3, E5M2         a signed significand in the low bits and a shift above it
//   E2M1, E2M3, E3M2, E4M3, E5M2 with Magnitude = 1: sign and magnitude in place of a two's complement
//   TABLE              what sq_element_table makes of it, and of the bits of its sub-blocks, less the zero point
// Scales:
//   E4M3  value = sig_o * 2^(exp_o - 9), exp_o = 0 for subnormals and the smallest normals
//   E8M0  value = 2^(exp_o - 127), sig_o = 1
//   POW4  value = 2^exp_o, sig_o = 1
//   UE5M3 value = sig_o * 2^(exp_o - 17), as E4M3
//   E6M2  value = sig_o * 2^(exp_o - 50)
//   F16   value = sig_o * 2^(exp_o - 24), its sign above the significand; infinities and NaN are no number;
//         so BF16 with 133 and F32 with 149
// A scale that is no number, or has a sign that says nothing, is an error; its block is taken as zeros. So is a code
// of no value, but where skip_i says that it is none (mask codes, low nibbles of split codes): the
// lowest integer is taken as it is, of IF4, a table and what is no number in E4M3 or E5M2 as zero. So is a place in
// a block whose scale code is 0.
module sq_block_line #(
  parameter  int unsigned BankLen = 16,
  parameter  int unsigned Element = sq_pkg::ELEMENT_E2M1,
  parameter  int unsigned Scale = sq_pkg::SCALE_E4M3,
  parameter  bit          Magnitude = 1'b0,
  parameter  bit          HasMinusZero = 1'b1,  // 0: -0 of E4M3 is a code of no value
  localparam int unsigned CodeW = sq_pkg::element_code_w(Element),
  localparam int unsigned ElementW = sq_pkg::element_w(Element),
  localparam int unsigned PlaceW = sq_pkg::index_w(BankLen),
  localparam int unsigned SubW = sq_pkg::element_sub_w(Element),
  localparam int unsigned SubPortW = sq_pkg::sub_port_w(Element),
  localparam int unsigned ScaleW = sq_pkg::scale_code_w(Scale),
  localparam int unsigned SigW = sq_pkg::scale_sig_w(Scale)
) (
  input  logic [BankLen*CodeW-1:0]    code_i,  // element 0 in the low bits
  input  logic [BankLen-1:0]          skip_i,
  input  logic [ScaleW-1:0]           scale_i,
  input  logic [PlaceW-1:0]           place_i,  // PLUS
  input  logic [SubPortW-1:0]         sub_i,    // TABLE: stored bits of the grid, of exponents of sub-blocks; of the zero point
  output logic [BankLen*ElementW-1:0] element_o,
  output logic [SigW-1:0]             sig_o,
  output logic [7:0]                  exp_o,
  output logic                        error_o,  // of the scale
  output logic                        code_error_o, place_error_o
);

  localparam bit IsTable = sq_pkg::element_kind(Element) == sq_pkg::ELEMENT_TABLE;
  localparam bit HasSign = sq_pkg::element_has_sign(Element) != 0;
  if (HasSign && Scale != sq_pkg::SCALE_E4M3) begin : gen_bad_sign
    $error("elements that the scale's sign tells apart have scales of E4M3");
  end
  if (Scale == sq_pkg::SCALE_E4M3) begin : gen_e4m3
    assign error_o = (!HasSign && scale_i[7]) || scale_i[6:0] == 7'h7f;
    assign sig_o = {scale_i[6:3] != '0, scale_i[2:0]};
    assign exp_o = {4'd0, scale_i[6:3] == '0 ? 4'd0 : scale_i[6:3] - 4'd1};
  end else if (Scale == sq_pkg::SCALE_E8M0) begin : gen_e8m0
    assign error_o = scale_i == 8'hff;
    assign sig_o = 1'b1;
    assign exp_o = scale_i;
  end else if (Scale == sq_pkg::SCALE_UE5M3) begin : gen_ue5m3
    assign error_o = scale_i == 8'hff;
    assign sig_o = {scale_i[7:3] != '0, scale_i[2:0]};
    assign exp_o = {3'd0, scale_i[7:3] == '0 ? 5'd0 : scale_i[7:3] - 5'd1};
  end else if (Scale == sq_pkg::SCALE_E6M2) begin : gen_e6m2
    assign error_o = scale_i == 8'hff;
    assign sig_o = {1'b1, scale_i[1:0]};
    assign exp_o = {2'd0, scale_i[7:2]};
  end else if (Scale >= sq_pkg::SCALE_F16) begin : gen_float
    localparam int unsigned FloatExpW = sq_pkg::scale_exp_w(Scale);
    localparam int unsigned FloatFracW = SigW - 2;
    logic [FloatExpW-1:0] exp;
    assign exp = scale_i[FloatFracW +: FloatExpW];
    assign error_o = exp == '1;
    assign sig_o = {scale_i[ScaleW-1], exp != '0, scale_i[FloatFracW-1:0]};
    assign exp_o = exp == '0 ? 8'd0 : 8'(exp) - 8'd1;
  end else if (Scale == sq_pkg::SCALE_POW4) begin : gen_pow4
    assign error_o = scale_i[7:4] != '0;
    assign sig_o = 1'b1;
    assign exp_o = {4'd0, scale_i[3:0]};
  end else begin : gen_none
    wire unused_scale = ^scale_i;
    assign error_o = 1'b0;
    assign sig_o = 1'b1;
    assign exp_o = '0;
  end

  logic [BankLen-1:0] is_none;
  assign code_error_o = |is_none;
  if (Element == sq_pkg::ELEMENT_PLUS) begin : gen_place
    assign place_error_o = scale_i == '0 && place_i != '0;
  end else begin : gen_no_place
    wire unused_place = ^place_i;
    assign place_error_o = 1'b0;
  end

  // The grid of the block and, for each element, the sum of the exponents of its sub-blocks; of a table.
  logic [1:0] grid;
  logic [BankLen*3-1:0] shift;
  localparam int unsigned GridW = IsTable ? sq_pkg::field(Element, 11, 2) : 0;
  if (GridW > 0) begin : gen_grid
    assign grid = 2'(sub_i[GridW-1:0]);
  end else if (IsTable && HasSign) begin : gen_sign
    assign grid = {1'b0, scale_i[7]};
  end else begin : gen_one_grid
    assign grid = '0;
  end
  localparam int unsigned ZeroW = sq_pkg::element_zero_w(Element);
  logic [ElementW-1:0] zero;
  if (ZeroW > 0) begin : gen_zero
    assign zero = ElementW'(sub_i) << sq_pkg::element_fraction(Element);
  end else begin : gen_no_zero
    wire unused_zero = ^zero;
    assign zero = '0;
  end
  if (SubW > ZeroW) begin : gen_sub
    localparam int unsigned UpperW = sq_pkg::field(Element, 13, 2);
    localparam int unsigned LowerW = sq_pkg::field(Element, 15, 2);
    localparam int unsigned Uppers = 1 << sq_pkg::field(Element, 17, 3);
    localparam int unsigned Lowers = Uppers << sq_pkg::field(Element, 20, 3);
    if (BankLen % Lowers != 0) begin : gen_bad_sub
      $error("sub-blocks divide a block");
    end
    for (genvar i = 0; i < BankLen; i++) begin : gen_shift
      logic [2:0] upper, lower;
      if (UpperW > 0) begin : gen_upper
        assign upper = 3'(sub_i[GridW+i*Uppers/BankLen*UpperW +: UpperW]);
      end else begin : gen_no_upper
        assign upper = '0;
      end
      if (LowerW > 0) begin : gen_lower
        assign lower = 3'(sub_i[GridW+Uppers*UpperW+i*Lowers/BankLen*LowerW +: LowerW]);
      end else begin : gen_no_lower
        assign lower = '0;
      end
      assign shift[i*3 +: 3] = upper + lower;
    end
  end else begin : gen_no_sub
    wire unused_sub = ^{sub_i, grid, shift};
    assign shift = '0;
  end

  for (genvar i = 0; i < BankLen; i++) begin : gen_element
    logic [ElementW-1:0] element;
    logic [CodeW-1:0] code;
    assign code = code_i[i*CodeW +: CodeW];
    if (IsTable) begin : gen_table
      logic [ElementW-1:0] value;
      wire unused_skip = skip_i[i];
      sq_element_table #(.Element(Element)) u_table (
        .code_i(code), .grid_i(grid), .shift_i(shift[i*3 +: 3]), .element_o(value), .none_o(is_none[i])
      );
      assign element = value - zero;
    end else if (Element == sq_pkg::ELEMENT_E2M1 || Element == sq_pkg::ELEMENT_PLUS || HasSign) begin : gen_e2m1
      logic [3:0] magnitude;  // 0, 1, 2, 3, 4, 6, 8, 12
      logic signed [4:0] e2m1;
      logic is_largest, unused_skip;
      assign is_largest = Element == sq_pkg::ELEMENT_PLUS && place_i == PlaceW'(i) && scale_i != '0;
      always_comb begin
        case (code[2:0])
          3'd5: magnitude = 4'd6;
          3'd6: magnitude = 4'd8;
          3'd7: magnitude = 4'd12;
          default: magnitude = {1'b0, code[2:0]};
        endcase
        if (is_largest) magnitude = {1'b1, code[2:0]};
      end
      assign e2m1 = Magnitude ? {code[3], magnitude} : code[3] ? 5'd0 - {1'b0, magnitude} : {1'b0, magnitude};
      assign unused_skip = skip_i[i];
      if (Element == sq_pkg::ELEMENT_IF4) begin : gen_if4
        assign is_none[i] = scale_i[7] && code == 4'h8;
        assign element = is_none[i] ? 5'd0 : scale_i[7] ? {code, 1'b0} : e2m1;
      end else if (Element == sq_pkg::ELEMENT_RAZER) begin : gen_razer
        assign is_none[i] = 1'b0;
        assign element = code != 4'h8 ? e2m1 : scale_i[7] ? -5'sd10 : 5'sd10;
      end else begin : gen_plain
        assign is_none[i] = 1'b0;
        assign element = e2m1;
      end
    end else if (Element == sq_pkg::ELEMENT_E2M3) begin : gen_e2m3
      logic [5:0] magnitude;
      logic unused_skip;
      always_comb begin
        case (code[4:3])
          2'd0: magnitude = {3'd0, code[2:0]};
          2'd1: magnitude = {3'd1, code[2:0]};
          2'd2: magnitude = {2'd1, code[2:0], 1'd0};
          default: magnitude = {1'd1, code[2:0], 2'd0};
        endcase
      end
      assign element = Magnitude ? {code[5], magnitude} : code[5] ? 7'd0 - {1'b0, magnitude} : {1'b0, magnitude};
      assign is_none[i] = 1'b0;
      assign unused_skip = skip_i[i];
    end else if (Element == sq_pkg::ELEMENT_E3M2) begin : gen_e3m2
      logic [8:0] magnitude;
      logic unused_skip;
      always_comb begin
        if (code[4:2] == '0) magnitude = {7'd0, code[1:0]};
        else magnitude = {6'd0, 1'b1, code[1:0]} << (code[4:2] - 3'd1);
      end
      assign element = Magnitude ? {code[5], magnitude} : code[5] ? 10'd0 - {1'b0, magnitude} : {1'b0, magnitude};
      assign is_none[i] = 1'b0;
      assign unused_skip = skip_i[i];
    end else if (Element == sq_pkg::ELEMENT_E4M3) begin : gen_e4m3
      logic [4:0] magnitude;
      logic is_nan;
      assign is_nan = code[6:0] == 7'h7f;
      assign magnitude = {1'b0, code[6:3] != '0, code[2:0]};
      assign element = is_nan ? 9'd0 : {code[6:3] == '0 ? 4'd0 : code[6:3] - 4'd1,
                                        code[7] && Magnitude ? {1'b1, magnitude[3:0]} : code[7] ? 5'd0 - magnitude : magnitude};
      assign is_none[i] = !skip_i[i] && (is_nan || (!HasMinusZero && code == 8'h80));
    end else if (Element == sq_pkg::ELEMENT_E5M2) begin : gen_e5m2
      logic [3:0] magnitude;
      logic is_nan;
      assign is_nan = code[6:2] == '1;
      assign magnitude = {1'b0, code[6:2] != '0, code[1:0]};
      assign element = is_nan ? 9'd0 : {code[6:2] == '0 ? 5'd0 : code[6:2] - 5'd1,
                                        code[7] && Magnitude ? {1'b1, magnitude[2:0]} : code[7] ? 4'd0 - magnitude : magnitude};
      assign is_none[i] = !skip_i[i] && is_nan;
    end else begin : gen_int
      assign element = code;
      assign is_none[i] = !skip_i[i] && code == {1'b1, {(CodeW - 1){1'b0}}};
    end
    assign element_o[i*ElementW +: ElementW] = error_o ? '0 : element;
  end

endmodule
