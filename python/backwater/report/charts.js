// Draws the figures of a page with BokehJS, as plots/charts.py describes them.
"use strict";

const Backwater = { schemes: {}, hidden: new Set(), redraws: [] };

// A number as people read it: three digits, and a unit.
Backwater.text = (value, unit) => {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const short = (v) => String(Number(v.toPrecision(3)));
  if (unit === "share") return `${short(100 * value)} %`;
  if (unit === "bytes") {
    for (const [name, size] of [["GB", 1e9], ["MB", 1e6], ["KB", 1e3]])
      if (value >= size) return `${short(value / size)} ${name}`;
    return `${short(value)} B`;
  }
  const plain = Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : short(value);
  return unit ? `${plain} ${unit}` : plain;
};

// Bokeh has no scale that holds 0 and is logarithmic above: log1p is drawn on a linear one.
const forward = (axis) => (axis.scale === "log1p" ? Math.log1p : (v) => v);
const backward = (axis) => (axis.scale === "log1p" ? Math.expm1 : (v) => v);

// About how many pixels a letter of a label takes, and the room between two labels.
const LETTER = 6.5;
const BETWEEN = 10;

// The scripts of Bokeh's formatters know nothing but the page. The label of an axis has its unit, unless
// values are written in a unit of their own.
Backwater.tick = (value, unit, scale) =>
  // What comes back through a logarithm misses 1000 by a hair.
  Backwater.text(Number(backward({ scale })(value).toPrecision(12)), ["bytes", "share"].includes(unit) ? unit : "");

// Evenly spaced ticks between two values: at most so many.
const evenTicks = (low, high, most) => {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const first = Math.ceil(low / step);
  const even = Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
  return even.filter((_, i) => i % Math.ceil(even.length / most) === 0);
};

// Ticks of a logarithmic axis: as many of a decade as have room, and even steps where it shows less than one.
Backwater.logTicks = (start, end, most) => {
  const [low, high] = [Math.min(start, end), Math.max(start, end)];
  if (!(low > 0)) return [];
  const decades = [];
  for (let d = Math.floor(Math.log10(low)); d <= Math.log10(high); d++) decades.push(d);
  const within = (ticks) => ticks.filter((tick) => low <= tick && tick <= high);
  const sets = [[1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]].map((of) =>
    within(decades.flatMap((d) => of.map((m) => Number(`${m}e${d}`)))));
  if (sets[0].length < 2) return evenTicks(low, high, most);
  const found = sets.find((ticks) => ticks.length <= most);
  const decadesAlone = sets.at(-1);
  return found ?? decadesAlone.filter((_, i) => i % Math.ceil(decadesAlone.length / most) === 0);
};

// Ticks of an axis that holds 0 and is logarithmic above, where they are drawn: as many of a decade as have room in so
// many pixels.
Backwater.log1pTicks = (start, end, room) => {
  const [low, high] = [Math.expm1(start), Math.expm1(end)];
  const perUnit = room / (end - start);
  const width = (tick) => LETTER * Backwater.text(tick).length + BETWEEN;
  const meet = (a, b) => (Math.log1p(b) - Math.log1p(a)) * perUnit < (width(a) + width(b)) / 2;
  const sets = [[1, 2, 5], [1, 3], [1]].map((of) =>
    [0, ...[...Array(12).keys()].flatMap((d) => of.map((m) => Number(`${m}e${d}`)))]
      .filter((tick) => low <= tick && tick <= high));
  const most = Math.max(Math.floor(room / 50), 2);
  const chosen = sets[0].length < 2 ? evenTicks(low, high, most)
    : sets.find((ticks) => !ticks.some((tick, i) => i && meet(ticks[i - 1], tick)))
      ?? sets.at(-1).reduce((kept, tick) => (kept.length && meet(kept.at(-1), tick) ? kept : [...kept, tick]), []);
  return chosen.map(Math.log1p);
};

// Words in lines of at most so many letters, where words are not longer.
const wrapped = (text, letters) => text.split(" ").reduce((lines, word) => {
  const longer = `${lines.at(-1)} ${word}`;
  return longer.length > letters ? [...lines, word] : [...lines.slice(0, -1), longer];
}, [""]).map((line) => line.trim()).filter(Boolean).join("\n");

// Dresses an axis; room is how many pixels a horizontal one has, its ticks' labels beside each other.
function dressAxis(model, axis, room = null) {
  Object.assign(model, {
    axis_label: room ? wrapped(axis.label, room / LETTER) : axis.label, axis_label_text_font_style: "normal", axis_label_text_font_size: "12px",
    axis_label_text_color: "#1f2933", major_label_text_color: "#3e4c59",
    major_label_text_font_size: "11px", axis_line_color: "#9aa5b1",
    major_tick_line_color: "#9aa5b1", minor_tick_line_color: null,
    major_label_text_font: "system-ui, sans-serif", axis_label_text_font: "system-ui, sans-serif",
  });
  if (axis.ticks.length) {
    model.ticker = new Bokeh.FixedTicker({ ticks: axis.ticks.map(([at]) => forward(axis)(at)) });
    model.major_label_overrides = new Map(axis.ticks.map(([at, words]) => [forward(axis)(at), words]));
    const longest = Math.max(...axis.ticks.map(([, words]) => words.length));
    if (room && longest * LETTER + BETWEEN > room / axis.ticks.length) model.major_label_orientation = 0.6;
    return;
  }
  model.formatter = new Bokeh.CustomJSTickFormatter({
    code: `return Backwater.tick(tick, ${JSON.stringify(axis.unit)}, "${axis.scale}")`,
  });
  const most = room ? Math.max(Math.min(Math.floor(room / 50), 12), 3) : 7;
  const code = { log: `logTicks(cb_data.start, cb_data.end, ${most})`,
    log1p: `log1pTicks(cb_data.start, cb_data.end, ${room ?? 300})` }[axis.scale];
  if (code) model.ticker = new Bokeh.CustomJSTicker({ major_code: `return Backwater.${code}` });
  else if (room) model.ticker = new Bokeh.BasicTicker({ desired_num_ticks: Math.min(most, 6), num_minor_ticks: 0 });
}

// Where an axis begins and ends: as described, else with a little room around the data.
function bounds(axis, values) {
  const known = values.filter((v) => Number.isFinite(v) && (axis.scale !== "log" || v > 0));
  let low = known.length ? known.reduce((a, b) => Math.min(a, b)) : 1;
  let high = known.length ? known.reduce((a, b) => Math.max(a, b)) : 10;
  const f = forward(axis);
  if (axis.scale === "log") {
    const room = Math.max((high / low) ** 0.03, 1.03);
    [low, high] = [low / room, high * room];
  } else {
    const room = 0.03 * (f(high) - f(low) || Math.abs(f(high)) || 1);
    [low, high] = [f(low) - room, f(high) + room];
  }
  return [axis.start === null ? low : f(axis.start), axis.end === null ? high : f(axis.end)];
}

// The colour of a line: its own as a part of a stack or a state, else that of its scheme.
const colourOf = (line) => line.colour ?? Backwater.schemes[line.name]?.colour ?? "#6b7785";

// What of a panel is shown: the schemes that the reader left in. In a stack they are the places of x.
function withoutHidden(chart, panel) {
  if (chart.kind === "lanes") return panel;
  if (chart.kind !== "stack")
    return { ...panel, lines: panel.lines.filter((line) => !Backwater.hidden.has(line.name)) };
  const kept = panel.x.ticks.filter(([, name]) => !Backwater.hidden.has(name));
  const places = kept.map((_, i) => i);
  return {
    ...panel,
    x: { ...panel.x, ticks: kept.map(([, name], i) => [i, name]) },
    lines: panel.lines.map((line) => ({ ...line, x: places, y: kept.map(([place]) => line.y[place]) })),
  };
}

// Bars side by side, a colour for each scheme; or upon each other, a colour for each part.
function drawBars(plot, stacked, panel) {
  const base = new Map();
  const width = 0.8 / (stacked ? 1 : panel.lines.length);
  panel.lines.forEach((line, number) => {
    const left = stacked ? 0 : (number - (panel.lines.length - 1) / 2) * width;
    const bottom = line.x.map((at) => (stacked ? base.get(at) ?? 0 : 0));
    const top = line.y.map((value, i) => bottom[i] + value);
    line.x.forEach((at, i) => base.set(at, top[i]));
    plot.vbar({ x: line.x.map((at) => at + left), top, bottom, width: (stacked ? 0.8 : 0.92) * width,
      fill_color: colourOf(line), line_color: null });
    if (line.low) plot.segment({ x0: line.x.map((at) => at + left), x1: line.x.map((at) => at + left),
      y0: line.low, y1: line.high, line_color: "#1f2933", line_width: 1.5 });
    if (!line.marks) return;
    const marked = line.x.map((_, i) => i).filter((i) => line.marks[i] !== null);
    const [x, y] = [marked.map((i) => line.x[i] + left), marked.map((i) => line.marks[i])];
    plot.segment({ x0: x.map((at) => at - width / 2), x1: x.map((at) => at + width / 2), y0: y, y1: y,
      line_color: "#1f2933", line_width: 2.5 });
  });
}

// A heat map: a cell for each value, the darker the higher, with its text where there is room.
function drawCells(plot, panel, room) {
  const [columns, rows] = [panel.x.ticks.length, panel.y.ticks.length];
  for (const line of panel.lines) {
    const colours = line.until.map((shade) => `hsl(205 ${40 + 20 * shade}% ${94 - 62 * shade}%)`);
    plot.rect({ x: line.x, y: line.y, width: 0.96, height: 0.96, fill_color: colours, line_color: null });
    const longest = Math.max(...line.words.map((text) => text.length));
    if (longest * LETTER > room / columns || rows > 24) continue;
    const inks = line.until.map((shade) => (shade > 0.55 ? "#ffffff" : "#1f2933"));
    plot.text({ x: line.x, y: line.y, text: line.words, text_color: inks, text_align: "center",
      text_baseline: "middle", text_font_size: "11px", text_font: "system-ui, sans-serif" });
  }
}

// Lanes one below the other, a stretch of each state in its colour.
function drawLanes(plot, panel) {
  for (const line of panel.lines)
    plot.hbar({ y: line.y, left: line.x, right: line.until, height: 0.82, fill_color: colourOf(line), line_color: null });
}

// The state of a lane at a time, and which of its stretches that is.
function stretchAt(panel, lane, x) {
  for (const line of panel.lines) {
    const i = line.y.findIndex((at, k) => at === lane && line.x[k] <= x && x < line.until[k]);
    if (i >= 0) return { line, i };
  }
  return null;
}

// The words below lanes: states and their colours, and with a time what the lane is doing there. Keys come to lanes
// without a stretch, too, and have no time there.
function tellLane(readout, panel, lane, x) {
  const where = document.createElement("b");
  readout.replaceChildren(where);
  if (x === null) {
    where.textContent = "point at a lane";
    where.className = "hint";
    return null;
  }
  const name = `${panel.y.label} ${panel.y.ticks.find(([at]) => at === lane)?.[1]}`;
  if (x === undefined) {
    where.textContent = `${name}: nothing`;
    return null;
  }
  const found = stretchAt(panel, lane, x);
  where.textContent = `${name}, ${panel.x.label.split(" (")[0]} ${Backwater.text(x, panel.x.unit)}`;
  if (!found) return null;
  const value = document.createElement("output");
  value.textContent = found.line.words[found.i];
  const entry = named(found.line);
  entry.append(" ", value);
  readout.append(entry);
  return found;
}

// Lets pointer and keys read lanes: left and right go from stretch to stretch, up and down to other lanes.
function readLanes(plot, panel, picture, readout) {
  const frame = new Bokeh.BoxAnnotation({ fill_alpha: 0, line_alpha: 1, line_color: "#1f2933", line_width: 1.5, visible: false });
  plot.add_layout(frame);
  const show = (lane, x) => {
    const found = tellLane(readout, panel, lane, x);
    frame.visible = found !== null;
    if (found) frame.setv({ left: found.line.x[found.i], right: found.line.until[found.i], bottom: lane - 0.45, top: lane + 0.45 });
    return found;
  };
  const lanes = panel.y.ticks.map(([at]) => at);
  plot.on_event("mousemove", (event) => {
    const lane = Math.round(event.y);
    if (lanes.includes(lane)) show(lane, event.x);
  });
  plot.on_event("mouseleave", () => show(0, null));
  let lane = 0;
  let number = -1;
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (at, last) => Math.min(Math.max(at, 0), last);
    lane = within(lane + step[1], lanes.length - 1);
    const middles = panel.lines.flatMap((line) => line.x.map((from, i) => [line.y[i], (from + line.until[i]) / 2]))
      .filter(([at]) => at === lane).map(([, middle]) => middle).sort((a, b) => a - b);
    number = within(number + step[0], Math.max(middles.length - 1, 0));
    show(lane, middles[number]);
  });
  // Room for the words of a stretch, so that what is below does not move when they come.
  const [line] = panel.lines.filter((one) => one.x.length);
  if (line) tellLane(readout, panel, line.y[0], (line.x[0] + line.until[0]) / 2);
  readout.style.minHeight = `${readout.offsetHeight}px`;
  show(0, null);
}

function drawLine(plot, chart, panel, line) {
  const colour = colourOf(line);
  const x = line.x.map(forward(panel.x));
  const y = line.y.map(forward(panel.y));
  const dash = (Backwater.schemes[line.name]?.dash ?? []).map((d) => 1.8 * d);
  const stroke = { line_color: colour, line_width: 1.8, line_dash: dash };
  if (line.low) {
    plot.varea({ x, y1: line.low, y2: line.high, fill_color: colour, fill_alpha: 0.16 });
    plot.segment({ x0: x, x1: x, y0: line.low, y1: line.high, line_color: colour });
  }
  if (chart.kind === "step") plot.step([x[0], ...x], [panel.y.start ?? 0, ...y], "after", stroke);
  else plot.line(x, y, stroke);
  // A line through one point would not be seen.
  if (chart.kind === "points" || x.length === 1) plot.scatter(x, y, { size: 5, color: colour });
}

const isBars = (chart) => chart.kind === "bars" || chart.kind === "stack";

// How high the bars of a stack are.
const heights = (lines) => lines[0].x.map((at) => lines.reduce((sum, line) => sum + line.y[at], 0));

// The index of the value that holds at x: of a step the last one before, else the nearest.
function indexAt(line, x, kind, axis) {
  const f = axis.scale === "linear" ? (v) => v : Math.log1p;
  if (kind === "step") return line.x.reduce((found, at, i) => (at <= x ? i : found), -1);
  return line.x.reduce((best, at, i) =>
    (Math.abs(f(at) - f(x)) < Math.abs(f(line.x[best]) - f(x)) ? i : best), 0);
}

// The name of a line beside its colour.
function named(line) {
  const entry = document.createElement("span");
  const swatch = document.createElement("i");
  swatch.style.background = colourOf(line);
  entry.append(swatch, line.name);
  return entry;
}

// The words below a panel: a legend, and with a position the value of each line there.
function tell(readout, chart, panel, x) {
  readout.replaceChildren();
  const where = document.createElement("b");
  if (x === null) where.textContent = isBars(chart) ? "point at a bar" : "point at the curves";
  else {
    const tick = panel.x.ticks.find(([at]) => at === x);
    where.textContent = tick ? tick[1] : `${panel.x.label.split(" (")[0]} ${Backwater.text(x, panel.x.unit)}`;
  }
  where.className = x === null ? "hint" : "";
  readout.append(where);
  const stacked = chart.kind === "stack";
  if (stacked && x !== null)
    where.append(`: ${Backwater.text(heights(panel.lines)[x], panel.y.unit)} together`);
  for (const line of panel.lines) {
    // The parts of a stack are named once, above its panels; the smallest are in the table.
    if (stacked && !(line.y[x] >= 0.005 * heights(panel.lines)[x])) continue;
    const entry = named(line);
    if (x !== null) {
      const i = indexAt(line, x, chart.kind, panel.x);
      const value = document.createElement("output");
      const words = (numbers) => Backwater.text(numbers[i], panel.y.unit);
      const mark = line.marks?.[i] ?? null;
      value.textContent = i < 0 ? Backwater.text(panel.y.unit === "share" ? 0 : null, "share")
        : words(line.y) + (line.low ? ` [${words(line.low)}, ${words(line.high)}]` : "")
          + (mark === null ? "" : ` of ${words(line.marks)} (${Backwater.text(line.y[i] / mark, "share")})`);
      entry.append(" ", value);
    }
    readout.append(entry);
  }
}

function drawPanel(chart, whole, box, count, last) {
  const panel = withoutHidden(chart, whole);
  const bars = isBars(chart);
  // Axes stay when schemes come and go, but where the schemes are the axis.
  const { lines } = chart.kind === "stack" ? panel : whole;
  const isLanes = chart.kind === "lanes";
  const xs = lines.flatMap((line) => line.x);
  const ys = chart.kind === "stack" ? heights(lines)
    : lines.flatMap((line) => [...line.y, ...(line.low ?? []), ...(line.high ?? []),
      ...(line.marks ?? []).filter((mark) => mark !== null)]);
  const [x0, x1] = bars && xs.length ? [Math.min(...xs) - 0.55, Math.max(...xs) + 0.55] : bounds(panel.x, xs);
  // The first lane is the highest.
  const [y0, y1] = isLanes ? [panel.y.ticks.length - 0.5, -0.5] : bounds(panel.y, ys);
  const plot = Bokeh.Plotting.figure({
    height: isLanes ? 90 + Math.max(panel.y.ticks.length * 12, 80)
      : chart.column ? (last ? 190 : 150) : count > 1 ? 300 : 340,
    sizing_mode: "stretch_width", output_backend: "svg",
    x_axis_type: panel.x.scale === "log" ? "log" : "linear",
    y_axis_type: panel.y.scale === "log" ? "log" : "linear",
    x_range: new Bokeh.Range1d({ start: x0, end: x1 }),
    y_range: new Bokeh.Range1d({ start: y0, end: y1 }),
    tools: chart.column ? "xpan,xbox_zoom,reset,save" : "pan,box_zoom,reset,save", toolbar_location: "right",
    active_drag: chart.column ? "xbox_zoom" : "box_zoom",
    background_fill_color: null, border_fill_color: null, outline_line_color: null,
    min_border_right: 12, min_border_left: chart.column ? 80 : undefined,
  });
  plot.toolbar.logo = null;
  plot.toolbar.autohide = true;
  // In narrow windows panels stand below each other, and each is as wide as the window.
  const columns = box.clientWidth < 700 ? 1 : count;
  const besides = 75;  // What the other axis and the toolbar take.
  dressAxis(plot.xaxes[0], panel.x, box.clientWidth / columns - besides);
  dressAxis(plot.yaxes[0], panel.y);
  for (const [grid, axis] of [[plot.xgrids[0], plot.xaxes[0]], [plot.ygrids[0], plot.yaxes[0]]])
    Object.assign(grid, { grid_line_color: "#dfe4ea", ticker: axis.ticker });
  if (bars) plot.xgrids[0].grid_line_color = null;
  if (chart.column && !last) plot.xaxes[0].visible = false;
  if (isLanes) plot.ygrids[0].grid_line_color = null;
  const isCells = chart.kind === "cells";
  if (isCells) plot.xgrids[0].grid_line_color = plot.ygrids[0].grid_line_color = null;
  if (isCells) drawCells(plot, panel, box.clientWidth / columns - besides);
  else if (isLanes) drawLanes(plot, panel);
  else if (bars) drawBars(plot, chart.kind === "stack", panel);
  else for (const line of panel.lines) drawLine(plot, chart, panel, line);

  const holder = document.createElement("div");
  holder.className = "panel";
  if (panel.title) {
    const title = document.createElement("h3");
    title.textContent = panel.title;
    holder.append(title);
  }
  const picture = document.createElement("div");
  picture.className = "picture";
  picture.tabIndex = 0;
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label",
    `${chart.title}${panel.title ? `, ${panel.title}` : ""}: ${panel.y.label} over ${panel.x.label}. ` +
    (isCells ? "The table has the values."
      : `Left and right arrow keys read the values${isLanes ? ", up and down choose the lane" : ""}.`));
  const readout = document.createElement("p");
  readout.className = "readout";
  readout.setAttribute("aria-live", "polite");
  holder.append(picture, readout);
  box.append(holder);

  if (isLanes) readLanes(plot, panel, picture, readout);
  if (isLanes || isCells) return Bokeh.Plotting.show(plot, picture);

  const stops = [...new Set(xs)].sort((a, b) => a - b);
  const cross = new Bokeh.Span({ dimension: "height", line_color: "#9aa5b1", line_dash: [3, 3], visible: false });
  plot.add_layout(cross);
  const point = (place) => {
    // Steps have a value everywhere; of other lines only the points have.
    const x = place === null || chart.kind === "step" ? place : stops[indexAt({ x: stops }, place, chart.kind, panel.x)];
    cross.visible = x !== null && !bars;
    if (x !== null) cross.location = forward(panel.x)(x);
    tell(readout, chart, panel, x);
  };
  box.points.push(point);
  if (chart.column) {
    // All show the same part of time.
    box.ranges.push(plot.x_range);
    plot.x_range.change.connect(() => {
      for (const other of box.ranges) other.setv({ start: plot.x_range.start, end: plot.x_range.end });
    });
  }
  const all = (x) => (chart.column ? box.points.forEach((other) => other(x)) : point(x));
  plot.on_event("mousemove", (event) => all(backward(panel.x)(event.x)));
  plot.on_event("mouseleave", () => all(null));
  let stop = -1;
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !stops.length) return;
    event.preventDefault();
    const stride = event.shiftKey ? 1 : Math.max(1, Math.round(stops.length / 40));
    stop = Math.min(Math.max(stop + step * stride, 0), stops.length - 1);
    all(stops[stop]);
  });
  // Room for the values, so that what is below does not move when they come.
  if (stops.length) tell(readout, chart, panel, stops[Math.floor(stops.length / 2)]);
  readout.style.minHeight = `${readout.offsetHeight}px`;
  point(null);
  return Bokeh.Plotting.show(plot, picture);
}

// Draws a chart, and again whenever the reader chooses another view or other schemes.
Backwater.drawChart = (chart) => {
  const figure = document.getElementById(chart.key);
  const box = figure.querySelector(".panels");
  const select = figure.querySelector("select");
  const draw = () => {
    const panels = chart.views[select ? Number(select.value) : 0];
    for (const view of box.views ?? []) view.model.document?.clear();
    box.replaceChildren();
    if (chart.kind === "stack" || chart.kind === "lanes") {
      const parts = new Map(panels.flatMap((panel) => panel.lines).map((line) => [line.name, line]));
      const legend = document.createElement("p");
      legend.className = "readout legend";
      legend.append(...[...parts.values()].map(named));
      box.append(legend);
    }
    [box.points, box.ranges] = [[], []];
    box.style.setProperty("--panels", chart.column ? 1 : panels.length);
    return Promise.all(panels.map((panel, i) =>
      drawPanel(chart, panel, box, chart.column ? 1 : panels.length, i === panels.length - 1)))
      .then((views) => { box.views = views; box.dataset.drawn = chart.key; });
  };
  select?.addEventListener("change", draw);
  Backwater.redraws.push(draw);
  return draw();
};
