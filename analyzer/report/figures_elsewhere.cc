// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/figures_elsewhere.h"

namespace ringside::report {
namespace {

FiguresElsewhere* g_figures = nullptr;

}  // namespace

FiguresElsewhere* figures_elsewhere() {
  return g_figures;
}

void set_figures_elsewhere(FiguresElsewhere* figures) {
  g_figures = figures;
}

}  // namespace ringside::report
