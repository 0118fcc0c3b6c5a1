// The Floodgate part of a switch: the ingress pipeline and the emitting counters.
//
// Paper: Liu et al., "Floodgate: Taming Incast in Datacenter Networks", 7.2 and Fig. 19. Rules: see the
// modules.
//
// Not in here: packet buffer and admission, routing, egress queues, the parsers, and what repairs losses
// (4.3). Only accepted packets come in.
module fg_switch #(
    parameter int PORTS = 8,
    parameter int DESTINATIONS = 1024,
    parameter int VOQS = 100,
    parameter int SPLIT = 50,
    // Bits, see fg_ingress_pipeline and fg_emitting_counters.
    parameter int PORT = 3,
    parameter int DST = 10,
    parameter int PLACE = 13,
    parameter int VOQ = 7,
    parameter int UNITS = 32,
    parameter int PACKETS = 16,
    parameter int BYTES = 24,
    parameter int SIZE = 14,
    // T, in ticks of the packet generator, and destinations of a credit frame.
    parameter int TICKS = 10,
    parameter int MOST = 66,
    // Entries of the table of windows, see fg_window_table.
    parameter int HASHED = 0,
    parameter bit BOTH_WAYS = 1'b1,
    parameter bit IN_BYTES = 1'b0,
    parameter bit WITH_VUP = 1'b0
) (
    input  logic             clk,
    input  logic             rst,
    output logic             ready,
    input  logic [UNITS-1:0] initial_below,
    input  logic [UNITS-1:0] initial_above,
    input  logic [BYTES-1:0] delay_bytes,
    // Upstream half: data packets and credits that arrive, VUPs, and the scheduler of VOQs.
    input  logic             packet,
    input  logic [DST-1:0]   dst,
    input  logic             below,
    input  logic             last_hop,
    input  logic [SIZE-1:0]  size,
    input  logic             credit,
    input  logic [UNITS-1:0] units,
    input  logic             vup_tick,
    output logic [VOQ-1:0]   turn,
    input  logic             head,
    input  logic [DST-1:0]   head_dst,
    input  logic             head_below,
    input  logic [SIZE-1:0]  head_size,
    output logic             passes,
    output logic             joins,
    output logic             hashed,
    output logic             releases,
    output logic [VOQ-1:0]   voq,
    output logic             idle,
    // Downstream half: data packets that leave, and credits that are returned.
    input  logic             earn,
    input  logic [PORT-1:0]  earn_port,
    input  logic [DST-1:0]   earn_dst,
    input  logic [SIZE-1:0]  earn_size,
    input  logic             tick,
    output logic             busy,
    output logic             returns,
    output logic             withheld,
    output logic [PORT-1:0]  return_port,
    output logic [DST-1:0]   return_dst,
    output logic [UNITS-1:0] return_units,
    output logic             starts_frame
);
  logic pipeline_ready;
  logic counters_ready;
  logic changes;
  logic [DST-1:0] changed;
  logic [BYTES-1:0] changed_bytes;

  assign ready = pipeline_ready && counters_ready;

  fg_ingress_pipeline #(
      .DESTINATIONS(DESTINATIONS),
      .VOQS(VOQS),
      .SPLIT(SPLIT),
      .DST(DST),
      .VOQ(VOQ),
      .UNITS(UNITS),
      .PACKETS(PACKETS),
      .BYTES(BYTES),
      .SIZE(SIZE),
      .HASHED(HASHED),
      .BOTH_WAYS(BOTH_WAYS),
      .IN_BYTES(IN_BYTES),
      .WITH_VUP(WITH_VUP)
  ) pipeline (
      .clk,
      .rst,
      .ready(pipeline_ready),
      .initial_below,
      .initial_above,
      .packet,
      .dst,
      .below,
      .last_hop,
      .size,
      .credit,
      .units,
      .vup_tick,
      .turn,
      .head,
      .head_dst,
      .head_below,
      .head_size,
      .passes,
      .joins,
      .hashed,
      .releases,
      .voq,
      .changes,
      .changed,
      .changed_bytes,
      .idle
  );

  fg_emitting_counters #(
      .PORTS(PORTS),
      .DESTINATIONS(DESTINATIONS),
      .PORT(PORT),
      .DST(DST),
      .PLACE(PLACE),
      .UNITS(UNITS),
      .BYTES(BYTES),
      .TICKS(TICKS),
      .MOST(MOST)
  ) emitter (
      .clk,
      .rst,
      .ready(counters_ready),
      .earn,
      .port(earn_port),
      .dst(earn_dst),
      .units(IN_BYTES ? UNITS'(earn_size) : UNITS'(1)),
      .changes,
      .changed,
      .changed_bytes,
      .delay_bytes,
      .tick,
      .busy,
      .credit(returns),
      .withheld,
      .credit_port(return_port),
      .credit_dst(return_dst),
      .credit_units(return_units),
      .starts_frame
  );
endmodule
