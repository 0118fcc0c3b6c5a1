// Buffer accounting and the PFC decision of one ingress port and one pausable class.
//
// Rules: SW-10 (reserve before pool), SW-12 (headroom from XOFF to XON), SW-13 (XOFF above the dynamic
// threshold), SW-14 (what leaves frees the headroom first; XON below the threshold by an offset),
// SW-18 (the last frames of the pool), SPFC-01, SPFC-02 and SPFC-08 (a victim port keeps its packets
// until the pool and the memory beside it are full).
//
// A packet that leaves takes effect before a packet that enters in the same cycle. The pool is shared:
// `pool_used` is its level at the start of the cycle, `pool_add` and `pool_free` are the changes.
module pfc_ingress #(
    // Bits of byte counts, of packet sizes, and of alpha (in 1/65536).
    parameter int BYTES = 32,
    parameter int SIZE = 14,
    parameter int ALPHA = 20
) (
    input logic clk,
    input logic rst,

    // A packet of this ingress arrives, or leaves the switch.
    input logic            enqueue,
    input logic [SIZE-1:0] enqueue_size,
    input logic            dequeue,
    input logic [SIZE-1:0] dequeue_size,

    // Configuration, constant while the switch runs. All in bytes.
    input logic [BYTES-1:0] reserve,
    input logic [BYTES-1:0] headroom_limit,
    input logic [BYTES-1:0] xon_offset,
    input logic [BYTES-1:0] buffer_bytes,
    // The pool, and the pool with the memory that victim ports may fill beside it.
    input logic [BYTES-1:0] pool_bytes,
    input logic [BYTES-1:0] room_bytes,
    // One largest frame for every pausable ingress of the switch.
    input logic [BYTES-1:0] last_frames,
    // The normal threshold: `alpha` times the free pool, or `fixed_threshold` (ST).
    input logic             is_dynamic,
    input logic [ALPHA-1:0] alpha,
    input logic [BYTES-1:0] fixed_threshold,

    input logic [BYTES-1:0] pool_used,
    // The port is in the victim state (SPFC). Tie to 0 for plain PFC.
    input logic             victim,

    // The packet that arrives is stored, or it is dropped.
    output logic             accept,
    output logic             drop,
    output logic [BYTES-1:0] pool_add,
    output logic [BYTES-1:0] pool_free,
    // Pause and resume the upstream. If both are high, the resume comes first.
    output logic             send_xon,
    output logic             send_xoff,
    // The packet was kept only because the port is a victim port.
    output logic             spared
);
  // Bytes in reserve and pool, and in the headroom.
  logic [BYTES-1:0] bytes;
  logic [BYTES-1:0] headroom;
  // The upstream is paused.
  logic paused;

  // Values after the packet that leaves.
  logic [BYTES-1:0] left_size;
  logic [BYTES-1:0] from_headroom;
  logic [BYTES-1:0] headroom_left;
  logic [BYTES-1:0] bytes_left;
  logic [BYTES-1:0] inside_before;
  logic [BYTES-1:0] inside_left;
  logic [BYTES-1:0] pool_left;
  logic [BYTES-1:0] threshold_left;
  logic below;
  logic paused_left;

  // Values after the packet that enters.
  logic [BYTES-1:0] size;
  logic [BYTES-1:0] inside_with;
  logic [BYTES-1:0] more;
  logic fits;
  logic to_pool;
  logic to_headroom;
  logic [BYTES-1:0] bytes_next;
  logic [BYTES-1:0] headroom_next;
  logic [BYTES-1:0] inside_next;
  logic [BYTES-1:0] pool_next;
  logic [BYTES-1:0] threshold_next;
  logic [BYTES-1:0] dynamic_left;
  logic [BYTES-1:0] dynamic_next;
  logic over;
  logic keeps;

  // Bytes beyond the reserve, which are in the pool.
  function automatic [BYTES-1:0] beyond(input [BYTES-1:0] held, input [BYTES-1:0] reserved);
    beyond = held > reserved ? held - reserved : {BYTES{1'b0}};
  endfunction

  // The last frames of all ingresses still fit into `room`.
  function automatic has_room(input [BYTES-1:0] used, input [BYTES-1:0] last,
                              input [BYTES-1:0] room);
    has_room = {1'b0, used} + {1'b0, last} <= {1'b0, room};
  endfunction

  dynamic_threshold #(
      .BYTES(BYTES),
      .ALPHA(ALPHA)
  ) threshold_of_departure (
      .pool_bytes,
      .pool_used(pool_left),
      .alpha,
      .threshold(dynamic_left)
  );

  dynamic_threshold #(
      .BYTES(BYTES),
      .ALPHA(ALPHA)
  ) threshold_of_arrival (
      .pool_bytes,
      .pool_used(pool_next),
      .alpha,
      .threshold(dynamic_next)
  );

  assign threshold_left = is_dynamic ? dynamic_left : fixed_threshold;
  assign threshold_next = is_dynamic ? dynamic_next : fixed_threshold;

  // SW-14: headroom first, then pool, then reserve.
  assign left_size = dequeue ? BYTES'(dequeue_size) : '0;
  assign from_headroom = headroom < left_size ? headroom : left_size;
  assign headroom_left = headroom - from_headroom;
  assign bytes_left = bytes - (left_size - from_headroom);
  assign inside_before = beyond(bytes, reserve);
  assign inside_left = beyond(bytes_left, reserve);
  assign pool_free = inside_before - inside_left;
  assign pool_left = pool_used - pool_free;

  // SW-14: XON.
  assign below = {1'b0, inside_left} + {1'b0, xon_offset} <= {1'b0, threshold_left};
  assign send_xon = dequeue && paused && headroom_left == '0 &&
      (inside_left == '0 || (below && has_room(pool_left, last_frames, pool_bytes)));
  assign paused_left = paused && !send_xon;

  // SW-12: to the pool until XOFF, then to the headroom, except for what fits the reserve.
  assign size = BYTES'(enqueue_size);
  assign inside_with = beyond(bytes_left + size, reserve);
  assign more = inside_with - inside_left;
  assign fits = {1'b0, pool_left} + {1'b0, more} <= {1'b0, room_bytes};
  assign to_pool = enqueue && fits && (!paused_left || more == '0);
  assign to_headroom = enqueue && !to_pool &&
      {1'b0, headroom_left} + {1'b0, size} <= {1'b0, headroom_limit};
  assign accept = to_pool || to_headroom;
  assign drop = enqueue && !accept;
  assign bytes_next = to_pool ? bytes_left + size : bytes_left;
  assign headroom_next = to_headroom ? headroom_left + size : headroom_left;
  assign inside_next = to_pool ? inside_with : inside_left;
  assign pool_add = to_pool ? more : '0;
  assign pool_next = pool_left + pool_add;

  // SW-13, SW-18: XOFF. SPFC-01, SPFC-02: a victim port keeps what it has while there is room.
  assign over = (inside_next > '0 && !has_room(pool_next, last_frames, pool_bytes)) ||
      inside_next > threshold_next;
  assign keeps = victim && inside_next <= buffer_bytes &&
      has_room(pool_next, last_frames, room_bytes);
  assign send_xoff = accept && !paused_left && (headroom_next > '0 || (over && !keeps));
  assign spared = accept && !paused_left && headroom_next == '0 && over && keeps;

  always_ff @(posedge clk) begin
    if (rst) begin
      bytes <= '0;
      headroom <= '0;
      paused <= 1'b0;
    end else begin
      bytes <= bytes_next;
      headroom <= headroom_next;
      paused <= paused_left || send_xoff;
    end
  end
endmodule
