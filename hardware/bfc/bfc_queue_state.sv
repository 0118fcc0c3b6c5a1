// Lengths of the queues of an egress port, and which of them are empty or may send.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.1, 3.3.2 and 4 (the traffic manager gives the
// depth of all queues to all ingress pipelines).
// Rules: BFC-02 (empty queues), BFC-09 (active queues: with packets, and not paused).
//
// Each ingress pipeline can add a packet in every cycle while one leaves. All show in the next cycle.
module bfc_queue_state #(
    parameter int QUEUES = 32,
    parameter int PIPELINES = 4,
    // Bits of a queue number, of a number of queues, of packet sizes, and of byte counts.
    parameter int QUEUE = 5,
    parameter int COUNT = 6,
    parameter int SIZE = 14,
    parameter int BYTES = 24
) (
    input  logic                       clk,
    input  logic                       rst,
    // For each pipeline a packet that joins a queue.
    input  logic [PIPELINES-1:0]       join_,
    input  logic [PIPELINES*QUEUE-1:0] join_queue,
    input  logic [PIPELINES*SIZE-1:0]  join_size,
    // A packet that leaves.
    input  logic                       leave,
    input  logic [QUEUE-1:0]           leave_queue,
    input  logic [SIZE-1:0]            leave_size,
    // Queues that the downstream neighbour has paused.
    input  logic [QUEUES-1:0]          paused,
    output logic [QUEUES*BYTES-1:0]    lengths,
    output logic [QUEUES-1:0]          empty,
    output logic [QUEUES-1:0]          open,
    output logic [COUNT-1:0]           active
);
  assign open = ~empty & ~paused;

  always_comb begin
    active = '0;
    for (int nth = 0; nth < QUEUES; nth++) active = active + COUNT'(open[nth]);
  end

  for (genvar nth = 0; nth < QUEUES; nth++) begin : queues
    logic [BYTES-1:0] length;
    logic [BYTES-1:0] added;
    logic [BYTES-1:0] removed;

    always_comb begin
      added = '0;
      for (int pipeline = 0; pipeline < PIPELINES; pipeline++) begin
        if (join_[pipeline] && join_queue[pipeline*QUEUE+:QUEUE] == QUEUE'(nth)) begin
          added = added + BYTES'(join_size[pipeline*SIZE+:SIZE]);
        end
      end
    end
    assign removed = leave && leave_queue == QUEUE'(nth) ? BYTES'(leave_size) : '0;
    assign lengths[nth*BYTES+:BYTES] = length;
    assign empty[nth] = length == '0;

    always_ff @(posedge clk) begin
      if (rst) length <= '0;
      else length <= length + added - removed;
    end
  end
endmodule
