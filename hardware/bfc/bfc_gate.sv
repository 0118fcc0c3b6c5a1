// Queues of an egress port that the downstream neighbour has paused.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.1, 3.3.2.
// Rules: BFC-10 (a pause names a queue of this port; it holds from the next choice of a packet),
// BFC-30 (a bitmap pauses exactly its queues), BFC-31 (repeated frames change nothing).
module bfc_gate #(
    parameter int QUEUES = 32,
    // Bits of a queue number in a frame. Frames that name no queue of the port change nothing.
    parameter int QUEUE = 8
) (
    input  logic              clk,
    input  logic              rst,
    // A pause or resume has arrived.
    input  logic              frame,
    input  logic              on,
    input  logic [QUEUE-1:0]  queue_id,
    // A bitmap has arrived. Not in the cycle of a frame.
    input  logic              bitmap,
    input  logic [QUEUES-1:0] bits,
    output logic [QUEUES-1:0] paused
);
  always_ff @(posedge clk) begin
    for (int nth = 0; nth < QUEUES; nth++) begin
      if (rst) paused[nth] <= 1'b0;
      else if (bitmap) paused[nth] <= bits[nth];
      else if (frame && queue_id == QUEUE'(nth)) paused[nth] <= on;
    end
  end
endmodule
