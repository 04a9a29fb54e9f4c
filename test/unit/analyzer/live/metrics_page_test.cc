// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/metrics_page.h"

#include "test/unit/catch.h"

using ringside::live::label;
using ringside::live::MetricsForm;
using ringside::live::MetricsPage;

// By the text formats' own rule: all lines of a family stand together, and its HELP and TYPE once.
TEST_CASE("samples of several processes are in one family") {
  MetricsPage page(MetricsForm::kPrometheus);
  for (const char* const pid : {"1", "2"}) {
    page.family("a", "counter", "First.");
    page.sample(label("pid", pid), std::uint64_t{9'007'199'254'740'993});  // no double has it
    page.family("h_seconds", "histogram", "Second.", "seconds");
    page.buckets(label("pid", pid), {0.5, 2}, {3, 0, 4}, 0.25);
  }
  page.family("g", "gauge", "Third.");
  page.sample("", 5.5);
  const auto histogram = [](const std::string& pid) {
    const std::string begin = "h_seconds_bucket{pid=\"" + pid + "\",le=\"";
    return begin + "0.5\"} 3\n" + begin + "2\"} 3\n" + begin + "+Inf\"} 7\nh_seconds_count{pid=\"" +
           pid + "\"} 7\nh_seconds_sum{pid=\"" + pid + "\"} 0.25\n";
  };
  CHECK(page.text() ==
        "# HELP a_total First.\n# TYPE a_total counter\na_total{pid=\"1\"} 9007199254740993\n"
        "a_total{pid=\"2\"} 9007199254740993\n"
        "# HELP h_seconds Second.\n# TYPE h_seconds histogram\n" +
            histogram("1") + histogram("2") + "# HELP g Third.\n# TYPE g gauge\ng 5.5\n");
}

TEST_CASE("OpenMetrics names a counter without its end, has units, and ends once") {
  MetricsPage page(MetricsForm::kOpenMetrics);
  page.family("a_bytes", "counter", "First.", "bytes");
  page.sample(label("pid", "1"), std::uint64_t{1});
  page.family("a_bytes", "counter", "First.", "bytes");
  page.sample(label("pid", "2"), std::uint64_t{1});
  CHECK(page.text() ==
        "# HELP a_bytes First.\n# TYPE a_bytes counter\n# UNIT a_bytes bytes\n"
        "a_bytes_total{pid=\"1\"} 1\na_bytes_total{pid=\"2\"} 1\n# EOF\n");
}

TEST_CASE("a label holds any text, on one line and within its quotes") {
  CHECK(label("name", "a\"b\\c") == "name=\"a\\\"b\\\\c\"");
  CHECK(label("name", "a\nb\x1b\xff\xE2\x80\xA8") == "name=\"a?b???\"");
  CHECK(label("name", "\xC3\xA4") == "name=\"\xC3\xA4\"");
  // It is cut, and not within a letter or an escape.
  CHECK(label("n", std::string(255, 'x') + "\xC3\xA4") == "n=\"" + std::string(255, 'x') + '"');
  const std::string quotes = label("n", std::string(1000, '"'));
  CHECK(quotes.size() == 3 + 2 * 256 + 1);
  CHECK(quotes.ends_with("\\\"\""));
}
