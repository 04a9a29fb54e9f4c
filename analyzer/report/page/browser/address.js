// SPDX-License-Identifier: Apache-2.0

// The address of the page has what is chosen on it: #section&TABLE.sort=-COLUMN&TABLE.filter=WORD

const chosen = new Map();
let place = '';

function read() {
  const [id, ...rest] = location.hash.slice(1).split('&');
  place = id;
  for (const one of rest) {
    const at = one.indexOf('=');
    if (at > 0) chosen.set(one.slice(0, at), decodeURIComponent(one.slice(at + 1)));
  }
}

function write() {
  const rest = [...chosen].map(([key, value]) => `&${key}=${encodeURIComponent(value)}`);
  history.replaceState(null, '', `#${place}${rest.join('')}`);
}

export function choiceOf(key) { return chosen.get(key) || ''; }

export function setChoice(key, value) {
  if (value)
    chosen.set(key, value);
  else
    chosen.delete(key);
  write();
}

// Before anything is drawn.
export function readAddress() {
  try {
    read();
  } catch (error) {
    console.warn(error);  // an address that somebody has cut off
  }
  window.addEventListener('hashchange', () => {
    if (location.hash.includes('&')) {
      location.reload();
    } else {
      place = location.hash.slice(1);
      if (chosen.size > 0) write();
    }
  });
}

// When all is drawn, and has its height.
export function showPlace() {
  const target = place && document.getElementById(place);
  if (!target) return;
  history.scrollRestoration = 'manual';  // else a browser goes to where the page was before
  target.scrollIntoView();
}
