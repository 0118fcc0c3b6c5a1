// Sends pauses: PAUSE and RESUME frames of the eight priorities of a port, and repetitions.
//
// Source: IEEE 802.1Qbb. Rules: SW-44 (a PAUSE takes back a RESUME that still waits), QNT-05 (a pause
// is repeated a refresh time after it was last queued, until the RESUME), QNT-06 (a RESUME is a frame
// with the time 0, sent once).
//
// All priorities that wait share one frame. If a PAUSE and a RESUME of one priority wait, the PAUSE
// leaves first and the RESUME with the next frame.
module pfc_generator #(
    // Cycles of the clock in 512 bit times of the port.
    parameter int CYCLES = 8,
    // Quanta of a PAUSE, and of the time after which it is repeated. REFRESH 0: never repeated.
    parameter int QUANTA = 65535,
    parameter int REFRESH = 32767
) (
    input  logic         clk,
    input  logic         rst,
    // Requests of this cycle, one bit for each priority. A RESUME comes before a PAUSE.
    input  logic [7:0]   send_xon,
    input  logic [7:0]   send_xoff,
    // The port takes a frame in this cycle. Requests of this cycle leave with the next one.
    input  logic         ready,
    output logic         frame,
    output logic [7:0]   enable,
    output logic [127:0] quanta,
    // Pauses that are queued again in this cycle.
    output logic [7:0]   repeats
);
  localparam int WIDTH = 16 + $clog2(CYCLES + 1);
  localparam [WIDTH-1:0] PERIOD = WIDTH'(REFRESH * CYCLES);

  assign frame = ready && enable != '0;

  for (genvar priority_ = 0; priority_ < 8; priority_++) begin : queues
    logic waits_xoff;
    logic waits_xon;
    // The pause that was last queued is to be repeated after so many cycles; 0: it is not.
    logic [WIDTH-1:0] left;

    logic leaves_xoff;
    logic leaves_xon;
    logic kept_xoff;
    logic kept_xon;
    logic asks_xon;
    logic takes_back;

    assign enable[priority_] = waits_xoff || waits_xon;
    assign quanta[16*priority_+:16] = waits_xoff ? 16'(QUANTA) : 16'd0;
    assign leaves_xoff = frame && waits_xoff;
    assign leaves_xon = frame && waits_xon && !waits_xoff;
    assign kept_xoff = waits_xoff && !leaves_xoff;
    assign kept_xon = waits_xon && !leaves_xon;

    // SW-44: the pause before the RESUME goes on.
    assign asks_xon = kept_xon || send_xon[priority_];
    assign takes_back = send_xoff[priority_] && asks_xon;
    assign repeats[priority_] = (left == WIDTH'(1) && !send_xon[priority_]) ||
        (takes_back && !kept_xoff && REFRESH != 0);

    always_ff @(posedge clk) begin
      if (rst) begin
        waits_xoff <= 1'b0;
        waits_xon <= 1'b0;
        left <= '0;
      end else begin
        waits_xoff <= kept_xoff || repeats[priority_] || (send_xoff[priority_] && !takes_back);
        waits_xon <= asks_xon && !takes_back;
        // QNT-05: counted from the cycle in which the pause was last queued.
        if (send_xoff[priority_] || repeats[priority_]) left <= PERIOD;
        else if (send_xon[priority_]) left <= '0;
        else if (left != '0) left <= left - WIDTH'(1);
      end
    end
  end
endmodule
