// Plays recorded or taught motions: positions over time, between whose samples the page interpolates.
"use strict";

const TRACE_POINTS = 600;
const MOST_TOGETHER = 8;
const LAST_PICTURE = 200;  // ms for which a movie stands at its end

/** Waits until the browser is about to paint. */
function nextPicture() { return new Promise(done => requestAnimationFrame(done)); }

class Player {
  /** @param {ViewPage} page @param {{ times: number[], runs: { label: string, q: number[] }[] }} recording */
  constructor(page, { times, runs }) {
    this.page = page;
    this.times = times;
    this.runs = runs;
    this.run = 0;
    this.playing = false;
    this.next = 0;  // request for a frame
    this.button = make("button", { type: "button", class: "play", onclick: () => this.playing ? this.pause() : this.play() }, "Play");
    this.slider = make("input", { type: "range", min: times[0], max: times[times.length - 1], step: "any", "aria-label": "time",
      oninput: () => { this.pause(); this.seek(Number(this.slider.value)); } });
    this.clock = make("output", { class: "clock" });
    this.speed = choice("Speed", [["1", "1 ×"], ["0.25", "¼ ×"], ["0.5", "½ ×"], ["2", "2 ×"]], () => {}).querySelector("select");
    const which = runs.length > 1 ? choice("Run", runs.map(({ label }, k) => [String(k), label]), value => this.select(Number(value))) : "";
    const together = runs.length > 1 ? make("div", { class: "checks" }, checkbox("all together", runs.length <= 3, on => { this.together = on; this.drawTrace(); this.seek(this.time); })) : "";
    this.together = runs.length > 1 && runs.length <= 3;
    this.element = section("Motion", true, which, together,
      make("div", { class: "player" }, this.button, this.slider, this.clock, this.speed),
      page.scene && "MediaRecorder" in window && page.scene.canvas.captureStream ? this.movieButton() : "");
    this.select(0, false);
  }

  /** Part of the duration that has passed. */
  get share() { return (this.time - this.times[0]) / (this.times[this.times.length - 1] - this.times[0] || 1); }

  /** Configurations of the other runs. */
  get ghosts() { return this.together && this.time !== undefined ? this.others.map(run => this.at(this.time, run)) : []; }

  /** Numbers of the other runs that are shown. */
  get others() { return this.runs.map((_, k) => k).filter(k => k !== this.run).slice(0, MOST_TOGETHER); }

  /** Configuration at a time. @param {number} time */
  at(time, run = this.run) {
    const { times } = this, n = this.page.q.length, { q } = this.runs[run];
    let low = 0, high = times.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= time) low = middle; else high = middle; }
    const span = times[high] - times[low], f = span > 0 ? Math.min(1, Math.max(0, (time - times[low]) / span)) : 0;
    const mixed = Float64Array.from({ length: n }, (_, k) => q[low * n + k] + f * (q[high * n + k] - q[low * n + k]));
    return this.page.mechanism.normalized(mixed);
  }

  /** @param {number} run */
  select(run, show = true) {
    this.run = run;
    this.drawTrace();
    if (show) this.seek(this.time ?? this.times[0]);
  }

  /** The path of the tool, as dots. */
  drawTrace() {
    const { scene, mechanism } = this.page;
    if (!scene) return;
    const { times } = this, count = Math.min(TRACE_POINTS, times.length * 20), first = times[0], last = times[times.length - 1];
    const path = run => {
      const points = new Float32Array(3 * count);
      for (let k = 0; k < count; k++) {
        const { T } = mechanism.tool(this.at(first + (last - first) * k / Math.max(count - 1, 1), run));
        points.set(mechanism.upright(T).subarray(12, 15), 3 * k);
      }
      return points;
    };
    scene.setTrace(path(this.run));
    scene.setOtherTraces(this.together ? this.others.map((run, k) => ({ points: path(run), color: GHOST_COLORS[(k + 1) % GHOST_COLORS.length] })) : []);
  }

  /** @param {number} time */
  seek(time) {
    const { times, page } = this;
    this.time = time;
    this.slider.value = String(time);
    this.clock.textContent = `${time.toFixed(2)} s`;
    if (page.scene) page.scene.frame = (time - times[0]) / (times[times.length - 1] - times[0] || 1) * (page.scene.trace?.count ?? 1);
    page.move(this.at(time), false);
  }

  play() {
    const [first, last] = [this.times[0], this.times[this.times.length - 1]];
    this.page.simulation?.stop();
    this.playing = true;
    this.button.textContent = "Pause";
    if ((this.time ?? first) >= last) this.seek(first);
    let before = null;
    const step = now => {
      const elapsed = before === null ? 0 : Math.min(0.1, (now - before) / 1000);
      before = now;
      this.seek(Math.min(last, this.time + elapsed * Number(this.speed.value)));
      if (this.time >= last) this.pause();
      else if (this.playing) this.next = requestAnimationFrame(step);
    };
    if (this.time === undefined) this.seek(first);
    this.next = requestAnimationFrame(step);
  }

  /** A button that saves the motion as a movie, while it plays once. */
  movieButton() {
    const button = make("button", { type: "button", class: "movie", title: "Play once and save a movie (WebM or MP4)", onclick: async () => {
      button.disabled = true;
      try {
        const movie = await this.movie();
        const link = make("a", { href: URL.createObjectURL(movie), download: `${this.page.data.name}.${movie.type.includes("mp4") ? "mp4" : "webm"}` });
        link.click();
        URL.revokeObjectURL(link.href);
      } catch (error) {
        const { error: cause = error } = /** @type {any} */ (error);  // an event holds what failed
        this.page.notice(`This browser saves no movie: ${cause.message}`);
      } finally {
        button.disabled = false;
      }
    } }, "Movie");
    return make("div", { class: "buttons" }, button);
  }

  /** The motion from its beginning to its end, as the picture shows it. @returns {Promise<Blob>} */
  async movie() {
    const { scene, gizmo } = this.page, { shown } = gizmo, [first, last] = [this.times[0], this.times[this.times.length - 1]];
    const recorder = new MediaRecorder(scene.canvas.captureStream(30)), /** @type {Blob[]} */ pieces = [];
    let records = false;
    recorder.ondataavailable = event => { pieces.push(event.data); };
    recorder.onstart = () => { records = true; };
    const ended = new Promise((done, failed) => { recorder.onstop = done; recorder.onerror = failed; });
    gizmo.shown = false;
    scene.keepsFine = true;
    this.pause();
    try {
      recorder.start();
      await this.holds(first, () => !records);  // an encoder needs time and pictures until it records
      this.play();
      while (this.playing) await nextPicture();
      const end = performance.now() + LAST_PICTURE;
      await this.holds(last, () => performance.now() < end);
      recorder.stop();
      await ended;
    } finally {
      gizmo.shown = shown;
      scene.keepsFine = false;
      this.page.refresh();
    }
    return new Blob(pieces, { type: recorder.mimeType });
  }

  /** Paints the same moment again and again. @param {number} time @param {() => boolean} on whether it goes on */
  async holds(time, on) {
    while (on()) {
      this.seek(time);
      await nextPicture();
    }
  }

  pause() {
    cancelAnimationFrame(this.next);
    this.playing = false;
    this.button.textContent = "Play";
  }
}
