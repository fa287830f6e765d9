// The page: it asks the server for a prediction whenever the input changes, one request at a time, the newest input first.
import { Curve, Field, Sliders } from "./input.js";
import { Curves, Images, Numbers } from "./output.js";
import { rounded } from "./plot.js";

const INPUTS = { curve: Curve, field: Field, numbers: Sliders }, OUTPUTS = { curve: Curves, field: Images, numbers: Numbers };
const at = (id) => document.getElementById(id);
let model, input, output, values, grid, axes, pair = null, changed = false, waiting = false, busy = false, answer = null;

async function ask(path, content) {
  const response = await fetch(path, content && { method: "POST", body: JSON.stringify(content) });
  const found = await response.json();
  if (found.error) throw new Error(found.error.message);
  return found;
}

function say(words, wrong = false) {
  at("words").textContent = words;
  at("words").classList.toggle("wrong", wrong);
}

async function predict() {
  waiting = true;
  if (busy) return;
  document.body.dataset.busy = busy = true;
  while (waiting) {
    waiting = false;
    const began = performance.now(), asked = model;
    try {
      const found = await ask("/page/predict", { name: model.name, input: values, grid, level: model.levels.length ? Number(at("level").value) : null });
      if (asked !== model) continue;
      answer = found;
      axes = found.inputAxes;
      show();
      say(`${status()} Answered in ${Math.max(1, Math.round(performance.now() - began))} ms.`);
      document.body.dataset.answers = Number(document.body.dataset.answers ?? 0) + 1;
    } catch (error) {
      say(error instanceof TypeError ? "The server does not answer. Is it still running?" : error.message, true);
    }
  }
  document.body.dataset.busy = busy = false;
}

function status() {
  const outside = answer?.novelty > 1 ? `This input lies outside the training data (novelty ${rounded(answer.novelty, 2)}): the prediction is an extrapolation. ` : "";
  return outside + aboutPair();
}

function aboutPair() {
  if (!pair) return "";
  const which = `Pair ${at("number").value} of ${model.file}`;
  if (changed) return `${which}, changed; its truth is shown for comparison.`;
  return pair.off === null ? `${which}.` : `${which}: the prediction is off by ${percent(pair.off)} of the size of the truth.`;
}

const percent = (error) => `${error >= 0.1 ? (100 * error).toFixed(0) : Number((100 * error).toPrecision(2))} %`;

function show() {
  output?.show(answer, pair, model.output, Number(at("output-channel").value || 0), changed);
  legend();
}

function legend() {
  const keys = [], curve = model.output.kind === "curve";
  if (curve) keys.push(["prediction", "--prediction", ""]);
  if (answer.half) {
    const range = model.output.kind === "numbers" ? "" : ` ± ${rounded(Math.max(...answer.half), 2)}`;
    const words = model.band === "conformal" ? `, which holds a whole output in ${100 * Number(at("level").value)} of 100 cases like those of the training` : ", two standard deviations";
    keys.push([`band${range}${words}`, "--prediction", curve ? "area" : "none"]);
  }
  if (pair && curve) keys.push([changed ? "truth of the pair as it was" : "truth", "--truth", "dashed"]);
  at("legend").replaceChildren(...keys.map(([text, colour, kind]) => {
    const key = Object.assign(document.createElement("span"), { textContent: text, className: kind === "none" ? "" : `key ${kind}` });
    key.style.setProperty("--colour", `var(${colour})`);
    return key;
  }));
}

function edited(now) {
  values = Array.from(now);
  changed = true;
  if (pair && input instanceof Curve && !input.ghost) ghost();
  predict();
}

function ghost() {
  const n = grid[0], channel = Number(at("input-channel").value || 0);
  input.ghost = { x: input.x, y: pair.input.slice(channel * n, (channel + 1) * n) };
}

function present() {
  const channel = Number(at("input-channel").value || 0);
  input?.show(Array.from(values), grid, axes ?? [], channel, null);
  if (changed && pair && input instanceof Curve) { ghost(); input.draw(); }
}

async function begin(found) {
  values = Array.from(found);
  changed = false;
  await predict();
  present();
}

async function load(number) {
  try {
    pair = await ask("/page/pair", { name: model.name, number: number - 1, grid });
    at("number").value = number;
    await begin(pair.input);
  } catch (error) { say(error.message, true); }
}

async function change(to) {
  try {
    const moved = await ask("/page/move", { name: model.name, input: values, from: grid, grid: to });
    const was = changed;
    if (pair) pair.input = (await ask("/page/pair", { name: model.name, number: Number(at("number").value) - 1, grid: to })).input;
    grid = to;
    await begin(moved.input);
    changed = was;
    present();
    show();
  } catch (error) { say(error.message, true); }
}

function options(select, entries, chosen) {
  select.replaceChildren(...entries.map(([value, text]) => Object.assign(document.createElement("option"), { value, textContent: text, selected: value === chosen })));
}

async function open(chosen) {
  model = chosen;
  document.title = `${model.name} – raffia`;
  at("title").textContent = model.name;
  document.body.dataset.model = model.name;
  grid = model.grid.length ? model.grid : null;
  at("summary").textContent = `${sentence(model.input.words)} to ${model.output.words}.`;
  at("tools").replaceChildren();
  const [Input, Output] = [INPUTS[model.input.kind], OUTPUTS[model.output.kind]];
  pair = answer = null;
  input = Input ? new Input(at("input"), at("tools"), model.input, edited) : none(at("input"), "Inputs like these cannot be drawn on this page; its controls below still work.");
  output = Output ? new Output(at("output")) : none(at("output"), "Outputs like these cannot be shown on this page.");
  for (const [side, select] of [[model.input, at("input-channel")], [model.output, at("output-channel")]]) {
    const several = side.kind !== "numbers" && side.count > 1;
    select.hidden = !several;
    options(select, several ? Array.from({ length: side.count }, (_, k) => [String(k), side.names[k] ?? `channel ${k + 1}`]) : [["0", ""]], "0");
  }
  at("pairs").hidden = !model.pairs;
  at("of").textContent = `of ${model.pairs}`;
  at("number").max = model.pairs;
  at("grids").hidden = model.grids.length < 2;
  options(at("grid"), model.grids.map((shape) => [shape.join(" × "), shape.join(" × ")]), model.grid.join(" × "));
  at("levels").hidden = !model.levels.length;
  const usual = model.levels.includes(0.9) ? 0.9 : model.levels.at(-1);
  options(at("level"), model.levels.map((level) => [String(level), `${100 * level} %`]), String(usual));
  await restart();
}

const restart = () => (model.pairs ? load(1) : begin(model.start));
const sentence = (words) => words[0].toUpperCase() + words.slice(1);

function none(place, words) {
  place.replaceChildren(Object.assign(document.createElement("p"), { textContent: words }));
  return null;
}

async function main() {
  const models = await ask("/page/models");
  at("model").hidden = models.length < 2;
  at("title").hidden = models.length > 1;
  options(at("model"), models.map(({ name }) => [name, name]), models[0].name);
  at("model").addEventListener("change", () => open(models.find(({ name }) => name === at("model").value)));
  at("input-channel").addEventListener("change", present);
  at("output-channel").addEventListener("change", show);
  at("level").addEventListener("change", predict);
  at("grid").addEventListener("change", () => change(at("grid").value.split(" × ").map(Number)));
  at("before").addEventListener("click", () => load(Math.max(1, Number(at("number").value) - 1)));
  at("after").addEventListener("click", () => load(Math.min(model.pairs, Number(at("number").value) + 1)));
  at("number").addEventListener("change", () => load(Math.min(Math.max(1, Math.round(at("number").valueAsNumber) || 1), model.pairs)));
  at("reset").addEventListener("click", async () => {
    if (grid && grid.join() !== model.grid.join()) { grid = model.grid; at("grid").value = grid.join(" × "); }
    await restart();
  });
  await open(models[0]);
}

main().catch((error) => say(`The page could not start: ${error.message}`, true));
