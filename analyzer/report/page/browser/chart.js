// SPDX-License-Identifier: Apache-2.0

// All charts share this: a drawing that follows the width of its place, a hint for the mark under
// the pointer or chosen by the arrow keys, and shapes that tell series apart without colour.

import {element} from 'page/element';

const kShapes = [
  d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross,
  d3.symbolStar, d3.symbolWye
];
const kSeries = 7;

export function seriesColour(index) {
  return `var(--series-${index % kSeries})`;
}

// No two of the first 49 have the same colour and shape.
export function seriesShape(index) {
  return kShapes[(index + Math.floor(index / kSeries)) % kShapes.length];
}

function showTip(text, x, y) {
  const tip = document.getElementById('tip');
  if (tip.textContent !== text) tip.textContent = text;
  tip.hidden = false;
  const most = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(8, Math.min(x + 14, most)) + window.scrollX}px`;
  tip.style.top = `${Math.max(8, y - tip.offsetHeight - 10) + window.scrollY}px`;
}

function hideTip() {
  document.getElementById('tip').hidden = true;
}

// A list of texts, each behind a square. paint(rect, i) gives the square of texts[i] its colour.
export function legendOf(texts, paint) {
  return element('ul', {class: 'legend'}, ...texts.map((text, i) => {
    const item = element('li');
    const rect = d3.select(item)
                     .append('svg')
                     .attr('aria-hidden', 'true')
                     .append('rect')
                     .attr('width', 14)
                     .attr('height', 14);
    paint(rect, i);
    item.append(text);
    return item;
  }));
}

// Draws into `place`, again whenever its width changes. draw(svg, width) draws and returns the
// height.
export function addChart(place, label, draw) {
  const frame = element('div');
  place.append(frame);
  let drawn = 0;
  function redraw() {
    const width = Math.max(280, Math.round(frame.clientWidth || 960));
    if (width === drawn) return;
    drawn = width;
    frame.replaceChildren();
    const svg = d3.select(frame)
                    .append('svg')
                    .attr('class', 'chart')
                    .attr('role', 'group')
                    .attr('aria-label', label);
    const height = draw(svg, width);
    svg.attr('viewBox', `0 0 ${width} ${height}`);
  }
  redraw();
  new ResizeObserver(redraw).observe(frame);
  return () => {
    drawn = 0;
    redraw();
  };
}

// One stop of the tab key for all marks; arrows go from one to the next. `marks`: selection whose
// data have row and column; describe(datum) is the text; take(datum) gets one that is clicked.
export function makeRoving(svg, marks, describe, label, take) {
  const nodes = marks.nodes();
  const data = marks.data();
  let at = -1;
  function choose(index, withTip) {
    if (at >= 0) nodes[at].classList.remove('active');
    at = index;
    if (at < 0) return hideTip();
    nodes[at].classList.add('active');
    if (withTip) {
      const box = nodes[at].getBoundingClientRect();
      showTip(describe(data[at]), box.right - 6, box.top);
    }
  }
  // The nearest in that direction.
  function next(rows, columns) {
    const from = data[at];
    let best = at;
    let least = Infinity;
    data.forEach((one, i) => {
      const down = (one.row - from.row) * rows;
      const right = (one.column - from.column) * columns;
      if (rows ? down <= 0 : right <= 0 || one.row !== from.row) return;
      const far = rows ? down * 1e4 + Math.abs(one.column - from.column) : right;
      if (far < least) {
        least = far;
        best = i;
      }
    });
    return best;
  }
  const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
  svg.attr('tabindex', 0)
      .attr('role', 'application')
      .attr('aria-label', `${label}; arrow keys go through it`)
      .on('keydown',
          () => {
            const key = d3.event.key;
            if (key === 'Escape') return choose(-1);
            if (key === 'Enter' && take && at >= 0) return take(data[at]);
            if (!(key in steps) || nodes.length === 0) return undefined;
            d3.event.preventDefault();
            return choose(at < 0 ? 0 : next(...steps[key]), true);
          })
      .on('blur', () => choose(-1));
  marks.classed('mark', true)
      .on('pointerenter',
          function enter(datum) {
            showTip(describe(datum), d3.event.clientX, d3.event.clientY);
          })
      .on('pointerleave', hideTip);
  if (take) marks.on('click', take);
}

// Cuts a text to what fits a width, at about seven pixels a character.
export function fitText(text, width) {
  const most = Math.max(3, Math.floor(width / 6.6));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
