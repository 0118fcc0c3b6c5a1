// Timeout clock (TC) of SPFC: divides time into intervals of equal length.
//
// Paper: Huang et al., "Re-Architecting Buffer Management in Lossless Ethernet", V-A and Fig. 10.
// Rule:  SPFC-10 (TC restarts whenever it has run out).
//
// TC counts the pulses of a slow oscillator down. `expired` is high in the cycle of the last pulse of
// an interval. Other events of that cycle belong to the next interval.
module spfc_timeout_clock #(
    // Length of an interval, in pulses of the oscillator.
    parameter int PULSES = 64
) (
    input  logic clk,
    input  logic rst,
    input  logic pulse,
    output logic expired
);
  localparam int WIDTH = $clog2(PULSES + 1);

  logic [WIDTH-1:0] left;

  assign expired = pulse && left == WIDTH'(1);

  always_ff @(posedge clk) begin
    if (rst) left <= WIDTH'(PULSES);
    else if (expired) left <= WIDTH'(PULSES);
    else if (pulse) left <= left - WIDTH'(1);
  end
endmodule
