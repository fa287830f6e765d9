// A plot of curves in SVG: axes with round numbers, lines, a band, and the way back from a pointer to the coordinates of the curve.
const SPACE = "http://www.w3.org/2000/svg";
const MARGIN = { left: 52, right: 10, top: 10, bottom: 36 };

export function element(name, attributes = {}, parent = null) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent?.append(made);
  return made;
}

export function rounded(number, digits) {
  return String(Number(number.toPrecision(digits))).replace("-", "−");
}

export function short(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size >= 1e5 || size < 1e-3 ? number.toExponential(1).replace("-", "−") : rounded(number, 4);
}

function ticks(low, high, about) {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

export class Plot {
  constructor(parent, label, kind = "") {
    this.svg = element("svg", { class: `plot ${kind}`, role: "img", "aria-label": label });
    parent.replaceChildren(this.svg);
    this.label = "x";
    this.lines = [];
    this.range = null;
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // lines are { name, x, y } or { name, x, low, high }; the vertical range stays while all fits and fills half of it, or while it is held
  show(lines, label, held = false) {
    this.lines = lines.filter((line) => line);
    this.label = label;
    const values = this.lines.flatMap((line) => [...(line.y ?? []), ...(line.low ?? []), ...(line.high ?? []), ...(line.reach ?? [])]);
    let low = Math.min(...values), high = Math.max(...values);
    if (!(high > low)) [low, high] = [low - 1, high + 1];
    const pad = 0.08 * (high - low), [from, to] = this.range ?? [Infinity, -Infinity];
    const fits = low >= from && high <= to && high - low > 0.5 * (to - from);
    if (!fits && !(held && this.range)) this.range = [low - pad, high + pad];
    this.draw();
  }

  draw() {
    const { width, height } = this.svg.getBoundingClientRect();
    if (!width || !this.lines.length) return;
    const xs = this.lines.flatMap((line) => [line.x[0], line.x[line.x.length - 1]]);
    const [left, right] = [Math.min(...xs), Math.max(...xs)], [low, high] = this.range;
    const inner = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
    this.X = (x) => MARGIN.left + ((x - left) / (right - left || 1)) * inner[0];
    this.Y = (y) => MARGIN.top + ((high - y) / (high - low)) * inner[1];
    this.back = (px, py) => [left + ((px - MARGIN.left) / inner[0]) * (right - left), high - ((py - MARGIN.top) / inner[1]) * (high - low)];
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren();
    for (const y of ticks(low, high, height / 55)) {
      element("line", { class: Math.abs(y) < 1e-12 * (high - low) ? "zero" : "tick", x1: MARGIN.left, x2: width - MARGIN.right, y1: this.Y(y), y2: this.Y(y) }, this.svg);
      element("text", { x: MARGIN.left - 6, y: this.Y(y) + 4, "text-anchor": "end" }, this.svg).textContent = short(y);
    }
    for (const x of ticks(left, right, width / 90)) {
      element("text", { x: this.X(x), y: height - MARGIN.bottom + 16, "text-anchor": "middle" }, this.svg).textContent = short(x);
    }
    element("text", { x: MARGIN.left + inner[0] / 2, y: height - 3, "text-anchor": "middle" }, this.svg).textContent = this.label;
    element("rect", { class: "frame", x: MARGIN.left, y: MARGIN.top, width: inner[0], height: inner[1] }, this.svg);
    for (const line of this.lines) {
      const points = (y) => Array.from(line.x, (x, i) => `${this.X(x).toFixed(1)},${this.Y(y[i]).toFixed(1)}`);
      const d = line.low ? `M${points(line.high).join("L")}L${points(line.low).reverse().join("L")}Z` : line.y ? `M${points(line.y).join("L")}` : "";
      if (d) element("path", { class: line.name, d }, this.svg);
    }
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    return this.back(event.clientX - box.left, event.clientY - box.top);
  }
}
