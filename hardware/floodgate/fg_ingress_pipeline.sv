// Ingress pipeline of a switch with Floodgate: windows, VOQ selection, and the scheduler of VOQs.
//
// Paper: Liu et al., "Floodgate", 4.2, 7.2 and Fig. 19. Rules: see the modules.
//
// One operation per cycle: a data packet, a credit, a VUP, or a try of the scheduler. Packets and
// credits go first. The first cycle reads the tables, and the result is valid in the second. The
// packets are in the packet buffer, which answers with the first packet of the VOQ `turn`.
module fg_ingress_pipeline #(
    parameter int DESTINATIONS = 1024,
    parameter int VOQS = 100,
    parameter int SPLIT = 50,
    // Bits of a destination, of a VOQ, of units, of counts of packets and bytes, of packet sizes.
    parameter int DST = 10,
    parameter int VOQ = 7,
    parameter int UNITS = 32,
    parameter int PACKETS = 16,
    parameter int BYTES = 24,
    parameter int SIZE = 14,
    // Entries of the table of windows, see fg_window_table.
    parameter int HASHED = 0,
    parameter bit BOTH_WAYS = 1'b1,
    // Windows count bytes, not packets.
    parameter bit IN_BYTES = 1'b0,
    parameter bit WITH_VUP = 1'b0
) (
    input  logic             clk,
    input  logic             rst,
    output logic             ready,
    // Initial windows of destinations below the switch, and of others.
    input  logic [UNITS-1:0] initial_below,
    input  logic [UNITS-1:0] initial_above,
    // A data packet arrives that is accepted. The destination may be a host of this switch.
    input  logic             packet,
    input  logic [DST-1:0]   dst,
    input  logic             below,
    input  logic             last_hop,
    input  logic [SIZE-1:0]  size,
    // A credit arrives for `dst` and its direction `below`. Not in the cycle of a packet.
    input  logic             credit,
    input  logic [UNITS-1:0] units,
    // VUPs are due.
    input  logic             vup_tick,
    // The first packet of the VOQ `turn`.
    output logic [VOQ-1:0]   turn,
    input  logic             head,
    input  logic [DST-1:0]   head_dst,
    input  logic             head_below,
    input  logic [SIZE-1:0]  head_size,
    // One cycle later, for a packet: it passes, or it joins a VOQ.
    output logic             passes,
    output logic             joins,
    output logic             hashed,
    // The first packet of the VOQ leaves to its egress queue.
    output logic             releases,
    // The VOQ of the packet that joins, or leaves.
    output logic [VOQ-1:0]   voq,
    // Bytes in the VOQ of this destination have changed.
    output logic             changes,
    output logic [DST-1:0]   changed,
    output logic [BYTES-1:0] changed_bytes,
    // The scheduler has nothing to try, and no VUP waits.
    output logic             idle
);
  logic windows_ready;
  logic held_ready;

  // First cycle: the operation.
  logic wants;
  logic vup_pending;
  logic [DST-1:0] vup_dst;
  logic external;
  logic vup;
  logic tries;
  logic [DST-1:0] dst_0;
  logic below_0;

  // Second cycle.
  logic packet_1;
  logic credit_1;
  logic vup_1;
  logic tries_1;
  logic head_1;
  logic last_hop_1;
  logic [DST-1:0] dst_1;
  logic below_1;
  logic [SIZE-1:0] size_1;
  logic [UNITS-1:0] credited;
  logic [VOQ-1:0] turn_1;
  logic [UNITS-1:0] wanted;
  logic room;
  logic held;
  logic [VOQ-1:0] own_voq;
  logic [VOQ-1:0] chosen;
  logic none_free;
  logic takes;
  logic frees;
  logic drains;
  logic resume;
  logic [VOQ-1:0] resumed;
  logic resume_all;
  logic [VOQS-1:0] used;

  assign ready = windows_ready && held_ready;
  assign external = packet || credit;
  assign vup = vup_pending && !external;
  // All credits of a frame take effect before a try.
  assign tries = ready && wants && !external && !vup && !credit_1;
  always_comb begin
    dst_0 = dst;
    if (vup) dst_0 = vup_dst;
    if (tries) dst_0 = head_dst;
  end
  assign below_0 = tries ? head_below : below;

  assign wanted = IN_BYTES ? UNITS'(size_1) : UNITS'(1);
  assign passes = packet_1 && (last_hop_1 || (!held && room));
  assign joins = packet_1 && !passes;
  assign releases = tries_1 && head_1 && room;
  assign takes = joins && !held;
  assign hashed = takes && none_free;
  always_comb begin
    voq = held ? own_voq : chosen;
    if (tries_1) voq = turn_1;
  end
  assign changes = joins || releases;
  assign changed = dst_1;
  // A credit makes the VOQ ready. With VUPs a packet may only pass through an empty VOQ.
  assign resume = (credit_1 && held) || (WITH_VUP && joins);
  assign resumed = joins ? voq : own_voq;
  // FG-06: destinations in other VOQs may share the window.
  assign resume_all = HASHED != 0 && credit_1;
  assign idle = !wants && !tries_1 && !vup_pending && !vup_1 && !resume && !resume_all;

  fg_window_table #(
      .DESTINATIONS(DESTINATIONS),
      .DST(DST),
      .UNITS(UNITS),
      .HASHED(HASHED),
      .BOTH_WAYS(BOTH_WAYS)
  ) windows (
      .clk,
      .rst,
      .ready(windows_ready),
      .dst(dst_0),
      .below(below_0),
      .initial_window(below_1 ? initial_below : initial_above),
      .units(credit_1 ? credited : wanted),
      .room,
      .charge((passes && !last_hop_1) || releases),
      .restore(credit_1)
  );

  fg_held_table #(
      .DESTINATIONS(DESTINATIONS),
      .DST(DST),
      .VOQ(VOQ),
      .PACKETS(PACKETS),
      .BYTES(BYTES),
      .SIZE(SIZE),
      .WITH_VUP(WITH_VUP)
  ) held_table (
      .clk,
      .rst,
      .ready(held_ready),
      .dst(dst_0),
      .held,
      .voq(own_voq),
      .join_(joins),
      .chosen,
      .size(size_1),
      .leave(releases),
      .vup(vup_1),
      .frees,
      .drains,
      .bytes(changed_bytes)
  );

  fg_voq_bitmap #(
      .VOQS(VOQS),
      .SPLIT(SPLIT),
      .VOQ(VOQ),
      .DST(DST),
      .USERS(DST + 1)
  ) bitmap (
      .clk,
      .rst,
      .dst(dst_1),
      .below(below_1),
      .chosen,
      .hashed(none_free),
      .take(takes),
      .give(frees),
      .given(own_voq),
      .used
  );

  if (WITH_VUP) begin : vup_path
    fg_vup #(
        .DESTINATIONS(DESTINATIONS),
        .DST(DST)
    ) vups (
        .clk,
        .rst,
        .drains,
        .drained(dst_1),
        .tick(vup_tick),
        .pending(vup_pending),
        .dst(vup_dst),
        .done(vup)
    );
  end else begin : no_vup
    logic unused;
    assign unused = &{1'b0, drains, vup_tick};
    assign vup_pending = 1'b0;
    assign vup_dst = '0;
  end

  fg_voq_scheduler #(
      .VOQS(VOQS),
      .VOQ(VOQ)
  ) scheduler (
      .clk,
      .rst,
      .resume,
      .resumed,
      .resume_all,
      .used,
      .wants,
      .turn,
      .taken(tries),
      .tried(tries_1),
      .released(releases)
  );

  always_ff @(posedge clk) begin
    dst_1 <= dst_0;
    below_1 <= below_0;
    size_1 <= tries ? head_size : size;
    last_hop_1 <= last_hop;
    credited <= units;
    turn_1 <= turn;
    head_1 <= head;
    if (rst) begin
      packet_1 <= 1'b0;
      credit_1 <= 1'b0;
      vup_1 <= 1'b0;
      tries_1 <= 1'b0;
    end else begin
      packet_1 <= packet;
      credit_1 <= credit;
      vup_1 <= vup;
      tries_1 <= tries;
    end
  end
endmodule
