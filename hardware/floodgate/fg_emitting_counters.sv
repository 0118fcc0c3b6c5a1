// Emitting counters of Floodgate: credits that each ingress port has to return, and when they leave.
//
// Paper: Liu et al., "Floodgate", 4.1 and 7.2 (egress pipeline: emitting counter table, packet generator).
// Rules: FG-20 (a credit for each packet), FG-23 (all credits of a port leave together, T after the
// last ones), FG-25 (pairs of destination and count, at most MOST in a frame), FG-26 (delayCredit),
// FG-60 (the packet generator runs at intervals).
//
// A packet that leaves counts one up in any cycle. A tick of the generator visits the ports in order.
// Where T is over, it visits the port's destinations in the order in which their counts began, one in
// three cycles; those with too much in a VOQ are withheld, and stay in line.
module fg_emitting_counters #(
    parameter int PORTS = 8,
    parameter int DESTINATIONS = 1024,
    // Bits of a port, of a destination, of a place in the memories (port and destination), of units.
    parameter int PORT = 3,
    parameter int DST = 10,
    parameter int PLACE = 13,
    parameter int UNITS = 32,
    // Bits of byte counts.
    parameter int BYTES = 24,
    // T, in ticks of the generator.
    parameter int TICKS = 10,
    // Destinations of a frame.
    parameter int MOST = 66
) (
    input  logic             clk,
    input  logic             rst,
    output logic             ready,
    // A data packet that came by `port` from a switch has left.
    input  logic             earn,
    input  logic [PORT-1:0]  port,
    input  logic [DST-1:0]   dst,
    input  logic [UNITS-1:0] units,
    // Bytes that a destination has in its VOQ; above the limit its credits are withheld.
    input  logic             changes,
    input  logic [DST-1:0]   changed,
    input  logic [BYTES-1:0] changed_bytes,
    input  logic [BYTES-1:0] delay_bytes,
    // The packet generator runs. Not while `busy` is high.
    input  logic             tick,
    output logic             busy,
    // A credit leaves by `credit_port`; or it is withheld.
    output logic             credit,
    output logic             withheld,
    output logic [PORT-1:0]  credit_port,
    output logic [DST-1:0]   credit_dst,
    output logic [UNITS-1:0] credit_units,
    // It is the first one of a frame.
    output logic             starts_frame
);
  localparam int AGE = $clog2(TICKS + 1);
  localparam int COUNT = $clog2(MOST + 1);
  localparam int LENGTH = DST + 1;

  // Destinations with credits, a ring for each port.
  logic [DST-1:0] due[PORTS*DESTINATIONS];
  logic is_withheld[DESTINATIONS];

  logic [DST-1:0] head[PORTS];
  logic [DST:0] length[PORTS];
  // Ticks since a frame, up to TICKS.
  logic [AGE-1:0] age[PORTS];

  // The port that is visited, and destinations left to visit.
  logic [PORT-1:0] at;
  logic [DST:0] left;
  logic starting;
  logic fetched;
  logic [COUNT-1:0] in_frame;
  logic sent;

  // Destinations whose state of withholding is cleared after a reset.
  logic [DST-1:0] clearing;
  logic is_due;
  logic fetch;
  logic visit;
  logic [DST-1:0] due_dst;
  logic next_port;

  // First and second cycle of an operation.
  logic [PLACE-1:0] place;
  logic earned;
  logic visited;
  logic [PORT-1:0] port_1;
  logic [DST-1:0] dst_1;
  logic [UNITS-1:0] units_1;
  logic [UNITS-1:0] counter;
  logic [UNITS-1:0] next;
  logic write;
  logic waits;
  logic push;
  logic [DST:0] behind;
  logic [DST-1:0] tail;

  function automatic [PLACE-1:0] place_of(input [PORT-1:0] of_port, input [DST-1:0] of_dst);
    place_of = PLACE'(of_port) * PLACE'(DESTINATIONS) + PLACE'(of_dst);
  endfunction

  // The visit of a port: fetch a destination, read its counter, send.
  assign is_due = length[at] != '0 && age[at] == AGE'(TICKS);
  assign fetch = busy && !starting && left != '0 && !fetched && !visited;
  assign visit = fetched && !earn;
  assign next_port = busy && !visited && !fetched && !fetch && (!starting || !is_due);

  assign place = visit ? place_of(at, due_dst) : place_of(port, dst);
  assign withheld = visited && waits;
  assign credit = visited && !waits;
  assign credit_port = port_1;
  assign credit_dst = dst_1;
  assign credit_units = counter;
  assign starts_frame = credit && in_frame == '0;
  assign next = earned ? counter + units_1 : '0;
  assign write = earned || credit;
  // A count begins, or is withheld: the destination goes to the end of the line.
  assign push = (earned && counter == '0) || withheld;
  assign behind = {1'b0, head[port_1]} + length[port_1];
  assign tail = behind >= LENGTH'(DESTINATIONS) ?
      DST'(behind - LENGTH'(DESTINATIONS)) : behind[DST-1:0];

  keyed_memory #(
      .ENTRIES(PORTS * DESTINATIONS),
      .KEY(PLACE),
      .WIDTH(UNITS)
  ) counters (
      .clk(clk),
      .rst(rst),
      .ready(ready),
      .empty('0),
      .key(place),
      .entry(counter),
      .write(write),
      .next(next)
  );

  always_ff @(posedge clk) begin
    due_dst <= fetch ? due[place_of(at, head[at])] : due_dst;
    if (push) due[place_of(port_1, tail)] <= dst_1;
  end

  always_ff @(posedge clk) begin
    waits <= is_withheld[due_dst];
    if (!ready) is_withheld[clearing] <= 1'b0;
    else if (changes) is_withheld[changed] <= changed_bytes > delay_bytes;
  end

  always_ff @(posedge clk) begin
    for (int nth = 0; nth < PORTS; nth++) begin
      if (rst) begin
        head[nth] <= '0;
        length[nth] <= '0;
        age[nth] <= '0;
      end else begin
        if (fetch && at == PORT'(nth)) begin
          head[nth] <= head[nth] == DST'(DESTINATIONS - 1) ? '0 : head[nth] + DST'(1);
          if (!(push && port_1 == PORT'(nth))) length[nth] <= length[nth] - 1'b1;
        end else if (push && port_1 == PORT'(nth)) length[nth] <= length[nth] + 1'b1;
        if (tick && age[nth] != AGE'(TICKS)) age[nth] <= age[nth] + AGE'(1);
        else if (next_port && at == PORT'(nth) && sent) age[nth] <= '0;
      end
    end
  end

  always_ff @(posedge clk) begin
    port_1 <= visit ? at : port;
    dst_1 <= visit ? due_dst : dst;
    units_1 <= units;
    if (rst) begin
      clearing <= '0;
      earned <= 1'b0;
      visited <= 1'b0;
      busy <= 1'b0;
      left <= '0;
      starting <= 1'b0;
      fetched <= 1'b0;
      in_frame <= '0;
      sent <= 1'b0;
    end else begin
      earned <= earn;
      visited <= visit;
      if (fetch) begin
        fetched <= 1'b1;
        left <= left - 1'b1;
      end else if (visit) fetched <= 1'b0;
      if (credit) begin
        sent <= 1'b1;
        in_frame <= in_frame == COUNT'(MOST - 1) ? '0 : in_frame + COUNT'(1);
      end
      if (tick) begin
        busy <= 1'b1;
        at <= '0;
        starting <= 1'b1;
      end else if (busy && starting && is_due) begin
        starting <= 1'b0;
        left <= length[at];
        in_frame <= '0;
        sent <= 1'b0;
      end else if (next_port) begin
        starting <= 1'b1;
        sent <= 1'b0;
        if (at == PORT'(PORTS - 1)) busy <= 1'b0;
        else at <= at + PORT'(1);
      end
      clearing <= clearing + DST'(1);
    end
  end
endmodule
