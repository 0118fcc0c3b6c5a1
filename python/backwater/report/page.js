// What the reader chooses on a page: schemes, the theme, the order and filter of tables.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // --- Theme: that of the system, until the reader chooses another one.
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const remembered = (value) => {
    try {  // Some browsers keep nothing for files from disk.
      if (value) localStorage.setItem("backwater-theme", value);
      return localStorage.getItem("backwater-theme");
    } catch { return null; }
  };
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const showTheme = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${isDark() ? "light" : "dark"} colours`);
  };
  if (remembered()) root.dataset.theme = remembered();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered(root.dataset.theme);
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  // --- Schemes: hidden ones leave figures, columns of the results, and rows about them.
  const boxes = [...document.querySelectorAll("nav fieldset input")];
  const filters = [];
  const isShown = (name) => !boxes.some((box) => box.value === name && !box.checked);
  const hideInFigures = () => {
    for (const model of (window.Bokeh?.documents ?? []).flatMap((drawn) => [...drawn.all_models])) {
      if (model.type === "GlyphRenderer" && model.name) model.visible = isShown(model.name);
      if (model.type === "HoverTool" && model.tags.length)
        model.tooltips = model.tags.filter(([name]) => isShown(name));
      if (model.name === "schemes")
        model.factors = boxes.map((box) => box.value).filter(isShown);
    }
  };
  const chooseSchemes = () => {
    for (const cell of document.querySelectorAll("[data-scheme]"))
      cell.hidden = !isShown(cell.dataset.scheme);
    hideInFigures();
    for (const filter of filters) filter();
  };
  for (const box of boxes) box.addEventListener("change", chooseSchemes);

  // --- Tables: by numbers where a cell begins with one, else by words; what is missing comes last.
  const UNITS = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, ps: 1, ns: 1e3, µs: 1e6, ms: 1e9, s: 1e12 };
  const value = (cell) => {
    const text = cell?.textContent.trim().replaceAll(",", "") ?? "";
    const found = /^([+−-]?\d[\d.e+-]*)\s*([A-Za-zµ]*)/.exec(text);
    return found ? Number(found[1].replace("−", "-")) * (UNITS[found[2]] ?? 1) : text;
  };
  const missing = (v) => v === "" || v === "–" || Number.isNaN(v);
  const before = (a, b) => missing(a) - missing(b)
    || (typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true }));
  const makeButton = (head) => {
    const sorter = document.createElement("button");
    sorter.type = "button";
    sorter.className = "sorter";
    sorter.append(...head.childNodes);
    head.append(sorter);
    return sorter;
  };
  for (const table of document.querySelectorAll("table.sort")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => makeButton(head).addEventListener("click", () => {
      const sign = head.ariaSort === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.ariaSort = sign > 0 ? "ascending" : "descending";
      const keyed = [...body.rows].map((row) => [value(row.cells[column]), row]);
      keyed.sort(([a], [b]) => (missing(a) || missing(b) ? before(a, b) : sign * before(a, b)));
      body.append(...keyed.map(([, row]) => row));
    }));
  }
  for (const table of document.querySelectorAll("table.filter")) {
    const label = document.createElement("label");
    label.className = "choice";
    const field = Object.assign(document.createElement("input"), { type: "search", placeholder: "any words" });
    const count = document.createElement("output");
    label.append("Only rows with ", field, " ", count);
    table.parentElement.before(label);
    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const rows = [...table.tBodies[0].rows];
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.classList.toggle("left-out", !words.every((word) => text.includes(word)));
      }
      const left = rows.filter((row) => !row.matches(".left-out, [hidden]")).length;
      count.textContent = `${left} of ${rows.length}`;
    };
    field.addEventListener("input", filter);
    filters.push(filter);
    filter();
  }

  // The table of results has a column per scheme: its rows put the columns in order.
  for (const table of document.querySelectorAll("table.results.by-row")) {
    for (const row of table.tBodies[0].rows) {
      const head = row.cells[0];
      if (row.className === "group") continue;
      const sorter = makeButton(head);
      sorter.title = "Put the schemes in the order of this row";
      sorter.addEventListener("click", () => {
        const order = [...row.cells].slice(1).map((cell) => [value(cell), cell.dataset.scheme]);
        const down = head.ariaSort === "ascending";
        for (const other of table.tBodies[0].rows) other.cells[0].removeAttribute("aria-sort");
        head.ariaSort = down ? "descending" : "ascending";
        order.sort(([a], [b]) => (missing(a) || missing(b) ? before(a, b) : down ? before(b, a) : before(a, b)));
        for (const each of table.rows)
          for (const [, scheme] of order) {
            const cell = [...each.cells].find((one) => one.dataset.scheme === scheme);
            if (cell) each.append(cell);
          }
      });
    }
  }

  // --- Figures: a view is drawn when it is first shown.
  const drawn = Object.entries(data.figures).map(([key, views]) => {
    const figure = document.getElementById(key);
    const pictures = [...figure.querySelectorAll(".picture")];
    const select = figure.querySelector("select");
    const show = async () => {
      const chosen = Number(select?.value ?? 0);
      pictures.forEach((picture, i) => { picture.hidden = i !== chosen; });
      if (!pictures[chosen].hasChildNodes()) await Bokeh.embed.embed_item(views[chosen], pictures[chosen]);
      hideInFigures();
    };
    select?.addEventListener("change", show);
    return show();
  });
  if (data.network) drawn.push(Backwater.drawNetwork(data.network));
  Promise.all(drawn).then(() => { root.dataset.ready = "yes"; });
})();
