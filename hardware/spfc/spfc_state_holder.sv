// State holder (SH) of SPFC: stores for one interval if the port is a victim port.
//
// Paper: V-A, the truth table of Fig. 10, and IV-B. Rules: SPFC-11 (SH takes the output of the rate
// counter over when the timeout clock runs out), SPFC-12 (a PAUSE resets it until the RESUME),
// SPFC-16 (option: a port waits for its first RESUME), SPFC-17 (one state per port: it is 0 while
// any class is paused), SPFC-20 (option: a RESUME sets the state at once).
//
//   paused | clock runs out | counter | next state
//   -------+----------------+---------+-----------
//      1   |       -        |    -    |  0
//      0   |       1        |    c    |  c
//      0   |       0        |    -    |  unchanged (VICTIM_AT_COUNT: 1 once the counter is 1)
//
// Events of one cycle take effect in this order: the clock runs out, a packet departs, RESUME, PAUSE.
module spfc_state_holder #(
    // Classes that the port pauses.
    parameter int CLASSES = 8,
    // A port becomes a victim port as soon as its counter reaches the counting number (V-A, "when it
    // reaches"), not only when the clock runs out.
    parameter bit VICTIM_AT_COUNT = 1'b0,
    // A RESUME sets the state at once (Fig. 7), not only when the clock next runs out.
    parameter bit RESUME_AT_ONCE = 1'b0,
    // A port that was never paused waits for its first RESUME (Fig. 7 taken literally).
    parameter bit WAITS_FOR_RESUME = 1'b0
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               expired,
    input  logic               reached,
    input  logic               reached_now,
    // Classes of which the port sends a PAUSE or a RESUME in this cycle.
    input  logic [CLASSES-1:0] pause,
    input  logic [CLASSES-1:0] resume,
    // The state, after what the clock and the counter did in this cycle.
    output logic               victim
);
  logic state;
  // The counter's output when the clock last ran out.
  logic was_reached;
  logic [CLASSES-1:0] paused;
  // The port waits for its first RESUME.
  logic waits;

  logic was_reached_next;
  logic [CLASSES-1:0] resumed;
  logic state_next;

  assign was_reached_next = expired ? reached : was_reached;
  assign resumed = paused & ~resume;

  if (WAITS_FOR_RESUME) begin : first_resume
    always_ff @(posedge clk) begin
      if (rst) waits <= 1'b1;
      else if (resume != '0) waits <= 1'b0;
    end
  end else assign waits = 1'b0;

  always_comb begin
    victim = state;
    if (expired) victim = reached;
    if (VICTIM_AT_COUNT && reached_now) victim = 1'b1;
    if ((expired || VICTIM_AT_COUNT) && (paused != '0 || waits)) victim = 1'b0;
  end

  always_comb begin
    state_next = victim;
    if (RESUME_AT_ONCE && resume != '0 && resumed == '0) state_next = was_reached_next || reached_now;
    if (pause != '0) state_next = 1'b0;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= 1'b0;
      was_reached <= 1'b0;
      paused <= '0;
    end else begin
      state <= state_next;
      was_reached <= was_reached_next;
      paused <= resumed | pause;
    end
  end
endmodule
