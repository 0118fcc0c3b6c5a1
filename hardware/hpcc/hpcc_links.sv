// Records of the links of each flow's path (L of Algorithm 1), and the changes that an ACK has since then.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 3.2 (Algorithm 1, lines 4, 5 and 27), 4.1.
// Rules: HPCC-09, HPCC-10 (first ACK and new path), HPCC-12 (smaller queue), HPCC-19 (record), HPCC-20
// (stamp that is not later, unknown speed), HPCC-30 (wrap-around).
//
// An event is a record of an ACK, one a cycle in the order of the path, or the start of a flow. Each event
// reads and writes the memories in one cycle, so events of one flow may follow each other at once.
// Outputs are registered: they belong to the event of the cycle before.
module hpcc_links #(
    parameter int FLOWS = 50,
    // Most records of an ACK, and bits of the number of a record.
    parameter int HOPS = 5,
    parameter int HOP = 3,
    parameter int QLEN_BITS = 16,
    // Speeds that have a code; other codes are unknown.
    parameter int SPEEDS = 12,
    parameter int FLOW = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input logic clk,
    input logic rst,

    // A flow starts: nothing is recorded of it.
    input logic            start,
    // A record of an ACK: its number, and the header of the telemetry.
    input logic            valid,
    input logic [FLOW-1:0] flow,
    input logic [HOP-1:0]  hop,
    input logic [3:0]      hops,
    input logic [11:0]     path,
    input logic [63:0]     record,

    output logic                 out_valid,
    output logic                 out_start,
    output logic [FLOW-1:0]      out_flow,
    // It is the last record of the ACK.
    output logic                 out_last,
    // The flow had no record before this ACK.
    output logic                 out_first,
    // The record counts, as it is not the first of its path: time since the last one (ns), txBytes since then (units), the smaller qLen.
    output logic                 out_counts,
    output logic [23:0]          out_elapsed_ns,
    output logic [19:0]          out_sent,
    output logic [QLEN_BITS-1:0] out_queued,
    output logic [3:0]           out_speed
);
  localparam int SPEED = 20 - QLEN_BITS;
  localparam int LINK = $clog2(FLOWS * HOPS);

  // nHop and pathID of the record; nHop 0: none.
  logic [15:0] paths[0:FLOWS-1];
  // All flows of the first link, then of the second, and so on.
  logic [63:0] links[0:FLOWS*HOPS-1];
  // The verdict on the ACK whose records arrive.
  logic first;
  logic new_path;

  logic takes;
  logic [15:0] known;
  logic [LINK-1:0] place;
  logic [63:0] last;
  logic is_first;
  logic is_new_path;
  logic [3:0] speed;
  logic [23:0] elapsed_ns;
  logic counts;
  logic [QLEN_BITS-1:0] queued;
  logic [QLEN_BITS-1:0] queued_before;

  assign takes = valid && !start && hops <= 4'(HOPS) && 4'(hop) < hops;
  assign known = paths[flow];
  assign place = LINK'(hop) * LINK'(FLOWS) + LINK'(flow);
  assign last = links[place];
  // The first record decides for the whole ACK.
  assign is_first = hop == '0 ? known[15:12] == '0 : first;
  assign is_new_path = hop == '0 ? known != {hops, path} : new_path;

  assign speed = 4'(record[63-:SPEED]);
  assign elapsed_ns = record[20+QLEN_BITS+:24] - last[20+QLEN_BITS+:24];
  assign queued = record[0+:QLEN_BITS];
  assign queued_before = last[0+:QLEN_BITS];
  assign counts = !is_new_path && elapsed_ns != '0 && speed < 4'(SPEEDS);

  always_ff @(posedge clk) begin
    if (start) paths[flow] <= '0;
    else if (takes) paths[flow] <= {hops, path};
    if (takes && (is_new_path || counts)) links[place] <= record;
    if (takes) begin
      first <= is_first;
      new_path <= is_new_path;
    end

    out_valid <= takes && !rst;
    out_start <= start && !rst;
    out_flow <= flow;
    out_last <= 4'(hop) + 4'd1 == hops;
    out_first <= is_first;
    out_counts <= counts;
    out_elapsed_ns <= elapsed_ns;
    out_sent <= record[QLEN_BITS+:20] - last[QLEN_BITS+:20];
    out_queued <= queued < queued_before ? queued : queued_before;
    out_speed <= speed;
  end

  // The speed of the last record has no effect.
  logic unused;
  assign unused = &{1'b0, last[63-:SPEED]};
endmodule
