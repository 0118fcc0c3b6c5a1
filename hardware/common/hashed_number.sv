// Hash of a word: one of COUNT numbers.
//
// The function is the one that the dataplane uses (the finaliser of MurmurHash3), scaled to COUNT.
// Used for: FG-11 (the VOQ of a destination when none is free), FG-06 (the entry of a window), BFC-47
// (stochastic assignment).
module hashed_number #(
    // Bits of the word, at most 32.
    parameter int WIDTH = 17,
    // Bits of a number and of COUNT.
    parameter int INDEX = 7
) (
    input  logic [WIDTH-1:0] word,
    input  logic [INDEX-1:0] count,
    output logic [INDEX-1:0] number
);
  localparam int SCALED = INDEX + 32;

  logic [31:0] wide;
  logic [31:0] first;
  logic [31:0] second;
  logic [31:0] mixed;
  logic [INDEX+31:0] scaled;
  logic unused;

  assign wide = 32'(word);
  assign first = (wide ^ (wide >> 16)) * 32'h85eb_ca6b;
  assign second = (first ^ (first >> 13)) * 32'hc2b2_ae35;
  assign mixed = second ^ (second >> 16);
  assign scaled = SCALED'(mixed) * SCALED'(count);
  assign number = scaled[INDEX+31:32];
  assign unused = &{1'b0, scaled[31:0]};
endmodule
