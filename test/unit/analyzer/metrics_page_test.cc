// SPDX-License-Identifier: Apache-2.0
#include "live/metrics_page.h"

#include "test/unit/catch.h"

using ringside::live::MetricsForm;
using ringside::live::MetricsPage;

// By the text formats' own rule: all lines of a family stand together, and its HELP and TYPE once.
TEST_CASE("texts of several processes become one") {
  MetricsPage page(MetricsForm::kPrometheus);
  page.add(
      "# HELP a_total First.\n# TYPE a_total counter\na_total{pid=\"1\"} 1\n"
      "# HELP h Second.\n# TYPE h histogram\nh_bucket{pid=\"1\",le=\"+Inf\"} 2\n"
      "h_count{pid=\"1\"} 2\n");
  // Another release has a family more in between, and one without samples.
  page.add(
      "# HELP a_total First.\n# TYPE a_total counter\na_total{pid=\"2\"} 3\n"
      "# HELP g New.\n# TYPE g gauge\ng{pid=\"2\"} 4\n"
      "# HELP h Second.\n# TYPE h histogram\n");
  page.family("own", "counter", "A family of the exporter.");
  page.sample("", 5);
  page.sample("reason=\"x\"", 0.25);
  CHECK(
      page.text() ==
      "# HELP a_total First.\n# TYPE a_total counter\na_total{pid=\"1\"} 1\na_total{pid=\"2\"} 3\n"
      "# HELP h Second.\n# TYPE h histogram\nh_bucket{pid=\"1\",le=\"+Inf\"} 2\n"
      "h_count{pid=\"1\"} 2\n"
      "# HELP g New.\n# TYPE g gauge\ng{pid=\"2\"} 4\n"
      "# HELP own_total A family of the exporter.\n# TYPE own_total counter\nown_total 5\n"
      "own_total{reason=\"x\"} 0.25\n");
}

TEST_CASE("OpenMetrics ends once") {
  MetricsPage page(MetricsForm::kOpenMetrics);
  page.add("# HELP a First.\n# TYPE a counter\n# UNIT a bytes\na_total{pid=\"1\"} 1\n# EOF\n");
  page.add("# HELP a First.\n# TYPE a counter\n# UNIT a bytes\na_total{pid=\"2\"} 1\n# EOF\n");
  page.family("own", "counter", "A family of the exporter.");
  page.sample("", 1);
  CHECK(page.text() ==
        "# HELP a First.\n# TYPE a counter\n# UNIT a bytes\na_total{pid=\"1\"} 1\n"
        "a_total{pid=\"2\"} 1\n"
        "# HELP own A family of the exporter.\n# TYPE own counter\nown_total 1\n# EOF\n");
}

TEST_CASE("what is no text of metrics adds nothing that is not whole") {
  MetricsPage page(MetricsForm::kPrometheus);
  page.add("");
  page.add("\n");
  page.add("no family 1\n# TYPE x gauge\n");
  page.add("# HELP");
  page.add("# HELP a A.\n# TYPE a gauge\na 1\na{cut");
  CHECK(page.text() == "# HELP a A.\n# TYPE a gauge\na 1\n");
}
