// Puts plots, the 3D view and the player of each run of a report together.
"use strict";

class RunSection {
  constructor(section) {
    this.section = section;
    this.data = JSON.parse(section.querySelector("script[type='application/json']").textContent);
    this.plot = section.querySelector(".plot");
    this.cursor = section.querySelector(".cursor");
    this.slider = section.querySelector("input[type=range]");
    this.clock = section.querySelector(".clock");
    this.button = section.querySelector(".play");
    this.speed = section.querySelector(".speed");
    this.first = this.last = this.time = 0;
    this.playing = this.wanted = false;
    this.showPlot();
    if (this.data.scene) this.showRobot();
  }

  showPlot() {
    drawPlot(this.plot, this.data.figure, "chasles-run").then(() => {
      this.plot.on("plotly_relayout", () => this.placeCursor());
      this.plot.on("plotly_click", event => { this.pause(); this.seek(event.points[0].x); });
      this.placeCursor();
    });
    for (const figure of this.data.more) {
      drawPlot(this.section.querySelector(".more").appendChild(document.createElement("div")), figure, "chasles-run");
    }
  }

  showRobot() {
    const canvas = this.section.querySelector("canvas");
    try {
      this.view = new RobotView(canvas, this.data.scene);
      const dress = () => { this.view.theme = DARK.matches ? "dark" : "light"; this.view.draw(); };
      dress();
      DARK.addEventListener("change", dress);
    } catch (error) {
      this.section.querySelector(".view").textContent = `The 3D view cannot be shown: ${/** @type {Error} */ (error).message}.`;
      return;
    }
    const { times } = this.view;
    [this.first, this.last] = [times[0], times[times.length - 1]];
    Object.assign(this.slider, { min: this.first, max: this.last, step: "any" });
    this.section.querySelector(".grid-size").textContent = "grid " + Number(this.data.scene.grid.toPrecision(3)) + " m";
    this.slider.addEventListener("input", () => { this.pause(); this.seek(Number(this.slider.value)); });
    this.button.addEventListener("click", () => this.playing ? this.pause() : this.play());
    this.section.querySelector(".run")?.addEventListener("change", event => this.view.selectRun(Number(event.target.value)));
    canvas.addEventListener("keydown", event => {
      if (event.key === " ") { event.preventDefault(); this.playing ? this.pause() : this.play(); }
    });
    this.section.querySelector(".hand").addEventListener("click", event => this.takeByHand(event.currentTarget));
    this.seek(this.first);
    this.playWhenSeen(canvas);
  }

  /** Shows the page on which the robot can be moved in place of its motion, or the motion again. */
  async takeByHand(button) {
    const view = this.section.querySelector(".view"), open = view.querySelector("iframe");
    this.pause();
    button.textContent = open ? "Open interactive view" : "Back to the motion";
    view.classList.toggle("taken", !open);
    if (open) { open.remove(); return; }
    const frame = document.createElement("iframe");
    frame.title = "the robot, to be moved";
    view.append(frame);
    frame.srcdoc = new TextDecoder().decode(await inflated(document.getElementById(this.data.hand).textContent));
  }

  // Moves as long as it is on the screen, unless the reader paused it or wishes for calm pages.
  playWhenSeen(canvas) {
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.wanted = true;
    new IntersectionObserver(entries => {
      const seen = entries[entries.length - 1].isIntersecting;
      if (seen && this.wanted && !this.playing) this.play();
      else if (!seen && this.playing) { this.pause(); this.wanted = true; }
    }).observe(canvas);
  }

  play() {
    this.playing = true;
    this.button.textContent = "Pause";
    if (this.time >= this.last) this.seek(this.first);
    let before = null, rest = 0;
    const step = now => {
      if (!this.playing) return;
      const elapsed = before === null ? 0 : Math.min(0.1, (now - before) / 1000);
      before = now;
      if (this.time < this.last) this.seek(Math.min(this.last, this.time + elapsed * Number(this.speed.value)));
      else if ((rest += elapsed) > 1) { rest = 0; this.seek(this.first); }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  pause() {
    this.playing = this.wanted = false;
    this.button.textContent = "Play";
  }

  seek(time) {
    this.time = time;
    this.slider.value = time;
    this.clock.textContent = time.toFixed(2) + " s";
    this.view?.setTime(time);
    this.placeCursor();
  }

  placeCursor() {
    const layout = this.plot._fullLayout;
    if (!layout?.xaxis || !this.view) return;
    const x = layout.xaxis.l2p(this.time), inside = x >= 0 && x <= layout.xaxis._length;
    this.cursor.hidden = !inside;
    this.cursor.style.left = layout.xaxis._offset + x + "px";
    this.cursor.style.top = layout.margin.t + "px";
    this.cursor.style.height = layout.height - layout.margin.t - layout.margin.b + "px";
  }
}

document.querySelectorAll("section.run-section").forEach(section => new RunSection(section));
