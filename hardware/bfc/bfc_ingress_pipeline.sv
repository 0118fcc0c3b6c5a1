// One of the ingress pipelines of a switch with BFC: queue assignment and pause counters.
//
// Paper: Goyal et al., "Backpressure Flow Control", 3.3 and 4 (flow table and pause counters are in
// the ingress pipelines; headers of packets that leave are recirculated).
// Rules: those of the modules in here, and BFC-47 (option: a hash of the flow chooses the queue).
//
// One header per cycle: a packet that arrives and is accepted, or the header of a packet that has
// left. Cycle 0 reads the flow table. Cycle 1 chooses the queue, and the packet joins it. Cycle 2
// changes the pause counter, and sends the pause or resume.
module bfc_ingress_pipeline #(
    // Ports of the switch, and of them the ingress ports of this pipeline.
    parameter int PORTS = 8,
    parameter int INGRESSES = 2,
    parameter int QUEUES = 32,
    // Entries of the flow table for each egress port in this pipeline.
    parameter int PER_PORT = 800,
    // Queues of a neighbour.
    parameter int UPSTREAM = 128,
    // Speeds of egress ports.
    parameter int ROWS = 2,
    // Bits: of a port, of an ingress of this pipeline, of a queue, of a number of queues, of a queue of
    // a neighbour, of a speed, of an index of the flow table and of its counts and times, of a key of
    // the pause counters and of these, of packet sizes and of byte counts.
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
    // A flow always has the queue that its hash names, empty or not.
    parameter bit STOCHASTIC = 1'b0,
    // Options, see bfc_queue_choice, bfc_empty_map and bfc_pause_threshold.
    parameter int START = 0,
    parameter bit SAMPLED_MAP = 1'b1,
    parameter bit PAUSED_ELIGIBLE = 1'b0,
    parameter bit FIRST_EXEMPT = 1'b1
) (
    input  logic                          clk,
    input  logic                          rst,
    // Memories are clear.
    output logic                          ready,
    // Thresholds, written before the switch runs.
    input  logic                          fill,
    input  logic [ROW-1:0]                fill_row,
    input  logic [COUNT-1:0]              fill_active,
    input  logic [BYTES-1:0]              fill_bytes,
    input  logic [TIME-1:0]               sticky,
    // The header of this cycle.
    input  logic                          enqueue,
    input  logic                          dequeue,
    input  logic [PORT-1:0]               egress,
    input  logic [31:0]                   hash,
    input  logic [INGRESS-1:0]            ingress,
    input  logic [NAMED-1:0]              upstream,
    input  logic [SIZE-1:0]               size,
    // Speed of the egress; the pair of ports may pause; the packet is among those that count.
    input  logic [ROW-1:0]                row,
    input  logic                          allowed,
    input  logic                          sampled,
    // Of a header that left: it was over the threshold.
    input  logic                          was_over,
    input  logic [TIME-1:0]               now,
    input  logic [15:0]                   random,
    // Queues of all egress ports. The map of empty ones is read when `refresh` is high.
    input  logic [PORTS*QUEUES*BYTES-1:0] lengths,
    input  logic [PORTS*QUEUES-1:0]       empty,
    input  logic [PORTS*QUEUES-1:0]       paused,
    input  logic [PORTS*COUNT-1:0]        active,
    input  logic                          refresh,
    // Cycle 1: the packet joins its queue. `stale`: the map was wrong; `shared`: no queue was free.
    output logic                          joins,
    output logic [PORT-1:0]               join_port,
    output logic [QUEUE-1:0]              join_queue,
    output logic [SIZE-1:0]               join_size,
    output logic                          stale,
    output logic                          shared,
    // The header of the packet is to be recirculated when it leaves.
    output logic                          counted,
    // Cycle 2: the packet is over the threshold; the upstream queue is paused or resumed.
    output logic                          over,
    output logic                          pause,
    output logic                          resume,
    output logic [INGRESS-1:0]            pause_ingress,
    output logic [NAMED-1:0]              pause_queue
);
  localparam int PRODUCT = 32 + INDEX;
  localparam int COUNTED = QUEUE + 1;

  logic table_ready;
  logic counters_ready;

  // Cycle 0
  logic [PRODUCT-1:0] scaled;
  logic [INDEX-1:0] index;
  logic [KEY-1:0] key;
  logic [QUEUE:0] hashed;

  // Cycle 1
  logic dequeued;
  logic [KEY-1:0] key_1;
  logic [ROW-1:0] row_1;
  logic allowed_1;
  logic sampled_1;
  logic was_over_1;
  logic [15:0] random_1;
  logic [QUEUE-1:0] hashed_1;
  logic keeps;
  logic [TABLE_QUEUE-1:0] kept_queue;
  logic alone;
  logic table_counts;
  logic [PORTS*QUEUES-1:0] seen_empty;
  logic [QUEUE-1:0] chosen;
  logic none_free;
  logic assigns;
  logic [BYTES-1:0] length;
  localparam int PLACE = $clog2(PORTS * QUEUES);
  logic [PLACE-1:0] place;
  logic is_empty;
  logic is_over;

  // Cycle 2
  logic up;
  logic down;
  logic [KEY-1:0] key_2;
  logic unused;

  assign ready = table_ready && counters_ready;

  assign scaled = PRODUCT'(hash) * PRODUCT'(PER_PORT);
  assign index = INDEX'(egress) * INDEX'(PER_PORT) + scaled[PRODUCT-1:32];
  assign key = KEY'(ingress) * KEY'(UPSTREAM) + KEY'(upstream);

  // BFC-47: the constant makes this hash independent of the index.
  hashed_number #(
      .WIDTH(32),
      .INDEX(QUEUE + 1)
  ) by_hash (
      .word(hash ^ 32'h5eed),
      .count(COUNTED'(QUEUES)),
      .number(hashed)
  );

  bfc_flow_table #(
      .ENTRIES(PORTS * PER_PORT),
      .INDEX(INDEX),
      .QUEUE(TABLE_QUEUE),
      .SIZE(TABLE_SIZE),
      .TIME(TIME)
  ) flow_table (
      .clk,
      .rst,
      .ready(table_ready),
      .enqueue,
      .dequeue,
      .index,
      .now,
      .sticky,
      .keeps,
      .queue_id(kept_queue),
      .alone,
      .counted(table_counts),
      .assigned(TABLE_QUEUE'(join_queue)),
      .sampled(sampled_1)
  );

  bfc_empty_map #(
      .PORTS(PORTS),
      .QUEUES(QUEUES),
      .PORT(PORT),
      .QUEUE(QUEUE),
      .SAMPLED(SAMPLED_MAP)
  ) empty_map (
      .clk,
      .rst,
      .empty,
      .refresh,
      .assigns,
      .assigned_port(join_port),
      .assigned_queue(chosen),
      .seen_empty
  );

  bfc_queue_choice #(
      .PORTS(PORTS),
      .QUEUES(QUEUES),
      .PORT(PORT),
      .QUEUE(QUEUE),
      .START(START),
      .PAUSED_ELIGIBLE(PAUSED_ELIGIBLE)
  ) choice (
      .clk,
      .rst,
      .seen_empty,
      .paused,
      .port(join_port),
      .random(random_1),
      .queue_id(chosen),
      .shared(none_free),
      .assigns
  );

  assign assigns = joins && !keeps && !STOCHASTIC;
  assign join_queue = STOCHASTIC ? hashed_1 : keeps ? kept_queue[QUEUE-1:0] : chosen;
  assign place = PLACE'(join_port) * PLACE'(QUEUES) + PLACE'(join_queue);
  assign is_empty = empty[place];
  assign stale = assigns && !none_free && !is_empty;
  assign shared = assigns && none_free;
  assign counted = joins && table_counts;

  // BFC-09: the length without the packet. A packet that is over the threshold joins a queue with
  // packets, so it does not change the number of active queues.
  assign length = lengths[place*BYTES+:BYTES];

  bfc_pause_threshold #(
      .ROWS(ROWS),
      .QUEUES(QUEUES),
      .ROW(ROW),
      .COUNT(COUNT),
      .BYTES(BYTES),
      .FIRST_EXEMPT(FIRST_EXEMPT)
  ) limit (
      .clk,
      .fill,
      .fill_row,
      .fill_active,
      .fill_bytes,
      .row(row_1),
      .active(active[join_port*COUNT+:COUNT]),
      .length,
      .alone,
      .allowed(allowed_1),
      .over(is_over)
  );

  bfc_pause_counters #(
      .ENTRIES(INGRESSES * UPSTREAM),
      .KEY(KEY),
      .COUNTER(COUNTER)
  ) counters (
      .clk,
      .rst,
      .ready(counters_ready),
      .key(key_1),
      .up,
      .down,
      .counted(over),
      .pause,
      .resume,
      .result_key(key_2)
  );

  assign pause_ingress = INGRESS'(key_2 / KEY'(UPSTREAM));
  assign pause_queue = NAMED'(key_2 % KEY'(UPSTREAM));
  assign unused = &{1'b0, scaled[31:0], kept_queue, hashed};

  always_ff @(posedge clk) begin
    join_port <= egress;
    join_size <= size;
    key_1 <= key;
    row_1 <= row;
    allowed_1 <= allowed;
    sampled_1 <= sampled;
    was_over_1 <= was_over;
    random_1 <= random;
    hashed_1 <= hashed[QUEUE-1:0];
    if (rst) begin
      joins <= 1'b0;
      dequeued <= 1'b0;
      up <= 1'b0;
      down <= 1'b0;
    end else begin
      joins <= enqueue;
      dequeued <= dequeue;
      up <= counted && is_over;
      down <= dequeued && was_over_1;
    end
  end
endmodule
