// The network over time: what page/network.py gathered, drawn with BokehJS, with a slider.
"use strict";

const Backwater = {};

// A number with three digits and its unit.
Backwater.text = (value, unit) => {
  const short = (v) => String(Number(v.toPrecision(3)));
  if (unit === "share") return `${short(100 * value)} %`;
  if (unit === "bytes") {
    for (const [name, size] of [["GB", 1e9], ["MB", 1e6], ["KB", 1e3]])
      if (value >= size) return `${short(value / size)} ${name}`;
    return `${short(value)} B`;
  }
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : short(value);
};

Backwater.drawNetwork = (net) => {
  const figure = document.getElementById("network");
  const part = (name) => figure.querySelector(`[name=${name}]`);
  const [scheme, shows, slider] = ["scheme", "shows", "time"].map(part);
  const told = { time: figure.querySelector("output.time"), words: figure.querySelector(".told") };
  const play = figure.querySelector("button.play");

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const runs = Object.fromEntries(Object.entries(net.runs).map(([name, run]) => [name, {
    ...run,
    buffers: new Uint16Array(bytes(run.buffers).buffer),
    used: bytes(run.used),
    paused: run.paused && bytes(run.paused),
    root: run.root && bytes(run.root),
  }]));

  // A link has two directions, drawn side by side, each on the right of its sender.
  const hosts = net.tiers[0];
  const count = Math.max(...net.tiers.map((tier) => net.tiers.filter((t) => t === tier).length));
  const apart = Math.min(0.25 / count, 0.006);
  const line = { x0: [], y0: [], x1: [], y1: [], from: [], to: [] };
  for (const [a, b] of net.links) {
    const side = net.y[a] === net.y[b] ? 0 : (net.y[b] > net.y[a] ? apart : -apart) / 2;
    line.x0.push(net.x[a] + side); line.y0.push(net.y[a]);
    line.x1.push(net.x[b] + side); line.y1.push(net.y[b]);
    line.from.push(net.names[a]); line.to.push(net.names[b]);
  }
  // Links of which there is something to show are drawn above all others.
  const nothing = net.links.map(() => null);
  const links = new Bokeh.ColumnDataSource({ data: {
    ...line, colour: nothing, width: nothing.map(() => 1), words: nothing.map(() => "") } });
  const ofSwitch = (list) => net.switches.map((i) => list[i]);
  const switches = new Bokeh.ColumnDataSource({ data: {
    x: ofSwitch(net.x), y: ofSwitch(net.y), name: ofSwitch(net.names),
    fill: net.switches.map(() => "#ffffff"), words: net.switches.map(() => "") } });
  const leaves = net.names.map((_, i) => i).filter((i) => net.tiers[i] === hosts && !net.switches.includes(i));
  const ends = new Bokeh.ColumnDataSource({ data: {
    x: leaves.map((i) => net.x[i]), y: leaves.map((i) => net.y[i]), name: leaves.map((i) => net.names[i]) } });

  const plot = Bokeh.Plotting.figure({
    height: 380, sizing_mode: "stretch_width", tools: "pan,box_zoom,reset,save", toolbar_location: "right",
    active_drag: "pan", x_range: new Bokeh.Range1d({ start: -0.01, end: 1.01 }),
    y_range: new Bokeh.Range1d({ start: -0.12, end: 1.12 }),
    background_fill_color: null, border_fill_color: null, outline_line_color: null,
  });
  plot.toolbar.logo = null;
  plot.toolbar.autohide = true;
  for (const axis of plot.axes) axis.visible = false;
  for (const grid of plot.grids) grid.visible = false;
  const field = (name) => ({ field: name });
  const { x0, y0, x1, y1 } = line;
  plot.segment({ x0, y0, x1, y1, line_color: "#aab4bf" });
  const drawnLinks = plot.segment({ x0: field("x0"), y0: field("y0"), x1: field("x1"), y1: field("y1"),
    source: links, line_color: field("colour"), line_width: field("width") });
  const drawnEnds = plot.scatter({ x: field("x"), y: field("y"), source: ends, size: Math.max(3, Math.min(8, 600 / count)),
    fill_color: "#9aa5b1", line_color: null });
  const drawnSwitches = plot.scatter({ x: field("x"), y: field("y"), source: switches, marker: "square",
    size: Math.max(9, Math.min(26, 700 / net.switches.length)), fill_color: field("fill"), line_color: "#3e4c59" });
  plot.add_tools(
    new Bokeh.HoverTool({ renderers: [drawnSwitches], tooltips: [["", "@name"], ["buffer", "@words"]] }),
    new Bokeh.HoverTool({ renderers: [drawnEnds], tooltips: [["", "@name"]] }),
    new Bokeh.HoverTool({ renderers: [drawnLinks], tooltips: [["", "@from → @to"], ["", "@words"]] }),
  );

  // From white over yellow to red, readable in grey too.
  const heat = (share) => {
    const stops = [[255, 255, 255], [255, 221, 120], [240, 120, 40], [205, 20, 30]];
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const i = Math.min(Math.floor(at), stops.length - 2);
    const mix = stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * (at - i)));
    return `rgb(${mix})`;
  };
  const ROOTS = ["#c0392b", "#6a51a3", "#0072b2", "#009e73", "#b5578f", "#c98a00", "#17807e", "#8c564b"];

  const show = () => {
    const run = runs[scheme.value];
    const frame = Number(slider.value);
    const from = frame * net.frame_ms;
    const over = from >= run.end_ms;
    told.time.textContent = over ? `${Backwater.text(from)} ms: the run was over`
      : `${Backwater.text(from)} to ${Backwater.text(from + net.frame_ms)} ms`;
    slider.setAttribute("aria-valuetext", told.time.textContent);

    const held = net.switches.map((_, i) =>
      run.buffers[frame * net.switches.length + i] / 65535 * run.most_bytes);
    switches.data = { ...switches.data, fill: held.map((b) => heat(b / (run.most_bytes || 1))),
      words: held.map((b) => Backwater.text(b, "bytes")) };

    const busyOf = (i) => run.used[(run.used_over_time ? frame * net.links.length : 0) + i] / 200;
    const paused = (i) => (run.paused ? run.paused[frame * net.links.length + i] / 200 : 0);
    const colour = [], width = [], words = [], trees = new Map();
    let waiting = 0;
    net.links.forEach((_, i) => {
      const share = paused(i);
      const busy = busyOf(i);
      const root = run.root?.[frame * net.links.length + i] ?? 0;
      words.push([share ? `paused ${Backwater.text(share, "share")} of this time` : "not paused",
        root && run.roots[root - 1] ? `for ${run.roots[root - 1].join(" → ")}` : "",
        `busy ${Backwater.text(busy, "share")} of ${run.used_over_time ? "this time" : "the run"}`].filter(Boolean).join(", "));
      if (share) waiting += 1;
      if (share && root) trees.set(root, (trees.get(root) ?? 0) + 1);
      if (shows.value === "used") {
        colour.push(busy ? heat(0.12 + 0.88 * busy) : null);
        width.push(1 + 2.5 * busy);
      } else if (share) {
        colour.push(shows.value === "trees" ? ROOTS[(root - 1 + ROOTS.length) % ROOTS.length] : heat(0.45 + 0.55 * share));
        width.push(1.5 + 2 * share);
      } else { colour.push(null); width.push(1); }
    });
    links.data = { ...links.data, colour, width, words };

    const fullest = held.map((b, i) => [b, switches.data.name[i]]).sort(([a], [b]) => b - a)
      .filter(([b]) => b > 0).slice(0, 4).map(([b, name]) => `${name} ${Backwater.text(b, "bytes")}`);
    const largest = [...trees].sort(([, a], [, b]) => b - a).slice(0, 3)
      .map(([root, ports]) => `${run.roots[root - 1]?.join(" → ") ?? "others"} holds ${ports}`);
    const busiest = net.links.map((_, i) => [busyOf(i), i]).sort(([a], [b]) => b - a)
      .filter(([b]) => b > 0).slice(0, 3).map(([b, i]) => `${line.from[i]} → ${line.to[i]} ${Backwater.text(b, "share")}`);
    told.words.textContent = over ? "" : [
      fullest.length ? `Fullest buffers: ${fullest.join(", ")}.` : "All buffers are empty.",
      waiting ? `PFC holds ${waiting} of ${net.links.length} ports.` : "PFC holds no port.",
      largest.length ? `Congested ports: ${largest.join(", ")}.` : "",
      run.used_over_time && busiest.length ? `Busiest links: ${busiest.join(", ")}.` : "",
    ].join(" ");
  };

  // What links can show of each run, or why they cannot; the first that they can is shown, unless the reader chose.
  let wanted = "paused";
  const choices = () => {
    const run = runs[scheme.value];
    figure.querySelector(".most").textContent = Backwater.text(run.most_bytes, "bytes");
    const trees = "pause trees, by congested port";
    const words = {
      paused: [run.paused, "paused by PFC", "paused by PFC: never"],
      trees: [run.root, trees, `${trees}: ${run.paused ? "not recorded" : "none"}`],
      used: [true, run.used_over_time ? "utilisation" : "utilisation over the run"],
    };
    for (const option of shows.options) {
      const [there, name, why] = words[option.value];
      option.disabled = !there;
      option.textContent = there ? name : why;
    }
    const possible = (name) => words[name][0];
    shows.value = possible(wanted) ? wanted : Object.keys(words).find(possible);
    show();
  };
  scheme.addEventListener("change", choices);
  shows.addEventListener("change", () => { wanted = shows.value; show(); });
  let moved = false;
  slider.addEventListener("input", () => { moved = true; show(); });
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (!moved || Number(slider.value) >= Number(slider.max)) slider.value = 0;
    moved = true;
    play.textContent = "Stop";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (Number(slider.value) >= Number(slider.max)) stop();
    }, 120);
  });
  const first = runs[scheme.value].buffers;
  slider.value = Math.floor(first.indexOf(first.reduce((a, b) => Math.max(a, b), 0)) / net.switches.length);
  choices();
  return Bokeh.Plotting.show(plot, figure.querySelector(".picture"));
};
