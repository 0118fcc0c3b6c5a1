// Bitmap of empty queues as an ingress pipeline has it: read from the queues at intervals.
//
// Paper: Goyal et al., "Backpressure Flow Control", 4 (gathering queue depth information).
// Rule:  BFC-38 (a queue that is assigned leaves the map until it is read again).
//
// The traffic manager gives the state of all queues to all pipelines at once. A read and an
// assignment in one cycle: the read comes first.
module bfc_empty_map #(
    parameter int PORTS = 8,
    parameter int QUEUES = 32,
    // Bits of a port and of a queue.
    parameter int PORT = 3,
    parameter int QUEUE = 5,
    // The map is read at intervals. If not, it always shows the queues as they are.
    parameter bit SAMPLED = 1'b1
) (
    input  logic                    clk,
    input  logic                    rst,
    // Queues that are empty now.
    input  logic [PORTS*QUEUES-1:0] empty,
    // The map is read in this cycle.
    input  logic                    refresh,
    // A queue is assigned in this cycle.
    input  logic                    assigns,
    input  logic [PORT-1:0]         assigned_port,
    input  logic [QUEUE-1:0]        assigned_queue,
    // Queues that the pipeline takes for empty. Shows a read in the next cycle.
    output logic [PORTS*QUEUES-1:0] seen_empty
);
  localparam int BITS = PORTS * QUEUES;
  localparam int BIT = $clog2(BITS + 1);

  if (SAMPLED) begin : sampled
    logic [PORTS*QUEUES-1:0] bits;
    logic [PORTS*QUEUES-1:0] taken;

    assign seen_empty = bits;
    assign taken = assigns ? BITS'(1) << (BIT'(assigned_port) * BIT'(QUEUES) + BIT'(assigned_queue)) : '0;

    always_ff @(posedge clk) begin
      if (rst) bits <= '1;
      else bits <= (refresh ? empty : bits) & ~taken;
    end
  end else begin : exact
    logic unused;
    assign unused = &{1'b0, clk, rst, refresh, assigns, assigned_port, assigned_queue};
    assign seen_empty = empty;
  end
endmodule
