// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/figures_elsewhere.h"

namespace ringside::metrics {
namespace {

FiguresElsewhere* g_figures = nullptr;

}  // namespace

FiguresElsewhere* figures_elsewhere() {
  return g_figures;
}

void set_figures_elsewhere(FiguresElsewhere* figures) {
  g_figures = figures;
}

}  // namespace ringside::metrics
