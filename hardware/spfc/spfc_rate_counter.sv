// Ingress rate counter (IRC) of SPFC: counts the departures of one ingress port in an interval.
//
// Paper: V-A and Fig. 10. Rules: SPFC-11 (departures of this ingress, from 0 in every interval),
// SPFC-14 (the output is 1 from the counting number on), SPFC-15 (packets or bytes).
//
// The counter stops at the counting number, so it needs no more bits than that number.
module spfc_rate_counter #(
    // Bits of the counter and of the amount of one departure.
    parameter int WIDTH = 16
) (
    input  logic             clk,
    input  logic             rst,
    // The timeout clock has run out: the interval of this cycle is a new one.
    input  logic             expired,
    // A packet leaves that came in by this port. `amount` is 1 (packets) or its bytes.
    input  logic             dequeue,
    input  logic [WIDTH-1:0] amount,
    // C * TC / K, in the unit of `amount`; at least 1.
    input  logic [WIDTH-1:0] counting_number,
    // The count reached the counting number before this cycle.
    output logic             reached,
    // The count of the current interval reaches it, with the departure of this cycle.
    output logic             reached_now
);
  logic [WIDTH-1:0] count;
  logic [WIDTH-1:0] base;
  logic [WIDTH:0] sum;

  assign reached = count >= counting_number;
  assign base = expired ? '0 : count;
  assign sum = {1'b0, base} + (dequeue ? {1'b0, amount} : '0);
  assign reached_now = sum >= {1'b0, counting_number};

  always_ff @(posedge clk) begin
    if (rst) count <= '0;
    else count <= reached_now ? counting_number : sum[WIDTH-1:0];
  end
endmodule
