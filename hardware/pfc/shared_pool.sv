// Level of the shared pool of a switch: adds what the ingress ports put in and take out in a cycle.
//
// Rules: SW-10, SW-19. The division of the buffer is a constant of the configuration.
module shared_pool #(
    parameter int PORTS = 4,
    parameter int BYTES = 32
) (
    input  logic                   clk,
    input  logic                   rst,
    // Of port 0 in the lowest bits.
    input  logic [PORTS*BYTES-1:0] add,
    input  logic [PORTS*BYTES-1:0] free,
    output logic [BYTES-1:0]       used
);
  logic [BYTES-1:0] next;

  always_comb begin
    next = used;
    for (int port = 0; port < PORTS; port++) begin
      next = next + add[port*BYTES+:BYTES] - free[port*BYTES+:BYTES];
    end
  end

  always_ff @(posedge clk) begin
    if (rst) used <= '0;
    else used <= next;
  end
endmodule
