// Deficit round robin over the queues of an egress port that hold packets and are not paused.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.1 (scheduler); the gate is 3.1, assumption 3.
// Rules: BFC-12, SW-20 (deficit round robin), SW-26 (a queue that opens joins the end of the round).
//
// The round is a list of queue numbers. A queue that is closed stays in it until its turn comes, as in
// the dataplane. While the port takes a packet, each cycle looks at the queue whose turn it is: it
// sends, or leaves the round, or goes to its end. So a packet leaves in every cycle unless the turn
// moves on. One queue can join the round per cycle, the lowest number first.
module bfc_drr #(
    parameter int QUEUES = 32,
    // Bits of a queue number and of packet sizes.
    parameter int QUEUE = 5,
    parameter int SIZE = 14,
    // Bytes that a queue may send in its turn, less than 2 ** SIZE.
    parameter int QUANTUM = 1500
) (
    input  logic              clk,
    input  logic              rst,
    // Queues that may send.
    input  logic [QUEUES-1:0] open,
    // The port can start a packet in this cycle.
    input  logic              take,
    // The queue whose turn it is. Answers in the same cycle: the size of its first packet, and that it
    // has no other one.
    output logic [QUEUE-1:0]  turn,
    input  logic [SIZE-1:0]   head_size,
    input  logic              head_is_last,
    // The first packet of this queue leaves.
    output logic              send,
    // Queues wait to join the round.
    output logic              joining
);
  localparam int WIDE = SIZE + 1;
  localparam int COUNT = QUEUE + 1;

  logic [QUEUE-1:0] round[QUEUES];
  logic [QUEUE-1:0] head;
  logic [QUEUE-1:0] tail;
  logic [QUEUE:0] length;
  logic [QUEUES-1:0] in_round;
  // The queue whose turn it is has its quantum.
  logic served;
  logic [SIZE:0] deficits[QUEUES];

  logic [QUEUE-1:0] joins;
  logic looks;
  logic is_closed;
  logic [SIZE:0] deficit;
  logic fits;
  logic passes;
  logic rotates;
  logic leaves;
  logic push;
  logic [QUEUE-1:0] pushed;

  function automatic [QUEUE-1:0] following(input [QUEUE-1:0] place);
    following = place == QUEUE'(QUEUES - 1) ? {QUEUE{1'b0}} : place + QUEUE'(1);
  endfunction

  next_bit #(
      .WIDTH(QUEUES),
      .INDEX(QUEUE)
  ) next_to_join (
      .bits(open & ~in_round),
      .start({QUEUE{1'b0}}),
      .found(joining),
      .position(joins)
  );

  assign turn = length == '0 ? '0 : round[head];
  assign looks = take && open != '0 && length != '0;
  assign is_closed = !open[turn];
  assign deficit = served ? deficits[turn] : deficits[turn] + WIDE'(QUANTUM);
  assign fits = deficit >= {1'b0, head_size};
  assign send = looks && !is_closed && fits;
  assign passes = looks && !is_closed && !fits;
  // A queue that opened before this turn ended goes first.
  assign rotates = passes && !joining;
  assign leaves = (looks && is_closed) || (send && head_is_last);
  assign push = joining || rotates;
  assign pushed = joining ? joins : turn;

  always_ff @(posedge clk) begin
    if (push) round[tail] <= pushed;
  end

  always_ff @(posedge clk) begin
    for (int nth = 0; nth < QUEUES; nth++) begin
      if (rst) deficits[nth] <= '0;
      else if (looks && turn == QUEUE'(nth)) begin
        if (leaves) deficits[nth] <= '0;
        else if (send) deficits[nth] <= deficit - {1'b0, head_size};
        else deficits[nth] <= deficit;
      end
    end
    if (rst) begin
      head <= '0;
      tail <= '0;
      length <= '0;
      in_round <= '0;
      served <= 1'b0;
    end else begin
      if (leaves || rotates) head <= following(head);
      if (push) tail <= following(tail);
      length <= length + COUNT'(push) - COUNT'(leaves || rotates);
      if (leaves) in_round[turn] <= 1'b0;
      if (joining) in_round[joins] <= 1'b1;
      if (leaves || rotates) served <= 1'b0;
      else if (looks) served <= 1'b1;
    end
  end
endmodule
