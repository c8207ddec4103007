// Meeting: where ranks come together before an operation, show each other what they are about to call, and
// learn who is late or gone. Private to distributed/.
#pragma once

#include <optional>

#include <tarn/distributed/collective.h>
#include <tarn/distributed/socket.h>

namespace tarn::inline v1::distributed::detail {

// A rank that an operation cannot go on without.
struct RankLost {
  int rank;
  bool gone;  // its process ended or its connection broke; else it did not come in time
  std::string detail = {};
};

class Meeting {
 public:
  virtual ~Meeting() = default;
  // Gives `mine` to every rank and returns all ranks' signatures; the array lives until the next call.
  // Throws RankLost.
  virtual const Signature* meet(const Signature& mine, Clock::time_point deadline) = 0;
  // A rank that is known to be gone.
  virtual std::optional<int> find_lost() = 0;
};

}  // namespace tarn::inline v1::distributed::detail
