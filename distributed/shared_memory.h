// Ranks of one host share a segment of memory: they meet there, and they reduce large CPU tensors through it.
//
// Each rank has a slot for two chunks of its data. Chunk by chunk every rank copies its values in, reduces
// its share of the chunk over all slots in the order of the ranks, and copies the whole result out. So each
// sum is computed once, by one rank, and all ranks end with the same bits.
//
// Each rank keeps a lock on a byte of the segment's file, which the kernel gives back when the process ends,
// however it ends: that is how others tell a dead rank from a slow one.
#pragma once

#include <atomic>
#include <memory>

#include <tarn/distributed/meeting.h>
#include <tarn/distributed/reduce.h>

namespace tarn::inline v1::distributed::detail {

class SharedMemory : public Meeting {
 public:
  // Bytes of one chunk of one rank.
  static constexpr size_t kChunk = 1 << 20;

  // The segment's name if it could be made, else empty; then open() it too.
  static std::string create(int ranks);
  // Null if the segment is not there: the ranks are on different hosts after all.
  static std::unique_ptr<SharedMemory> open(const std::string& name, int rank, int ranks);
  // Once all have opened it: nothing is left behind then, whatever happens to the ranks.
  static void unlink(const std::string& name);
  ~SharedMemory() override;

  const Signature* meet(const Signature& mine, Clock::time_point deadline) override;
  std::optional<int> find_lost() override;
  // Elements one after the other, in pieces that end between two of them.
  struct Piece {
    char* data;
    size_t bytes;
  };
  // Throws RankLost.
  void all_reduce(const std::vector<Piece>& pieces, size_t element_size,
                  tarn::detail::RankReduction reduction, Clock::time_point deadline);

 private:
  struct Layout;
  struct RankWords;
  SharedMemory(int rank, int ranks, Descriptor file, Layout* memory);

  char* slot(int rank, uint32_t chunk) const;
  char* result(uint32_t chunk) const;
  void arrive(std::atomic<uint32_t>& word);
  void wait_for(std::atomic<uint32_t> RankWords::*word, uint32_t value, Clock::time_point deadline);
  void wait_for_rank(int rank, std::atomic<uint32_t>& word, uint32_t value, Clock::time_point deadline);
  bool is_gone(int rank) const;

  int rank_, ranks_;
  Descriptor file_;
  Layout* memory_;
  std::vector<Signature> signatures_;
  uint32_t meetings_ = 0, chunks_ = 0;  // counts of this rank, which all ranks keep alike
};

// The reduction of a dtype by an op, compiled for the best instruction set here.
tarn::detail::RankReduction rank_reduction(ScalarType dtype, ReduceOp op);

}  // namespace tarn::inline v1::distributed::detail
