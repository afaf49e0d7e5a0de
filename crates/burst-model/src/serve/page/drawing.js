// The drawings of a row: its bar and its history. Both are SVG, with the maximum as their scale, or the largest value if that
// is larger.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Sets an attribute only if it changes: that is much cheaper.
function set(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// A drawing of 100 by 24 units that fills its cell.
function drawing(...children) {
  return svg("svg", { viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true" }, ...children);
}

class Bar {
  #track = svg("rect", { class: "track", y: 6, height: 12, rx: 1 });
  #used = svg("rect", { class: "used", y: 6, height: 12, rx: 1 });
  #target = svg("path", { class: "line target" });
  #demand = svg("path", { class: "line demand" });
  element = drawing(this.#track, this.#used, this.#target, this.#demand);

  draw({ current = 0, target, max = 0, demand }) {
    const whole = Math.max(max, current, demand ?? 0, 1);
    const x = (value) => round((value / whole) * 100);
    set(this.#track, "width", x(max));
    set(this.#used, "width", x(current));
    set(this.#target, "d", target === undefined ? "" : `M${x(target)} 3V21`);
    set(this.#demand, "d", demand === undefined ? "" : `M${x(demand)} 3V21`);
  }
}

class Sparkline {
  #target = svg("path", { class: "past target" });
  #demand = svg("path", { class: "past demand" });
  #current = svg("path", { class: "past" });
  element = drawing(this.#target, this.#demand, this.#current);

  draw(points, start, now) {
    const whole = Math.max(1, ...points.map(({ current, max, demand }) => Math.max(current ?? 0, max ?? 0, demand ?? 0)));
    const x = (at) => round(((Math.max(at, start) - start) / Math.max(now - start, 1)) * 100);
    const y = (value) => round(22 - (value / whole) * 20);
    const steps = (key) => {
      const known = points.filter((point) => point[key] !== undefined);
      if (known.length === 0) return "";
      const parts = known.map((point, index) => (index ? `H${x(point.at)}V${y(point[key])}` : `M${x(point.at)} ${y(point[key])}`));
      return `${parts.join("")}H100`;
    };
    set(this.#target, "d", steps("target"));
    set(this.#demand, "d", steps("demand"));
    set(this.#current, "d", steps("current"));
  }
}

function round(number) {
  return Math.round(number * 10) / 10;
}

// The history in words, for a screen reader.
function describe(points) {
  const values = points.map((point) => point.current).filter((value) => value !== undefined);
  if (values.length === 0) return "no history";
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? `${most} replicas all the time` : `between ${least} and ${most} replicas`;
}
