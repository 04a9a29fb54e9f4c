// SPDX-License-Identifier: Apache-2.0
//
// Browsers start no worker from a file. On a disk, the site's search therefore runs in a hidden frame
// that behaves like one. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.started = new Promise((resolve) => { this.frame.onload = resolve; }).then(() => {
        const inside = this.frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = (...sources) => Promise.all(sources.map((source) => this.load(source)));
        return this.load(url);
      });
      document.body.append(this.frame);
    }

    load(source) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script");
        Object.assign(script, { src: source, onload: resolve, onerror: reject });
        this.frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      this.started.then(
        () => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
