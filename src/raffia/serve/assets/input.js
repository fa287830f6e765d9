// Inputs that a hand can change: a curve to pull or draw, a field to paint, numbers to slide. Each calls `changed` with all values.
import { Plot, short } from "./plot.js";
import { Image, colour } from "./field.js";

function choice(parent, names, chosen, label) {
  const group = document.createElement("span");
  group.className = "joined";
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const buttons = names.map((name, i) => {
    const button = document.createElement("button");
    if (name.rgb) {
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = name.rgb;
      button.append(swatch);
    }
    button.append(name.text ?? name);
    button.addEventListener("click", () => press(i));
    group.append(button);
    return button;
  });
  const press = (i) => {
    chosen(i);
    buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
  };
  press(0);
  parent.append(group);
}

function brush(parent) {
  const label = document.createElement("label");
  label.className = "group";
  const range = Object.assign(document.createElement("input"), { type: "range", min: 1, max: 30, value: 8, id: "brush" });
  label.append("brush", range);
  parent.append(label);
  return () => Number(range.value) / 100;
}

function pointers(target, begin, move, end) {
  let active = null;
  target.addEventListener("pointerdown", (event) => {
    if (active !== null) return;
    active = event.pointerId;
    target.setPointerCapture(active);
    event.preventDefault();
    begin(event);
  });
  target.addEventListener("pointermove", (event) => event.pointerId === active && move(event));
  for (const name of ["pointerup", "pointercancel"]) {
    target.addEventListener(name, (event) => {
      if (event.pointerId !== active) return;
      active = null;
      end();
    });
  }
}

export class Curve {
  constructor(place, tools, side, changed) {
    this.plot = new Plot(place, "The input, a curve to pull with the pointer", "input");
    this.side = side;
    let mode = 0, held = null, last = null;
    choice(tools, ["Pull", "Draw"], (i) => { mode = i; }, "What the pointer does");
    const width = brush(tools);
    const smooth = Object.assign(document.createElement("button"), { textContent: "Smooth" });
    smooth.addEventListener("click", () => { this.smooth(width() / 2); changed(this.values); this.draw(); });
    tools.append(smooth);
    const nearest = (x) => this.x.reduce((best, value, i) => (Math.abs(value - x) < Math.abs(this.x[best] - x) ? i : best), 0);
    const move = (event) => {
      const [x, y] = this.plot.at(event), i = nearest(x);
      if (mode === 0) {
        const centre = held.i, lift = y - held.y, w = width() * this.length / 2;
        this.set((k) => held.values[k] + lift * Math.exp(-((this.distance(k, centre) / w) ** 2) / 2));
      } else {
        const [from, to] = last.i <= i ? [last, { i, y }] : [{ i, y }, last];
        for (let k = from.i; k <= to.i; k++) this.put(k, from.y + ((to.y - from.y) * (k - from.i)) / (to.i - from.i || 1));
        last = { i, y };
      }
      this.draw(true);
      changed(this.values);
    };
    pointers(this.plot.svg, (event) => {
      const [x, y] = this.plot.at(event), i = nearest(x);
      held = { i, y: mode === 0 && Math.abs(this.plot.Y(this.get(i)) - this.plot.Y(y)) < 30 ? this.get(i) : y, values: this.x.map((_, k) => this.get(k)) };
      last = { i, y };
      this.plot.svg.classList.add("pulling");
      move(event);
    }, move, () => {
      this.plot.svg.classList.remove("pulling");
      if (mode === 1) this.smooth(width() / 8);
      this.draw();
      changed(this.values);
    });
  }

  show(values, shape, axes, channel, ghost) {
    Object.assign(this, { values, channel, ghost, x: Array.from(axes[0]), n: shape[0] });
    const step = this.x[1] - this.x[0];
    this.length = this.x[this.n - 1] - this.x[0] + (this.side.periodic[0] ? step : 0);
    this.draw();
  }

  get(k) { return this.values[this.channel * this.n + k]; }
  put(k, value) { this.values[this.channel * this.n + k] = value; }
  set(value) { this.x.forEach((_, k) => this.put(k, value(k))); }

  distance(k, i) {
    const apart = Math.abs(this.x[k] - this.x[i]);
    return this.side.periodic[0] ? Math.min(apart, this.length - apart) : apart;
  }

  smooth(width) {
    const old = this.x.map((_, k) => this.get(k)), w = width * this.length / 2;
    this.set((k) => {
      const weights = this.x.map((_, i) => Math.exp(-((this.distance(k, i) / w) ** 2) / 2));
      return weights.reduce((sum, weight, i) => sum + weight * old[i], 0) / weights.reduce((sum, weight) => sum + weight, 0);
    });
  }

  draw(held = false) {
    const reach = [this.side.low[this.channel], this.side.high[this.channel]];
    const ghost = this.ghost && { name: "ghost", x: this.ghost.x, y: this.ghost.y };
    this.plot.show([{ x: this.x, reach }, ghost, { name: "value", x: this.x, y: this.x.map((_, k) => this.get(k)) }], this.side.labels[0], held);
  }
}

export class Field {
  constructor(place, tools, side, changed) {
    place.replaceChildren();
    this.image = new Image(place, "", "input");
    this.side = side;
    const few = side.values && side.values.length > 1 ? side.values : null;
    let mode = 0;
    const [low, high] = [side.low[0], side.high[0]];
    const named = few?.map((value) => ({ text: short(value), rgb: `rgb(${colour((value - low) / (high - low))})` }));
    choice(tools, named ?? ["Raise", "Lower"], (i) => { mode = i; }, "What the brush does");
    const width = brush(tools);
    const move = (event) => {
      const [x, y] = this.image.at(event), [nx, ny] = this.shape, rate = 0.12 * (side.high[this.channel] - side.low[this.channel]);
      const apart = (k, centre, n, around) => { const d = Math.abs(k - centre); return (around ? Math.min(d, n - d) : d) / n; };
      for (let i = 0; i < nx; i++) {
        for (let j = 0; j < ny; j++) {
          const r = Math.hypot(apart(i, x, nx, side.periodic[0]), apart(j, y, ny, side.periodic[1])) / width(), at = this.channel * nx * ny + i * ny + j;
          if (few) { if (r < 1 || (Math.abs(i - x) <= 0.5 && Math.abs(j - y) <= 0.5)) this.values[at] = few[mode]; }
          else if (r < 3) this.values[at] += (mode ? -1 : 1) * rate * Math.exp(-2 * r * r);
        }
      }
      this.draw();
      changed(this.values);
    };
    pointers(this.image.canvas, move, move, () => changed(this.values));
  }

  show(values, shape, axes, channel) {
    Object.assign(this, { values, shape, axes, channel });
    this.draw();
  }

  draw() {
    const size = this.shape[0] * this.shape[1], part = this.values.slice(this.channel * size, (this.channel + 1) * size);
    const low = Math.min(this.side.low[this.channel], ...part), high = Math.max(this.side.high[this.channel], ...part);
    this.image.draw(part, this.shape, this.axes, low, high);
  }
}

export class Sliders {
  constructor(place, tools, side, changed) {
    const list = document.createElement("div");
    list.className = "sliders";
    this.rows = Array.from({ length: side.count }, (_, k) => {
      const name = side.names[k] ?? `component ${k + 1}`;
      const label = Object.assign(document.createElement("label"), { textContent: name, htmlFor: `slider-${k}` });
      const [low, high] = [side.low[k], side.high[k] > side.low[k] ? side.high[k] : side.low[k] + 1];
      const range = Object.assign(document.createElement("input"), { type: "range", id: `slider-${k}`, min: low, max: high, step: (high - low) / 1000 });
      const number = Object.assign(document.createElement("input"), { type: "number", step: "any" });
      number.setAttribute("aria-label", name);
      range.addEventListener("input", () => { this.values[k] = Number(range.value); number.value = Number(Number(range.value).toPrecision(4)); changed(this.values); });
      number.addEventListener("change", () => {
        if (!Number.isFinite(number.valueAsNumber)) return;
        this.values[k] = number.valueAsNumber;
        range.value = number.value;
        changed(this.values);
      });
      list.append(label, range, number);
      return { range, number };
    });
    place.replaceChildren(list);
  }

  show(values) {
    this.values = values;
    this.rows.forEach(({ range, number }, k) => { range.value = values[k]; number.value = Number(values[k].toPrecision(4)); });
  }
}
