// The BFC part of a switch: ingress pipelines, egress ports, and the frames to the neighbours.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3 and 4. Ports are assigned to pipelines in
// blocks. A pipeline has a flow table, a map of empty queues and the pause counters of its ports.
// Rules: see the modules.
//
// Not in here: packet buffer and admission, routing, and the parsers. Only accepted packets come in.
module bfc_switch #(
    parameter int PORTS = 8,
    parameter int PIPELINES = 4,
    parameter int QUEUES = 32,
    // Entries of the flow table for each egress port in each pipeline: 100 QUEUES / PIPELINES.
    parameter int PER_PORT = 800,
    // Queues of a neighbour. Its numbers can include queues that never are paused.
    parameter int UPSTREAM = 128,
    parameter int ROWS = 2,
    // Bits, see bfc_ingress_pipeline.
    parameter int PORT = 3,
    parameter int INGRESS = 1,
    parameter int QUEUE = 5,
    parameter int COUNT = 6,
    parameter int NAMED = 7,
    parameter int ROW = 1,
    parameter int INDEX = 13,
    parameter int TABLE_QUEUE = 8,
    parameter int TABLE_SIZE = 16,
    parameter int TIME = 16,
    parameter int KEY = 8,
    parameter int COUNTER = 16,
    parameter int SIZE = 14,
    parameter int BYTES = 24,
    // 2 ** DEPTH frames of a pipeline can wait.
    parameter int DEPTH = 4,
    parameter int QUANTUM = 1500,
    // Options, see bfc_ingress_pipeline.
    parameter bit STOCHASTIC = 1'b0,
    parameter bit SAMPLED_MAP = 1'b1,
    parameter bit PAUSED_ELIGIBLE = 1'b0,
    parameter bit FIRST_EXEMPT = 1'b1
) (
    input  logic                          clk,
    input  logic                          rst,
    output logic                          ready,
    input  logic                          fill,
    input  logic [ROW-1:0]                fill_row,
    input  logic [COUNT-1:0]              fill_active,
    input  logic [BYTES-1:0]              fill_bytes,
    input  logic [TIME-1:0]               sticky,
    // Speed of each egress port.
    input  logic [PORTS*ROW-1:0]          rows,
    input  logic [TIME-1:0]               now,
    // The maps of empty queues are read; bitmaps are sent. Both come from a timer.
    input  logic                          refresh,
    input  logic                          tick,
    // A header for each pipeline.
    input  logic [PIPELINES-1:0]          enqueue,
    input  logic [PIPELINES-1:0]          dequeue,
    input  logic [PIPELINES*PORT-1:0]     egress,
    input  logic [PIPELINES*32-1:0]       hash,
    input  logic [PIPELINES*INGRESS-1:0]  ingress,
    input  logic [PIPELINES*NAMED-1:0]    upstream,
    input  logic [PIPELINES*SIZE-1:0]     size,
    input  logic [PIPELINES-1:0]          allowed,
    input  logic [PIPELINES-1:0]          sampled,
    input  logic [PIPELINES-1:0]          was_over,
    input  logic [PIPELINES*16-1:0]       random,
    // One cycle later.
    output logic [PIPELINES-1:0]          joins,
    output logic [PIPELINES*QUEUE-1:0]    join_queue,
    output logic [PIPELINES-1:0]          stale,
    output logic [PIPELINES-1:0]          shared,
    output logic [PIPELINES-1:0]          counted,
    // Two cycles later.
    output logic [PIPELINES-1:0]          over,
    output logic [PIPELINES-1:0]          pause,
    output logic [PIPELINES-1:0]          resume,
    // Frames that leave, one for each pipeline, and those that have arrived, one for each port.
    input  logic [PIPELINES-1:0]          frame_ready,
    output logic [PIPELINES-1:0]          frame,
    output logic [PIPELINES*INGRESS-1:0]  frame_ingress,
    output logic [PIPELINES-1:0]          frame_is_bitmap,
    output logic [PIPELINES-1:0]          frame_on,
    output logic [PIPELINES*NAMED-1:0]    frame_queue,
    output logic [PIPELINES*UPSTREAM-1:0] frame_bits,
    input  logic [PORTS-1:0]              arrived,
    input  logic [PORTS-1:0]              arrived_on,
    input  logic [PORTS*NAMED-1:0]        arrived_queue,
    input  logic [PORTS-1:0]              arrived_bitmap,
    input  logic [PORTS*QUEUES-1:0]       arrived_bits,
    // The egress ports.
    input  logic [PORTS-1:0]              take,
    output logic [PORTS*QUEUE-1:0]        turn,
    input  logic [PORTS*SIZE-1:0]         head_size,
    output logic [PORTS-1:0]              send,
    output logic [PORTS-1:0]              joining
);
  localparam int INGRESSES = PORTS / PIPELINES;

  logic [PORTS*QUEUES*BYTES-1:0] lengths;
  logic [PORTS*QUEUES-1:0] empty;
  logic [PORTS*QUEUES-1:0] paused;
  logic [PORTS*COUNT-1:0] active;
  logic [PIPELINES-1:0] are_ready;
  logic [PIPELINES*PORT-1:0] join_port;
  logic [PIPELINES*SIZE-1:0] join_size;

  assign ready = are_ready == {PIPELINES{1'b1}};

  for (genvar nth = 0; nth < PIPELINES; nth++) begin : pipelines
    logic [INGRESS-1:0] pause_ingress;
    logic [NAMED-1:0] pause_queue;

    bfc_ingress_pipeline #(
        .PORTS(PORTS),
        .INGRESSES(INGRESSES),
        .QUEUES(QUEUES),
        .PER_PORT(PER_PORT),
        .UPSTREAM(UPSTREAM),
        .ROWS(ROWS),
        .PORT(PORT),
        .INGRESS(INGRESS),
        .QUEUE(QUEUE),
        .COUNT(COUNT),
        .NAMED(NAMED),
        .ROW(ROW),
        .INDEX(INDEX),
        .TABLE_QUEUE(TABLE_QUEUE),
        .TABLE_SIZE(TABLE_SIZE),
        .TIME(TIME),
        .KEY(KEY),
        .COUNTER(COUNTER),
        .SIZE(SIZE),
        .BYTES(BYTES),
        .START(nth * QUEUES / PIPELINES),
        .STOCHASTIC(STOCHASTIC),
        .SAMPLED_MAP(SAMPLED_MAP),
        .PAUSED_ELIGIBLE(PAUSED_ELIGIBLE),
        .FIRST_EXEMPT(FIRST_EXEMPT)
    ) pipeline (
        .clk,
        .rst,
        .ready(are_ready[nth]),
        .fill,
        .fill_row,
        .fill_active,
        .fill_bytes,
        .sticky,
        .enqueue(enqueue[nth]),
        .dequeue(dequeue[nth]),
        .egress(egress[nth*PORT+:PORT]),
        .hash(hash[nth*32+:32]),
        .ingress(ingress[nth*INGRESS+:INGRESS]),
        .upstream(upstream[nth*NAMED+:NAMED]),
        .size(size[nth*SIZE+:SIZE]),
        .row(rows[egress[nth*PORT+:PORT]*ROW+:ROW]),
        .allowed(allowed[nth]),
        .sampled(sampled[nth]),
        .was_over(was_over[nth]),
        .now,
        .random(random[nth*16+:16]),
        .lengths,
        .empty,
        .paused,
        .active,
        .refresh,
        .joins(joins[nth]),
        .join_port(join_port[nth*PORT+:PORT]),
        .join_queue(join_queue[nth*QUEUE+:QUEUE]),
        .join_size(join_size[nth*SIZE+:SIZE]),
        .stale(stale[nth]),
        .shared(shared[nth]),
        .counted(counted[nth]),
        .over(over[nth]),
        .pause(pause[nth]),
        .resume(resume[nth]),
        .pause_ingress,
        .pause_queue
    );

    bfc_pause_generator #(
        .PORTS(INGRESSES),
        .UPSTREAM(UPSTREAM),
        .PORT(INGRESS),
        .QUEUE(NAMED),
        .DEPTH(DEPTH)
    ) generator (
        .clk,
        .rst,
        .pause(pause[nth]),
        .resume(resume[nth]),
        .port(pause_ingress),
        .queue_id(pause_queue),
        .tick,
        .ready(frame_ready[nth]),
        .frame(frame[nth]),
        .frame_port(frame_ingress[nth*INGRESS+:INGRESS]),
        .frame_is_bitmap(frame_is_bitmap[nth]),
        .frame_on(frame_on[nth]),
        .frame_queue(frame_queue[nth*NAMED+:NAMED]),
        .frame_bits(frame_bits[nth*UPSTREAM+:UPSTREAM])
    );
  end

  for (genvar nth = 0; nth < PORTS; nth++) begin : ports
    logic [PIPELINES-1:0] joins_here;

    for (genvar from = 0; from < PIPELINES; from++) begin : here
      assign joins_here[from] = joins[from] && join_port[from*PORT+:PORT] == PORT'(nth);
    end

    bfc_egress_port #(
        .QUEUES(QUEUES),
        .PIPELINES(PIPELINES),
        .QUEUE(QUEUE),
        .NAMED(NAMED),
        .COUNT(COUNT),
        .SIZE(SIZE),
        .BYTES(BYTES),
        .QUANTUM(QUANTUM)
    ) port (
        .clk,
        .rst,
        .join_(joins_here),
        .join_queue,
        .join_size,
        .frame(arrived[nth]),
        .frame_on(arrived_on[nth]),
        .frame_queue(arrived_queue[nth*NAMED+:NAMED]),
        .bitmap(arrived_bitmap[nth]),
        .bitmap_bits(arrived_bits[nth*QUEUES+:QUEUES]),
        .take(take[nth]),
        .turn(turn[nth*QUEUE+:QUEUE]),
        .head_size(head_size[nth*SIZE+:SIZE]),
        .send(send[nth]),
        .joining(joining[nth]),
        .lengths(lengths[nth*QUEUES*BYTES+:QUEUES*BYTES]),
        .empty(empty[nth*QUEUES+:QUEUES]),
        .paused(paused[nth*QUEUES+:QUEUES]),
        .active(active[nth*COUNT+:COUNT])
    );
  end
endmodule
