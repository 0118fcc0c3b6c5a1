// Flow table of BFC: the queue of a flow, and how many of its packets are in the switch.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.1, 3.3.2 (sticky assignment) and 4.
// Rules: BFC-01 (an array; flows of one entry share its queue), BFC-03 (packets of an entry keep its
// queue), BFC-04 (an entry without packets keeps its queue for the sticky time), BFC-32 (sampling),
// BFC-53 (widths).
//
// One header per cycle: a packet that arrives, or the recirculated header of a packet that has left.
// The memory is read in the cycle of the header. The result is valid in the next cycle, in which the
// new entry is written. Headers of one entry may follow each other without a gap.
//
// An entry has a queue, a number of packets and the time of the last header. Times wrap around. An
// entry that was last used a multiple of 2 ** TIME ticks ago therefore still keeps its queue.
module bfc_flow_table #(
    parameter int ENTRIES = 3200,
    // Bits of an index.
    parameter int INDEX = 12,
    // Bits of a queue number. The largest one means that the entry has no queue.
    parameter int QUEUE = 8,
    // Bits of the number of packets.
    parameter int SIZE = 16,
    // Bits of a time. The unit is free: `now` and `sticky` have the same one.
    parameter int TIME = 16
) (
    input logic clk,
    input logic rst,
    // The memory is cleared after a reset, one entry per cycle. No header may come before.
    output logic ready,

    // The header of this cycle. A header that left must have been counted on arrival.
    input logic             enqueue,
    input logic             dequeue,
    input logic [INDEX-1:0] index,
    input logic [TIME-1:0]  now,
    // Constant while the switch runs.
    input logic [TIME-1:0]  sticky,

    // The result for the header of the last cycle. The packet keeps the queue of its entry.
    output logic             keeps,
    output logic [QUEUE-1:0] queue_id,
    // The entry has no other packet.
    output logic             alone,
    // The entry counts the packet. It does not if the count is at its limit.
    output logic             counted,
    // Answers to it in the same cycle: the queue of a packet that does not keep one; the packet is
    // among those that count (BFC-32).
    input  logic [QUEUE-1:0] assigned,
    input  logic             sampled
);
  localparam int WIDTH = QUEUE + SIZE + TIME;

  // The header of the last cycle.
  logic enqueued;
  logic dequeued;
  logic [TIME-1:0] now_1;

  logic [WIDTH-1:0] entry;
  logic [QUEUE-1:0] entry_queue;
  logic [SIZE-1:0] size;
  logic [TIME-1:0] last;
  logic [QUEUE-1:0] queue_next;
  logic [SIZE-1:0] size_next;
  logic write;
  logic [WIDTH-1:0] entry_next;
  logic [TIME-1:0] age;

  assign {entry_queue, size, last} = entry;
  assign age = now_1 - last;

  // BFC-03, BFC-04
  assign keeps = entry_queue != {QUEUE{1'b1}} && (size != '0 || age <= sticky);
  assign queue_id = entry_queue;
  assign alone = size == '0;
  assign counted = sampled && size != {SIZE{1'b1}};

  assign queue_next = enqueued && !keeps ? assigned : entry_queue;
  always_comb begin
    size_next = size;
    if (enqueued && counted) size_next = size + SIZE'(1);
    if (dequeued) size_next = size - SIZE'(1);
  end
  assign write = enqueued || dequeued;
  assign entry_next = {queue_next, size_next, now_1};

  always_ff @(posedge clk) begin
    now_1 <= now;
    enqueued <= enqueue;
    dequeued <= dequeue;
  end

  keyed_memory #(
      .ENTRIES(ENTRIES),
      .KEY(INDEX),
      .WIDTH(WIDTH)
  ) memory (
      .clk(clk),
      .rst(rst),
      .ready(ready),
      .empty({{QUEUE{1'b1}}, {(SIZE + TIME) {1'b0}}}),
      .key(index),
      .entry(entry),
      .write(write),
      .next(entry_next)
  );
endmodule
