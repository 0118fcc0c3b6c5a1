// VOQ of each destination, and its packets and bytes there.
//
// Paper: Liu et al., "Floodgate", 4.2 and 7.2 (VOQ selection).
// Rules: FG-04 (packets of a destination that has a VOQ join it), FG-10 (a destination keeps its VOQ as
// long as it has packets there), FG-26 (bytes that withhold credits), FG-61 (with VUPs it keeps the VOQ
// until the ingress pipeline is informed), FG-62.
//
// One operation per cycle, in two cycles like the window table. An operation changes an entry in the
// second cycle: a packet joins the VOQ, or leaves it, or the destination gives an empty VOQ back.
module fg_held_table #(
    parameter int DESTINATIONS = 1024,
    // Bits of a destination, of a VOQ, and of counts of packets and bytes.
    parameter int DST = 10,
    parameter int VOQ = 7,
    parameter int PACKETS = 16,
    parameter int BYTES = 24,
    // Bits of a packet size.
    parameter int SIZE = 14,
    // VUPs report to the ingress pipeline that a VOQ is empty.
    parameter bit WITH_VUP = 1'b0
) (
    input  logic             clk,
    input  logic             rst,
    output logic             ready,
    input  logic [DST-1:0]   dst,
    // For the destination of the last cycle: it has a VOQ.
    output logic             held,
    output logic [VOQ-1:0]   voq,
    // A packet joins. A destination without a VOQ gets `chosen`.
    input  logic             join_,
    input  logic [VOQ-1:0]   chosen,
    input  logic [SIZE-1:0]  size,
    // A packet leaves.
    input  logic             leave,
    // A VUP: the destination gives its VOQ back if it has no packets there.
    input  logic             vup,
    // The destination gives its VOQ back.
    output logic             frees,
    // It has no packets any more, and waits for a VUP. Not high again before that.
    output logic             drains,
    // Its bytes after the operation.
    output logic [BYTES-1:0] bytes
);
  localparam int REST = VOQ + PACKETS + BYTES;
  localparam int WIDTH = 1 + 32'(WITH_VUP) + REST;

  logic [WIDTH-1:0] entry;
  logic listed;
  logic [PACKETS-1:0] packets;
  logic [BYTES-1:0] bytes_before;
  logic held_next;
  logic [VOQ-1:0] voq_next;
  logic [PACKETS-1:0] packets_next;
  logic is_last;
  logic write;
  logic [WIDTH-1:0] next;

  assign held = entry[WIDTH-1];
  assign {voq, packets, bytes_before} = entry[REST-1:0];
  assign is_last = leave && packets == PACKETS'(1);
  assign frees = WITH_VUP ? vup && held && packets == '0 : is_last;
  assign drains = WITH_VUP && is_last && !listed;

  assign held_next = join_ || (held && !frees);
  assign voq_next = join_ && !held ? chosen : voq;
  always_comb begin
    packets_next = packets;
    bytes = bytes_before;
    if (join_) begin
      packets_next = packets + PACKETS'(1);
      bytes = bytes_before + BYTES'(size);
    end
    if (leave) begin
      packets_next = packets - PACKETS'(1);
      bytes = bytes_before - BYTES'(size);
    end
  end
  assign write = join_ || leave || vup;
  assign next[WIDTH-1] = held_next;
  assign next[REST-1:0] = {voq_next, packets_next, bytes};

  // A destination that waits for a VUP is in the list of fg_vup.
  if (WITH_VUP) begin : list
    assign listed = entry[REST];
    assign next[REST] = vup ? 1'b0 : listed || drains;
  end else assign listed = 1'b0;

  keyed_memory #(
      .ENTRIES(DESTINATIONS),
      .KEY(DST),
      .WIDTH(WIDTH)
  ) memory (
      .clk(clk),
      .rst(rst),
      .ready(ready),
      .empty('0),
      .key(dst),
      .entry(entry),
      .write(write),
      .next(next)
  );
endmodule
