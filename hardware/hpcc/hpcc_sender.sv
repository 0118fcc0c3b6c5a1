// Congestion control of an RDMA NIC: Algorithm 1 for many flows, as a pipeline.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 3.2, 4.2 (CC module of Fig. 8), 4.3.
// Rule: HPCC-41, and those of hpcc_links, hpcc_measure and hpcc_window.
//
// The receive path passes the records of an ACK in the order of the path, one a cycle, as 64 bits a cycle
// arrive from a link. An ACK of n records takes n cycles: that is the initiation interval. W and R follow
// 14 cycles after its last record. All loops over the state of a flow take one cycle, so no two ACKs have
// to keep a distance.
module hpcc_sender #(
    parameter int FLOWS = 50,
    parameter int HOPS = 5,
    parameter int QLEN_BITS = 16,
    parameter int SPEEDS = 12,
    parameter int SEQ = 32,
    parameter int STAGE = 10,
    parameter int EPSILON_PPM = 10000,
    parameter int SEGMENT = 7,
    parameter int FLOW = FLOWS > 1 ? $clog2(FLOWS) : 1,
    // Bits of the number of a record.
    parameter int HOP = 3
) (
    input logic clk,
    input logic rst,

    // Constants of all flows (hpcc_measure, hpcc_window).
    input logic [23:0]      base_rtt_ns,
    input logic [31:0]      per_base_rtt,
    input logic [16*32-1:0] queue_factors,
    input logic [16*32-1:0] sent_factors,
    input logic [20:0]      eta,
    input logic [26:0]      per_eta,
    input logic [STAGE-1:0] max_stage,
    input logic [31:0]      wai,
    input logic [31:0]      least,
    input logic [31:0]      most,
    input logic [31:0]      line,

    // A flow starts, or a record of an ACK arrives. `start` comes first if both are high.
    input logic            start,
    input logic            valid,
    input logic [FLOW-1:0] flow,
    input logic [HOP-1:0]  hop,
    input logic [3:0]      hops,
    input logic [11:0]     path,
    input logic [63:0]     record,
    input logic [SEQ-1:0]  seq,
    input logic [SEQ-1:0]  snd_nxt,

    // W in 1/64 of a byte and R in 2^-20 bytes per ns of a flow.
    output logic            update,
    output logic [FLOW-1:0] update_flow,
    output logic [31:0]     update_window,
    output logic [31:0]     update_rate
);
  localparam int TAG = 1 + 2 * SEQ;

  logic links_valid;
  logic links_start;
  logic [FLOW-1:0] links_flow;
  logic links_last;
  logic links_first;
  logic links_counts;
  logic [23:0] links_elapsed_ns;
  logic [19:0] links_sent;
  logic [QLEN_BITS-1:0] links_queued;
  logic [3:0] links_speed;
  logic [2*SEQ-1:0] links_seq;
  logic [21:0] elapsed_number;
  logic [31:0] elapsed_reciprocal;
  logic measure_valid;
  logic measure_start;
  logic [FLOW-1:0] measure_flow;
  logic [TAG-1:0] measure_tag;
  logic measure_counts;
  logic [29:0] utilisation;
  logic [21:0] over_number;
  logic [31:0] over_reciprocal;

  hpcc_links #(
      .FLOWS(FLOWS),
      .HOPS(HOPS),
      .HOP(HOP),
      .QLEN_BITS(QLEN_BITS),
      .SPEEDS(SPEEDS),
      .FLOW(FLOW)
  ) link_records (
      .clk,
      .rst,
      .start,
      .valid,
      .flow,
      .hop,
      .hops,
      .path,
      .record,
      .out_valid(links_valid),
      .out_start(links_start),
      .out_flow(links_flow),
      .out_last(links_last),
      .out_first(links_first),
      .out_counts(links_counts),
      .out_elapsed_ns(links_elapsed_ns),
      .out_sent(links_sent),
      .out_queued(links_queued),
      .out_speed(links_speed)
  );

  always_ff @(posedge clk) links_seq <= {seq, snd_nxt};

  hpcc_reciprocal #(
      .EPSILON_PPM(EPSILON_PPM),
      .SEGMENT(SEGMENT)
  ) table_ (
      .clk,
      .a_number(elapsed_number),
      .a_reciprocal(elapsed_reciprocal),
      .b_number(over_number),
      .b_reciprocal(over_reciprocal)
  );

  hpcc_measure #(
      .FLOWS(FLOWS),
      .QLEN_BITS(QLEN_BITS),
      .TAG(TAG),
      .FLOW(FLOW)
  ) measure_inflight (
      .clk,
      .rst,
      .base_rtt_ns,
      .per_base_rtt,
      .queue_factors,
      .sent_factors,
      .valid(links_valid),
      .start(links_start),
      .flow(links_flow),
      .tag({links_first, links_seq}),
      .last(links_last),
      .counts(links_counts),
      .elapsed_ns(links_elapsed_ns),
      .sent(links_sent),
      .queued(links_queued),
      .speed(links_speed),
      .number(elapsed_number),
      .reciprocal(elapsed_reciprocal),
      .out_valid(measure_valid),
      .out_start(measure_start),
      .out_flow(measure_flow),
      .out_tag(measure_tag),
      .out_counts(measure_counts),
      .out_utilisation(utilisation)
  );

  hpcc_window #(
      .FLOWS(FLOWS),
      .SEQ(SEQ),
      .STAGE(STAGE),
      .FLOW(FLOW)
  ) compute_wind (
      .clk,
      .rst,
      .per_base_rtt,
      .eta,
      .per_eta,
      .max_stage,
      .wai,
      .least,
      .most,
      .line,
      .start(measure_start),
      .valid(measure_valid),
      .flow(measure_flow),
      .first(measure_tag[TAG-1]),
      .counts(measure_counts),
      .utilisation,
      .seq(measure_tag[SEQ+:SEQ]),
      .snd_nxt(measure_tag[0+:SEQ]),
      .number(over_number),
      .reciprocal(over_reciprocal),
      .update,
      .update_flow,
      .update_window,
      .update_rate
  );
endmodule
