// SPDX-License-Identifier: Apache-2.0

// busbw against message size, as users of nccl-tests draw it.

import {addChart, makeRoving, seriesColour, seriesShape} from 'page/chart';
import {element} from 'page/element';
import {bytesText, durationText, gbsText, integerText, percentText} from 'page/format';

function powerTicks([least, most], count) {
  const first = Math.ceil(Math.log2(least));
  const last = Math.floor(Math.log2(most));
  if (last <= first) return [least, most];
  const step = Math.max(1, Math.ceil((last - first + 1) / count));
  return d3.range(first, last + 1, step).map((power) => 2 ** power);
}

// 1, 2 and 5 of each decade; of many decades their beginnings.
function bandwidthTicks(scale) {
  const leads = (value) => Number(value.toExponential(0)[0]);
  const ticks = scale.ticks(20).filter((value) => [1, 2, 5].includes(leads(value)));
  if (ticks.length < 2) return d3.ticks(...scale.domain(), 5);
  return ticks.length > 12 ? ticks.filter((value) => leads(value) === 1) : ticks;
}

// A peak at each size, joined by steps, since another algorithm has another peak.
function drawPeaks(svg, points, x, y, functions) {
  if (points.length === 0) return;
  const [first, last] = [points[0], points[points.length - 1]];
  const reach = 14;
  const ends = [
    [x(first) - reach, y(first.peak_gb_s)], ...points.map((p) => [x(p), y(p.peak_gb_s)]),
    [x(last) + reach, y(last.peak_gb_s)]
  ];
  svg.append('path')
      .attr('class', 'peak')
      .attr('fill', 'none')
      .style('stroke', seriesColour(functions.indexOf(first.function)))
      .attr('stroke-width', 1.5)
      .attr('stroke-dasharray', '5 4')
      .attr('d', d3.line().curve(d3.curveStep)(ends));
}

// points: rows of the bandwidth table of one communicator or all; functions: their names, in order.
export function drawBandwidth(place, points, functions) {
  addChart(place, 'busbw against message size', (svg, width) => {
    const narrow = width < 520;
    const height = narrow ? 260 : 340;
    const [left, right, top, bottom] = [52, 14, 12, 40];
    // An axis of less than a factor of by * by is longer to both sides, else noise is a change.
    const wide = (least, most, by) => {
      const more = Math.sqrt(Math.max(1, by * by * least / most));
      return [least / more, most * more];
    };
    const sizes = wide(
        d3.min(points, (p) => Math.max(1, p.bytes)), d3.max(points, (p) => Math.max(1, p.bytes)),
        2);
    const x = d3.scaleLog(sizes, [left + 14, width - right - 14]).base(2);
    // Functions of one size stand side by side.
    const bySize = d3.nest().key((p) => p.bytes).rollup(
        (of) => [...new Set(of.map((p) => p.function))].sort()).object(points);
    const beside = (p) => {
      const all = bySize[p.bytes];
      return x(Math.max(1, p.bytes)) + (all.indexOf(p.function) - (all.length - 1) / 2) * 8;
    };
    const y = d3.scaleLog(
        wide(
            d3.min(points, (p) => Math.min(p.busbw_gb_s, p.busbw_p90_gb_s || Infinity)),
            d3.max(
                points, (p) => Math.max(p.busbw_gb_s, p.busbw_best_gb_s || 0, p.peak_gb_s || 0)),
            2),
        [height - bottom - 8, top]);
    svg.append('g')
        .attr('class', 'axis')
        .attr('transform', `translate(${left},0)`)
        .call(d3.axisLeft(y)
                  .tickValues(bandwidthTicks(y))
                  .tickFormat((v) => String(Number(v.toPrecision(3))))
                  .tickSize(-(width - left - right)));
    svg.append('g')
        .attr('class', 'axis')
        .attr('transform', `translate(0,${height - bottom})`)
        .call(d3.axisBottom(x)
                  .tickValues(powerTicks(sizes, narrow ? 5 : 12))
                  .tickFormat(bytesText)
                  .tickSize(0)
                  .tickPadding(8));
    svg.append('text').attr('x', 0).attr('y', 10).text('GB/s');
    svg.append('text')
        .attr('x', width - right)
        .attr('y', height - 4)
        .attr('text-anchor', 'end')
        .text('message per rank');
    const lines = d3.nest().key((p) => `${p.communicator}\n${p.function}`).entries(points);
    const line = d3.line().x(beside).y((p) => y(p.busbw_gb_s));
    lines.forEach(({values}) => {
      // If several rows have one size, the line takes the row of the most operations.
      const oneEach = d3.nest()
                         .key((p) => p.bytes)
                         .entries(values)
                         .map((one) => one.values.reduce((a, b) => (b.count > a.count ? b : a)));
      oneEach.sort((a, b) => a.bytes - b.bytes);
      svg.append('path')
          .attr('fill', 'none')
          .style('stroke', seriesColour(functions.indexOf(values[0].function)))
          .attr('stroke-width', 1.5)
          .attr('stroke-opacity', lines.length > 12 ? 0.35 : 0.9)
          .attr('d', line(oneEach));
      drawPeaks(svg, oneEach.filter((p) => p.peak_gb_s > 0), beside, y, functions);
    });
    const spread = points.filter((p) => p.busbw_p90_gb_s > 0 && p.busbw_best_gb_s > 0);
    svg.selectAll('.spread')
        .data(spread)
        .enter()
        .append('line')
        .attr('x1', beside)
        .attr('x2', beside)
        .attr('y1', (p) => y(p.busbw_p90_gb_s))
        .attr('y2', (p) => y(p.busbw_best_gb_s))
        .style('stroke', (p) => seriesColour(functions.indexOf(p.function)))
        .attr('stroke-width', 5)
        .attr('stroke-opacity', 0.3);
    const ordered = points.map(
        (p) =>
            ({...p, row: functions.indexOf(p.function), column: Math.log2(Math.max(1, p.bytes))}));
    const marks =
        svg.selectAll('.point')
            .data(ordered)
            .enter()
            .append('path')
            .attr('class', 'point')
            .attr('transform', (p) => `translate(${beside(p)},${y(p.busbw_gb_s)})`)
            .attr('d', (p) => d3.symbol().type(seriesShape(p.row)).size(46)())
            .style('fill', (p) => seriesColour(p.row));
    makeRoving(
        svg, marks,
        (p) => `${p.function}, ${bytesText(p.bytes)}\n${p.communicator}, ${p.algorithm} ${
                   p.protocol}\n` +
            `busbw ${gbsText(p.busbw_gb_s)}${p.ranks_inferred ? '?' : ''}` +
            (p.busbw_p90_gb_s ? `, ${gbsText(p.busbw_p90_gb_s)} to ${gbsText(p.busbw_best_gb_s)}` :
                                '') +
            (p.peak_gb_s ? `\npeak ${gbsText(p.peak_gb_s)}` : '') +
            (p.efficiency_percent ? `, of peak ${percentText(p.efficiency_percent)}` : '') +
            `\nmedian of ${integerText(p.count)}: ${durationText(Number(p.time_median_ns))}`,
        'busbw against message size');
    return height;
  });
}

export function seriesLegend(functions) {
  return element('ul', {class: 'legend'}, ...functions.map((name, i) => {
    const item = element('li');
    d3.select(item)
        .append('svg')
        .attr('aria-hidden', 'true')
        .attr('viewBox', '-7 -7 14 14')
        .append('path')
        .attr('d', d3.symbol().type(seriesShape(i)).size(60)())
        .style('fill', seriesColour(i));
    item.append(name);
    return item;
  }));
}
