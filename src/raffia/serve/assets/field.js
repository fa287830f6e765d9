// Fields as images: the first axis to the right, the second upward, with the colours of viridis.
import { rounded } from "./plot.js";

const STOPS = ["440154", "472d7b", "3b528b", "2c728e", "21918c", "28ae80", "5ec962", "addc30", "fde725"].map((hex) =>
  [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
export const GRADIENT = `linear-gradient(to right, ${STOPS.map((rgb) => `rgb(${rgb})`).join(", ")})`;

export function colour(t) {
  const place = Math.min(Math.max(t, 0), 1) * (STOPS.length - 1), i = Math.min(Math.floor(place), STOPS.length - 2);
  return STOPS[i].map((from, k) => from + (place - i) * (STOPS[i + 1][k] - from));
}

export class Image {
  constructor(parent, caption, kind = "") {
    this.figure = document.createElement("figure");
    this.canvas = document.createElement("canvas");
    this.canvas.className = kind;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", caption || "the input");
    const words = document.createElement("figcaption");
    words.textContent = caption;
    this.scale = document.createElement("div");
    this.scale.className = "scale";
    this.ends = [0, 1, 2].map(() => this.scale.appendChild(document.createElement("span")));
    this.figure.append(words, this.canvas, this.scale);
    parent.append(this.figure);
  }

  draw(values, [nx, ny], axes, low, high) {
    this.size = [nx, ny];
    Object.assign(this.canvas, { width: nx, height: ny });
    const length = (x) => Math.abs(x[x.length - 1] - x[0]) || 1;
    this.canvas.style.aspectRatio = axes.length === 2 ? `${Math.min(Math.max(length(axes[0]) / length(axes[1]), 0.4), 2.5)}` : "1";
    const pixels = this.canvas.getContext("2d"), image = pixels.createImageData(nx, ny);
    for (let i = 0; i < nx; i++) {
      for (let j = 0; j < ny; j++) {
        image.data.set([...colour((values[i * ny + j] - low) / (high - low || 1)), 255], 4 * ((ny - 1 - j) * nx + i));
      }
    }
    pixels.putImageData(image, 0, 0);
    this.ends[0].textContent = rounded(low, 3);
    this.ends[1].style.background = GRADIENT;
    this.ends[2].textContent = rounded(high, 3);
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect(), [nx, ny] = this.size;
    return [((event.clientX - box.left) / box.width) * nx - 0.5, (1 - (event.clientY - box.top) / box.height) * ny - 0.5];
  }
}
