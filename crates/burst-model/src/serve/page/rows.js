// Rows: what an answer says of each Service, and which rows a filter and an order show. No DOM here.

// The columns with a number. Those with `optional` show only if a Service has the value.
const NUMBERS = [
  { key: "current", title: "Current" },
  { key: "target", title: "Target" },
  { key: "max", title: "Max" },
  { key: "headroom", title: "Free" },
  { key: "ready", title: "Ready", optional: true },
  { key: "demand", title: "Demand", optional: true },
];

// Reads the JSON of `services?format=json`: namespace/name to numbers. Keys that it does not know are ignored.
function readRows(loads) {
  if (typeof loads !== "object" || loads === null || Array.isArray(loads)) {
    throw new Error("the answer is not a JSON object");
  }
  return Object.entries(loads).map(([name, load]) => readRow(name, Object(load)));
}

function readRow(name, load) {
  const row = { name, workload: typeof load.service === "string" ? load.service : "" };
  for (const { key } of NUMBERS) row[key] = count(load[key]);
  row.level = level(row);
  row.used = row.max > 0 ? row.current / row.max : 0;
  row.state = typeof load.state === "string" ? load.state : { ok: "ok", above: "above target", full: "full" }[row.level];
  row.text = `${name} ${row.workload} ${row.state}`.toLowerCase();
  return row;
}

// A number of replicas; undefined for anything else.
function count(value) {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

// How close the current replicas are to the maximum.
function level({ current, target, max }) {
  if (current >= max) return "full";
  return current > target ? "above" : "ok";
}

// The rows that contain every word of the filter and have the level, in the order of the column.
function select(rows, { words, level: wanted, sort, descending }) {
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter((row) => (!wanted || row.level === wanted) && terms.every((term) => row.text.includes(term)));
  const sign = descending ? -1 : 1;
  return shown.sort((a, b) => sign * compare(a[sort], b[sort]) || compare(a.name, b.name));
}

// Missing values are before all others.
function compare(a, b) {
  if (a === b) return 0;
  if (a === undefined) return -1;
  if (b === undefined) return 1;
  return a < b ? -1 : 1;
}
