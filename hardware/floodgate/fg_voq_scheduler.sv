// VOQ scheduler of Floodgate: VOQs that may release send in turn while their windows allow.
//
// Paper: Liu et al., "Floodgate", 7.2 (round robin) and 7.3 (a VOQ is paused while its window is used
// up; a credit resumes it).
// Rules: FG-13 (the VOQs that credits name, in turn, after the one that was served last), FG-06 (with
// shared windows a credit makes all VOQs ready).
//
// A credit makes its VOQ ready. The scheduler tries the ready VOQs in turn: the first packet leaves if
// its destination's window has room; if not, the VOQ is not ready any more. A try takes two cycles.
module fg_voq_scheduler #(
    parameter int VOQS = 100,
    // Bits of a VOQ.
    parameter int VOQ = 7
) (
    input  logic           clk,
    input  logic           rst,
    // A VOQ gets ready.
    input  logic           resume,
    input  logic [VOQ-1:0] resumed,
    // All VOQs that have destinations get ready.
    input  logic            resume_all,
    input  logic [VOQS-1:0] used,
    // The VOQ that is tried next; the pipeline takes the try in this cycle.
    output logic           wants,
    output logic [VOQ-1:0] turn,
    input  logic           taken,
    // The result of the try, in the next cycle: its first packet leaves, or it has to wait.
    input  logic           tried,
    input  logic           released
);
  logic [VOQS-1:0] is_ready;
  logic [VOQ-1:0] last_tried;
  logic [VOQ-1:0] last_served;
  logic waits;
  logic [VOQ-1:0] start;
  logic found;

  assign start = last_tried == VOQ'(VOQS - 1) ? '0 : last_tried + VOQ'(1);

  next_bit #(
      .WIDTH(VOQS),
      .INDEX(VOQ)
  ) search (
      .bits(is_ready),
      .start,
      .found,
      .position(turn)
  );

  assign wants = found && !waits;

  always_ff @(posedge clk) begin
    if (rst) begin
      is_ready <= '0;
      last_served <= '0;
      waits <= 1'b0;
    end else begin
      if (resume_all) is_ready <= is_ready | used;
      if (resume) is_ready[resumed] <= 1'b1;
      if (taken) begin
        waits <= 1'b1;
        last_tried <= turn;
      end
      if (tried) begin
        waits <= 1'b0;
        if (released) last_served <= last_tried;
        else is_ready[last_tried] <= 1'b0;
      end
      // The next turn begins after the VOQ that was served last.
      if (is_ready == '0) last_tried <= last_served;
    end
  end
endmodule
