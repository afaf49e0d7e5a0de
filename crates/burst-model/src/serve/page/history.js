// The history of each Service since the page was opened, at most the last 10 minutes. A point is kept only if it differs from
// the one before it.

const HISTORY = 10 * 60 * 1000;
const MOST_POINTS = 300;

class ReplicaHistory {
  points = new Map();
  opened;

  // Adds the values of an answer at a time in milliseconds, and forgets Services that are gone.
  add(rows, now) {
    this.opened ??= now;
    const points = new Map();
    for (const row of rows) points.set(row.name, this.#next(row, now));
    this.points = points;
  }

  // When the history begins.
  start(now) {
    return Math.max(this.opened ?? now, now - HISTORY);
  }

  #next({ name, current, target, max, demand }, now) {
    const known = this.points.get(name) ?? [];
    const last = known.at(-1);
    if (last && last.current === current && last.target === target && last.max === max && last.demand === demand) {
      return known;
    }
    known.push({ at: now, current, target, max, demand });
    // One point from before the start says what the value was at the start.
    const first = known.findLastIndex((point) => point.at <= now - HISTORY);
    known.splice(0, Math.max(first, known.length - MOST_POINTS, 0));
    return known;
  }
}
