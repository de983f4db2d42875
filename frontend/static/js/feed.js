// What is under way, second by second. The feed is asked for every few seconds, and sent only where it has news; what has
// come is played out, a second each second: a line on the page of a run, points that grow on that of an experiment.
(function () {
  "use strict";
  const ASK_MS = 5000;
  const SECOND_MS = 1000;
  const LATE_S = 10;
  const VIEW = { width: 1000, height: 200 };
  let feed = null;
  let etag = "";
  let played = 0;
  let clockAheadMs = 0;

  function box() {
    return document.querySelector("[data-feed]");
  }

  async function ask() {
    const source = box();
    if (source && !document.hidden) {
      const headers = { Accept: "application/json", "BenchHub-Refresh": "1", ...(etag && { "If-None-Match": etag }) };
      const response = await fetch(source.dataset.feed, { headers, cache: "no-store" }).catch(() => null);
      const date = Date.parse(response?.headers.get("Date"));
      if (date) clockAheadMs = Date.now() - date;
      if (response?.status === 200 && response.headers.get("content-type") === "application/json") {
        etag = response.headers.get("ETag");
        take(await response.json());
      }
    }
    if (source) setTimeout(ask, ASK_MS);
  }

  // The first answer stands at once, but for its last seconds; what comes later follows second by second.
  function take(answer) {
    if (answer.values && !feed) played = Math.max(0, answer.values.length - 5);
    feed = answer;
    if (answer.points) document.dispatchEvent(new CustomEvent("benchhub:points", { detail: answer.points }));
  }

  // By the server's clock: the reader's may be wrong.
  function leftS() {
    if (!feed?.end_epoch_s) return null;
    return Math.round(feed.end_epoch_s - (Date.now() - clockAheadMs) / 1000);
  }

  function leftWords() {
    const seconds = leftS();
    if (seconds > 0) return `about ${duration(seconds)} left`;
    if (seconds > -LATE_S) return "about to end";
    const until = feed.deadline_epoch_s ? `; its host ends it at the latest about ${moment(feed.deadline_epoch_s)}` : "";
    return `${duration(-seconds)} longer than expected${until}`;
  }

  // With its day where that is another one.
  function moment(epoch_s) {
    const at = new Date(1000 * epoch_s + clockAheadMs);
    const isToday = at.toDateString() === new Date().toDateString();
    return isToday ? at.toLocaleTimeString() : at.toLocaleString();
  }

  function duration(seconds) {
    const minutes = Math.floor(seconds / 60);
    const hours = Math.floor(minutes / 60);
    const two = (large, unit, small, other) => `${large} ${unit}` + (small ? ` ${small} ${other}` : "");
    if (hours) return two(hours, "h", minutes % 60, "min");
    return minutes ? two(minutes, "min", seconds % 60, "s") : `${seconds} s`;
  }

  function points(values, most, end) {
    const x = (i) => (VIEW.width * (i + 1)) / end;
    const y = (value) => VIEW.height * (1 - value / most);
    return values.map((value, i) => (value === null ? "" : `${x(i).toFixed(1)},${y(value).toFixed(1)}`)).join(" ");
  }

  function polyline(text) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    line.setAttribute("points", text);
    return line;
  }

  function draw(source) {
    const values = feed.values.slice(0, Math.floor(played));
    const ghosts = JSON.parse(document.getElementById("live-ghosts").textContent);
    source.hidden = values.length === 0;
    if (source.hidden) return;
    for (const text of document.querySelectorAll("[data-until-drawn]")) text.hidden = true;
    const end = Math.max(feed.load_s, feed.values.length, ...ghosts.map((ghost) => ghost.length));
    const most = 1.1 * Math.max(...feed.values, ...ghosts.flat().filter((value) => value !== null), 1e-9);
    const svg = source.querySelector("svg");
    svg.setAttribute("viewBox", `0 0 ${VIEW.width} ${VIEW.height}`);
    svg.setAttribute("preserveAspectRatio", "none");
    source.querySelector(".ghosts").replaceChildren(...ghosts.map((ghost) => polyline(points(ghost, most, end))));
    source.querySelector("polyline.now").setAttribute("points", points(values, most, end));
    const newest = values[values.length - 1];
    const digits = newest >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
    source.querySelector("[data-now]").textContent = `${newest.toLocaleString("en", digits)} ${feed.unit}`;
    source.querySelector("[data-end]").textContent = `${end} s`;
    const left = leftS() === null ? "" : `, ${leftWords()}`;
    source.querySelector("[data-left-words]").textContent = `second ${values.length} of ${end}${left}`;
  }

  function second() {
    const source = box();
    if (!source) return;
    if (feed?.values && !document.hidden) {
      // A little faster where much waits, so that the line never falls far behind.
      played = Math.min(feed.values.length, played + Math.max(1, (feed.values.length - played) / 10));
      draw(source);
    }
    const text = document.querySelector("[data-left]");
    if (text && leftS() !== null) text.textContent = leftWords();
    setTimeout(second, SECOND_MS);
  }

  // A page that comes to rest has no feed any more.
  document.addEventListener("htmx:afterSwap", () => {
    if (!box()) document.dispatchEvent(new CustomEvent("benchhub:points", { detail: [] }));
  });
  ask();
  second();
})();
