// Pause, resume and bitmap frames of BFC that an ingress pipeline sends to its upstream neighbours.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.2.
// Rules: BFC-05, BFC-06 (a frame for each change), BFC-14 (they leave before all other packets),
// BFC-30 (a bitmap of all paused queues for each port at intervals, after the changes that it
// contains).
//
// Changes wait in a queue. One that finds it full is not lost: its port gets a bitmap instead.
module bfc_pause_generator #(
    // Ingress ports of the pipeline, and queues of a neighbour.
    parameter int PORTS = 8,
    parameter int UPSTREAM = 128,
    // Bits of a port and of a queue.
    parameter int PORT = 3,
    parameter int QUEUE = 7,
    // 2 ** DEPTH changes can wait.
    parameter int DEPTH = 4
) (
    input  logic                clk,
    input  logic                rst,
    // A change of this cycle.
    input  logic                pause,
    input  logic                resume,
    input  logic [PORT-1:0]     port,
    input  logic [QUEUE-1:0]    queue_id,
    // All ports get a bitmap.
    input  logic                tick,
    // The frame that leaves next; it is taken in a cycle in which `ready` is high.
    input  logic                ready,
    output logic                frame,
    output logic [PORT-1:0]     frame_port,
    // A bitmap, or the pause or resume of one queue.
    output logic                frame_is_bitmap,
    output logic                frame_on,
    output logic [QUEUE-1:0]    frame_queue,
    output logic [UPSTREAM-1:0] frame_bits
);
  localparam int BITS = PORTS * UPSTREAM;
  localparam int BIT = $clog2(BITS + 1);
  localparam int COUNT = DEPTH + 1;
  localparam int WIDTH = 1 + PORT + QUEUE;

  // Queues that are paused, of all ports.
  logic [PORTS*UPSTREAM-1:0] paused;
  // Ports that get a bitmap.
  logic [PORTS-1:0] pending;
  logic [WIDTH-1:0] changes[1<<DEPTH];
  logic [DEPTH-1:0] head;
  logic [DEPTH:0] waiting;

  logic changed;
  logic full;
  logic push;
  logic has_change;
  logic pop;
  logic [DEPTH-1:0] tail;
  logic [PORTS*UPSTREAM-1:0] named;
  logic has_bitmap;
  logic [PORT-1:0] bitmap_port;
  logic [PORT-1:0] change_port;
  logic [PORTS-1:0] pending_more;
  logic [PORTS-1:0] pending_less;

  assign changed = pause || resume;
  assign full = waiting[DEPTH];
  assign push = changed && !full;
  assign tail = head + waiting[DEPTH-1:0];
  assign named = BITS'(1) << (BIT'(port) * BIT'(UPSTREAM) + BIT'(queue_id));

  next_bit #(
      .WIDTH(PORTS),
      .INDEX(PORT)
  ) next_port (
      .bits(pending),
      .start({PORT{1'b0}}),
      .found(has_bitmap),
      .position(bitmap_port)
  );

  assign has_change = waiting != '0;
  assign frame = has_change || has_bitmap;
  assign frame_is_bitmap = !has_change;
  assign {frame_on, change_port, frame_queue} = has_change ? changes[head] : {WIDTH{1'b0}};
  assign frame_port = has_change ? change_port : bitmap_port;
  assign frame_bits = paused[bitmap_port*UPSTREAM+:UPSTREAM];
  assign pop = ready && has_change;

  assign pending_more = (tick ? {PORTS{1'b1}} : {PORTS{1'b0}}) |
      (changed && full ? PORTS'(1) << port : {PORTS{1'b0}});
  assign pending_less = ready && !has_change && has_bitmap ?
      PORTS'(1) << bitmap_port : {PORTS{1'b0}};

  always_ff @(posedge clk) begin
    if (push) changes[tail] <= {pause, port, queue_id};
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      paused <= '0;
      pending <= '0;
      head <= '0;
      waiting <= '0;
    end else begin
      if (pause) paused <= paused | named;
      if (resume) paused <= paused & ~named;
      pending <= (pending & ~pending_less) | pending_more;
      if (pop) head <= head + DEPTH'(1);
      waiting <= waiting + COUNT'(push) - COUNT'(pop);
    end
  end
endmodule
