// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/imports/ras.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "analyzer/report/ras_report.h"
#include "live/ras_client.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

// As NCCL 2.29.7 writes it, with these ranks that answered, and ranks of which there is no data.
std::string answer_of(const std::string& ranks, const std::string& missing) {
  return "{\n  \"nccl_version\": \"2.29.7\",\n  \"cuda_runtime_version\": 13000,\n"
         "  \"timestamp\": \"2026-11-24 00:43:23\",\n  \"communicators\": [{\"hash\": \"0xab\","
         "\"size\": 3,\"ranks\": [" +
         ranks + "],\"missing_ranks\": [" + missing +
         "]}],\"ras\": {\"collection_time_sec\": 0.1,\"timeouts_count\": 0}}";
}

std::string rank_of(int rank, int all_reduce, int error = 0) {
  return R"({"rank":)" + std::to_string(rank) +
         R"(,"host":"10.0.0.1","pid":5,"status":{"init_state":0,"async_error":)" +
         std::to_string(error) + R"(},"collective_counts":{"AllReduce":)" +
         std::to_string(all_reduce) + "}}";
}

std::string missing_rank(bool is_dead) {
  return std::string(R"({"rank":2,"host":"10.0.0.2","pid":9,"status":{"unresponsive":true,)") +
         R"("considered_dead":)" + (is_dead ? "true" : "false") + "}}";
}

report::Document document_of(const std::string& text) {
  model::Ras ras;
  REQUIRE(read_ras(text, ras).empty());
  return report::ras_document(ras);
}

TEST_CASE("equal counts of RAS are no finding, and different ones are") {
  CHECK(document_of(answer_of(rank_of(0, 4) + "," + rank_of(1, 4), "")).findings.empty());
  const auto findings = document_of(answer_of(rank_of(0, 4) + "," + rank_of(1, 3), "")).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].kind == "ras-counts");
  CHECK(findings[0].text.ends_with(
      "AllReduce of communicator 0xab: 4 on rank 0; 3 on rank 1 (behind)"));
}

TEST_CASE("processes that RAS cannot reach, calls dead or with errors are told") {
  const auto silent = document_of(answer_of(rank_of(0, 4), missing_rank(false))).findings;
  REQUIRE(silent.size() == 1);
  CHECK(silent[0].text ==
        "NCCL's RAS gets no answer from rank 2 of communicator 0xab (pid 9 on 10.0.0.2)");
  const auto dead = document_of(answer_of(rank_of(0, 4, 6), missing_rank(true))).findings;
  REQUIRE(dead.size() == 2);
  CHECK(dead[0].text.find("considers dead rank 2") != std::string::npos);
  CHECK(dead[1].text.find("ncclResult_t 6") != std::string::npos);
}

TEST_CASE("the text of RAS gives what stands below its headings") {
  const std::string text =
      "NCCL version 2.27.7 compiled with CUDA 12.9\n\nJob summary\n===========\n\nErrors\n======\n"
      "\nWarnings\n========\n\n#0-0 (ab) MISMATCH\n  one thing\n  \n  another\n\n";
  const auto findings = document_of(text).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].text == "NCCL's RAS: #0-0 (ab) MISMATCH; one thing; another");
  model::Ras ras;
  CHECK_FALSE(read_ras(text.substr(0, 60), ras).empty());
  CHECK_FALSE(read_ras("{\n  \"nccl_version\": 1}", ras).empty());
  CHECK_FALSE(read_ras(answer_of("{}", ""), ras).empty());
  CHECK(begins_as_ras(answer_of("", "").substr(0, 64)));
  CHECK_FALSE(begins_as_ras("{\n  \"nccl_version\": \"2.29.7\", \"entries\": []"));
}

// Lines of NCCL 2.31's documentation (troubleshooting/ras.rst).
TEST_CASE("lines of RAS diagnostics that ask for a review are findings") {
  const std::string text =
      "node042:12345 NCCL DIAG === RAS Diagnostics ===\n"
      "node042:12345 NCCL DIAG [OK]   ECC: no uncorrected volatile errors across 8 ranks in comm "
      "0x1234\n"
      "printed by the job\n"
      "node042:12345 NCCL DIAG [INFO] NVLink: inactive link(s) on rank(s) {0,3,...} (12 ranks) "
      "across 16 ranks in comm 0x12ab\n"
      "node042:12345 NCCL DIAG [INFO] NCCL environment: NCCL_DEBUG=INFO on rank(s) {0,1,2,3}\n";
  const std::string end = "node042:12345 NCCL DIAG RAS diagnostics completed in 12.3 ms\n";
  CHECK(begins_as_ras(text.substr(0, 64)));
  model::Ras ras;
  REQUIRE(read_ras(text + end, ras).empty());
  CHECK(ras.checks_passed == 1);
  REQUIRE(ras.diagnostics.size() == 2);
  CHECK(ras.diagnostics[0].check == "NVLink");
  CHECK(ras.diagnostics[0].hash == "0x12ab");
  CHECK(ras.diagnostics[0].ranks == std::vector<std::uint32_t>{0, 3});
  CHECK(ras.diagnostics[1].hash.empty());
  CHECK(ras.diagnostics[1].ranks == std::vector<std::uint32_t>{0, 1, 2, 3});
  const auto findings = report::ras_document(ras).findings;
  CHECK(findings[0].severity == report::Severity::kWarning);
  CHECK(findings[1].severity == report::Severity::kNote);
  model::Ras torn;
  CHECK_FALSE(read_ras(text, torn).empty());
}

TEST_CASE("a socket that never answers, and one that nobody listens at, give an error") {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener, 16) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const std::string place = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  CHECK(live::ask_ras(place, std::chrono::milliseconds(200)).error == "no answer in time");
  ::close(listener);
  CHECK_FALSE(live::ask_ras(place, std::chrono::seconds(20)).error.empty());
  CHECK(live::ask_ras("28028", std::chrono::seconds(1)).error == "the address is not HOST:PORT");
}

}  // namespace
}  // namespace ringside::load
