// Memory with an entry for each key, which is read and written again in the next cycle.
//
// The entry of a key is valid in the cycle after the key; in the same cycle its successor can be written.
// Keys may be equal in successive cycles: a written entry is forwarded. A reset clears the memory, one entry
// per cycle.
//
// Used for: BFC-03 (flow table), BFC-05 and BFC-53 (pause counters), FG-10 (VOQs), FG-20 (windows), FG-21
// (emitting counters).
module keyed_memory #(
    parameter int ENTRIES = 1024,
    // Bits of a key, and of an entry.
    parameter int KEY = 10,
    parameter int WIDTH = 16
) (
    input  logic             clk,
    input  logic             rst,
    output logic             ready,
    // The content of a cleared entry.
    input  logic [WIDTH-1:0] empty,
    input  logic [KEY-1:0]   key,
    // The entry of the last cycle's key, and the entry that replaces it.
    output logic [WIDTH-1:0] entry,
    input  logic             write,
    input  logic [WIDTH-1:0] next
);
  logic [WIDTH-1:0] entries[ENTRIES];
  logic [WIDTH-1:0] read;
  logic [WIDTH-1:0] written;
  logic forward;
  logic [KEY-1:0] last_key;
  logic [KEY-1:0] clearing;

  assign entry = forward ? written : read;

  always_ff @(posedge clk) begin
    read <= entries[key];
    if (!ready) entries[clearing] <= empty;
    else if (write) entries[last_key] <= next;
  end

  always_ff @(posedge clk) begin
    last_key <= key;
    written <= next;
    forward <= write && key == last_key;
    if (rst) begin
      ready <= 1'b0;
      clearing <= '0;
    end else if (!ready) begin
      clearing <= clearing + KEY'(1);
      if (clearing == KEY'(ENTRIES - 1)) ready <= 1'b1;
    end
  end
endmodule
