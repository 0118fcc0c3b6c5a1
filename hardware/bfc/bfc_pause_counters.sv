// Pause counters of BFC: packets over the threshold, for each ingress port and upstream queue.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.2 (mechanism).
// Rules: BFC-05 (a packet over the threshold counts up; a pause when the counter leaves 0), BFC-06
// (such a packet counts down when it leaves; a resume at 0), BFC-16 and BFC-53 (an array, widths).
//
// One packet per cycle. The memory is read in the cycle of the packet's key. In the next cycle, `up` or
// `down` is set, the result is valid, and the counter is written. Packets of one key may follow each
// other without a gap.
module bfc_pause_counters #(
    // Ingress ports times upstream queues.
    parameter int ENTRIES = 1024,
    // Bits of a key, and of a counter.
    parameter int KEY = 10,
    parameter int COUNTER = 16
) (
    input  logic           clk,
    input  logic           rst,
    // The memory is cleared after a reset, one entry per cycle. No packet may come before.
    output logic           ready,
    input  logic [KEY-1:0] key,
    // The packet whose key came in the last cycle: it is over the threshold, or such a packet left.
    input  logic           up,
    input  logic           down,
    // It is counted, and must be given again when it leaves. A counter at its limit counts no more.
    output logic           counted,
    output logic           pause,
    output logic           resume,
    output logic [KEY-1:0] result_key
);
  logic [COUNTER-1:0] counter;
  logic [COUNTER-1:0] counter_next;
  logic write;

  assign counted = up && counter != {COUNTER{1'b1}};
  assign pause = up && counter == '0;
  assign resume = down && counter == COUNTER'(1);

  assign write = counted || down;
  assign counter_next = down ? counter - COUNTER'(1) : counter + COUNTER'(1);

  keyed_memory #(
      .ENTRIES(ENTRIES),
      .KEY(KEY),
      .WIDTH(COUNTER)
  ) memory (
      .clk(clk),
      .rst(rst),
      .ready(ready),
      .empty('0),
      .key(key),
      .entry(counter),
      .write(write),
      .next(counter_next)
  );

  always_ff @(posedge clk) result_key <= key;
endmodule
