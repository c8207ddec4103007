#include <tarn/distributed/roll_call.h>

#include <sstream>
#include <vector>

namespace tarn::inline v1::distributed::detail {

namespace {
// For the word of a rank that may be slow; a lost one leaves none.
constexpr auto kPatience = milliseconds(2000);
std::string key_of(int rank) { return str("failure/", rank); }
}  // namespace

// A rank that gave up because of another one looks lost, too: words lead from rank to rank to the one that
// left none.
RankLost RollCall::settle(RankLost seen, bool certain) {
  try {
    leave_word(seen);
    if (certain) return seen;
    RankLost lost = seen;
    auto deadline = Clock::now() + kPatience;
    for (int i = 0; i < size_; ++i) {
      if (lost.rank < 0) lost = first_silent_or_named(seen.gone, deadline);
      auto said = lost.rank < 0 ? std::nullopt : word_of(lost.rank, deadline);
      if (!said) break;
      lost = *said;
    }
    if (lost.rank < 0) return seen;
    leave_word(lost);
    return lost;
  } catch (const Error&) {
    // The store went with its rank; what was seen has to do.
    return seen;
  }
}

// The first rank that left no word, or else that another names. How it was lost is known to a rank that names
// it; this one may have seen no more than another's end.
RankLost RollCall::first_silent_or_named(bool gone, Clock::time_point deadline) {
  std::optional<int> silent;
  std::vector<RankLost> named;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    auto said = word_of(rank, deadline);
    if (said && said->rank >= 0) named.push_back(*said);
    if (!said && !silent) silent = rank;
  }
  for (const RankLost& lost : named)
    if (!silent || lost.rank == *silent) return lost;
  return {silent.value_or(-1), gone};
}

void RollCall::leave_word(const RankLost& lost) {
  store_->set(key_of(rank_), str(lost.rank, " ", int(lost.gone)));
}

std::optional<RankLost> RollCall::word_of(int rank, Clock::time_point deadline) {
  auto time = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  if (!store_->wait_for({key_of(rank)}, std::max(time, milliseconds(0)))) return std::nullopt;
  std::istringstream text(store_->get_text(key_of(rank)));
  RankLost lost{-1, false};
  text >> lost.rank >> lost.gone;
  return lost;
}

}  // namespace tarn::inline v1::distributed::detail
