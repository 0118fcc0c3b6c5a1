// VOQ selection of Floodgate: the bitmap of free VOQs, and the destinations of each VOQ.
//
// Paper: Liu et al., "Floodgate", 4.2 (allocation, VOQ grouping) and 7.2 (bitmap of VOQs).
// Rules: FG-10 (the lowest free VOQ), FG-11 (if none is free, a hash of the destination), FG-14 (groups:
// VOQs below SPLIT are for destinations below the switch, the others for the rest).
//
// The choice is valid in the cycle of its inputs. A destination that takes a VOQ and one that gives its
// VOQ back do not come in one cycle.
module fg_voq_bitmap #(
    parameter int VOQS = 100,
    // VOQs of the group of destinations below the switch. 0: there are no groups.
    parameter int SPLIT = 50,
    // Bits of a VOQ and of a destination.
    parameter int VOQ = 7,
    parameter int DST = 10,
    // Bits of the number of destinations of a VOQ.
    parameter int USERS = 10
) (
    input  logic           clk,
    input  logic           rst,
    input  logic [DST-1:0] dst,
    input  logic           below,
    // The choice. `hashed`: no VOQ of the group was free.
    output logic [VOQ-1:0] chosen,
    output logic           hashed,
    // A destination takes the choice, or gives a VOQ back.
    input  logic           take,
    input  logic           give,
    input  logic [VOQ-1:0] given,
    // VOQs that have destinations.
    output logic [VOQS-1:0] used
);
  logic [VOQS-1:0] free;
  logic [VOQS-1:0] group_;
  logic [VOQ-1:0] first;
  // One bit more than a VOQ, because the number of VOQs may need it.
  logic [VOQ:0] count;
  logic [VOQ:0] number;
  logic found;
  logic [VOQ-1:0] lowest;
  logic unused;

  for (genvar nth = 0; nth < VOQS; nth++) begin : voqs
    logic [USERS-1:0] users;

    assign free[nth] = users == '0;
    assign group_[nth] = SPLIT == 0 || below == (nth < SPLIT);

    always_ff @(posedge clk) begin
      if (rst) users <= '0;
      else if (take && chosen == VOQ'(nth)) users <= users + USERS'(1);
      else if (give && given == VOQ'(nth)) users <= users - USERS'(1);
    end
  end

  assign first = SPLIT == 0 || below ? '0 : VOQ'(SPLIT);
  localparam int COUNT = VOQ + 1;
  assign count = SPLIT == 0 ? COUNT'(VOQS) : below ? COUNT'(SPLIT) : COUNT'(VOQS - SPLIT);

  assign used = ~free;

  next_bit #(
      .WIDTH(VOQS),
      .INDEX(VOQ)
  ) search (
      .bits(free & group_),
      .start({VOQ{1'b0}}),
      .found,
      .position(lowest)
  );

  hashed_number #(
      .WIDTH(DST),
      .INDEX(VOQ + 1)
  ) hash (
      .word(dst),
      .count,
      .number
  );

  assign hashed = !found;
  assign chosen = found ? lowest : first + number[VOQ-1:0];
  assign unused = number[VOQ];
endmodule
