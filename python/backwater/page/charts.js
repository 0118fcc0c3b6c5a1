// Draws the figures of a page with BokehJS, from what page/charts.py describes.
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
const LOG1P_TICKS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

// The scripts of Bokeh's formatters know nothing but the page.
Backwater.tick = (value, unit, scale) =>
  Backwater.text(backward({ scale })(value), unit);

function dressAxis(model, axis) {
  Object.assign(model, {
    axis_label: axis.label, axis_label_text_font_style: "normal", axis_label_text_font_size: "12px",
    axis_label_text_color: "#1f2933", major_label_text_color: "#3e4c59",
    major_label_text_font_size: "11px", axis_line_color: "#9aa5b1",
    major_tick_line_color: "#9aa5b1", minor_tick_line_color: null,
    major_label_text_font: "system-ui, sans-serif", axis_label_text_font: "system-ui, sans-serif",
  });
  const places = axis.ticks.length ? axis.ticks.map(([at]) => at)
    : axis.scale === "log1p" ? LOG1P_TICKS : null;
  if (places) model.ticker = new Bokeh.FixedTicker({ ticks: places.map(forward(axis)) });
  if (axis.ticks.length) {
    model.major_label_overrides = new Map(axis.ticks.map(([at, words]) => [forward(axis)(at), words]));
    const letters = axis.ticks.reduce((sum, [, words]) => sum + words.length, 0);
    if (letters > 60) model.major_label_orientation = 0.6;
  } else {
    model.formatter = new Bokeh.CustomJSTickFormatter({
      code: `return Backwater.tick(tick, ${JSON.stringify(axis.unit)}, "${axis.scale}")`,
    });
    if (axis.scale === "log") model.ticker = new Bokeh.LogTicker({ desired_num_ticks: 5, mantissas: [1, 2, 5] });
  }
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

function drawLine(plot, chart, panel, line, number, base) {
  const look = Backwater.schemes[line.name] ?? { colour: "#6b7785", dash: [] };
  const x = line.x.map(forward(panel.x));
  const y = line.y.map(forward(panel.y));
  const stroke = { line_color: look.colour, line_width: 1.8, line_dash: look.dash.map((d) => 1.8 * d) };
  const made = [];
  if (chart.kind === "bars") {
    const width = 0.8 / (chart.stacked ? 1 : panel.lines.length);
    const left = chart.stacked ? 0 : (number - (panel.lines.length - 1) / 2) * width;
    const bottom = x.map((at) => (chart.stacked ? base.get(at) ?? 0 : 0));
    const top = y.map((value, i) => bottom[i] + value);
    x.forEach((at, i) => base.set(at, top[i]));
    made.push(plot.vbar({ x: x.map((at) => at + left), top, bottom, width: 0.92 * width,
      fill_color: look.colour, line_color: null }));
    return made;
  }
  if (line.low) {
    made.push(plot.varea({ x, y1: line.low, y2: line.high, fill_color: look.colour, fill_alpha: 0.16 }));
    made.push(plot.segment({ x0: x, x1: x, y0: line.low, y1: line.high, line_color: look.colour }));
  }
  made.push(chart.kind === "step"
    ? plot.step([x[0], ...x], [panel.y.start ?? 0, ...y], "after", stroke)
    : plot.line(x, y, stroke));
  if (chart.kind === "points") made.push(plot.scatter(x, y, { size: 5, color: look.colour }));
  return made;
}

// The index of the value that holds at x: of a step the last one before, else the nearest.
function indexAt(line, x, kind, axis) {
  const f = axis.scale === "linear" ? (v) => v : Math.log1p;
  if (kind === "step") return line.x.reduce((found, at, i) => (at <= x ? i : found), -1);
  return line.x.reduce((best, at, i) =>
    (Math.abs(f(at) - f(x)) < Math.abs(f(line.x[best]) - f(x)) ? i : best), 0);
}

// The words below a panel: a legend, and with a position the value of each line there.
function tell(readout, chart, panel, x) {
  readout.replaceChildren();
  const where = document.createElement("b");
  if (x === null) where.textContent = chart.kind === "bars" ? "point at a bar" : "point at the curves";
  else {
    const tick = panel.x.ticks.find(([at]) => at === x);
    where.textContent = tick ? tick[1] : `${panel.x.label.split(" (")[0]} ${Backwater.text(x, panel.x.unit)}`;
  }
  where.className = x === null ? "hint" : "";
  readout.append(where);
  for (const line of panel.lines) {
    if (Backwater.hidden.has(line.name)) continue;
    const entry = document.createElement("span");
    const swatch = document.createElement("i");
    swatch.style.background = Backwater.schemes[line.name]?.colour ?? "#6b7785";
    entry.append(swatch, line.name);
    if (x !== null) {
      const i = indexAt(line, x, chart.kind, panel.x);
      const value = document.createElement("output");
      const words = (numbers) => Backwater.text(numbers[i], panel.y.unit);
      value.textContent = i < 0 ? Backwater.text(panel.y.unit === "share" ? 0 : null, "share")
        : words(line.y) + (line.low ? ` [${words(line.low)}, ${words(line.high)}]` : "");
      entry.append(" ", value);
    }
    readout.append(entry);
  }
}

function drawPanel(chart, panel, box, height) {
  const shown = panel.lines.filter((line) => !Backwater.hidden.has(line.name));
  const xs = panel.lines.flatMap((line) => line.x);
  const ys = panel.lines.flatMap((line) => [...line.y, ...(line.low ?? []), ...(line.high ?? [])]);
  const bars = chart.kind === "bars";
  const [x0, x1] = bars ? [Math.min(...xs) - 0.55, Math.max(...xs) + 0.55] : bounds(panel.x, xs);
  const [y0, y1] = bounds(panel.y, ys);
  const plot = Bokeh.Plotting.figure({
    height, sizing_mode: "stretch_width", output_backend: "svg",
    x_axis_type: panel.x.scale === "log" ? "log" : "linear",
    y_axis_type: panel.y.scale === "log" ? "log" : "linear",
    x_range: new Bokeh.Range1d({ start: x0, end: x1 }),
    y_range: new Bokeh.Range1d({ start: y0, end: y1 }),
    tools: "pan,box_zoom,reset,save", toolbar_location: "right",
    active_drag: "box_zoom",
    background_fill_color: null, border_fill_color: null, outline_line_color: null,
    min_border_right: 12,
  });
  plot.toolbar.logo = null;
  plot.toolbar.autohide = true;
  dressAxis(plot.xaxes[0], panel.x);
  dressAxis(plot.yaxes[0], panel.y);
  for (const [grid, axis] of [[plot.xgrids[0], plot.xaxes[0]], [plot.ygrids[0], plot.yaxes[0]]])
    Object.assign(grid, { grid_line_color: "#dfe4ea", ticker: axis.ticker });
  if (bars) plot.xgrids[0].grid_line_color = null;
  const base = new Map();
  shown.forEach((line, number) => drawLine(plot, { ...chart }, { ...panel, lines: shown }, line, number, base));

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
    "Left and right arrow keys read the values.");
  const readout = document.createElement("p");
  readout.className = "readout";
  readout.setAttribute("aria-live", "polite");
  holder.append(picture, readout);
  box.append(holder);

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
  plot.on_event("mousemove", (event) => point(backward(panel.x)(event.x)));
  plot.on_event("mouseleave", () => point(null));
  let stop = -1;
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !stops.length) return;
    event.preventDefault();
    const stride = event.shiftKey ? 1 : Math.max(1, Math.round(stops.length / 40));
    stop = Math.min(Math.max(stop + step * stride, 0), stops.length - 1);
    point(stops[stop]);
  });
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
    box.style.setProperty("--panels", panels.length);
    return Promise.all(panels.map((panel) => drawPanel(chart, panel, box, panels.length > 1 ? 300 : 340)))
      .then((views) => { box.views = views; box.dataset.drawn = chart.key; });
  };
  select?.addEventListener("change", draw);
  Backwater.redraws.push(draw);
  return draw();
};
