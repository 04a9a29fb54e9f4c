// SPDX-License-Identifier: Apache-2.0

// A matrix of what ranks sent each other.

import {element} from 'page/element';
import {bytesText, durationText, gbsText} from 'page/format';
import {addHeatMap, heatLegend} from 'page/heat_map';

function blockText([first, last]) {
  return first === last ? `${first}` : `${first}–${last}`;
}

export function drawMatrix(place, matrix, figure) {
  const at = figure === 'throughput' ? 3 : 4;
  const values = matrix.cells.map((cell) => cell[at]).filter((value) => value !== null);
  const most = Math.max(0, ...values);
  const text = (value) =>
      (value === null              ? 'not known' :
           figure === 'throughput' ? gbsText(value) :
                                     durationText(value));
  addHeatMap(place, {
    rows: matrix.blocks.map((block) => ({label: `from ${blockText(block)}`})),
    columns: matrix.blocks.map((block) => ({label: blockText(block)})),
    cells: matrix.cells.map((cell) => ({
                              row: cell[0],
                              column: cell[1],
                              cell,
                              part: cell[at] === null ? null :
                                  most > 0            ? cell[at] / most :
                                                        0,
                            })),
    square: true,
    kind: figure === 'throughput' ? 'flow' : 'cell',
    label: `Network ${figure} from rank to rank`,
    axis: 'to rank',
    describe: ({cell}) =>
        `rank ${blockText(matrix.blocks[cell[0]])} to ${blockText(matrix.blocks[cell[1]])}\n` +
        `${bytesText(cell[2])}\nthroughput ${cell[3] === null ? 'not known' : gbsText(cell[3])}` +
        (cell[4] === null ? '' : `\nwaiting ${durationText(cell[4])}`),
  });
  if (values.length > 0)
    place.append(element(
        'div', {class: 'bar'},
        heatLegend(
            [[0.06, text(0.06 * most)], [0.4, text(0.4 * most)], [1, text(most)]],
            figure === 'throughput' ? 'flow' : 'cell')));
}
