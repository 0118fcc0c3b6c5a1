// Window table of Floodgate: units in flight for each destination.
//
// Paper: Liu et al., "Floodgate: Taming Incast in Datacenter Networks", 3.2, 4.2, 7.2 and 7.4.
// Rules: FG-01 (a window for each destination), FG-04 (a packet passes if the window has room), FG-05
// (the table has what is in flight), FG-03 (units are packets, or bytes), FG-62 (width).
//
// One operation per cycle. The memory is read in the cycle of the destination. In the next cycle
// `room` is valid, the operation is given, and the entry is written. Operations on one destination may
// follow each other without a gap.
module fg_window_table #(
    parameter int DESTINATIONS = 1024,
    // Bits of a destination, and of units.
    parameter int DST = 10,
    parameter int UNITS = 32
) (
    input  logic             clk,
    input  logic             rst,
    // The memory is cleared after a reset, one entry per cycle. No operation may come before.
    output logic             ready,
    input  logic [DST-1:0]   dst,
    // For the destination of the last cycle: its initial window, and what the operation is about.
    input  logic [UNITS-1:0] initial_window,
    input  logic [UNITS-1:0] units,
    // The units fit into the window.
    output logic             room,
    // They are charged to the window, or a credit gives them back: no more than are in flight.
    input  logic             charge,
    input  logic             restore
);
  logic [UNITS-1:0] in_flight;
  logic [UNITS-1:0] next;
  logic write;

  assign room = {1'b0, in_flight} + {1'b0, units} <= {1'b0, initial_window};
  assign write = charge || restore;
  always_comb begin
    next = in_flight + units;
    if (restore) next = in_flight > units ? in_flight - units : '0;
  end

  keyed_memory #(
      .ENTRIES(DESTINATIONS),
      .KEY(DST),
      .WIDTH(UNITS)
  ) memory (
      .clk(clk),
      .rst(rst),
      .ready(ready),
      .empty('0),
      .key(dst),
      .entry(in_flight),
      .write(write),
      .next(next)
  );
endmodule
