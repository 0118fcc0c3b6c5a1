// Dynamic threshold (DT) of a shared buffer: alpha times the bytes that are free in the pool.
//
// Paper: Choudhury and Hahne's DT, as used in SPFC, II-C and Eq. 1, and HPCC, 5.1. Rule: SW-13.
// Alpha is in units of 1/65536, as in the dataplane.
module dynamic_threshold #(
    parameter int BYTES = 32,
    parameter int ALPHA = 20
) (
    input  logic [BYTES-1:0] pool_bytes,
    input  logic [BYTES-1:0] pool_used,
    input  logic [ALPHA-1:0] alpha,
    output logic [BYTES-1:0] threshold
);
  logic [BYTES-1:0] free;
  logic [BYTES+ALPHA-1:0] product;

  assign free = pool_used < pool_bytes ? pool_bytes - pool_used : '0;
  assign product = free * alpha;
  // A threshold above the largest number of bytes never acts.
  assign threshold = |product[BYTES+ALPHA-1:BYTES+16] ? '1 : product[BYTES+15:16];

  // The fraction of a byte has no effect.
  logic unused;
  assign unused = &{1'b0, product[15:0]};
endmodule
