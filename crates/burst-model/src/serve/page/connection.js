// The connection: asks for the Services again and again, by long polls, and says what each answer means.
// docs/signals.md and docs/configuration.md describe the requests.

// Below the 15 s after which Envoy's routes time out.
const WAIT = 10;
// An answer that takes this much longer than the wait does not come any more, in seconds.
const PATIENCE = 10;
// Pauses between two requests, in milliseconds. A page that is not on the screen asks less often.
const LEAST_PAUSE = 500;
const HIDDEN_PAUSE = 10_000;
const LONGEST_PAUSE = 10_000;
// After a large answer the page pauses for that many times as long as it took to read it.
const COST = 10;

class Connection {
  #etag;
  #mayWait = true;
  #failures = 0;
  #wake = () => {};

  // Calls `onAnswer` with each answer, for as long as the page is open. A kind of answer is one of: `rows`, `unchanged`,
  // `unavailable` (the proxy has no current snapshot), `busy`, `refused`, `lost`.
  async run(onAnswer) {
    for (const event of ["visibilitychange", "online"]) {
      (event === "online" ? window : document).addEventListener(event, () => this.#wake());
    }
    for (;;) {
      const asked = performance.now();
      const answer = await this.#ask();
      const took = performance.now() - asked;
      this.#failures = answer.kind === "lost" ? this.#failures + 1 : 0;
      const pause = this.#pause(answer, took);
      onAnswer(answer);
      await new Promise((resolve) => {
        this.#wake = () => document.hidden || resolve();
        setTimeout(resolve, pause);
      });
    }
  }

  async #ask() {
    const wait = this.#mayWait && this.#etag ? `&wait=${WAIT}s` : "";
    const headers = this.#etag ? { "if-none-match": this.#etag } : {};
    const signal = AbortSignal.timeout((WAIT + PATIENCE) * 1000);
    this.#mayWait = true;
    try {
      const response = await fetch(`${base()}services?format=json${wait}`, { headers, signal, cache: "no-store" });
      return await this.#read(response);
    } catch (error) {
      return { kind: "lost", text: error.name === "TimeoutError" ? "the proxy does not answer" : "the proxy cannot be reached" };
    }
  }

  async #read(response) {
    const age = ageOf(response.headers.get("x-burst-confirmed"));
    const retry = Number(response.headers.get("retry-after")) || undefined;
    if (response.status === 304) return { kind: "unchanged", age };
    const started = performance.now();
    const text = await response.text();
    const shown = text.slice(0, 300).trim();
    if (response.status === 200) {
      try {
        const rows = readRows(JSON.parse(text));
        this.#etag = response.headers.get("etag");
        return { kind: "rows", rows, age, cost: performance.now() - started };
      } catch (error) {
        return { kind: "refused", text: `the answer cannot be read: ${error.message}` };
      }
    }
    if (response.status === 429) {
      this.#mayWait = false;
      return { kind: "busy", retry };
    }
    if (response.status === 503 && response.headers.has("x-burst-confirmed")) {
      return { kind: shown.startsWith("too many") ? "busy" : "unavailable", age, text: shown, retry };
    }
    return { kind: "refused", text: `the proxy answers ${response.status}${shown && `: ${shown}`}`, retry };
  }

  // The time until the next request, in milliseconds.
  #pause({ kind, retry = 2, cost }, took) {
    const least = document.hidden ? HIDDEN_PAUSE : LEAST_PAUSE;
    switch (kind) {
      case "rows":
        return Math.max(least, COST * cost);
      case "unchanged":
        // A proxy that does not wait answers at once.
        return took < 1000 ? Math.max(least, 3000) : 0;
      case "lost":
        return Math.min(LEAST_PAUSE * 2 ** this.#failures, LONGEST_PAUSE);
      default:
        return Math.max(least, retry * 1000);
    }
  }
}

// The folder of the page: it is served with and without a slash at its end.
function base() {
  return location.pathname.replace(/\/?$/, "/");
}

// The age in `at=1700000000123, age=1500`, in milliseconds; undefined for `never` and without the header.
function ageOf(confirmed) {
  const age = /, age=(\d+)/.exec(confirmed ?? "");
  return age ? Number(age[1]) : undefined;
}
