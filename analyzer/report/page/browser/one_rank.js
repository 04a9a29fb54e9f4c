// SPDX-License-Identifier: Apache-2.0

// The section of one rank: its rows of all tables.

import {choiceOf, setChoice} from 'page/address';
import {element} from 'page/element';
import {rankText} from 'page/format';
import {objects} from 'page/rows';
import {addTable} from 'page/table';

const kChoice = 'one-rank.of';

// The columns that name one rank.
function rankColumns(table) {
  return table.columns.flatMap(([key], i) => key === 'rank' || key === 'slowest' ? [i] : []);
}

// The table with the rows in which "rank 5" is named.
function rowsOf(table, rank) {
  const columns = rankColumns(table);
  return {
    ...table,
    left_out: 0,
    rows: table.rows.filter((row) => columns.some((i) => rankText(row[i]) === rank))
  };
}

function ranksOf(data) {
  const rows = data.tables.shares ? data.tables.shares.rows : [];
  return [...new Set(rows.map((row) => rankText(row[0])))];
}

export function hasRanks(data) { return ranksOf(data).length > 1; }

export function addOneRank(place, data) {
  const ranks = ranksOf(data);
  const blamed = data.health.findings.flatMap((finding) => finding.ranks || []);
  const costly = objects(data.tables.stragglers_ranks).map((one) => one.rank);
  const tables = element('div');
  const show = (rank) => {
    tables.replaceChildren();
    for (const [key, table] of Object.entries(data.tables)) {
      if (rankColumns(table).length > 0)
        addTable(tables, `one-rank_${key}`, rowsOf(table, rank));
    }
  };
  const choose = element(
      'select', {
        onchange: (event) => {
          setChoice(kChoice, event.target.value);
          show(event.target.value);
        }
      },
      ...ranks.map((rank) => element('option', {value: rank}, rank)));
  const take = (rank) => {
    choose.value = rank;
    show(rank);
  };
  document.addEventListener('rank', (event) => {
    setChoice(kChoice, event.detail);
    take(event.detail);
  });
  place.append(element('div', {class: 'bar'}, element('label', {}, 'Rank ', choose)), tables);
  take([choiceOf(kChoice), ...[...blamed, ...costly, ranks[0]].map(rankText)].find(
      (rank) => ranks.includes(rank)));
}
