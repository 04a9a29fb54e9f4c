// SPDX-License-Identifier: Apache-2.0

// The charts of the report. Each draws what the data have, and offers it as CSV.

const kMostBars = 64;
// From there on the heat map has its full colour.
const kFullShare = 0.3;

function column(table, key) {
  return table.columns.findIndex((one) => one[0] === key);
}

// Rows of a table as objects.
function objects(table) {
  return table.rows.map(
      (row) => Object.fromEntries(table.columns.map((one, i) => [one[0], row[i]])));
}

// Ranks that the findings call late: the definition of docs/metrics.md.
function lateRanks(data) {
  const table = data.tables.stragglers_ranks;
  if (!table) return new Set();
  return new Set(objects(table)
                     .filter((one) => one.is_straggler === 'yes')
                     .map((one) => one.rank));
}

function chooser(label, names, choose) {
  return element(
      'label', {}, `${label} `,
      element(
          'select', {
            onchange: (event) => choose(Number(event.target.value)),
          },
          ...names.map((name, i) => element('option', {value: i}, name))));
}

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
                         caused_wait_ns: Number(row.caused_wait_ns),
                         cells_ns: row.cells_ns.map(Number)
                       })),
  };
}

function drawLateMap(place, data, given) {
  const map = drawable(given);
  const late = lateRanks(data);
  const hosts = new Set(map.rows.map((row) => row.host)).size;
  // The end of the last column may not be known: it is drawn as if it were as long as the others.
  const known = map.columns.map((one) => one[3]).filter((ns) => ns > 0);
  const usual = d3.median(known);
  const isShare = map.ranks > 0 && known.length > 0;
  const most = Math.max(1, ...map.rows.flatMap((row) => row.cells_ns));
  const share = (ns, c) => ns / ((map.columns[c][3] || usual) * map.ranks);
  const short = (row) => (row.ranks > 1 ? `${row.ranks} others` : row.label);
  const name = (row) => (row.ranks > 1 || hosts === 1 ? short(row) : `${row.label} (${row.host})`);
  const cells = map.rows.flatMap(
      (row, r) =>
          row.cells_ns.map((ns, c) => ({
                             row: r,
                             column: c,
                             ns,
                             share: share(ns, c),
                             part: isShare ? Math.min(1, share(ns, c) / kFullShare) : ns / most,
                           })));
  addHeatMap(place, {
    rows: map.rows.map((row) => ({
                         label: name(row),
                         short: short(row),
                         after: durationText(row.caused_wait_ns),
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
    under: {
      label: 'sure',
      parts: map.columns.map(
          ([, , , , operations, decided]) => (operations > 0 ? decided / operations : 0))
    },
    describe: (cell) =>
        `${name(map.rows[cell.row])}\n${map.columns_are === 'time' ? 'from' : 'iteration'} ` +
        `${columnText(map, map.columns[cell.column])}\nothers waited ${durationText(cell.ns)}` +
        (isShare && map.columns[cell.column][3] > 0 ?
             `, ${percentText(cell.share)} of the ranks’ time` :
             '') +
        `\nsurely last in ${integerText(map.columns[cell.column][5])} of ${
            integerText(map.columns[cell.column][4])} operations`,
  });
  place.append(element(
      'div', {class: 'bar'},
      heatLegend(
          isShare ?
              [
                [0, '0'], [0.01 / kFullShare, '1 %'], [0.1 / kFullShare, '10 %'],
                [1, '30 % of the ranks’ time, or more']
              ] :
              [[0, '0'], [0.25, 'a quarter'], [1, `most: ${durationText(most)}`]]),
      element('a', {href: '#g-late-share'}, 'definitions'), element('span', {class: 'push'}),
      csvButton(
          'late',
          () => csvText(
              [
                'rank', 'host', 'ranks',
                map.columns_are === 'time' ? 'since_first_ns' : 'first_iteration', 'last_iteration',
                'others_waited_ns', 'operations', 'surely_last'
              ],
              cells.map((cell) => {
                const row = map.rows[cell.row];
                const [first, last, start] = given.columns[cell.column];
                return [
                  row.label, row.host, row.ranks, map.columns_are === 'time' ? start : first, last,
                  given.rows[cell.row].cells_ns[cell.column], ...map.columns[cell.column].slice(4)
                ];
              })))));
}

const kShares = [
  ['transfer_ns', 'transfer'], ['waiting_ns', 'waiting for others'], ['enqueued_ns', 'enqueued'],
  ['outside_ns', 'outside NCCL']
];

// Late ranks for themselves, the others together where there are too many.
function shareBars(rows, late) {
  if (rows.length <= kMostBars)
    return rows.map((row) => ({...row, ranks: 1, isLate: late.has(row.rank)}));
  const alone = rows.filter((row) => late.has(row.rank)).slice(0, 8);
  const rest = rows.filter((row) => !alone.includes(row));
  const each = Math.ceil(rest.length / (kMostBars / 2));
  const bars = alone.map((row) => ({...row, ranks: 1, isLate: true}));
  for (let i = 0; i < rest.length; i += each) {
    const block = rest.slice(i, i + each);
    const bar = {
      rank: `${block[0].rank} to ${block[block.length - 1].rank.replace(/^rank /, '')}`,
      ranks: block.length
    };
    for (const key of ['span_ns', ...kShares.map(([name]) => name)]) {
      bar[key] = block.reduce((sum, row) => sum + row[key], 0);
    }
    bars.push(bar);
  }
  return bars;
}

function drawShares(place, data) {
  const rows = objects(data.tables.shares).filter((row) => row.span_ns > 0);
  for (const row of rows)
    for (const key of ['span_ns', ...kShares.map(([name]) => name)]) row[key] = Number(row[key]);
  const bars = shareBars(rows, lateRanks(data));
  const colours = kShares.map(([key]) => `var(--${key.replace('_ns', '')})`);
  place.append(element(
      'div', {class: 'bar'}, element('ul', {class: 'legend'}, ...kShares.map(([, text], i) => {
        const item = element('li');
        d3.select(item)
            .append('svg')
            .attr('aria-hidden', 'true')
            .append('rect')
            .attr('width', 14)
            .attr('height', 14)
            .style('fill', colours[i]);
        item.append(text);
        return item;
      }))));
  addChart(place, 'Where the time of each rank went', (svg, width) => {
    const left = Math.min(
        width < 520 ? 92 : 190, Math.max(...bars.map((bar) => bar.rank.length)) * 6.8 + 12);
    const height = bars.length > 24 ? 12 : 20;
    const x = d3.scaleLinear([0, 1], [left, width - 14]);
    svg.append('g')
        .attr('class', 'axis')
        .attr('transform', 'translate(0,16)')
        .call(d3.axisTop(x).ticks(width < 520 ? 4 : 10, '%').tickSize(-bars.length * height - 6));
    const parts = bars.flatMap((bar, row) => {
                        let from = 0;
                        return kShares.map(([key, text], i) => {
                          const part = {
                            row,
                            column: i,
                            bar,
                            text,
                            from,
                            to: from + bar[key] / bar.span_ns,
                            ns: bar[key]
                          };
                          from = part.to;
                          return part;
                        });
                      })
                      .filter((part) => part.to > part.from);
    bars.forEach(
        (bar, i) => svg.append('text')
                        .attr('x', left - 8)
                        .attr('y', 22 + (i + 0.5) * height)
                        .attr('dy', '.35em')
                        .attr('text-anchor', 'end')
                        .classed('strong', bar.isLate)
                        .text(fitText(bar.rank, left - 8)));
    const marks = svg.selectAll('.part')
                      .data(parts)
                      .enter()
                      .append('rect')
                      .attr('class', 'part')
                      .attr('x', (part) => x(part.from))
                      .attr('width', (part) => x(part.to) - x(part.from))
                      .attr('y', (part) => 22 + part.row * height)
                      .attr('height', height - (height > 14 ? 3 : 1))
                      .style('fill', (part) => colours[part.column]);
    makeRoving(
        svg, marks,
        (part) => `${part.bar.rank}${part.bar.ranks > 1 ? ` (${part.bar.ranks} ranks)` : ''}\n` +
            `${part.text}: ${percentText(part.to - part.from)}, ${durationText(part.ns)}`,
        'Where the time of each rank went');
    return 26 + bars.length * height;
  });
  place.append(element(
      'div', {class: 'bar'},
      rows.length > bars.length ?
          element(
              'span', {class: 'note'},
              `${rows.length} ranks: late ones have a bar of their own, the others are ` +
                  'put together; the table has each.') :
          null,
      element('a', {href: '#g-shares'}, 'definitions')));
}

function blockText([first, last]) {
  return first === last ? `${first}` : `${first}–${last}`;
}

function drawMatrix(place, matrix, figure) {
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
