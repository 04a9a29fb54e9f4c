// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_MODEL_UNKNOWN_HOST_H
#define RINGSIDE_ANALYZER_MODEL_UNKNOWN_HOST_H

namespace ringside::model {

/// Process::host where records do not name it. Their processes may be on one host or on many.
inline constexpr const char* kUnknownHost = "unknown host";

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_UNKNOWN_HOST_H
