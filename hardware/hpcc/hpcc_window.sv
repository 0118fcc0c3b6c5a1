// Function ComputeWind of Algorithm 1 and procedure NewAck: W, W^c, incStage, lastUpdateSeq, and R.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 3.2 (Algorithm 1, lines 11 to 27), 4.3.
// Rules: HPCC-05 (start), HPCC-07 (R), HPCC-09 (first ACK), HPCC-16 to HPCC-18, HPCC-21 (limits), HPCC-35
// (table), HPCC-41 (widths and roundings).
//
// An ACK enters in every cycle. The state of a flow is read and written in one cycle, so ACKs of one flow
// may follow each other at once. W and R of an ACK are valid six cycles after its U.
// Sequence numbers wrap: of two, the later one is less than half of their range ahead.
module hpcc_window #(
    parameter int FLOWS = 50,
    // Bits of a sequence number, in bytes, and of incStage.
    parameter int SEQ = 32,
    parameter int STAGE = 10,
    parameter int FLOW = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input logic clk,
    input logic rst,

    // Constants: 2^36 / T (ns); eta and 1/eta with 20 bits of fraction; W_AI, lowest window and W_init in
    // 1/64 of a byte; line rate in 2^-20 bytes per ns.
    input logic [31:0]      per_base_rtt,
    input logic [20:0]      eta,
    input logic [26:0]      per_eta,
    input logic [STAGE-1:0] max_stage,
    input logic [31:0]      wai,
    input logic [31:0]      least,
    input logic [31:0]      most,
    input logic [31:0]      line,

    // The start of a flow, or an ACK: `first` only records, `counts` has a new U.
    input logic            start,
    input logic            valid,
    input logic [FLOW-1:0] flow,
    input logic            first,
    input logic            counts,
    input logic [29:0]     utilisation,
    // The sequence number that the ACK acknowledges, and the next one to send.
    input logic [SEQ-1:0]  seq,
    input logic [SEQ-1:0]  snd_nxt,

    // Port of the table.
    output logic [21:0] number,
    input  logic [31:0] reciprocal,

    // W in 1/64 of a byte and R in 2^-20 bytes per ns of a flow.
    output logic            update,
    output logic [FLOW-1:0] update_flow,
    output logic [31:0]     update_window,
    output logic [31:0]     update_rate
);
  localparam int EVENT = 5 + FLOW + 2 * SEQ;

  logic [31:0] references[0:FLOWS-1];
  logic [STAGE-1:0] stages[0:FLOWS-1];
  logic [SEQ-1:0] last_updates[0:FLOWS-1];

  logic [EVENT-1:0] events[1:4];

  // Cycle 0: U/eta in 1/4096, rounded to the nearest.
  logic [56:0] over;

  assign over = 57'(utilisation) * 57'(per_eta) + (57'd1 << 27);

  // Cycle 4: lines 11 to 24.
  logic start_4;
  logic valid_4;
  logic first_4;
  logic counts_4;
  logic full_4;
  logic [FLOW-1:0] flow_4;
  logic [SEQ-1:0] seq_4;
  logic [SEQ-1:0] snd_nxt_4;
  logic [31:0] share_of;
  logic [SEQ-1:0] ahead;
  logic newer;
  logic multiply;
  logic updates;
  logic [63:0] quotient;
  logic [44:0] share;
  logic [44:0] wanted;
  logic [31:0] window;

  assign {start_4, valid_4, first_4, counts_4, full_4, flow_4, seq_4, snd_nxt_4} = events[4];
  assign share_of = references[flow_4];
  assign ahead = seq_4 - last_updates[flow_4];
  assign newer = ahead != '0 && !ahead[SEQ-1];
  assign multiply = full_4 || stages[flow_4] >= max_stage;
  assign updates = valid_4 && counts_4 && newer;
  assign quotient = 64'(share_of) * 64'(reciprocal);
  // HPCC-16, HPCC-17, HPCC-21
  assign share = multiply ? {1'b0, quotient[63:20]} : 45'(share_of);
  assign wanted = share + 45'(wai);
  assign window = wanted >= 45'(most) ? most : wanted <= 45'(least) ? least : wanted[31:0];

  // Cycle 5: line 27.
  logic valid_5;
  logic start_5;
  logic [FLOW-1:0] flow_5;
  logic [31:0] window_5;
  logic [41:0] rate;

  assign rate = 42'((64'(window_5) * 64'(per_base_rtt)) >> 22);

  always_ff @(posedge clk) begin
    number <= over[56:50] != '0 ? '1 : over[49:28] == '0 ? 22'd1 : over[49:28];
    events[1] <= {start && !rst, valid && !rst, first, counts, utilisation >= 30'(eta), flow, seq, snd_nxt};
    for (int stage = 2; stage <= 4; stage++) events[stage] <= rst ? '0 : events[stage-1];

    // HPCC-18. HPCC-09: the first ACK only sets lastUpdateSeq.
    if (start_4) begin
      references[flow_4] <= most;
      stages[flow_4] <= '0;
      last_updates[flow_4] <= '0;
    end else begin
      if (updates) begin
        references[flow_4] <= window;
        stages[flow_4] <= multiply ? '0 : stages[flow_4] + STAGE'(1);
      end
      if (updates || (valid_4 && first_4)) last_updates[flow_4] <= snd_nxt_4;
    end

    start_5 <= start_4 && !rst;
    valid_5 <= (start_4 || (valid_4 && counts_4)) && !rst;
    flow_5 <= flow_4;
    window_5 <= start_4 ? most : window;

    update <= valid_5 && !rst;
    update_flow <= flow_5;
    update_window <= window_5;
    update_rate <= start_5 || rate > 42'(line) ? line : rate[31:0];
  end

  // Fractions below the last bit of a result have no effect.
  logic unused;
  assign unused = &{1'b0, over[27:0], quotient[19:0]};
endmodule
