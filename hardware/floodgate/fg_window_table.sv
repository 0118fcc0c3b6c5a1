// Window table of Floodgate: units in flight for each destination.
//
// Paper: Liu et al., "Floodgate: Taming Incast in Datacenter Networks", 3.2, 4.2, 7.2 and 7.4.
// Rules: FG-01 (a window for each destination), FG-04 (a packet passes if the window has room), FG-05
// (the table has the units in flight), FG-03 (units are packets, or bytes), FG-06 (option: destinations
// are hashed to fewer entries), FG-62 (width).
//
// One operation per cycle. The memory is read in the cycle of the destination. In the next cycle
// `room` is valid, the operation is given, and the entry is written. Operations on one destination may
// follow each other without a gap.
module fg_window_table #(
    parameter int DESTINATIONS = 1024,
    // Bits of a destination, and of units.
    parameter int DST = 10,
    parameter int UNITS = 32,
    // Entries that destinations are hashed to. 0: each destination has its own.
    parameter int HASHED = 0,
    // The switch forwards down and up. Destinations below it never share an entry with others.
    parameter bit BOTH_WAYS = 1'b1
) (
    input  logic             clk,
    input  logic             rst,
    // The memory is cleared after a reset, one entry per cycle. No operation may come before.
    output logic             ready,
    input  logic [DST-1:0]   dst,
    input  logic             below,
    // For the destination of the last cycle: its initial window, and what the operation is about.
    input  logic [UNITS-1:0] initial_window,
    input  logic [UNITS-1:0] units,
    // The units fit into the window.
    output logic             room,
    // They are charged to the window, or a credit gives them back: no more than are in flight.
    input  logic             charge,
    input  logic             restore
);
  localparam int ENTRIES = HASHED == 0 ? DESTINATIONS : BOTH_WAYS ? 2 * HASHED : HASHED;
  localparam int KEY = HASHED == 0 ? DST : $clog2(ENTRIES + 1);
  localparam int NUMBER = $clog2(HASHED + 1);

  logic [KEY-1:0] key;
  logic [UNITS-1:0] in_flight;
  logic [UNITS-1:0] next;
  logic write;

  assign room = {1'b0, in_flight} + {1'b0, units} <= {1'b0, initial_window};
  assign write = charge || restore;
  always_comb begin
    next = in_flight + units;
    if (restore) next = in_flight > units ? in_flight - units : '0;
  end

  if (HASHED == 0) begin : direct
    logic unused;
    assign unused = below;
    assign key = dst;
  end else begin : shared
    logic [NUMBER-1:0] number;

    hashed_number #(
        .WIDTH(DST),
        .INDEX(NUMBER)
    ) hash (
        .word(dst),
        .count(NUMBER'(HASHED)),
        .number
    );
    // FG-06
    if (BOTH_WAYS) assign key = KEY'({number, below});
    else begin : one_way
      logic unused;
      assign unused = below;
      assign key = number;
    end
  end

  keyed_memory #(
      .ENTRIES(ENTRIES),
      .KEY(KEY),
      .WIDTH(UNITS)
  ) memory (
      .clk(clk),
      .rst(rst),
      .ready(ready),
      .empty('0),
      .key(key),
      .entry(in_flight),
      .write(write),
      .next(next)
  );
endmodule
