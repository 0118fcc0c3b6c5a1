// Dynamic assignment of BFC: the queue that a flow without a queue gets at its egress port.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.1 and 4 (a rotating start for each pipeline).
// Rules: BFC-02 (an empty queue that is not paused, else a random one; the start moves by one with
// each assignment), BFC-38 (pipelines start apart), BFC-40 (option: also paused queues).
module bfc_queue_choice #(
    parameter int PORTS = 8,
    parameter int QUEUES = 32,
    // Bits of a port and of a queue.
    parameter int PORT = 3,
    parameter int QUEUE = 5,
    // Where the search starts after a reset.
    parameter int START = 0,
    // A paused queue may be chosen.
    parameter bit PAUSED_ELIGIBLE = 1'b0
) (
    input  logic                    clk,
    input  logic                    rst,
    // Queues that are taken for empty, and queues that downstream has paused.
    input  logic [PORTS*QUEUES-1:0] seen_empty,
    input  logic [PORTS*QUEUES-1:0] paused,
    // The egress port of the packet, and a random number.
    input  logic [PORT-1:0]         port,
    input  logic [15:0]             random,
    // The choice, valid in the same cycle. `shared`: no queue was free.
    output logic [QUEUE-1:0]        queue_id,
    output logic                    shared,
    // The choice is used.
    input  logic                    assigns
);
  localparam int SCALED = QUEUE + 16;

  logic [QUEUE-1:0] start[PORTS];
  logic [QUEUE-1:0] start_here;
  logic [PORTS*QUEUES-1:0] eligible;
  logic [QUEUES-1:0] free;
  logic found;
  logic [QUEUE-1:0] first;
  logic [QUEUE+15:0] scaled;
  logic unused;

  assign eligible = PAUSED_ELIGIBLE ? seen_empty : seen_empty & ~paused;
  assign free = eligible[port*QUEUES+:QUEUES];
  assign start_here = start[port];

  next_bit #(
      .WIDTH(QUEUES),
      .INDEX(QUEUE)
  ) search (
      .bits(free),
      .start(start_here),
      .found,
      .position(first)
  );

  assign scaled = SCALED'(random) * SCALED'(QUEUES);
  assign queue_id = found ? first : scaled[QUEUE+15:16];
  assign shared = !found;
  assign unused = &{1'b0, scaled[15:0]};

  always_ff @(posedge clk) begin
    for (int nth = 0; nth < PORTS; nth++) begin
      if (rst) start[nth] <= QUEUE'(START);
      else if (assigns && port == PORT'(nth)) begin
        start[nth] <= start[nth] == QUEUE'(QUEUES - 1) ? '0 : start[nth] + QUEUE'(1);
      end
    end
  end
endmodule
