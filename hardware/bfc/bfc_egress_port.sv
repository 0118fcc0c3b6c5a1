// An egress port of a switch with BFC: its queues' state, the gate, and the scheduler.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3. Rules: see bfc_gate, bfc_queue_state and
// bfc_drr.
//
// The packets themselves are in the packet buffer. It answers for the queue `turn` with the size of
// the first packet, in the same cycle.
module bfc_egress_port #(
    parameter int QUEUES = 32,
    parameter int PIPELINES = 4,
    // Bits of a queue number, of a queue number in a frame, of a number of queues, of packet sizes,
    // and of byte counts.
    parameter int QUEUE = 5,
    parameter int NAMED = 8,
    parameter int COUNT = 6,
    parameter int SIZE = 14,
    parameter int BYTES = 24,
    // Quantum of the scheduler, in bytes.
    parameter int QUANTUM = 1500
) (
    input  logic                       clk,
    input  logic                       rst,
    // Packets that join a queue, one for each pipeline.
    input  logic [PIPELINES-1:0]       join_,
    input  logic [PIPELINES*QUEUE-1:0] join_queue,
    input  logic [PIPELINES*SIZE-1:0]  join_size,
    // Frames of the downstream neighbour.
    input  logic                       frame,
    input  logic                       frame_on,
    input  logic [NAMED-1:0]           frame_queue,
    input  logic                       bitmap,
    input  logic [QUEUES-1:0]          bitmap_bits,
    // The port can start a packet.
    input  logic                       take,
    output logic [QUEUE-1:0]           turn,
    input  logic [SIZE-1:0]            head_size,
    output logic                       send,
    // Queues wait to join the scheduler's round.
    output logic                       joining,
    // State for the ingress pipelines.
    output logic [QUEUES*BYTES-1:0]    lengths,
    output logic [QUEUES-1:0]          empty,
    output logic [QUEUES-1:0]          paused,
    output logic [COUNT-1:0]           active
);
  logic [QUEUES-1:0] open;
  logic head_is_last;

  assign head_is_last = lengths[turn*BYTES+:BYTES] == BYTES'(head_size);

  bfc_gate #(
      .QUEUES(QUEUES),
      .QUEUE(NAMED)
  ) gate (
      .clk,
      .rst,
      .frame,
      .on(frame_on),
      .queue_id(frame_queue),
      .bitmap,
      .bits(bitmap_bits),
      .paused
  );

  bfc_queue_state #(
      .QUEUES(QUEUES),
      .PIPELINES(PIPELINES),
      .QUEUE(QUEUE),
      .COUNT(COUNT),
      .SIZE(SIZE),
      .BYTES(BYTES)
  ) state (
      .clk,
      .rst,
      .join_,
      .join_queue,
      .join_size,
      .leave(send),
      .leave_queue(turn),
      .leave_size(head_size),
      .paused,
      .lengths,
      .empty,
      .open,
      .active
  );

  bfc_drr #(
      .QUEUES(QUEUES),
      .QUEUE(QUEUE),
      .SIZE(SIZE),
      .QUANTUM(QUANTUM)
  ) scheduler (
      .clk,
      .rst,
      .open,
      .take,
      .turn,
      .head_size,
      .head_is_last,
      .send,
      .joining
  );
endmodule
