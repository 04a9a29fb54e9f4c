// SPDX-License-Identifier: Apache-2.0

// How long each iteration took, and who the others waited for.

import {addChart, makeRoving} from 'page/chart';
import {durationText, integerText, rankText} from 'page/format';

// iterations: rows of one run, by time.
export function drawIterations(place, iterations) {
  const known = iterations.filter((one) => one.duration_ns !== null)
                    .map((one, column) => ({...one, row: 0, column, ns: Number(one.duration_ns)}));
  if (known.length < 2) return;
  addChart(place, 'Duration of each iteration', (svg, width) => {
    const height = width < 520 ? 180 : 220;
    const [left, right, top, bottom] = [62, 14, 12, 40];
    const x = d3.scaleLinear(
        [known[0].iteration, known[known.length - 1].iteration], [left + 6, width - right - 6]);
    const y = d3.scaleLinear([0, d3.max(known, (one) => one.ns)], [height - bottom, top]).nice();
    svg.append('g')
        .attr('class', 'axis')
        .attr('transform', `translate(${left},0)`)
        .call(d3.axisLeft(y).ticks(5).tickFormat(durationText).tickSize(-(width - left - right)));
    svg.append('g')
        .attr('class', 'axis')
        .attr('transform', `translate(0,${height - bottom})`)
        .call(d3.axisBottom(x)
                  .tickValues(x.ticks(width < 520 ? 4 : 10).filter(Number.isInteger))
                  .tickFormat(integerText)
                  .tickSize(0)
                  .tickPadding(8));
    svg.append('text')
        .attr('x', width - right)
        .attr('y', height - 4)
        .attr('text-anchor', 'end')
        .text('iteration');
    svg.append('path')
        .attr('fill', 'none')
        .style('stroke', 'var(--series-0)')
        .attr('stroke-width', 1.5)
        .attr('d', d3.line().x((one) => x(one.iteration)).y((one) => y(one.ns))(known));
    const marks = svg.selectAll('.point')
                      .data(known)
                      .enter()
                      .append('circle')
                      .attr('class', 'point')
                      .attr('cx', (one) => x(one.iteration))
                      .attr('cy', (one) => y(one.ns))
                      .attr('r', known.length > 300 ? 2 : 3.5)
                      .style('fill', 'var(--series-0)');
    makeRoving(
        svg, marks,
        (one) => `iteration ${integerText(one.iteration)}\n${durationText(one.ns)}` +
            (one.wait_ns === null ? '' : `\nranks waited ${durationText(Number(one.wait_ns))}`) +
            (one.slowest !== null ? `, mostly for ${rankText(one.slowest)} (${one.host})` : ''),
        'Duration of each iteration');
    return height;
  });
}
