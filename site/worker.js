// Browsers refuse workers to pages that open from a file. A hidden frame takes the worker's place there.
// As between threads, each message is a copy that arrives in a task of its own: the search rewrites the query it gets.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.document.open();
      inside.document.write(
        "<script>self.importScripts = (...urls) => Promise.all(urls.map((url) => new Promise((done, failed) => {" +
          "const script = document.createElement('script'); script.src = url; script.onload = done; script.onerror = failed;" +
          "document.head.appendChild(script); })));<\/script>",
      );
      inside.postMessage = (data) => {
        const message = new MessageEvent("message", { data: structuredClone(data) });
        setTimeout(() => {
          this.onmessage?.(message);
          this.dispatchEvent(message);
        });
      };
      this.ready = new Promise((done) => {
        const script = inside.document.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = done;
        inside.document.head.appendChild(script);
      });
      inside.document.close();
    }

    postMessage(data) {
      const message = new MessageEvent("message", { data: structuredClone(data) });
      this.ready.then(() => setTimeout(() => this.frame.contentWindow?.dispatchEvent(message)));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
