// Hash of a destination: one of COUNT numbers.
//
// Paper: Liu et al., "Floodgate", 4.2 (a hash of the destination chooses a VOQ when none is empty).
// Rule:  FG-11. The function is the one that the dataplane uses (the finaliser of MurmurHash3).
module fg_hash #(
    parameter int DST = 17,
    // Bits of a number, and how many numbers there are at most.
    parameter int INDEX = 7
) (
    input  logic [DST-1:0]   dst,
    input  logic [INDEX-1:0] count,
    output logic [INDEX-1:0] number
);
  localparam int SCALED = INDEX + 32;

  logic [31:0] word;
  logic [31:0] first;
  logic [31:0] second;
  logic [31:0] mixed;
  logic [INDEX+31:0] scaled;
  logic unused;

  assign word = 32'(dst);
  assign first = (word ^ (word >> 16)) * 32'h85eb_ca6b;
  assign second = (first ^ (first >> 13)) * 32'hc2b2_ae35;
  assign mixed = second ^ (second >> 16);
  assign scaled = SCALED'(mixed) * SCALED'(count);
  assign number = scaled[INDEX+31:32];
  assign unused = &{1'b0, scaled[31:0]};
endmodule
