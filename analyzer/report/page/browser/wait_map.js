// SPDX-License-Identifier: Apache-2.0

// A map of the ranks that the others waited for: by iterations or time.

import {commandLine, csvButton, csvText, element} from 'page/element';
import {durationText, integerText, percentText} from 'page/format';
import {addHeatMap, heatLegend} from 'page/heat_map';
import {lateRanks} from 'page/rows';

// From there on the heat map has its full colour.
const kFull_percent = 30;

function columnText(map, [first, last, start]) {
  if (map.columns_are === 'time') return durationText(start);
  return first === last ? `${first}` : `${first}–${last}`;
}

// Integers that came as text, as numbers: near enough to be drawn.
function drawable(map) {
  return {
    ...map,
    columns: map.columns.map((one) => one.map(Number)),
    rows: map.rows.map((row) => ({
                         ...row,
                         others_waited_ns: Number(row.others_waited_ns),
                         cells_ns: row.cells_ns.map(Number)
                       })),
  };
}

export function drawWaitMap(place, data, given) {
  const map = drawable(given);
  const late = lateRanks(data);
  const hosts = new Set(map.rows.map((row) => row.host)).size;
  const isShare = map.rows.some((row) => row.cells_percent.some((percent) => percent !== null));
  const most = Math.max(1, ...map.rows.flatMap((row) => row.cells_ns));
  const short = (row) => (row.ranks > 1 ? `${row.ranks} others` : row.label);
  const name = (row) => (row.ranks > 1 || hosts === 1 ? short(row) : `${row.label} (${row.host})`);
  const cells = map.rows.flatMap(
      (row, r) =>
          row.cells_ns.map((ns, c) => ({
                             row: r,
                             column: c,
                             ns,
                             percent: row.cells_percent[c],
                             part: isShare ? Math.min(1, row.cells_percent[c] / kFull_percent) :
                                             ns / most,
                           })));
  const command = element('p', {'aria-live': 'polite'});
  addHeatMap(place, {
    rows: map.rows.map((row) => ({
                         label: name(row),
                         short: short(row),
                         after: durationText(row.others_waited_ns),
                         strong: late.has(row.label)
                       })),
    columns: map.columns.map(
        (one) =>
            ({label: map.columns_are === 'time' ? columnText(map, one) : integerText(one[0])})),
    cells,
    label: 'Time that others waited for each rank',
    axis: map.columns_are === 'time' ?
        'time since the first' :
        map.columns[0][1] > map.columns[0][0] ?
        `iteration, ${integerText(map.columns[0][1])} in each column` :
        'iteration',
    describe: (cell) =>
        `${name(map.rows[cell.row])}\n${map.columns_are === 'time' ? 'from' : 'iteration'} ` +
        `${columnText(map, map.columns[cell.column])}\nothers waited ${durationText(cell.ns)}` +
        (isShare && map.columns[cell.column][3] > 0 ? `, ${percentText(cell.percent)} of the ranks’ time` :
                                                      ''),
    take: (cell) => {
      const [from, to] = map.columns[cell.column].slice(4);
      if (to > from && data.merge_command) {
        command.replaceChildren(commandLine(
            `Timeline of iteration ${columnText(map, map.columns[cell.column])}`,
            data.merge_command.replaceAll('{from}', from).replace('{to}', to)));
      }
    },
  });
  place.append(command, element(
      'div', {class: 'bar'},
      heatLegend(
          isShare ?
              [
                [0, '0'], [1 / kFull_percent, '1 %'], [10 / kFull_percent, '10 %'],
                [1, `${kFull_percent} % of the ranks’ time, or more`]
              ] :
              [[0, '0'], [0.25, 'a quarter'], [1, `most: ${durationText(most)}`]]),
      element('a', {href: '#g-others-waited'}, 'definitions'), element('span', {class: 'push'}),
      csvButton(
          'waits',
          () => csvText(
              [
                'rank', 'host', 'ranks',
                map.columns_are === 'time' ? 'since_first_ns' : 'first_iteration', 'last_iteration',
                'others_waited_ns'
              ],
              cells.map((cell) => {
                const row = map.rows[cell.row];
                const [first, last, start] = given.columns[cell.column];
                return [
                  row.label, row.host, row.ranks, map.columns_are === 'time' ? start : first, last,
                  given.rows[cell.row].cells_ns[cell.column]
                ];
              })))));
}
