// The table: a window of rows around what the screen shows, so that 10,000 Services cost no more than 50. Foreign text is set
// with `textContent` only.

const COLUMNS = [
  { key: "name", title: "Service", sortable: true },
  { key: "bar", title: "Used", sortable: true, sort: "used" },
  ...NUMBERS.map((number) => ({ ...number, sortable: true, class: "number" })),
  { key: "state", title: "State", sortable: true, class: "state" },
  { key: "history", title: "While open" },
];

// Rows above and below the screen that are in the page too, so that scrolling shows no gap.
const OVERSCAN = 8;

function make(name, attributes, text) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A row of the page. Its values change, its Service does not.
class RowView {
  #title = make("span", {});
  #workload = make("small", {});
  #bar = new Bar();
  #sparkline = new Sparkline();
  #past = make("td", { role: "cell", "data-column": "history" });
  #state = make("td", { role: "cell", "data-column": "state", class: "state" });
  #numbers = NUMBERS.map(({ key, title }) =>
    make("td", { role: "cell", class: "number", "data-column": key, "data-label": title }),
  );
  element = make("tr", { role: "row" });

  constructor(name) {
    this.name = name;
    const title = make("th", { role: "rowheader", scope: "row", "data-column": "name" });
    title.append(this.#title, this.#workload);
    const bar = make("td", { role: "cell", "data-column": "bar" });
    bar.append(this.#bar.element);
    this.#past.append(this.#sparkline.element, make("span", { class: "spoken" }));
    this.element.append(title, bar, ...this.#numbers, this.#state, this.#past);
    setText(this.#title, name);
    this.#title.title = name;
  }

  draw(row, points, start, now) {
    setText(this.#workload, row.workload === row.name ? "" : row.workload);
    this.element.dataset.level = row.level;
    for (const [index, { key }] of NUMBERS.entries()) setText(this.#numbers[index], row[key]?.toString() ?? "–");
    setText(this.#state, row.state);
    this.#state.dataset.level = row.level;
    this.#state.dataset.state = row.state;
    this.#bar.draw(row);
    this.#sparkline.draw(points, start, now);
    setText(this.#past.lastChild, describe(points));
  }

  place(index, top, isActive) {
    this.element.style.top = `${top}px`;
    this.element.classList.toggle("odd", index % 2 === 1);
    set(this.element, "aria-rowindex", index + 2);
    set(this.element, "tabindex", isActive ? 0 : -1);
  }
}

class Table {
  #table = document.getElementById("services");
  #body = document.getElementById("body");
  #heads = new Map();
  #views = new Map();
  #rows = [];
  #past;
  // The name of the row that the Tab key and the arrow keys reach.
  #active;

  constructor(past, onSort) {
    this.#past = past;
    for (const column of COLUMNS) this.#addHead(column, onSort);
    this.#body.addEventListener("keydown", (event) => this.#onKey(event));
    this.#body.addEventListener("focusin", (event) => {
      const focused = event.target.closest("tr");
      this.#active = [...this.#views.values()].find(({ element }) => element === focused)?.name;
    });
    addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.draw());
  }

  // Shows these rows. `all` says which of the optional columns have values.
  show(rows, all, { sort, descending }) {
    this.#rows = rows;
    for (const { key } of NUMBERS.filter(({ optional }) => optional)) {
      const has = all.some((row) => row[key] !== undefined);
      for (const element of [this.#table, document.getElementById("legend")]) element.classList.toggle(`has-${key}`, has);
    }
    const hidden = NUMBERS.filter(({ key, optional }) => optional && !this.#table.classList.contains(`has-${key}`));
    this.#table.style.setProperty("--numbers", NUMBERS.length - hidden.length);
    for (const [key, { head, mark }] of this.#heads) {
      const isSorted = key === sort;
      set(head, "aria-sort", isSorted ? (descending ? "descending" : "ascending") : "none");
      setText(mark, isSorted ? (descending ? " ▼" : " ▲") : "");
    }
    set(this.#table, "aria-rowcount", rows.length + 1);
    this.#table.hidden = all.length === 0;
    this.draw();
  }

  // Marks the rows as old, or as current.
  setOld(isOld) {
    this.#table.classList.toggle("old", isOld);
  }

  // Puts the rows around the screen into the page, and takes all others out.
  draw() {
    if (this.#table.hidden) return;
    const height = this.#rowHeight();
    this.#body.style.height = `${this.#rows.length * height}px`;
    const top = -this.#body.getBoundingClientRect().top;
    const visible = Math.max(0, Math.floor(top / height));
    const first = Math.max(0, visible - OVERSCAN);
    const last = Math.min(this.#rows.length, Math.ceil((top + innerHeight) / height) + OVERSCAN);
    const indexes = new Set(Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset));
    const focused = document.activeElement?.closest("#body tr");
    const active = this.#rows.findIndex((row) => row.name === this.#active);
    // A row that has the focus stays, wherever it is.
    if (focused && active >= 0) indexes.add(active);
    const tabStop = active >= 0 && indexes.has(active) ? active : Math.min(visible, last - 1);
    this.#place([...indexes].sort((a, b) => a - b), tabStop, height);
    if (focused && active >= 0 && !focused.contains(document.activeElement)) {
      this.#views.get(this.#active).element.focus({ preventScroll: true });
    }
  }

  #place(indexes, tabStop, height) {
    const now = performance.now();
    const start = this.#past.start(now);
    const views = new Map();
    let next = this.#body.firstChild;
    for (const index of indexes) {
      const row = this.#rows[index];
      const view = this.#views.get(row.name) ?? new RowView(row.name);
      views.set(row.name, view);
      view.draw(row, this.#past.points.get(row.name) ?? [], start, now);
      view.place(index, index * height, index === tabStop);
      if (view.element === next) next = next.nextSibling;
      else this.#body.insertBefore(view.element, next);
    }
    while (next) {
      const gone = next;
      next = next.nextSibling;
      gone.remove();
    }
    this.#views = views;
  }

  #rowHeight() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return rem * parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
  }

  #addHead({ key, title, sortable, sort = key, class: name = "" }, onSort) {
    const head = make("th", { role: "columnheader", scope: "col", class: name, "data-column": key });
    if (sortable) {
      const button = make("button", { type: "button" }, title);
      const mark = make("span", { "aria-hidden": "true" });
      button.append(mark);
      button.addEventListener("click", () => onSort(sort));
      head.dataset.sortable = "";
      head.append(button);
      this.#heads.set(sort, { head, mark });
    } else {
      head.textContent = title;
    }
    document.getElementById("head").append(head);
  }

  #onKey(event) {
    const index = this.#rows.findIndex((row) => row.name === this.#active);
    const screen = Math.max(1, Math.floor(innerHeight / this.#rowHeight()) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -index, End: this.#rows.length };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey || index < 0) return;
    event.preventDefault();
    this.#focus(Math.min(Math.max(index + step, 0), this.#rows.length - 1));
  }

  #focus(index) {
    this.#active = this.#rows[index].name;
    const height = this.#rowHeight();
    const top = this.#body.getBoundingClientRect().top + scrollY + index * height;
    const above = this.#table.tHead.offsetHeight;
    if (top - above < scrollY) scrollTo(scrollX, top - above);
    else if (top + height > scrollY + innerHeight) scrollTo(scrollX, top + height - innerHeight);
    this.draw();
    this.#views.get(this.#active)?.element.focus({ preventScroll: true });
  }
}
