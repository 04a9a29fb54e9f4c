// SPDX-License-Identifier: Apache-2.0

// Bars that show how each rank spent its time.

import {addChart, fitText, legendOf, makeRoving} from 'page/chart';
import {element} from 'page/element';
import {durationText, integerText, percentText, rankText} from 'page/format';

const kShares = [
  ['transfer', 'transfer'], ['waiting', 'waiting for others'], ['enqueued', 'enqueued'],
  ['outside', 'outside NCCL']
];

export function drawShares(place, data) {
  const bars = data.share_bars.map(
      (bar) => ({
        ...bar,
        name: rankText(bar.first) + (bar.ranks > 1 ? ` to ${bar.last}` : ''),
      }));
  const colours = kShares.map(([name]) => `var(--${name})`);
  place.append(element(
      'div', {class: 'bar'},
      legendOf(kShares.map(([, text]) => text), (rect, i) => rect.style('fill', colours[i]))));
  addChart(place, 'How each rank spent its time', (svg, width) => {
    const left = Math.min(
        width < 520 ? 124 : 190, Math.max(...bars.map((bar) => bar.name.length)) * 6.8 + 12);
    const height = bars.length > 24 ? 14 : 20;
    const x = d3.scaleLinear([0, 100], [left, width - 14]);
    svg.append('g')
        .attr('class', 'axis')
        .attr('transform', 'translate(0,16)')
        .call(d3.axisTop(x)
                  .ticks(width < 520 ? 4 : 10)
                  .tickFormat((percent) => `${percent}%`)
                  .tickSize(-bars.length * height - 6));
    const parts = bars.flatMap((bar, row) => {
                        let from = 0;
                        return kShares.map(([name, text], i) => {
                          const part = {
                            row,
                            column: i,
                            bar,
                            text,
                            from,
                            percent: bar[`${name}_percent`],
                            to: from + bar[`${name}_percent`],
                            ns: Number(bar[`${name}_ns`])
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
                        .classed('strong', bar.is_straggler)
                        .text(fitText(bar.name, left - 8)));
    const marks = svg.selectAll('.part')
                      .data(parts)
                      .enter()
                      .append('rect')
                      .attr('class', 'part')
                      .attr('x', (part) => x(part.from))
                      .attr('width', (part) => x(part.to) - x(part.from))
                      .attr('y', (part) => 22 + part.row * height)
                      .attr('height', height - (height > 14 ? 3 : 2))
                      .style('fill', (part) => colours[part.column]);
    makeRoving(
        svg, marks,
        (part) => `${part.bar.name}${part.bar.ranks > 1 ? ` (${part.bar.ranks} ranks)` : ''}\n` +
            `${part.text}: ${percentText(part.percent)}, ${durationText(part.ns)}`,
        'How each rank spent its time');
    return 26 + bars.length * height;
  });
  place.append(element(
      'div', {class: 'bar'},
      bars.some((bar) => bar.ranks > 1) ?
          element(
              'span', {class: 'note'},
              `${integerText(data.figures.ranks)} ranks: late ones have a bar of their own, the others are ` +
                  'put together; the table has each.') :
          null,
      element('a', {href: '#g-shares'}, 'definitions')));
}
