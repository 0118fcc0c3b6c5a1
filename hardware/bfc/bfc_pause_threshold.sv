// Pause threshold of BFC: a table indexed by the speed of the egress and its active queues.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3.2 (pause threshold) and 5 (deadlocks).
// Rules: BFC-07 (the table), BFC-08 (a row for each speed), BFC-09 (the length that the packet finds
// is compared; a packet that is alone in its entry is exempt), BFC-35 (pairs that never pause).
//
// The control plane fills the table before the switch runs. A packet that finds more bytes than the
// threshold is over. The decision is valid in the same cycle.
module bfc_pause_threshold #(
    // Speeds of egress ports.
    parameter int ROWS = 2,
    parameter int QUEUES = 32,
    // Bits of a row, of a number of queues, and of byte counts.
    parameter int ROW = 1,
    parameter int COUNT = 6,
    parameter int BYTES = 24,
    // The first packet of an entry is exempt.
    parameter bit FIRST_EXEMPT = 1'b1
) (
    input  logic             clk,
    // Fills in the threshold of a row for a number of active queues, from 1 on.
    input  logic             fill,
    input  logic [ROW-1:0]   fill_row,
    input  logic [COUNT-1:0] fill_active,
    input  logic [BYTES-1:0] fill_bytes,
    // The egress, its active queues, and the bytes before the packet.
    input  logic [ROW-1:0]   row,
    input  logic [COUNT-1:0] active,
    input  logic [BYTES-1:0] length,
    input  logic             alone,
    input  logic             allowed,
    output logic             over
);
  localparam int INDEX = $clog2(ROWS * QUEUES);

  logic [BYTES-1:0] table_[ROWS*QUEUES];
  logic [COUNT-1:0] at_least_one;
  logic [INDEX-1:0] index;
  logic [INDEX-1:0] fill_index;
  logic [BYTES-1:0] threshold;

  assign at_least_one = active == '0 ? COUNT'(1) : active;
  assign index = INDEX'(row) * INDEX'(QUEUES) + INDEX'(at_least_one) - INDEX'(1);
  assign fill_index = INDEX'(fill_row) * INDEX'(QUEUES) + INDEX'(fill_active) - INDEX'(1);
  assign threshold = table_[index];
  assign over = length > threshold && allowed && !(alone && FIRST_EXEMPT);

  always_ff @(posedge clk) begin
    if (fill) table_[fill_index] <= fill_bytes;
  end
endmodule
