// The lossless buffer of a switch with SPFC: a PFC decision and a state of Fig. 10 for every ingress
// port, and the pool that they share.
//
// In a cycle at most one packet arrives and one leaves, at any two ports. This is enough for a switch
// whose pipeline takes one packet per cycle.
module spfc_buffer #(
    parameter int PORTS = 4,
    parameter int BYTES = 32,
    parameter int SIZE = 14,
    parameter int ALPHA = 20,
    // Length of TC in pulses of the oscillator, and bits of the rate counters.
    parameter int PULSES = 64,
    parameter int COUNT = 16,
    parameter bit VICTIM_AT_COUNT = 1'b0,
    parameter bit RESUME_AT_ONCE = 1'b0,
    parameter bit WAITS_FOR_RESUME = 1'b0,
    // Bits of a port number.
    parameter int PORT = PORTS > 1 ? $clog2(PORTS) : 1
) (
    input logic clk,
    input logic rst,
    input logic pulse,

    input logic            enqueue,
    input logic [PORT-1:0] enqueue_port,
    input logic [SIZE-1:0] enqueue_size,
    input logic            dequeue,
    input logic [PORT-1:0] dequeue_port,
    input logic [SIZE-1:0] dequeue_size,

    // Switch off SPFC: plain PFC with the same thresholds.
    input logic             has_victims,
    // Departures count as packets or as bytes.
    input logic             counts_bytes,
    input logic [COUNT-1:0] counting_number,
    input logic [BYTES-1:0] reserve,
    // Of port 0 in the lowest bits.
    input logic [PORTS*BYTES-1:0] headroom_limit,
    input logic [BYTES-1:0] xon_offset,
    input logic [BYTES-1:0] buffer_bytes,
    input logic [BYTES-1:0] pool_bytes,
    input logic [BYTES-1:0] room_bytes,
    input logic [BYTES-1:0] last_frames,
    input logic             is_dynamic,
    input logic [ALPHA-1:0] alpha,
    input logic [BYTES-1:0] fixed_threshold,

    output logic             accept,
    output logic             drop,
    output logic [PORTS-1:0] send_xon,
    output logic [PORTS-1:0] send_xoff,
    output logic [PORTS-1:0] spared,
    output logic [PORTS-1:0] victim,
    output logic [BYTES-1:0] pool_used
);
  logic [PORTS-1:0] accepts;
  logic [PORTS-1:0] drops;
  logic [PORTS*BYTES-1:0] add;
  logic [PORTS*BYTES-1:0] free;

  assign accept = |accepts;
  assign drop = |drops;

  shared_pool #(
      .PORTS(PORTS),
      .BYTES(BYTES)
  ) pool (
      .clk,
      .rst,
      .add,
      .free,
      .used(pool_used)
  );

  for (genvar port = 0; port < PORTS; port++) begin : ports
    logic enters;
    logic leaves;
    logic is_victim;

    assign enters = enqueue && enqueue_port == PORT'(port);
    assign leaves = dequeue && dequeue_port == PORT'(port);
    assign victim[port] = has_victims && is_victim;

    spfc_port_state #(
        .PULSES(PULSES),
        .WIDTH(COUNT),
        .CLASSES(1),
        .VICTIM_AT_COUNT(VICTIM_AT_COUNT),
        .RESUME_AT_ONCE(RESUME_AT_ONCE),
        .WAITS_FOR_RESUME(WAITS_FOR_RESUME)
    ) state (
        .clk,
        .rst,
        .pulse,
        .dequeue(leaves),
        .amount(counts_bytes ? COUNT'(dequeue_size) : COUNT'(1)),
        .counting_number,
        .pause(send_xoff[port]),
        .resume(send_xon[port]),
        .victim(is_victim)
    );

    pfc_ingress #(
        .BYTES(BYTES),
        .SIZE (SIZE),
        .ALPHA(ALPHA)
    ) ingress (
        .clk,
        .rst,
        .enqueue(enters),
        .enqueue_size,
        .dequeue(leaves),
        .dequeue_size,
        .reserve,
        .headroom_limit(headroom_limit[port*BYTES+:BYTES]),
        .xon_offset,
        .buffer_bytes,
        .pool_bytes,
        .room_bytes,
        .last_frames,
        .is_dynamic,
        .alpha,
        .fixed_threshold,
        .pool_used,
        .victim(victim[port]),
        .accept(accepts[port]),
        .drop(drops[port]),
        .pool_add(add[port*BYTES+:BYTES]),
        .pool_free(free[port*BYTES+:BYTES]),
        .send_xon(send_xon[port]),
        .send_xoff(send_xoff[port]),
        .spared(spared[port])
    );
  end
endmodule
