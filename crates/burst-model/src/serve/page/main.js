// The page: what is shown of the rows, and of the connection.

const STATES = {
  connecting: "Connecting",
  live: "Live",
  empty: "Live",
  stale: "No current data",
  none: "No data yet",
  lost: "Connection lost",
  refused: "No data",
};

const view = { words: "", level: "", sort: "name", descending: false };
const past = new ReplicaHistory();
const table = new Table(past, onSort);
const filter = document.getElementById("filter");
const levels = document.querySelectorAll("#levels button");
let rows = [];
// When the cluster was last read, by the clock of this page.
let readAt;
let ticks = 0;

new Connection().run(onAnswer);
setInterval(onTick, 1000);
filter.addEventListener("input", () => update({ words: filter.value }));
for (const button of levels) button.addEventListener("click", () => update({ level: button.dataset.level }));
addEventListener("keydown", onKey);
addEventListener("hashchange", restore);
restore();

function onAnswer({ kind, rows: read, age, text }) {
  if (age !== undefined) readAt = performance.now() - age;
  switch (kind) {
    case "rows":
      rows = read;
      past.add(rows, performance.now());
      setState(rows.length ? "live" : "empty");
      draw();
      break;
    case "unchanged":
      setState(rows.length ? "live" : "empty");
      break;
    case "busy":
      break;
    case "unavailable":
      setState(age === undefined ? "none" : "stale", text);
      break;
    case "refused":
      setState("refused", text);
      break;
    case "lost":
      setState("lost", `${text}; the page tries again by itself`);
      break;
  }
  onTick();
}

// Shows the state of the connection. In every state but `live` the rows are old.
function setState(state, text = "") {
  const connection = document.getElementById("connection");
  if (connection.dataset.state !== state) {
    connection.dataset.state = state;
    setText(document.getElementById("state"), STATES[state]);
  }
  const isOld = state !== "live" && rows.length > 0;
  table.setOld(isOld);
  const notice = document.getElementById("notice");
  setText(notice, isOld ? `${text}. The numbers below are old.` : text);
  notice.hidden = text === "";
}

function onTick() {
  const age = readAt === undefined ? "" : `read ${duration(performance.now() - readAt)} ago`;
  setText(document.getElementById("age"), age);
  // The histories move with the time, which is too slow to see more often.
  ticks += 1;
  if (ticks % 5 === 0) table.draw();
}

function duration(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 100) return `${seconds} s`;
  return seconds < 6000 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3600)} h`;
}

function onSort(sort) {
  const descending = view.sort === sort ? !view.descending : false;
  update({ sort, descending });
}

function update(changes) {
  Object.assign(view, changes);
  const { words, level, sort, descending } = view;
  const hash = new URLSearchParams({ filter: words, show: level, sort: descending ? `-${sort}` : sort });
  history.replaceState(null, "", `#${hash}`);
  draw();
}

// Takes the filter and the order from the address, so that a link and a reload keep them.
function restore() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const sort = hash.get("sort") ?? "name";
  const known = COLUMNS.filter(({ sortable }) => sortable).map(({ key, sort = key }) => sort);
  const level = hash.get("show") ?? "";
  Object.assign(view, {
    words: hash.get("filter") ?? "",
    level: [...levels].some((button) => button.dataset.level === level) ? level : "",
    sort: known.includes(sort.replace("-", "")) ? sort.replace("-", "") : "name",
    descending: sort.startsWith("-"),
  });
  filter.value = view.words;
  draw();
}

function draw() {
  const shown = select(rows, view);
  for (const button of levels) {
    const { level } = button.dataset;
    const number = level ? rows.filter((row) => row.level === level).length : rows.length;
    setText(button.querySelector("b"), String(number));
    set(button, "aria-pressed", String(level === view.level));
  }
  const full = rows.filter((row) => row.level === "full").length;
  document.title = full > 0 ? `${full} full: burst-metrics` : "burst-metrics";
  setText(document.getElementById("shown"), `${shown.length} of ${rows.length} services`);
  const empty = document.getElementById("empty");
  setText(empty, rows.length ? "No service matches the filter." : "No service has a HorizontalPodAutoscaler.");
  empty.hidden = shown.length > 0 || (rows.length === 0 && document.getElementById("connection").dataset.state !== "empty");
  table.show(shown, rows, view);
}

function onKey(event) {
  if (event.key === "/" && event.target !== filter) {
    event.preventDefault();
    filter.focus();
  } else if (event.key === "Escape" && event.target === filter) {
    filter.value = "";
    update({ words: "" });
  }
}
