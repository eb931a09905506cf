// The link of a live page with Python: configurations come as events, and what is moved here is sent back.
"use strict";

const SEND_INTERVAL = 60;  // ms

class LiveLink {
  /** @param {ViewPage} page */
  constructor(page) {
    this.page = page;
    this.waiting = this.moved = false;
    /** Tells what this window sent from what others did. */
    this.id = Math.random().toString(36).slice(2);
    this.events = new EventSource("events");
    this.events.onmessage = event => {
      const { q, first, sender } = JSON.parse(event.data);
      if (sender === this.id) return;
      if (first && this.moved) this.send();  // it was moved before the link stood
      else page.show(Float64Array.from(q));
    };
    this.events.onerror = () => {
      if (this.events.readyState === EventSource.CLOSED) this.end();
      else this.failed ??= setTimeout(() => this.end(), 4000);  // the browser tries again in the meantime
    };
    this.events.onopen = () => { clearTimeout(this.failed); this.failed = undefined; };
    page.listeners.push(() => { this.moved = true; this.send(); });
  }

  end() {
    clearTimeout(this.failed);
    this.events.close();
    this.page.listeners = [];
    this.page.notice("Python has closed this view. The page goes on by itself.");
  }

  send() {
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      const { q, pendant } = this.page;
      if (!q.every(Number.isFinite)) return;
      fetch("state", { method: "POST", body: JSON.stringify({ q: [...q], waypoints: pendant.waypoints.map(w => [...w]), sender: this.id }) }).catch(() => {});
    }, SEND_INTERVAL);
  }
}

/** The link with the page that shows this one in a frame: a widget of a notebook. */
class FrameLink {
  /** @param {ViewPage} page */
  constructor(page) {
    window.addEventListener("message", event => {
      const q = event.source === window.parent && event.data?.chasles?.q;
      if (Array.isArray(q) && q.length === page.q.length && q.some((x, k) => x !== page.q[k])) page.show(Float64Array.from(q));
    });
    let waiting = false;
    page.listeners.push(() => {
      if (waiting) return;
      waiting = true;
      setTimeout(() => {
        waiting = false;
        const { q, pendant } = page;
        if (q.every(Number.isFinite)) window.parent.postMessage({ chasles: { q: [...q], waypoints: pendant.waypoints.map(w => [...w]) } }, "*");
      }, SEND_INTERVAL);
    });
  }
}
