-- Wireshark's view of Backwater's frames: the extension header behind RoCEv2, telemetry in front of it, and
-- frames between neighbours. docs/wire.md has the formats. Use it with
--   wireshark -X lua_script:backwater.lua      or put it into the folder of personal Lua plugins.

local OURS = 0x88b5
local ROCE_PORT, PAPER_PORT, MD_PORT, MESSAGE_PORT = 4791, 49790, 49791, 49792
local MAGIC = 0x4257

-- The extension header -------------------------------------------------------------------------

local extension = Proto("bw", "Backwater extension header")

local messages = {
  [0] = "data", [1] = "ACK", [2] = "NAK", [3] = "CNP",
  [6] = "notice", [12] = "trimmed", [13] = "returned", [14] = "grant", [15] = "request",
}

local ext = {
  magic = ProtoField.uint16("bw.magic", "Magic", base.HEX),
  version = ProtoField.uint8("bw.version", "Version", base.DEC, nil, 0xf0),
  message = ProtoField.uint8("bw.message", "Message", base.DEC, messages, 0x0f),
  again = ProtoField.bool("bw.again", "Sent before", 8, nil, 0x01),
  incast = ProtoField.bool("bw.incast", "Of an incast", 8, nil, 0x02),
  blocks = ProtoField.uint16("bw.blocks", "Blocks", base.HEX),
  length = ProtoField.uint8("bw.length", "Length in words"),
  flow = ProtoField.uint32("bw.flow", "Flow"),
  number = ProtoField.uint32("bw.number", "Number"),
  hash = ProtoField.uint32("bw.hash", "Hash", base.HEX),
  slot = ProtoField.uint32("bw.slot", "Slot at the sender"),
  queue = ProtoField.uint16("bw.queue", "Queue upstream"),
  level = ProtoField.uint16("bw.level", "Level"),
  link_number = ProtoField.uint32("bw.link_number", "Number on the link"),
  credit = ProtoField.uint32("bw.credit", "Credit"),
  sent = ProtoField.uint64("bw.sent", "Sent at (ps)"),
  remaining = ProtoField.uint64("bw.remaining", "Remaining"),
  done = ProtoField.uint64("bw.done", "Done at (ps)"),
  host = ProtoField.uint64("bw.host", "Time at the host (ps)"),
  switches = ProtoField.uint16("bw.way.switches", "Switches of the way"),
  port = ProtoField.uint16("bw.way.port", "Port of entry"),
  arrived_below = ProtoField.uint32("bw.arrived_below", "All packets below arrived"),
  marks = ProtoField.uint32("bw.marks", "Marks", base.HEX),
}
extension.fields = ext

-- What the blocks hold, lowest bit first: pairs of field and bytes.
local blocks = {
  { { ext.queue, 2 }, { ext.level, 2 } },
  { { ext.link_number, 4 } },
  { { ext.credit, 4 } },
  { { ext.sent, 8 } },
  { { ext.remaining, 8 } },
  { { ext.done, 8 } },
  { { ext.host, 8 } },
}
local WAY = 0x80
local WAY_PORTS = 15
local WAY_BYTES = 32
local ARRIVED = 0x100
local MARKS = 0x200

--- Dissects an extension header at the beginning of `tvb`. Returns its bytes, or 0 if there is none.
local function dissect_extension(tvb, pinfo, tree)
  if tvb:len() < 24 or tvb(0, 2):uint() ~= MAGIC then
    return 0
  end
  local bytes = math.min(tvb(6, 1):uint() * 4, tvb:len())
  local sub = tree:add(extension, tvb(0, bytes))
  sub:add(ext.magic, tvb(0, 2))
  sub:add(ext.version, tvb(2, 1))
  sub:add(ext.message, tvb(2, 1))
  sub:add(ext.again, tvb(3, 1))
  sub:add(ext.incast, tvb(3, 1))
  sub:add(ext.blocks, tvb(4, 2))
  sub:add(ext.length, tvb(6, 1))
  sub:add(ext.flow, tvb(8, 4))
  sub:add(ext.number, tvb(12, 4))
  sub:add(ext.hash, tvb(16, 4))
  sub:add(ext.slot, tvb(20, 4))
  local present, at = tvb(4, 2):uint(), 24
  for nth, fields in ipairs(blocks) do
    if bit.band(present, bit.lshift(1, nth - 1)) ~= 0 then
      for _, field in ipairs(fields) do
        sub:add(field[1], tvb(at, field[2]))
        at = at + field[2]
      end
    end
  end
  if bit.band(present, WAY) ~= 0 then
    sub:add(ext.switches, tvb(at, 2))
    for nth = 1, math.min(tvb(at, 2):uint(), WAY_PORTS) do
      sub:add(ext.port, tvb(at + 2 * nth, 2))
    end
    at = at + WAY_BYTES
  end
  if bit.band(present, ARRIVED) ~= 0 then
    sub:add(ext.arrived_below, tvb(at, 4))
    at = at + 4
  end
  if bit.band(present, MARKS) ~= 0 then
    sub:add(ext.marks, tvb(at, 4))
  end
  local message = messages[bit.band(tvb(2, 1):uint(), 0x0f)] or "?"
  sub:append_text(string.format(": %s, flow %d, number %d", message, tvb(8, 4):uint(), tvb(12, 4):uint()))
  pinfo.cols.info = string.format("%s flow=%d number=%d", message, tvb(8, 4):uint(), tvb(12, 4):uint())
  return bytes
end

-- RoCEv2 ---------------------------------------------------------------------------------------

local udp_ports = DissectorTable.get("udp.port")
local infiniband = udp_ports:get_dissector(ROCE_PORT)
local roce = Proto("bwroce", "RoCEv2 with Backwater's extension header")

--- Bytes between the BTH and the extension header, by opcode.
local function transport_bytes(opcode)
  if opcode == 0x06 or opcode == 0x0a then
    return 16 -- RETH
  elseif opcode == 0x11 then
    return 4 -- AETH
  elseif opcode == 0x81 then
    return 16 -- zeros of a CNP
  end
  return 0
end

local function dissect_roce(tvb, pinfo, tree)
  if infiniband then
    infiniband:call(tvb, pinfo, tree)
  end
  local at = tvb:len() >= 12 and 12 + transport_bytes(tvb(0, 1):uint()) or tvb:len()
  if at < tvb:len() then
    dissect_extension(tvb(at):tvb(), pinfo, tree)
  end
  return tvb:len()
end

function roce.dissector(tvb, pinfo, tree)
  return dissect_roce(tvb, pinfo, tree)
end

-- Messages of receiver-driven transports -------------------------------------------------------

local message = Proto("bwmessage", "Backwater message of a receiver-driven transport")

function message.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "BW"
  return dissect_extension(tvb, pinfo, tree)
end

-- Telemetry ------------------------------------------------------------------------------------

local int = Proto("bwint", "In-band telemetry")
int.prefs.queue_bits = Pref.uint("Bits of the queue length (16 or 17)", 16, "int.queue_bits of the scenario")
int.prefs.multiplier = Pref.uint("Multiplier of the units", 1, "int.multiplier of the scenario")

local tele = {
  hops = ProtoField.uint8("bwint.hops", "Switches"),
  path = ProtoField.uint16("bwint.path", "Path", base.HEX),
  port = ProtoField.uint16("bwint.port", "UDP port without INT"),
  version = ProtoField.uint8("bwint.version", "Version", base.DEC, nil, 0xf0),
  words = ProtoField.uint8("bwint.words", "Words behind the shim"),
  left = ProtoField.uint8("bwint.hops_left", "Remaining hops"),
  instructions = ProtoField.uint16("bwint.instructions", "Instructions", base.HEX),
  domain = ProtoField.uint16("bwint.domain", "Domain", base.HEX),
  own = ProtoField.uint16("bwint.domain_instructions", "Instructions of the domain", base.HEX),
  hop = ProtoField.bytes("bwint.hop", "Switch"),
  rate = ProtoField.uint32("bwint.hop.rate", "Rate (Mbit/s; 0: not stated)"),
  time = ProtoField.uint64("bwint.hop.time", "Time (ps)"),
  sent = ProtoField.uint64("bwint.hop.sent", "Bytes sent"),
  queue = ProtoField.uint32("bwint.hop.queue", "Bytes queued"),
}
int.fields = tele

local RATES = { 25000, 50000, 100000, 200000, 400000, 800000, 10000, 40000, 1600000, 1000, 2500, 5000 }

--- Dissects the paper's form. Returns its bytes.
local function dissect_paper(tvb, tree)
  local count = bit.rshift(tvb(0, 1):uint(), 4)
  local bytes = 2 + 8 * count
  local sub = tree:add(int, tvb(0, bytes))
  sub:add(tele.hops, tvb(0, 1), count)
  sub:add(tele.path, tvb(0, 2), bit.band(tvb(0, 2):uint(), 0x0fff))
  local queue_bits = int.prefs.queue_bits
  local rates = 2 ^ (20 - queue_bits) - 1
  for nth = 0, count - 1 do
    local record = tvb(2 + 8 * nth, 8)
    local hop = sub:add(tele.hop, record)
    local code = record:bitfield(0, 20 - queue_bits)
    local time = record:bitfield(20 - queue_bits, 24)
    local sent = record:bitfield(44 - queue_bits, 20)
    local queue = record:bitfield(64 - queue_bits, queue_bits)
    hop:add(tele.rate, record, code < rates and RATES[code + 1] or 0)
    hop:add(tele.time, record, UInt64(time) * 1000)
    hop:add(tele.sent, record, UInt64(sent) * 128 * int.prefs.multiplier)
    hop:add(tele.queue, record, queue * 80 * int.prefs.multiplier)
    hop:set_text(string.format("Switch %d: %d bytes queued", nth + 1, queue * 80 * int.prefs.multiplier))
  end
  sub:append_text(string.format(": %d switches", count))
  return bytes
end

--- Dissects INT-MD 2.1. Returns its bytes and the port without INT.
local function dissect_md(tvb, tree)
  local bytes = 4 + 4 * tvb(1, 1):uint()
  local hop_bytes = 4 * bit.band(tvb(6, 1):uint(), 0x1f)
  local count = hop_bytes > 0 and math.floor((bytes - 16) / hop_bytes) or 0
  local sub = tree:add(int, tvb(0, bytes))
  sub:add(tele.words, tvb(1, 1))
  sub:add(tele.port, tvb(2, 2))
  sub:add(tele.version, tvb(4, 1))
  sub:add(tele.left, tvb(7, 1))
  sub:add(tele.instructions, tvb(8, 2))
  sub:add(tele.domain, tvb(10, 2))
  sub:add(tele.own, tvb(12, 2))
  sub:add(tele.path, tvb(14, 2))
  sub:add(tele.hops, tvb(1, 1), count)
  -- The newest is in front; they are shown in the order of the way.
  for nth = 1, count do
    local record = tvb(bytes - hop_bytes * nth, hop_bytes)
    local hop = sub:add(tele.hop, record)
    if hop_bytes == 24 and tvb(10, 2):uint() == MAGIC then
      hop:add(tele.time, record(0, 8))
      hop:add(tele.sent, record(8, 8))
      hop:add(tele.queue, record(16, 4))
      hop:add(tele.rate, record(20, 4))
      hop:set_text(string.format("Switch %d: %d bytes queued", nth, record(16, 4):uint()))
    end
  end
  sub:append_text(string.format(": %d switches", count))
  return bytes, tvb(2, 2):uint()
end

local paper_port = Proto("bwpaper", "RoCEv2 behind INT of the HPCC paper")

function paper_port.dissector(tvb, pinfo, tree)
  local bytes = dissect_paper(tvb, tree)
  return bytes + dissect_roce(tvb(bytes):tvb(), pinfo, tree)
end

local md_port = Proto("bwmd", "RoCEv2 behind INT-MD")

function md_port.dissector(tvb, pinfo, tree)
  local bytes, port = dissect_md(tvb, tree)
  local rest = tvb(bytes):tvb()
  if port == MESSAGE_PORT then
    return bytes + dissect_extension(rest, pinfo, tree)
  end
  return bytes + dissect_roce(rest, pinfo, tree)
end

-- Frames between neighbours --------------------------------------------------------------------

local link = Proto("bwlink", "Backwater frame between neighbours")

local schemes = { [1] = "BFC", [2] = "Floodgate", [3] = "CBFC", [4] = "LLR" }
local near = {
  version = ProtoField.uint8("bwlink.version", "Version", base.DEC, nil, 0xf0),
  scheme = ProtoField.uint8("bwlink.scheme", "Scheme", base.DEC, schemes),
  frame = ProtoField.uint8("bwlink.frame", "Frame"),
  pause = ProtoField.bool("bwlink.pause", "Pause", 8, nil, 0x01),
  line_bytes = ProtoField.uint16("bwlink.line_bytes", "Bytes on the line"),
  entries = ProtoField.uint16("bwlink.entries", "Entries"),
  queue = ProtoField.uint16("bwlink.queue", "Queue"),
  flow = ProtoField.uint32("bwlink.flow", "Flow"),
  paused = ProtoField.uint32("bwlink.paused", "Paused queue"),
  destination = ProtoField.uint32("bwlink.destination", "Destination"),
  units = ProtoField.uint32("bwlink.units", "Units"),
  number = ProtoField.uint32("bwlink.number", "Number"),
  class = ProtoField.uint8("bwlink.class", "Class"),
  credits = ProtoField.uint24("bwlink.credits", "Credits"),
}
link.fields = near

local function credit(tree, tvb, at)
  tree:add(near.destination, tvb(at, 4))
  tree:add(near.units, tvb(at + 4, 4))
  tree:add(near.number, tvb(at + 8, 4))
end

-- For each scheme and frame: its name, and what shows its body.
local frames = {
  [1] = {
    [0] = { "pause of a queue", function(tree, tvb) tree:add(near.queue, tvb(8, 2)) end },
    [1] = { "pause of a flow", function(tree, tvb)
      tree:add(near.queue, tvb(8, 2))
      tree:add(near.flow, tvb(12, 4))
    end },
    [2] = { "bitmap of paused queues", function(tree, tvb)
      for at = 0, tvb(6, 2):uint() - 1 do
        local byte = tvb(8 + at, 1)
        for place = 0, 7 do
          if bit.band(byte:uint(), bit.lshift(1, place)) ~= 0 then
            tree:add(near.paused, byte, at * 8 + place)
          end
        end
      end
    end },
  },
  [2] = {
    [0] = { "credit", function(tree, tvb) credit(tree, tvb, 8) end },
    [1] = { "credits", function(tree, tvb)
      for nth = 0, tvb(6, 2):uint() - 1 do
        credit(tree, tvb, 8 + 12 * nth)
      end
    end },
    [2] = { "switchSYN", function(tree, tvb)
      tree:add(near.destination, tvb(8, 4))
      tree:add(near.number, tvb(12, 4))
    end },
    [3] = { "dstPause", function(tree, tvb) tree:add(near.destination, tvb(8, 4)) end },
  },
}
local function update(tree, tvb)
  tree:add(near.class, tvb(8, 1))
  tree:add(near.credits, tvb(9, 3))
end
frames[3] = { [0] = { "CF_Update", update }, [1] = { "CC_Update", update } }
local function numbered(tree, tvb) tree:add(near.number, tvb(8, 4)) end
frames[4] = { [0] = { "ACK", numbered }, [1] = { "NACK", numbered } }

function link.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "BW"
  local sub = tree:add(link, tvb())
  local scheme, frame = tvb(1, 1):uint(), tvb(2, 1):uint()
  sub:add(near.version, tvb(0, 1))
  sub:add(near.scheme, tvb(1, 1))
  sub:add(near.frame, tvb(2, 1))
  sub:add(near.pause, tvb(3, 1))
  sub:add(near.line_bytes, tvb(4, 2))
  sub:add(near.entries, tvb(6, 2))
  local known = frames[scheme] and frames[scheme][frame]
  local name = known and known[1] or "unknown frame"
  if known then
    known[2](sub, tvb)
  end
  if name:find("^pause") or name == "dstPause" then
    name = name .. (tvb(3, 1):uint() == 1 and " (on)" or " (off)")
  end
  local text = string.format("%s: %s", schemes[scheme] or "unknown scheme", name)
  sub:append_text(", " .. text)
  pinfo.cols.info = text
  return tvb:len()
end

-- Who sees what --------------------------------------------------------------------------------

udp_ports:set(ROCE_PORT, roce)
udp_ports:add(PAPER_PORT, paper_port)
udp_ports:add(MD_PORT, md_port)
udp_ports:add(MESSAGE_PORT, message)
DissectorTable.get("ethertype"):add(OURS, link)
