// Finds the first bit that is set at or after a start, and goes on with bit 0 after the last one.
//
// Used for: BFC-02 (an empty queue, from a rotating start), FG-10 (the lowest free VOQ), FG-13 (the
// next VOQ in turn).
module next_bit #(
    parameter int WIDTH = 32,
    // Bits of a position: WIDTH is at most 2 ** INDEX.
    parameter int INDEX = 5
) (
    input  logic [WIDTH-1:0] bits,
    input  logic [INDEX-1:0] start,
    output logic             found,
    output logic [INDEX-1:0] position
);
  logic [WIDTH-1:0] after;
  logic [WIDTH-1:0] among;

  assign after = bits & ({WIDTH{1'b1}} << start);
  assign among = after != '0 ? after : bits;
  assign found = bits != '0;

  always_comb begin
    position = '0;
    for (int nth = WIDTH - 1; nth >= 0; nth--) begin
      if (among[nth]) position = INDEX'(nth);
    end
  end
endmodule
