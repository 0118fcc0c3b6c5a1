// VUP path of Floodgate: destinations whose VOQ is empty, reported to the ingress pipeline at intervals.
//
// Paper: Liu et al., "Floodgate", 7.2 (VOQ status updating packets).
// Rule:  FG-61 (until the next VUP a destination keeps its VOQ).
//
// A list of destinations. `tick` releases those that are in it, one per free cycle of the pipeline.
module fg_vup #(
    // Destinations that can wait: all of them.
    parameter int DESTINATIONS = 1024,
    parameter int DST = 10
) (
    input  logic           clk,
    input  logic           rst,
    // A destination has no packets in its VOQ any more.
    input  logic           drains,
    input  logic [DST-1:0] drained,
    input  logic           tick,
    // The destination that the pipeline is to look at next, which it does in this cycle.
    output logic           pending,
    output logic [DST-1:0] dst,
    input  logic           done
);
  logic [DST-1:0] list[DESTINATIONS];
  logic [DST-1:0] head;
  logic [DST-1:0] tail;
  // Destinations in the list, and of them those that are released.
  logic [DST:0] length;
  logic [DST:0] released;

  assign pending = released != '0;
  assign dst = pending ? list[head] : '0;

  always_ff @(posedge clk) begin
    if (drains) list[tail] <= drained;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      head <= '0;
      tail <= '0;
      length <= '0;
      released <= '0;
    end else begin
      if (drains) tail <= tail == DST'(DESTINATIONS - 1) ? '0 : tail + DST'(1);
      if (done) head <= head == DST'(DESTINATIONS - 1) ? '0 : head + DST'(1);
      if (drains && !done) length <= length + 1'b1;
      else if (done && !drains) length <= length - 1'b1;
      if (tick) released <= done ? length - 1'b1 : length;
      else if (done) released <= released - 1'b1;
    end
  end
endmodule
