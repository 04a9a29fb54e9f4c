// SPDX-License-Identifier: Apache-2.0

// Tables of the data.

import {rankText} from 'page/format';

// Rows of a table as objects.
export function objects(table) {
  return table.rows.map(
      (row) => Object.fromEntries(table.columns.map((one, i) => [one[0], row[i]])));
}

// Ranks that the findings call late: the definition of docs/metrics.md.
export function lateRanks(data) {
  const table = data.tables.stragglers_ranks;
  if (!table) return new Set();
  return new Set(objects(table)
                     .filter((one) => one.is_straggler)
                     .map((one) => rankText(one.rank)));
}
