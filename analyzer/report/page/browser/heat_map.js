// SPDX-License-Identifier: Apache-2.0

// Ranks against something else, the more the stronger; in one colour, so that it reads in both
// themes, on paper and by the colour-blind.

import {addChart, fitText, legendOf, makeRoving} from 'page/chart';

const kLeastOpacity = 0.06;

// rows: [{label, short, after, strong}]; columns: [{label}]; cells: [{row, column, part}] with part
// from 0 to 1, or null where nothing is there; describe(cell): the hint; kind: the class that has
// the colour; take(cell): on a click.
export function addHeatMap(
    place, {rows, columns, cells, describe, label, axis, square, take, kind = 'cell'}) {
  return addChart(place, label, (svg, width) => {
    const narrow = width < 520;
    const nameOf = (row) => (narrow && row.short) || row.label;
    const longest = Math.max(...rows.map((row) => nameOf(row).length));
    const left = Math.min(narrow ? 92 : 190, longest * 6.8 + 12);
    const right = rows.some((row) => row.after) ? 66 : 4;
    const most = square ? 46 : 72;
    const cellWidth = Math.min(most, (width - left - right) / columns.length);
    const cellHeight = square ? Math.min(cellWidth, 30) : rows.length > 16 ? 15 : 20;
    const gap = cellWidth > 5 ? 1 : 0;
    const top = 30;
    const group = svg.append('g').attr('transform', `translate(${left},${top})`);
    group.append('rect')
        .attr('class', 'empty')
        .attr('width', cellWidth * columns.length)
        .attr('height', cellHeight * rows.length);
    rows.forEach((row, i) => {
      const y = (i + 0.5) * cellHeight;
      group.append('text')
          .attr('x', -8)
          .attr('y', y)
          .attr('dy', '.35em')
          .attr('text-anchor', 'end')
          .classed('strong', row.strong)
          .text(fitText(nameOf(row), left - 10));
      if (row.after) {
        group.append('text')
            .attr('x', cellWidth * columns.length + 8)
            .attr('y', y)
            .attr('dy', '.35em')
            .classed('strong', row.strong)
            .text(row.after);
      }
    });
    const every = Math.max(
        1,
        Math.ceil((Math.max(...columns.map((column) => column.label.length)) * 7 + 8) / cellWidth));
    columns.forEach((column, i) => {
      if (i % every !== 0) return;
      group.append('text')
          .attr('x', (i + 0.5) * cellWidth)
          .attr('y', -7)
          .attr('text-anchor', i === 0 && cellWidth < 20 ? 'start' : 'middle')
          .attr('dx', i === 0 && cellWidth < 20 ? -cellWidth / 2 : 0)
          .text(column.label);
    });
    svg.append('text').attr('x', left).attr('y', 10).text(axis);
    const marks =
        group.selectAll('.mark')
            .data(cells.filter((cell) => cell.part !== null))
            .enter()
            .append('rect')
            .attr('class', kind)
            .attr('x', (cell) => cell.column * cellWidth + gap / 2)
            .attr('y', (cell) => cell.row * cellHeight + gap / 2)
            .attr('width', Math.max(0.5, cellWidth - gap))
            .attr('height', cellHeight - gap)
            .attr(
                'fill-opacity',
                (cell) =>
                    cell.part > 0 ? kLeastOpacity + (1 - kLeastOpacity) * Math.sqrt(cell.part) : 0);
    makeRoving(svg, marks, describe, label, take);
    return top + cellHeight * rows.length + 8;
  });
}

export function heatLegend(steps, kind = 'cell') {
  return legendOf(steps.map(([, text]) => text), (rect, i) => {
    const part = steps[i][0];
    rect.attr('class', part > 0 ? kind : 'empty')
        .attr('fill-opacity', part > 0 ? kLeastOpacity + (1 - kLeastOpacity) * Math.sqrt(part) : 1);
  });
}
