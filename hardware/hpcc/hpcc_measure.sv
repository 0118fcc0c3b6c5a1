// Function MeasureInflight of Algorithm 1: u' of each link, the fullest link of the path, and U.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 3.2 (Algorithm 1, lines 2 to 9, Eq. 2), 4.3.
// Rules: HPCC-11 to HPCC-15, HPCC-41 (widths and roundings).
//
// A record enters in every cycle. Divisions by constants are products with factors that a driver
// computes, the division by the time between two stamps is a product with a reciprocal of the table. U is
// read and written in one cycle, so ACKs of one flow may follow each other at once. U of an ACK is valid
// seven cycles after its last record.
module hpcc_measure #(
    parameter int FLOWS = 50,
    parameter int QLEN_BITS = 16,
    // Bits of what travels with an ACK.
    parameter int TAG = 64,
    parameter int FLOW = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input logic clk,
    input logic rst,

    // Constants: T in ns; 2^36 / T; for each speed what a unit of qLen is of B*T, in 2^-32, and the time
    // of a unit of txBytes in 2^-16 ns. Speed 0 has the lowest bits.
    input logic [23:0]       base_rtt_ns,
    input logic [31:0]       per_base_rtt,
    input logic [16*32-1:0]  queue_factors,
    input logic [16*32-1:0]  sent_factors,

    // A record (hpcc_links) with `tag` of its ACK, or the start of a flow.
    input logic                 valid,
    input logic                 start,
    input logic [FLOW-1:0]      flow,
    input logic [TAG-1:0]       tag,
    input logic                 last,
    input logic                 counts,
    input logic [23:0]          elapsed_ns,
    input logic [19:0]          sent,
    input logic [QLEN_BITS-1:0] queued,
    input logic [3:0]           speed,

    // Port of the table.
    output logic [21:0] number,
    input  logic [31:0] reciprocal,

    // An ACK or a start, in order. `out_counts`: a link of the path counted. U has 20 bits of fraction.
    output logic            out_valid,
    output logic            out_start,
    output logic [FLOW-1:0] out_flow,
    output logic [TAG-1:0]  out_tag,
    output logic            out_counts,
    output logic [29:0]     out_utilisation
);
  localparam [29:0] ONE = 30'd1 << 20;
  // Stages: three of the table, u' in two, the fullest link.
  localparam int STAGES = 6;
  localparam int EVENT = 4 + FLOW + TAG;

  // U of each flow.
  logic [29:0] utilisations[0:FLOWS-1];

  // Events on their way; the place n is n cycles after the input.
  logic [EVENT-1:0] events[1:STAGES];

  // Operands of the stages.
  logic coarse;
  logic [23:0] elapsed_1, elapsed_2, elapsed_3;
  logic [19:0] sent_1, sent_2, sent_3;
  logic [QLEN_BITS-1:0] queued_1, queued_2, queued_3;
  logic [3:0] speed_1, speed_2, speed_3, speed_4;

  logic [53:0] quotient;
  logic [31:0] per_ns;
  logic [36:0] queue_share;
  logic [20:0] weight;
  logic [20:0] weight_5;
  logic [63:0] rate_product;
  logic [44:0] share;
  logic [29:0] in_flight;
  // The fullest link so far.
  logic any;
  logic [29:0] fullest;
  logic [20:0] fullest_weight;

  // HPCC-41: a time beyond the table is looked up in steps of 4 ns.
  assign coarse = elapsed_3[23:22] != '0;
  assign number = elapsed_ns[23:22] != '0 ? elapsed_ns[23:2] : elapsed_ns[21:0];

  // Cycle 3: the reciprocal is there.
  assign quotient = {2'b0, 52'(sent_3) * 52'(reciprocal)} >> (coarse ? 10 : 8);

  // Cycle 4: u', Eq. 2.
  assign rate_product = 64'(per_ns) * 64'(sent_factors[32*speed_4+:32]);
  assign share = {1'b0, rate_product[63:20]} + 45'(queue_share);

  logic counts_5;
  logic last_5;
  logic valid_5;
  logic takes;
  logic [29:0] next_fullest;
  logic [20:0] next_weight;
  logic next_any;

  // Cycle 5: lines 6 and 7.
  assign {valid_5, last_5, counts_5} = events[5][EVENT-1-:3];
  assign takes = valid_5 && counts_5 && (!any || in_flight > fullest);
  assign next_fullest = takes ? in_flight : fullest;
  assign next_weight = takes ? weight_5 : fullest_weight;
  assign next_any = any || (valid_5 && counts_5);

  logic [29:0] u_6;
  logic [20:0] weight_6;
  logic any_6;

  // Cycle 6: line 9.
  logic valid_6;
  logic last_6;
  logic start_6;
  logic unused_6;
  logic [FLOW-1:0] flow_6;
  logic [TAG-1:0] tag_6;
  logic [29:0] last_u;
  logic signed [52:0] difference;
  logic signed [52:0] product;
  logic [29:0] utilisation;

  assign {valid_6, last_6, unused_6, start_6, flow_6, tag_6} = events[6];
  assign last_u = utilisations[flow_6];
  assign difference = $signed({23'd0, u_6}) - $signed({23'd0, last_u});
  assign product = difference * $signed({32'd0, weight_6});
  assign utilisation = start_6 ? ONE : last_u + 30'(product >>> 20);

  always_ff @(posedge clk) begin
    events[1] <= {valid && !rst, last, counts, start && !rst, flow, tag};
    for (int stage = 2; stage <= STAGES; stage++) begin
      events[stage] <= rst ? '0 : events[stage-1];
    end

    elapsed_1 <= elapsed_ns;
    elapsed_2 <= elapsed_1;
    elapsed_3 <= elapsed_2;
    sent_1 <= sent;
    sent_2 <= sent_1;
    sent_3 <= sent_2;
    queued_1 <= queued;
    queued_2 <= queued_1;
    queued_3 <= queued_2;
    speed_1 <= speed;
    speed_2 <= speed_1;
    speed_3 <= speed_2;
    speed_4 <= speed_3;

    // HPCC-11, HPCC-12, HPCC-14
    per_ns <= quotient[53:32] != '0 ? '1 : quotient[31:0];
    queue_share <= 37'((49'(queued_3) * 49'(queue_factors[32*speed_3+:32])) >> 12);
    weight <= elapsed_3 >= base_rtt_ns ? ONE[20:0] : 21'((56'(elapsed_3) * 56'(per_base_rtt)) >> 16);
    in_flight <= share[44:30] != '0 ? '1 : share[29:0];
    weight_5 <= weight;

    // HPCC-13. The next ACK starts anew.
    any <= next_any && !(valid_5 && last_5) && !rst;
    fullest <= next_fullest;
    fullest_weight <= next_weight;
    any_6 <= next_any;
    u_6 <= next_fullest;
    weight_6 <= next_weight;

    // HPCC-15
    if (start_6 || (valid_6 && last_6 && any_6)) utilisations[flow_6] <= utilisation;
    out_valid <= valid_6 && last_6 && !rst;
    out_start <= start_6 && !rst;
    out_flow <= flow_6;
    out_tag <= tag_6;
    out_counts <= any_6;
    out_utilisation <= utilisation;
  end

  // Fractions below the last bit of a result have no effect.
  logic unused;
  assign unused = &{1'b0, rate_product[19:0]};
endmodule
