// SPDX-License-Identifier: Apache-2.0
'use strict';

// How numbers are written: as `ringside` writes them in a terminal. Values come from the data as
// numbers; as text where a number of JavaScript would not be exact.

const kNone = '–';

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function durationText(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns.toFixed(0)} ns`;
  if (size < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}

function integerText(value) {
  return value.toLocaleString('en-US', {maximumFractionDigits: 0});
}

// What is there is never written as 0.
function numberText(value, decimals) {
  const least = 10 ** -decimals;
  if (value > 0 && value < least / 2) return `<${least.toFixed(decimals)}`;
  if (decimals <= 4) return value.toFixed(decimals);
  // A probability, which is never quite 0.
  return value === 0 ? `<1e-${decimals}` : value < 1e-3 ? value.toExponential(1) : value.toFixed(3);
}

// Sentences of the data: as a sentence begins, unless it begins with a name; with the sign for
// micro; numbers keep to their units.
function prose(text, beginsWithName) {
  const begun = beginsWithName ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return begun.replace(/(\d) us\b/g, '$1 µs')
      .replace(/(\d) (?=(?:[nµm]?s|%|GB\/s|[KMGT]?i?B)(?![\w]))/g, '$1\u00a0')
      .replace(/\bseq (?=\d)/g, 'seq\u00a0')
      .replace(/\brank (?=\d)/gi, (word) => `${word.slice(0, 4)}\u00a0`);
}

function gbsText(value) {
  return `${numberText(value, 2)} GB/s`;
}

function percentText(part) {
  return `${numberText(100 * part, 1)} %`;
}

// Nanoseconds since the epoch, which only BigInt holds.
function momentText(text) {
  const ms = BigInt(text) / 1000000n;
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? `${text} ns` : date.toISOString().slice(11, 23);
}

// A cell of a table; `column`: [key, title, shown, unit, decimals].
function cellText(value, column) {
  const [, , shown, , decimals] = column;
  if (value === null || value === '') return kNone;
  if (shown === 'moment') return momentText(value);
  if (typeof value === 'string') return value;
  if (shown === 'duration') return durationText(value);
  if (shown === 'bytes') return bytesText(value);
  if (shown === 'number') return numberText(value, decimals);
  return integerText(value);
}

function severityMark(severity) {
  return {error: '■ error', warning: '▲ warning', note: '○ note'}[severity] || severity;
}

// Makes an element; texts of traces come in as text, never as markup.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on'))
      made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined)
      made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function csvText(columns, rows) {
  const quoted = (value) => {
    if (value === null || value === undefined) return '';
    let text = String(value);
    // A spreadsheet takes a text that begins so for a formula.
    if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text))
      text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(quoted).join(',')).join('\n') + '\n';
}

function csvButton(name, make) {
  return element(
      'button', {
        type: 'button',
        class: 'csv',
        'data-csv': name,
        'aria-label': `Download ${name} as CSV`,
        onclick: () => {
          const address = URL.createObjectURL(new Blob([make()], {type: 'text/csv'}));
          const link = element('a', {href: address, download: `${name}.csv`});
          document.body.append(link);
          link.click();
          link.remove();
          setTimeout(() => URL.revokeObjectURL(address), 1000);
        },
      },
      'CSV');
}
