// SPDX-License-Identifier: Apache-2.0
// How numbers are written: as `ringside` writes them in a terminal. Values come from the data as
// numbers; as text where a number of JavaScript would not be exact.

export const kNone = '–';

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

export function durationText(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns.toFixed(0)} ns`;
  if (size < 999.5e3) return `${digits(ns / 1e3)} µs`;
  if (size < 999.5e6) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

export function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[unit]}`;
}

export function integerText(value) {
  return value.toLocaleString('en-US', {maximumFractionDigits: 0});
}

// A value above 0 is never written as 0.
function numberText(value, decimals) {
  const least = 10 ** -decimals;
  return value > 0 && value < least / 2 ? `<${least.toFixed(decimals)}` : value.toFixed(decimals);
}

// A probability, which is never quite 0.
function chanceText(value, decimals) {
  return value === 0 ? `<1e-${decimals}` : value < 1e-3 ? value.toExponential(1) : value.toFixed(3);
}

// A rank of which the trace does not say the number has a text.
export function rankText(rank) { return typeof rank === 'number' ? `rank ${rank}` : rank; }

// "0-3, 6", and how many more there are than `most` parts.
export function ranksText(ranks, most = Infinity) {
  const ordered = [...ranks].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i < ordered.length; ++i) {
    if (parts.length === most) return `${parts.join(', ')} and ${ordered.length - i} more`;
    const first = i;
    while (ordered[i + 1] === ordered[i] + 1) ++i;
    if (i - first < 2) i = first;  // a range of two is written as two ranks
    parts.push(i > first ? `${ordered[first]}-${ordered[i]}` : `${ordered[first]}`);
  }
  return parts.join(', ');
}

// Sentences of the data: as a sentence begins, unless it begins with a name; with the sign for
// micro; numbers keep to their units.
export function prose(text, beginsWithName) {
  const begun = beginsWithName ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return begun.replace(/(\d) us\b/g, '$1 µs')
      .replace(/(\d) (?=(?:[nµm]?s|%|GB\/s|[KMGT]?i?B)(?![\w]))/g, '$1\u00a0')
      .replace(/ #(?=\d)/g, '\u00a0#')
      .replace(/\brank (?=\d)/gi, (word) => `${word.slice(0, 4)}\u00a0`);
}

export function gbsText(value) {
  return `${numberText(value, 2)} GB/s`;
}

export function percentText(percent) {
  return `${numberText(percent, 1)} %`;
}

// Nanoseconds since the epoch, which only BigInt holds.
function momentText(text) {
  const ms = BigInt(text) / 1000000n;
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? `${text} ns` : date.toISOString().slice(11, 23);
}

export function isAbsent(value) { return value === null || value.length === 0; }

// A cell of a table; `column`: [key, title, shown, unit, decimals].
export function cellText(value, column) {
  const [key, , shown, , decimals] = column;
  if (isAbsent(value)) return kNone;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (shown === 'moment') return momentText(value);
  if (shown === 'rank') return rankText(value);
  if (shown === 'ranks') return `rank${value.length > 1 ? 's' : ''} ${ranksText(value, 8)}`;
  if (Array.isArray(value)) return ranksText(value);
  if (key === 'cause') return value.replaceAll('_', ' ');  // a word of --fail-on
  if (typeof value === 'string') return value;
  if (shown === 'duration') return durationText(value);
  if (shown === 'bytes') return bytesText(value);
  if (key === 'chance') return chanceText(value, decimals);
  if (shown === 'number') return numberText(value, decimals);
  return key === 'pid' ? String(value) : integerText(value);
}

export function severityMark(severity) {
  return {error: '■ error', warning: '▲ warning', note: '○ note'}[severity] || severity;
}
