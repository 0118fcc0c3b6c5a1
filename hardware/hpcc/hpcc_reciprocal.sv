// Table of reciprocals in place of a division, with two ports.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 4.3. Rules: HPCC-35, HPCC-41.
//
// The table has an entry for 1 and, after each entry n, for the first integer whose reciprocal is smaller
// by at least epsilon. Other integers take the entry below, so a quotient is too large by less than
// epsilon. A reciprocal has 32 bits of fraction, rounded down; 1/1 is the largest value.
//
// Three memories, one a cycle: the leading one of n and the bits behind it give a segment, which holds the
// first entry of a segment; the next entry's integer decides between the two; the last has reciprocals. A
// segment has at most one further entry, because it is narrower than the gap between two entries.
// A port takes an integer in every cycle and returns the reciprocal three cycles later.
module hpcc_reciprocal #(
    // Epsilon in parts per million, 1200 or more: the table has at most 8192 entries.
    parameter int EPSILON_PPM = 10000,
    // A segment is 2^-SEGMENT of the power of two below n. It has to be below epsilon.
    parameter int SEGMENT = 7
) (
    input  logic        clk,
    input  logic [21:0] a_number,
    output logic [31:0] a_reciprocal,
    input  logic [21:0] b_number,
    output logic [31:0] b_reciprocal
);
  localparam int BITS = 22;

  // The integer of the entry after that of `key`.
  function automatic [63:0] following(input [63:0] key, input [63:0] rest);
    reg [63:0] far;
    begin
      far = (key * 64'd1000000 + rest - 64'd1) / rest;
      following = far > key + 64'd1 ? far : key + 64'd1;
    end
  endfunction

  function automatic integer count(input [63:0] rest);
    integer nth;
    reg [63:0] key;
    begin
      count = 0;
      key = 64'd1;
      for (nth = 0; nth < 1 << 13; nth = nth + 1) begin
        if (key < 64'd1 << BITS) begin
          count = count + 1;
          key = following(key, rest);
        end
      end
    end
  endfunction

  localparam [63:0] REST = 64'd1000000 - 64'(EPSILON_PPM);
  localparam int ENTRIES = count(REST);
  localparam int INDEX = $clog2(ENTRIES + 1);
  localparam int SEGMENTS = (BITS - SEGMENT + 1) << SEGMENT;
  localparam int ADDRESS = $clog2(SEGMENTS);

  // The integers that have an entry; behind the last is the largest value.
  /* verilator lint_off WIDTHCONCAT */
  function automatic [(ENTRIES+1)*BITS-1:0] integers(input [63:0] rest);
    integer nth;
    reg [63:0] key;
    begin
      integers = {(ENTRIES + 1) * BITS{1'b1}};
      key = 64'd1;
      for (nth = 0; nth < ENTRIES; nth = nth + 1) begin
        integers[nth*BITS+:BITS] = key[BITS-1:0];
        key = following(key, rest);
      end
    end
  endfunction

  // For each segment, the last entry that is not above its first integer.
  function automatic [SEGMENTS*INDEX-1:0] entries(input [63:0] rest);
    integer nth;
    integer entry;
    integer low;
    reg [63:0] first;
    reg [63:0] next;
    begin
      entries = {SEGMENTS * INDEX{1'b0}};
      entry = 0;
      next = following(64'd1, rest);
      for (nth = 1; nth < SEGMENTS; nth = nth + 1) begin
        first = {32'd0, nth};
        if (nth >> SEGMENT > 1) begin
          low = (1 << SEGMENT) + nth % (1 << SEGMENT);
          first = {32'd0, low} << ((nth >> SEGMENT) - 1);
        end
        if (next <= first) begin
          entry = entry + 1;
          next = following(next, rest);
        end
        entries[nth*INDEX+:INDEX] = entry[INDEX-1:0];
      end
    end
  endfunction
  /* verilator lint_on WIDTHCONCAT */

  localparam [(ENTRIES+1)*BITS-1:0] INTEGERS = integers(REST);
  localparam [SEGMENTS*INDEX-1:0] FIRST = entries(REST);

  logic [INDEX-1:0] first[0:SEGMENTS-1];
  logic [BITS-1:0] keys[0:ENTRIES];
  logic [31:0] values[0:ENTRIES];

  initial begin
    for (int nth = 0; nth < SEGMENTS; nth++) first[nth] = FIRST[nth*INDEX+:INDEX];
    for (int nth = 0; nth <= ENTRIES; nth++) keys[nth] = INTEGERS[nth*BITS+:BITS];
    values[0] = '1;
    // The largest integer is behind the last entry, and has its reciprocal.
    for (int nth = 1; nth <= ENTRIES; nth++) begin
      values[nth] = 32'((64'd1 << 32) /
          64'(INTEGERS[(nth < ENTRIES ? nth : ENTRIES - 1)*BITS+:BITS]));
    end
  end

  function automatic [ADDRESS-1:0] address(input [BITS-1:0] number);
    integer bit_;
    begin
      address = ADDRESS'(number);
      for (bit_ = SEGMENT; bit_ < BITS; bit_ = bit_ + 1) begin
        if (number[bit_]) begin
          address = ADDRESS'((bit_ - SEGMENT + 1) << SEGMENT) |
              (ADDRESS'(number >> (bit_ - SEGMENT)) & ADDRESS'((1 << SEGMENT) - 1));
        end
      end
    end
  endfunction

  logic [BITS-1:0] a_number_1;
  logic [BITS-1:0] a_number_2;
  logic [BITS-1:0] a_key;
  logic [INDEX-1:0] a_first;
  logic [INDEX-1:0] a_entry;
  logic [BITS-1:0] b_number_1;
  logic [BITS-1:0] b_number_2;
  logic [BITS-1:0] b_key;
  logic [INDEX-1:0] b_first;
  logic [INDEX-1:0] b_entry;

  always_ff @(posedge clk) begin
    a_number_1 <= a_number;
    a_first <= first[address(a_number)];
    a_number_2 <= a_number_1;
    a_entry <= a_first;
    a_key <= keys[a_first+INDEX'(1)];
    a_reciprocal <= values[a_number_2 >= a_key ? a_entry + INDEX'(1) : a_entry];

    b_number_1 <= b_number;
    b_first <= first[address(b_number)];
    b_number_2 <= b_number_1;
    b_entry <= b_first;
    b_key <= keys[b_first+INDEX'(1)];
    b_reciprocal <= values[b_number_2 >= b_key ? b_entry + INDEX'(1) : b_entry];
  end
endmodule
