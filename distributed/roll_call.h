// RollCall: after an operation broke, finds out through the store which rank is the cause. A rank that gives
// up closes its connections, so that all others which wait on it give up as well; each then leaves word in
// the store, and the one that leaves none is lost. Private to distributed/.
#pragma once

#include <tarn/distributed/meeting.h>
#include <tarn/distributed/store.h>

namespace tarn::inline v1::distributed::detail {

class RollCall {
 public:
  RollCall(std::shared_ptr<Store> store, int rank, int size)
      : store_(std::move(store)), rank_(rank), size_(size) {}

  // `seen`: what this rank knows (rank -1: nothing but that something broke). `certain`: it saw the process
  // end, not only a connection. Takes two seconds where somebody leaves no word.
  RankLost settle(RankLost seen, bool certain);

 private:
  void leave_word(const RankLost& lost);
  std::optional<RankLost> word_of(int rank, Clock::time_point deadline);
  RankLost first_silent_or_named(bool gone, Clock::time_point deadline);

  std::shared_ptr<Store> store_;
  int rank_, size_;
};

}  // namespace tarn::inline v1::distributed::detail
