// SPDX-License-Identifier: Apache-2.0

// Each section of the page shows a part of the data.

import {drawBandwidth, seriesLegend} from 'page/bandwidth_chart';
import {chooser, commandLine, csvButton, csvText, element, withCode} from 'page/element';
import {durationText, gbsText, integerText, kNone, percentText, prose, severityMark} from 'page/format';
import {drawIterations} from 'page/iterations_chart';
import {drawWaitMap} from 'page/wait_map';
import {drawMatrix} from 'page/network_chart';
import {addOneRank, hasRanks} from 'page/one_rank';
import {objects} from 'page/rows';
import {drawShares} from 'page/shares_chart';
import {addTable} from 'page/table';

export const kTitles = {
  runs: 'Runs side by side',
  late: 'Late ranks',
  time: 'Time of each rank',
  'one-rank': 'One rank',
  bandwidth: 'Bandwidth',
  network: 'Network',
  topology: 'GPUs, links and adapters',
  iterations: 'Iterations',
  'critical-path': 'Critical path',
  stuck: 'Stuck operations',
  mismatches: 'Mismatches',
  communicators: 'Communicators',
  completeness: 'Completeness',
  glossary: 'Glossary'
};

export function sectionOf(id) { return document.getElementById(id); }

function addLead(place, texts) {
  for (const text of texts) place.append(element('p', {class: 'lead'}, ...withCode(prose(text))));
}

function addNotes(place, texts, beginWithNames) {
  if (texts.length === 0) return;
  place.append(element(
      'ul', {class: 'notes'},
      ...texts.map((text) => element('li', {}, ...withCode(prose(text, beginWithNames))))));
}

function addIterations(place, data) {
  const table = data.tables.iterations_iterations;
  const rows = table ? objects(table) : [];
  const runs = [...new Set(rows.map((one) => one.run))];
  const chart = element('div');
  const show = (i) => {
    chart.replaceChildren();
    drawIterations(chart, rows.filter((one) => one.run === runs[i]));
  };
  addDocument(
      place, data, 'iterations', [],
      'No iterations were looked for: there are no operations.');
  if (runs.length > 1) place.append(chooser('Run', runs.map(String), show));
  place.append(chart);
  if (runs.length > 0) show(0);
  for (const key of ['distribution', 'iterations', 'period'])
    addTable(place, `iterations_${key}`, data.tables[`iterations_${key}`]);
}

function addHealth(data) {
  const {status, headline, findings} = data.health;
  const words = {
    error: '■ Something is wrong',
    warning: '▲ Needs attention',
    ok: '✓ No problem found',
    unknown: '○ Not all can be judged'
  };
  const line = sectionOf('status');
  line.textContent = words[status];
  line.className = status;
  const [first] = findings;
  sectionOf('headline').textContent =
      prose(headline, first && first.section === 'mismatches' && first.text === headline);
  sectionOf('origin').textContent = `${data.origin.join('. ')}.`;
  sectionOf('findings')
      .replaceChildren(...findings.map(
          (finding, i) => element(
              'li', {id: `finding-${i + 1}`},
              element(
                  'span', {class: `severity ${finding.severity}`}, severityMark(finding.severity)),
              element(
                  'p', {}, ...withCode(`${prose(finding.text, finding.section === 'mismatches')} `),
                  element('a', {href: `#${finding.section}`}, `${kTitles[finding.section]}\u00a0→`),
                  ' ', element('a', {
                    class: 'def',
                    href: `#finding-${i + 1}`,
                    'aria-label': 'Link to this finding'
                  }, '#'),
                  ...[['See', finding.command], ['For Perfetto', finding.timeline]]
                      .filter(([, command]) => command)
                      .map(([title, command]) => commandLine(title, command))))));
  const figures = [
    ['ranks', 'ranks', 'ranks', integerText], ['hosts', 'hosts', 'ranks', integerText],
    ['operations', 'operations recorded', 'operations', integerText],
    ['span_ns', 'from first call to last end', 'shares', durationText],
    ['waiting_percent', 'of the ranks’ time is waiting', 'shares', percentText],
    ['best_busbw_gb_s', 'best busbw', 'busbw', gbsText],
    ['best_busbw_efficiency_percent', 'of peak has the best busbw', 'peak', percentText]
  ];
  const known = figures.filter(([key]) => key in data.figures);
  sectionOf('figures').replaceChildren(...known.map(([key, text, definition, write]) => {
    const value = data.figures[key];
    const title = value === 1 ? text.replace(/s$/, '') : text;
    return element(
        'div', {}, element('dt', {}, element('a', {href: `#g-${definition}`}, title)),
        element('dd', {}, value === null ? kNone : write(Number(value))));
  }));
}

function addLate(place, data) {
  const {sentences, notes} = data.sections.late;
  addLead(place, sentences);
  const maps = data.wait_maps;
  const chart = element('div');
  const show = (i) => {
    chart.replaceChildren();
    drawWaitMap(chart, data, maps[i]);
  };
  if (maps.length > 0) {
    addLead(
        place,
        ['How long all others waited for each rank, the worst first.' +
         (maps.some((map) => map.columns_are === 'iterations') ?
              ' Operations outside all iterations are in the table only.' :
              '')]);
    if (maps.length > 1) place.append(chooser('Run', maps.map((map) => `${map.run}`), show));
    place.append(chart);
    show(0);
  } else if (sentences.length === 0) {
    addLead(place, ['No rank waited for another.']);
  }
  if (data.wait_maps_left_out)
    addNotes(place, [`${data.wait_maps_left_out} more runs are not drawn`]);
  addTable(place, 'stragglers_slow', data.tables.stragglers_slow);
  addTable(place, 'stragglers_ranks', data.tables.stragglers_ranks);
  addNotes(place, notes);
}

function addTime(place, data) {
  if (data.share_bars.length === 0) {
    addLead(place, ['The times of no operation are known: there is nothing to draw.']);
  } else {
    addLead(
        place,
        ['Each rank from its first call to its last end. Communication is exposed for at most ' +
         'transfer and waiting together.']);
    drawShares(place, data);
  }
  addTable(place, 'shares', data.tables.shares, 'Each rank');
}

function addBandwidth(place, data) {
  const points = objects(data.tables.bandwidth)
                     .filter((p) => p.busbw_gb_s > 0 && p.bytes !== null)
                     .map((p) => ({...p, bytes: Number(p.bytes)}));
  if (points.length === 0) {
    addLead(place, ['No bandwidth is known: it needs times of the GPU or of the network.']);
  } else {
    addLead(
        place,
        ['Points are the busbw of the median time; bars reach from the time that 90 of 100 ' +
         'operations keep to the best. Both axes are logarithmic.' +
         (points.some((p) => p.peak_gb_s > 0) ? ' Dashed lines are the peaks.' : '')]);
    const functions = [...new Set(points.map((p) => p.function))].sort();
    const names = [...new Set(points.map((p) => p.communicator))];
    const chart = element('div');
    const show = (i) => {
      const chosen = i === 0 ? points : points.filter((p) => p.communicator === names[i - 1]);
      chart.replaceChildren();
      drawBandwidth(chart, chosen, functions);
    };
    place.append(
        element(
            'div', {class: 'bar'}, seriesLegend(functions),
            names.length > 1 ? chooser('Communicator', ['all', ...names], show) : null,
            element('a', {href: '#g-busbw'}, 'definition')),
        chart);
    show(0);
  }
  addTable(place, 'bandwidth', data.tables.bandwidth);
}

function addNetwork(place, data) {
  const {sentences, notes} = data.sections.network;
  addLead(place, sentences);
  const {matrices} = data;
  if (matrices.length > 0) {
    const chart = element('div');
    let chosen = 0;
    // If no throughput is known, there is something to see in the other figure.
    const knowsThroughput = matrices[0].cells.some((cell) => cell[3] !== null);
    const figures = matrices[0].has_steps && !knowsThroughput ? ['waiting', 'throughput'] :
                                                                ['throughput', 'waiting'];
    let figure = figures[0];
    const show = () => {
      chart.replaceChildren();
      drawMatrix(chart, matrices[chosen], figure);
    };
    place.append(
        element(
            'div', {class: 'bar'},
            chooser(
                'Communicator', matrices.map((one) => one.communicator),
                (i) => {
                  chosen = i;
                  show();
                }),
            matrices[0].has_steps ? chooser(
                                        'Figure', figures,
                                        (i) => {
                                          figure = figures[i];
                                          show();
                                        }) :
                                    null,
            element('a', {href: '#g-throughput'}, 'definition'), element('span', {class: 'push'}),
            csvButton(
                'network',
                () => csvText(
                    [
                      'communicator', 'from_first', 'from_last', 'to_first', 'to_last', 'bytes',
                      'throughput_gb_s', 'wait_ns'
                    ],
                    matrices.flatMap(
                        (one) => one.cells.map(
                            ([from, to, ...rest]) =>
                                [one.communicator, ...one.blocks[from], ...one.blocks[to],
                                 ...rest]))))),
        chart);
    show();
    if (matrices.some((one) => one.blocks.some(([first, last]) => first !== last))) {
      addNotes(place, ['where there are more than 48 ranks, neighbours are put together']);
    }
    if (data.matrices_left_out)
      addNotes(
          place, [`${data.matrices_left_out} more communicators, with fewer bytes, are not drawn`]);
  }
  addTable(place, 'network_links', data.tables.network_links);
  addTable(place, 'network_classes', data.tables.network_classes);
  addNotes(place, notes);
}

// A section that has sentences, tables and notes only.
function addDocument(place, data, id, tables, otherwise) {
  const {sentences, notes} = data.sections[id] || {sentences: [], notes: []};
  addLead(place, sentences.length ? sentences : [otherwise]);
  for (const key of tables) addTable(place, key, data.tables[key]);
  addNotes(place, notes, id === 'mismatches');
}

const documentOf = (id, tables, otherwise) => (place, data) =>
    addDocument(place, data, id, tables, otherwise);

// The numbers of the verdicts say nothing more where all operations match.
function addMismatches(place, data) {
  const differs = objects(data.tables.match_verdicts)
                      .some(({communicator, run, matched, ...others}) =>
                                Object.values(others).some((count) => count > 0));
  const tables = differs ? ['match_sides', 'match_verdicts'] : [];
  addDocument(place, data, 'mismatches', tables, 'All operations match.');
}

function addRuns(place, data) {
  const changes = Object.keys(data.tables).filter((key) => key.startsWith('changes_'));
  addDocument(place, data, 'runs', ['runs', 'kinds', ...changes], '');
}

// A page of several runs has only what they have in common.
export function sectionsOf(data) {
  const isOfRuns = 'runs' in data.tables;
  const hasTimes = 'bandwidth' in data.tables;  // dumps have none
  return kSections.filter(
      ([id]) => id === 'health' || (id === 'one-rank' && !isOfRuns && hasTimes && hasRanks(data)) ||
          (id !== 'one-rank' && (id === 'runs') === isOfRuns && (isOfRuns || hasTimes || !kOfTimes.includes(id))));
}

const kOfTimes =
    ['late', 'time', 'one-rank', 'bandwidth', 'network', 'topology', 'iterations', 'critical-path'];

// By id, in the order in which they are drawn.
const kSections = [
  ['health', (place, data) => addHealth(data)], ['runs', addRuns], ['late', addLate], ['time', addTime],
  ['one-rank', addOneRank],
  ['bandwidth', addBandwidth], ['network', addNetwork],
  [
    'topology',
    documentOf(
        'topology', ['topology_domains', 'topology_gpus', 'topology_ports'],
        'These traces do not say which GPUs, links and adapters the job had.')
  ],
  ['iterations', addIterations],
  [
    'critical-path',
    documentOf('critical-path', ['critical-path_ranks', 'critical-path_operations'], '')
  ],
  [
    'stuck',
    documentOf(
        'stuck', ['hang_stuck', 'hang_waits', 'hang_network', 'hang_ranks'],
        'Nothing is in flight in these traces. Dumps, and traces that were closed or recovered, ' +
            'show what a job is stuck in.')
  ],
  ['mismatches', addMismatches],
  [
    'communicators',
    documentOf('communicators', ['communicators_communicators'], 'There is no communicator.')
  ],
  ['completeness', documentOf('completeness', ['clocks', 'traces'], '')]
];
