// The circuit of Fig. 10 for one ingress port: timeout clock, ingress rate counter and state holder.
//
// Paper: V-A. Rules: SPFC-10 to SPFC-12, SPFC-16, SPFC-17, SPFC-20.
// The output is valid in the cycle of the inputs. It does not depend on `pause` and `resume` of that
// cycle, so the PFC decision of the same cycle may use it.
module spfc_port_state #(
    parameter int PULSES = 64,
    parameter int WIDTH = 16,
    parameter int CLASSES = 8,
    parameter bit VICTIM_AT_COUNT = 1'b0,
    parameter bit RESUME_AT_ONCE = 1'b0,
    parameter bit WAITS_FOR_RESUME = 1'b0
) (
    input  logic               clk,
    input  logic               rst,
    // One pulse per period of the oscillator.
    input  logic               pulse,
    input  logic               dequeue,
    input  logic [WIDTH-1:0]   amount,
    input  logic [WIDTH-1:0]   counting_number,
    input  logic [CLASSES-1:0] pause,
    input  logic [CLASSES-1:0] resume,
    output logic               victim
);
  logic expired;
  logic reached;
  logic reached_now;

  spfc_timeout_clock #(
      .PULSES(PULSES)
  ) timeout_clock (
      .clk,
      .rst,
      .pulse,
      .expired
  );

  spfc_rate_counter #(
      .WIDTH(WIDTH)
  ) rate_counter (
      .clk,
      .rst,
      .expired,
      .dequeue,
      .amount,
      .counting_number,
      .reached,
      .reached_now
  );

  spfc_state_holder #(
      .CLASSES         (CLASSES),
      .VICTIM_AT_COUNT (VICTIM_AT_COUNT),
      .RESUME_AT_ONCE  (RESUME_AT_ONCE),
      .WAITS_FOR_RESUME(WAITS_FOR_RESUME)
  ) state_holder (
      .clk,
      .rst,
      .expired,
      .reached,
      .reached_now,
      .pause,
      .resume,
      .victim
  );
endmodule
