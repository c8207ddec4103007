// Tier 0: runs an expression at once, without a compiler. Each step is one of the precompiled kernels that
// eager ops use, over a tile of elements small enough that all values stay in the first-level cache. Memory
// is read and written, and dtypes are converted, at the tile's edge only.
#pragma once

#include <tarn/compile/expression.h>
#include <tarn/compile/iteration.h>
#include <tarn/core/cpu/pointwise_kernels.h>

namespace tarn::inline v1::detail {

// Constant after construction; run() may be called on several threads.
class TARN_API TileProgram {
 public:
  explicit TileProgram(const Expression& e);

  // Computes the elements at positions [begin, end) of the space. operands[k]: operand k's first element.
  // `shared`: some written operand lies in the memory of another operand (at the same places).
  void run(const IterationSpace& space, char* const* operands, const int64_t* numbers, int64_t begin,
           int64_t end, bool shared) const;

  int64_t tile() const { return tile_; }

 private:
  struct Tile;
  struct Instruction {
    Step step;
    Held from = Held::F32;  // how in[0] is held
    int slot = -1;          // the tile buffer of the result
    int direct = -1;        // an operand that the result may be written to without a buffer
    PointwiseKernel kernel = nullptr;
    ConvertRow load = nullptr, store = nullptr;
  };
  void allocate();
  void fill_numbers(Tile& t, const int64_t* numbers, int64_t n) const;
  void run_tile(Tile& t) const;
  void run_row(const Instruction& i, Tile& t, size_t at) const;
  void run_load(const Instruction& i, Tile& t, size_t at) const;
  void run_round(const Instruction& i, Tile& t, size_t at) const;
  void run_store(const Instruction& i, Tile& t) const;

  std::vector<Instruction> instructions_;
  int slots_ = 0;
  int64_t width_ = 4;  // bytes of a buffer's element
  int64_t tile_ = 0;   // elements
};

}  // namespace tarn::inline v1::detail
