// Flow scheduler of an RDMA NIC: paces flows by credit in round robin, and limits them by their window.
//
// Paper: Li et al., "HPCC: High Precision Congestion Control", 4.2 (flow scheduler of Fig. 8), 4.3 (an
// engine of 50 flows). Rules: HPCC-06 (payload bytes in flight, below W), HPCC-07 (pace of whole frames).
//
// One flow has its turn in each cycle. It gets the bytes that its rate sends in a round of all turns,
// unless it has credit for a largest frame. It sends a packet if it has bytes left, credit for the frame,
// and less than its window in flight. So a flow of rate R sends at R, to within a round.
// Each memory has one writer, so events of one cycle never collide. A turn sees the events of the cycles
// before it.
module hpcc_scheduler #(
    parameter int FLOWS = 50,
    // Length of a cycle in ns.
    parameter int CYCLE_NS = 5,
    // Payload bytes of a full packet, and the bytes of a frame beside its payload.
    parameter int MTU = 1000,
    parameter int OVERHEAD = 90,
    // Bits of a sequence number, in bytes.
    parameter int SEQ = 32,
    parameter int FLOW = FLOWS > 1 ? $clog2(FLOWS) : 1
) (
    input logic clk,
    input logic rst,

    // A flow of so many bytes starts in this place. It waits while `ack` is high.
    input  logic            start,
    input  logic [FLOW-1:0] start_flow,
    input  logic [SEQ-1:0]  start_bytes,
    output logic            start_ready,
    // W in 1/64 of a byte and R in 2^-20 bytes per ns (hpcc_sender).
    input  logic            update,
    input  logic [FLOW-1:0] update_flow,
    input  logic [31:0]     update_window,
    input  logic [31:0]     update_rate,
    // Everything below `ack_seq` has arrived; `nak`: the flow goes back to it.
    input  logic            ack,
    input  logic            nak,
    input  logic [FLOW-1:0] ack_flow,
    input  logic [SEQ-1:0]  ack_seq,

    // The transmit path takes a packet in this cycle.
    input  logic            tx_ready,
    output logic            send,
    output logic [FLOW-1:0] send_flow,
    output logic [SEQ-1:0]  send_seq,
    output logic [13:0]     send_bytes
);
  localparam [FLOW-1:0] LAST = FLOW'(FLOWS - 1);
  localparam [15:0] PERIOD_NS = 16'(FLOWS * CYCLE_NS);
  localparam [48:0] FULL = (49'(MTU) + 49'(OVERHEAD)) << 20;

  logic [31:0] windows[0:FLOWS-1];
  logic [31:0] rates[0:FLOWS-1];
  logic [SEQ-1:0] limits[0:FLOWS-1];
  logic [SEQ-1:0] acked[0:FLOWS-1];
  logic [SEQ-1:0] sent[0:FLOWS-1];
  // Credit in 2^-20 bytes.
  logic [48:0] credits[0:FLOWS-1];
  // Flows that have started; that started, or are to go back, since their last turn.
  logic [FLOWS-1:0] started;
  logic [FLOWS-1:0] fresh;
  logic [FLOWS-1:0] goes_back;
  logic [FLOW-1:0] turn;

  logic starts;
  logic [SEQ-1:0] base;
  logic [SEQ-1:0] behind;
  logic [SEQ-1:0] next;
  logic [SEQ-1:0] in_flight;
  logic [SEQ-1:0] left;
  logic [48:0] credit;
  logic [48:0] had;
  logic [48:0] cost;

  assign start_ready = !ack;
  assign starts = start && start_ready;

  // Acknowledged bytes are never sent again.
  assign base = acked[turn];
  assign behind = base - sent[turn];
  assign next = goes_back[turn] || fresh[turn] || !behind[SEQ-1] ? base : sent[turn];
  assign in_flight = next - base;
  assign left = limits[turn] - next;
  assign had = fresh[turn] ? FULL : credits[turn];
  assign credit = had < FULL ? had + 49'(rates[turn]) * 49'(PERIOD_NS) : had;

  assign send_flow = turn;
  assign send_seq = next;
  assign send_bytes = left < SEQ'(MTU) ? left[13:0] : 14'(MTU);
  assign cost = (49'(send_bytes) + 49'(OVERHEAD)) << 20;
  assign send = tx_ready && started[turn] && left != '0 && in_flight < SEQ'(windows[turn] >> 6) &&
      credit >= cost;

  always_ff @(posedge clk) begin
    if (rst) begin
      turn <= '0;
      started <= '0;
      fresh <= '0;
      goes_back <= '0;
    end else begin
      turn <= turn == LAST ? '0 : turn + FLOW'(1);
      sent[turn] <= send ? next + SEQ'(send_bytes) : next;
      credits[turn] <= send ? credit - cost : credit;
      // An event of this cycle counts at the next turn.
      fresh[turn] <= 1'b0;
      goes_back[turn] <= 1'b0;
      if (update) begin
        windows[update_flow] <= update_window;
        rates[update_flow] <= update_rate;
      end
      if (starts) begin
        limits[start_flow] <= start_bytes;
        started[start_flow] <= 1'b1;
        fresh[start_flow] <= 1'b1;
      end
      if (ack) begin
        acked[ack_flow] <= ack_seq;
        if (nak) goes_back[ack_flow] <= 1'b1;
      end else if (starts) begin
        acked[start_flow] <= '0;
      end
    end
  end
endmodule
