// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "plugin/config/config.h"
#include "test/unit/catch.h"

using namespace ringside::config;

namespace {

constexpr char kDocument[] = RINGSIDE_TEST_SOURCE "/docs/environment.md";
constexpr char kBegin[] =
    "<!-- RINGSIDE_TEST_UPDATE=1 plugin_unit_tests makes this table from "
    "plugin/config/variables.cc. -->\n";
constexpr char kEnd[] = "<!-- The end of that table. -->\n";

std::string document() {
  std::ifstream file(kDocument);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string overview() {
  std::string made = "\n| variable | what it sets | value | default |\n|---|---|---|---|\n";
  for (const Variable& variable : variables()) {
    made += "| `" + variable.name + "` | " + variable.meaning + " | " + variable.values + " | " +
            variable.default_text + " |\n";
  }
  return made + "\n";
}

std::string trouble_with(const std::string& name) {
  const auto sentences = trouble_with_names({name + "=1"});
  REQUIRE(sentences.size() <= 1);
  return sentences.empty() ? "" : sentences.front();
}

}  // namespace

TEST_CASE("the documentation has the table of variables, and a section for each") {
  std::string text = document();
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::size_t from = begin + std::string(kBegin).size();
  if (std::getenv("RINGSIDE_TEST_UPDATE") != nullptr) {
    std::ofstream(kDocument) << text.substr(0, from) << overview() << text.substr(end);
    text = document();
  }
  CHECK(text.substr(from, text.find(kEnd) - from) == overview());
  std::istringstream lines(text);
  std::set<std::string> headings;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("## ", 0) == 0) {
      std::istringstream words(line.substr(3));
      for (std::string word; words >> word;) {
        headings.insert(word.substr(0, word.find(',')));
      }
    }
  }
  std::set<std::string> names;
  for (const Variable& variable : variables()) {
    INFO(variable.name);
    CHECK(names.insert(variable.name).second);
    CHECK(headings.count(variable.name) == 1);
  }
  for (const std::string& heading : headings) {
    INFO(heading);
    CHECK((heading.rfind("RINGSIDE_", 0) != 0 || names.count(heading) == 1));
  }
}

TEST_CASE("each variable's default is a value that it takes, or said in words") {
  for (const Variable& variable : variables()) {
    INFO(variable.name);
    Config config;
    std::string detail;
    const std::string shown = variable.show(config);
    if (shown == variable.default_text && shown != "any") {
      CHECK(variable.read(shown, config, detail));
      CHECK(variable.show(config) == shown);
    }
    CHECK_FALSE(variable.meaning.empty());
    CHECK_FALSE(variable.values.empty());
    CHECK_FALSE(variable.default_text.empty());
  }
}

TEST_CASE("a name that does not exist gets the nearest one that does") {
  const std::pair<const char*, const char*> wrong[] = {
      {"RINGSIDE_EVENT", "RINGSIDE_EVENTS"},
      {"RINGSIDE_DRI", "RINGSIDE_DIR"},
      {"RINGSIDE_RINGDIR", "RINGSIDE_RING_DIR"},
      {"RINGSIDE_RING_BYTE", "RINGSIDE_RING_BYTES"},
      {"RINGSIDE_SAMPLING", "RINGSIDE_SAMPLE"},
      {"RINGSIDE_HANG_SECOND", "RINGSIDE_HANG_SECONDS"},
      {"RINGSIDE_DRAIN_CPUS", "RINGSIDE_DRAIN_CPU"},
      {"RINGSIDE_MAXBYTES", "RINGSIDE_MAX_BYTES"}};
  for (const auto& [name, nearest] : wrong) {
    CHECK(trouble_with(name) ==
          std::string(name) + " is not a variable of Ringside; did you mean " + nearest + "?");
  }
  CHECK(trouble_with("RINGSIDE_COLOUR_OF_THE_SKY") ==
        "RINGSIDE_COLOUR_OF_THE_SKY is not a variable of Ringside; docs/environment.md has their "
        "names");
  CHECK(trouble_with("RINGSIDE_").find("is not a variable") != std::string::npos);
  CHECK(trouble_with_names({"RINGSIDE_" + std::string(100000, 'x')}).size() == 1);
}

TEST_CASE("what is Ringside's, or somebody else's, is not called wrong") {
  for (const Variable& variable : variables()) {
    CHECK(trouble_with(variable.name).empty());
  }
  for (const char* const name :
       {"RINGSIDE_LAUNCH", "RINGSIDE_HANG_DUMP", "RINGSIDE_HANG_PID", "RINGSIDE_TEST_EMULATOR",
        "RINGSIDE", "MY_RINGSIDE_EVENT", "NCCL_DEBUG", "RINGSIDE_EXPORTER_SERVICE_HOST",
        "RINGSIDE_EXPORTER_PORT_9401_TCP_ADDR", "RINGSIDE_SERVICE_PORT_METRICS"}) {
    INFO(name);
    CHECK(trouble_with(name).empty());
  }
}
