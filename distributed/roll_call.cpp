#include <tarn/distributed/roll_call.h>

#include <sstream>

namespace tarn::inline v1::distributed::detail {

namespace {
constexpr auto kPatience = milliseconds(1000);
std::string key_of(int rank) { return str("failure/", rank); }
}  // namespace

RankLost RollCall::settle(RankLost seen, bool certain) {
  try {
    leave_word(seen);
    if (!certain) return seen.rank < 0 ? ask_all(seen) : follow(seen);
  } catch (const Error&) {
    // The store went with its rank; what was seen has to do.
  }
  return seen;
}

// A rank that gave up because of another one looks lost, too: its word leads to the cause, which left none.
RankLost RollCall::follow(RankLost lost) {
  auto deadline = Clock::now() + kPatience / 2;
  for (int i = 0; i < size_; ++i) {
    auto said = word_of(lost.rank, deadline);
    if (!said || said->rank < 0) break;
    lost = *said;
  }
  return lost;
}

RankLost RollCall::ask_all(const RankLost& seen) {
  auto deadline = Clock::now() + kPatience;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    auto said = word_of(rank, deadline);
    if (!said) return {rank, seen.gone};
    if (said->rank >= 0) return follow(*said);
  }
  return seen;
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
