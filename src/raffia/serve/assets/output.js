// What a model predicts, beside the truth where there is one: curves with a band, images, or a table of numbers.
import { Plot, rounded } from "./plot.js";
import { Image } from "./field.js";

export class Curves {
  constructor(place) { this.plot = new Plot(place, "The prediction"); }

  show({ output, half, shape, axes }, truth, side, channel) {
    const x = Array.from(axes[0]), n = x.length, part = (values, size) => Array.from(values.slice(channel * size, (channel + 1) * size));
    const y = part(output, n), h = half && part(half, n);
    const actual = truth && { name: "truth", x: Array.from(truth.axes[0]), y: part(truth.truth, truth.axes[0].length) };
    const band = h && { name: "band", x, low: y.map((v, i) => v - h[i]), high: y.map((v, i) => v + h[i]) };
    this.plot.show([band, actual, { name: "prediction", x, y }], side.labels[0]);
  }
}

export class Images {
  constructor(place) {
    this.place = document.createElement("div");
    this.place.className = "images";
    place.replaceChildren(this.place);
  }

  show({ output, shape, axes }, truth, side, channel, changed) {
    const names = !truth ? ["prediction"] : changed ? ["prediction", "truth of the pair as it was"] : ["prediction", "truth", "difference"];
    if (names.join() !== this.names) {
      this.place.replaceChildren();
      this.names = names.join();
      this.images = names.map((name) => new Image(this.place, name));
    }
    const cut = (values, sides) => { const size = sides[0] * sides[1]; return values.slice(channel * size, (channel + 1) * size); };
    const grid = shape.slice(-2), part = cut(output, grid);
    const other = truth && cut(truth.truth, truth.shape.slice(-2));
    const low = Math.min(...part, ...(other ?? [])), high = Math.max(...part, ...(other ?? []));
    this.images[0].draw(part, grid, axes, low, high);
    if (!truth) return;
    this.images[1].draw(other, truth.shape.slice(-2), truth.axes, low, high);
    if (changed) return;
    const same = part.length === other.length, difference = same ? part.map((value, i) => value - other[i]) : [];
    this.images[2].figure.hidden = !same;
    if (same) { const most = Math.max(...difference.map(Math.abs)); this.images[2].draw(difference, grid, axes, -most, most); }
  }
}

export class Numbers {
  constructor(place) {
    this.table = document.createElement("table");
    place.replaceChildren(this.table);
  }

  show({ output, half }, truth, side) {
    const head = ["", "prediction", half && "±", truth && "truth"].filter((word) => word !== null && word !== undefined && word !== false);
    const rows = Array.from(output, (value, k) => {
      const cells = [side.names[k] ?? (output.length > 1 ? `component ${k + 1}` : "value"), rounded(value, 5)];
      if (half) cells.push(rounded(half[k], 2));
      if (truth) cells.push(rounded(truth.truth[k], 5));
      return cells;
    });
    const row = (cells, name) => {
      const made = document.createElement("tr");
      cells.forEach((text, i) => {
        const cell = Object.assign(document.createElement(name), { textContent: text });
        if (name === "td" && i) cell.className = head[i] === "±" ? "" : head[i];
        made.append(cell);
      });
      return made;
    };
    this.table.replaceChildren(row(head, "th"), ...rows.map((cells) => row(cells, "td")));
  }
}
