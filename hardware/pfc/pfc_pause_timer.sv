// Receives pauses: one timer for each of the eight priorities of a port.
//
// Source: IEEE 802.1Qbb (IEEE 802.1Q, clause 36). Rules: QNT-01 (a quantum is 512 bit times of this
// port), QNT-02 (the last frame counts, longer or shorter), QNT-03 (a frame that arrives in the cycle
// in which the time is over still extends it), QNT-04 (a time of 0 ends the pause).
//
// A pause of q quanta lasts exactly q * CYCLES cycles from the cycle after the frame. No prescaler
// runs freely, so the phase of the frame does not matter.
module pfc_pause_timer #(
    // Cycles of the clock in 512 bit times of the port, such as 8 for a data path of 64 bits.
    parameter int CYCLES = 8
) (
    input  logic         clk,
    input  logic         rst,
    // A PFC frame has arrived whole: the priorities that it names, and 16 bits of quanta for each.
    input  logic         frame,
    input  logic [7:0]   enable,
    input  logic [127:0] quanta,
    // Priorities that may not start a packet in this cycle.
    output logic [7:0]   paused,
    // Pauses that ran out: the priority may send from this cycle on.
    output logic [7:0]   expired
);
  localparam int WIDTH = 16 + $clog2(CYCLES + 1);
  localparam [WIDTH-1:0] SCALE = WIDTH'(CYCLES);

  for (genvar priority_ = 0; priority_ < 8; priority_++) begin : timers
    // Cycles left, this one included.
    logic [WIDTH-1:0] left;
    logic last;
    logic [15:0] time_;
    logic named;

    assign named = frame && enable[priority_];
    assign time_ = quanta[16*priority_+:16];
    assign paused[priority_] = left != '0;

    always_ff @(posedge clk) begin
      if (rst) begin
        left <= '0;
        last <= 1'b0;
      end else begin
        if (named) left <= WIDTH'(time_) * SCALE;
        else if (left != '0) left <= left - WIDTH'(1);
        last <= left == WIDTH'(1) && !named;
      end
    end
    assign expired[priority_] = last;
  end
endmodule
