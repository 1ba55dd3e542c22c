// Step functions as SVG. A value that is not known is a gap, never zero.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 340, LEFT = 28, BOTTOM = 14;

export function make(name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

// A round number at or above a value, for the top of an axis.
export function above(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

export function lasting(seconds) {
  if (seconds >= 2 * 86400) return `${(seconds / 86400).toFixed(1)} d`;
  if (seconds >= 2 * 3600) return `${(seconds / 3600).toFixed(1)} h`;
  if (seconds >= 120) return `${(seconds / 60).toFixed(0)} min`;
  return `${Math.round(seconds)} s`;
}

// The value of a step function [moments, values] at a moment; null before it begins.
export function valueAt([moments, values], at) {
  let low = 0, high = moments.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments[middle] <= at) low = middle + 1; else high = middle;
  }
  return low ? values[low - 1] : null;
}

function frame(height, span, low, high, label) {
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label });
  const x = (at) => LEFT + (WIDTH - LEFT - 4) * ((at - span[0]) / Math.max(1e-9, span[1] - span[0]));
  const y = (value) => 8 + (height - BOTTOM - 8) * (1 - (value - low) / Math.max(1e-9, high - low));
  for (const value of low < 0 ? [low, 0, high] : [low, high]) {
    svg.append(make("line", { class: "axis", x1: LEFT, x2: WIDTH - 4, y1: y(value), y2: y(value) }));
    // The text of 0 would lie over that of an end that is near.
    if (value !== 0 || Math.min(y(low) - y(0), y(0) - y(high)) > 9 || low === 0) svg.append(make("text", { x: LEFT - 3, y: y(value) + 3, "text-anchor": "end" }, +value.toPrecision(3)));
  }
  svg.append(make("text", { x: LEFT, y: height - 3 }, lasting(span[0])));
  svg.append(make("text", { x: WIDTH - 4, y: height - 3, "text-anchor": "end" }, lasting(span[1])));
  return { svg, x, y };
}

// The most that any of the stacks ever reaches; each stack is a list of curves. Math.max(...all) fails with some 100,000 of them.
export function highest(stacks) {
  let most = 1;
  for (const curves of stacks) {
    for (const at of curves.flatMap(([moments]) => moments)) most = Math.max(most, curves.reduce((sum, curve) => sum + (valueAt(curve, at) ?? 0), 0));
  }
  return most;
}

// Of moments within one unit of width the first, the one of the highest total and the last: no picture shows more, and a path of all
// that happened in a week has a megabyte.
function visible(moments, totals, x) {
  const kept = new Set();
  for (let begin = 0, at = 1; at <= moments.length; at++) {
    if (at < moments.length && Math.floor(x(moments[at])) === Math.floor(x(moments[begin]))) continue;
    let top = begin;
    for (let each = begin; each < at; each++) if (totals[each] > totals[top]) top = each;
    kept.add(moments[begin]).add(moments[top]).add(moments[at - 1]);
    begin = at;
  }
  return [...kept].sort((a, b) => a - b);
}

// Areas of step functions on top of each other; `layers` are [class, curve] from the bottom up.
export function stack(layers, span, moves, top, label) {
  const height = 96, high = above(top);
  const { svg, x, y } = frame(height, span, 0, high, label);
  const all = [...new Set([span[0], ...layers.flatMap(([, curve]) => curve[0].filter((at) => at >= span[0]))])].sort((a, b) => a - b);
  const moments = visible(all, all.map((at) => layers.reduce((sum, [, curve]) => sum + (valueAt(curve, at) ?? 0), 0)), x);
  let below = moments.map(() => 0);
  for (const [kind, curve] of layers) {
    const tops = moments.map((at, index) => below[index] + (valueAt(curve, at) ?? 0));
    if (tops.some((value, index) => value > below[index])) {
      const way = (values) => moments.map((at, index) => [[x(at), y(values[index])], [x(moments[index + 1] ?? span[1]), y(values[index])]]).flat();
      const points = [...way(tops), ...way(below).reverse()];
      svg.append(make("path", { class: kind, d: `M${points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L")}Z` }));
    }
    below = tops;
  }
  for (const at of moves.filter((moment) => moment >= span[0])) svg.append(make("line", { class: "move", x1: x(at), x2: x(at), y1: 8, y2: height - BOTTOM }));
  return svg;
}

// One step function as a line, and what was planned for it, if anything, as a dashed one.
export function line([moments, values], span, label, planned = null) {
  const known = [...values, ...(planned ?? [])].filter((value) => value !== null);
  const high = above(Math.max(0, ...known)), lowest = Math.min(0, ...known), low = lowest < 0 ? -above(-lowest) : 0;
  const { svg, x, y } = frame(64, span, low, high, label);
  for (const [kind, row] of [["planned", planned ?? []], ["curve", values]]) {
    let way = "";
    row.forEach((value, index) => {
      const at = moments[index], until = moments[index + 1] ?? span[1];
      if (value === null || until < span[0]) return;
      const joined = index > 0 && row[index - 1] !== null && at > span[0];
      way += `${joined ? "L" : "M"}${x(Math.max(at, span[0])).toFixed(1)} ${y(value).toFixed(1)}L${x(until).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    if (row.length || kind === "curve") svg.append(make("path", { class: kind, d: way || "M0 0" }));
  }
  return svg;
}
