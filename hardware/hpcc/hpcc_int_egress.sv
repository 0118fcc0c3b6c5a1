// In-band telemetry (INT) of one egress port of a switch: adds the record of Fig. 7 to a packet.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 4.1 and Fig. 7.
// Rules: HPCC-01, HPCC-02 (txBytes before this packet, qLen behind it), HPCC-03 (pathID), HPCC-24 (room
// for HOPS records), HPCC-30 (widths, units, wrap-around, saturation).
//
// The field has nHop (4 bits) and pathID (12), then a record of 64 bits for each switch: speed, TS,
// txBytes, qLen. The first byte on the wire has the highest bits. Without room the packet stays as it is.
// The module takes a packet in every cycle, and the new field is valid in the same cycle.
module hpcc_int_egress #(
    // Records that fit the field.
    parameter int HOPS = 5,
    // Bits of qLen: 16, which leaves 4 for the speed, or 17, which leaves 3.
    parameter int QLEN_BITS = 16,
    // Units are 128 and 80 bytes, times two to this power.
    parameter int UNIT_SHIFT = 0,
    // Bits of a packet size.
    parameter int SIZE = 14,
    // Bits of the field.
    parameter int FIELD = 16 + 64 * HOPS
) (
    input logic clk,
    input logic rst,

    // Configuration: identifier of the switch, and the code of the port's speed.
    input logic [11:0]             switch_id,
    input logic [19-QLEN_BITS:0]   speed,
    // Clock of the switch in ns.
    input logic [23:0]             now_ns,

    // A packet leaves, and counts in txBytes. `has_int`: it carries the field.
    input logic             packet,
    input logic [SIZE-1:0]  size,
    input logic             has_int,
    // Bytes that stay in the port's queues behind it.
    input logic [31:0]      qlen_bytes,
    input logic [FIELD-1:0] field,

    output logic [FIELD-1:0] field_out,
    // The record was added, or there was no room for it.
    output logic             stamped,
    output logic             full
);
  localparam int TX = 27 + UNIT_SHIFT;
  localparam [3:0] ROOM = 4'(HOPS);
  localparam [31:0] QLEN_MAX = (1 << QLEN_BITS) - 1;

  // Bytes sent so far. It wraps where txBytes does.
  logic [TX-1:0] sent_bytes;

  logic [3:0] hops;
  logic [11:0] path;
  logic [31:0] sixteenths;
  logic [63:0] fifths;
  logic [31:0] units;
  logic [QLEN_BITS-1:0] qlen;
  logic [63:0] record;

  assign hops = field[FIELD-1-:4];
  assign path = field[FIELD-5-:12];

  // 80 bytes are 16 times 5. The product is exact for all 32 bits: 2^34 / 5, rounded up.
  assign sixteenths = qlen_bytes >> (4 + UNIT_SHIFT);
  assign fifths = 64'(sixteenths) * 64'h0_cccc_cccd;
  assign units = 32'(fifths >> 34);
  assign qlen = units > QLEN_MAX ? '1 : units[QLEN_BITS-1:0];

  assign record = {speed, now_ns, sent_bytes[TX-1-:20], qlen};
  assign stamped = packet && has_int && hops < ROOM;
  assign full = packet && has_int && hops >= ROOM;

  always_comb begin
    field_out = field;
    if (stamped) begin
      field_out[FIELD-1-:4] = hops + 4'd1;
      field_out[FIELD-5-:12] = path ^ switch_id;
      for (int hop = 0; hop < HOPS; hop++) begin
        if (hops == 4'(hop)) field_out[64*(HOPS-1-hop)+:64] = record;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (rst) sent_bytes <= '0;
    else if (packet) sent_bytes <= sent_bytes + TX'(size);
  end
endmodule
