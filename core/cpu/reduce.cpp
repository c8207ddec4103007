#include <tarn/core/cpu/reduce.h>

#include <algorithm>
#include <vector>

#include <tarn/core/cpu/convert.h>
#include <tarn/core/fault.h>
#include <tarn/core/parallel.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int64_t kGrain = 1 << 15;   // elements worth a thread
constexpr int64_t kTile = 1024;       // elements converted at once; a multiple of the lanes
constexpr int64_t kColumnTile = 512;  // columns reduced at once
constexpr int64_t kFewRows = 16;      // so few reduced elements are not worth their lanes

// Dims that are walked together, the innermost first.
struct Loop {
  int rank = 0;
  int64_t size[kMaxRank], step[kMaxRank], out[kMaxRank];

  int64_t count(int from = 0) const {
    int64_t n = 1;
    for (int d = from; d < rank; ++d) n *= size[d];
    return n;
  }
  void add(int64_t n, int64_t x_step, int64_t out_step) {
    size[rank] = n;
    step[rank] = x_step;
    out[rank++] = out_step;
  }
  // Smallest step first (broadcast dims last), then joins dims that are stepped through like one.
  void settle() {
    auto key = [&](int d) { return step[d] == 0 ? INT64_MAX : step[d]; };
    for (int i = 1; i < rank; ++i) {
      for (int j = i; j > 0 && key(j) < key(j - 1); --j) {
        std::swap(size[j], size[j - 1]);
        std::swap(step[j], step[j - 1]);
        std::swap(out[j], out[j - 1]);
      }
    }
    int last = 0;
    for (int d = 1; d < rank; ++d) {
      if (step[d] == step[last] * size[last] && out[d] == out[last] * size[last]) {
        size[last] *= size[d];
        continue;
      }
      ++last;
      size[last] = size[d];
      step[last] = step[d];
      out[last] = out[d];
    }
    rank = rank == 0 ? 0 : last + 1;
  }
};

// A position in a Loop's dims from dim `first` on.
class Walk {
 public:
  Walk(const Loop& loop, int first, int64_t index) : loop_(loop), first_(first) {
    for (int d = first; d < loop.rank; ++d) {
      at_[d] = index % loop.size[d];
      index /= loop.size[d];
      offset_ += at_[d] * loop.step[d];
      out_ += at_[d] * loop.out[d];
    }
  }
  int64_t offset() const { return offset_; }
  int64_t out() const { return out_; }
  // How many positions the first dim still has, this one included.
  int64_t run() const { return first_ < loop_.rank ? loop_.size[first_] - at_[first_] : 1; }
  void advance(int64_t n) {  // at most run()
    if (first_ == loop_.rank) return;
    move(first_, n);
    for (int d = first_; at_[d] == loop_.size[d] && d + 1 < loop_.rank; ++d) {
      move(d, -loop_.size[d]);
      move(d + 1, 1);
    }
  }

 private:
  void move(int d, int64_t n) {
    at_[d] += n;
    offset_ += n * loop_.step[d];
    out_ += n * loop_.out[d];
  }
  const Loop& loop_;
  int first_;
  int64_t at_[kMaxRank];
  int64_t offset_ = 0, out_ = 0;
};

// Combines leaves of `width` values in the order of a binary counter.
template <class T>
class CounterTree {
 public:
  CounterTree(const ReduceKernel<T>& kernel, int64_t width) : kernel_(kernel), width_(width) {}
  // Where the next leaf goes, filled with the identity.
  T* next() {
    if (int64_t(stack_.size()) < (depth_ + 1) * width_) stack_.resize(size_t((depth_ + 1) * width_));
    T* leaf = stack_.data() + depth_ * width_;
    std::fill(leaf, leaf + width_, kernel_.identity);
    return leaf;
  }
  void push() {
    ++depth_;
    for (int64_t c = leaves_++; c & 1; c >>= 1) join();
  }
  T* finish() {
    if (depth_ == 0) next(), push();
    while (depth_ > 1) join();
    return stack_.data();
  }
  void clear() { depth_ = leaves_ = 0; }

 private:
  void join() {
    --depth_;
    kernel_.combine(stack_.data() + (depth_ - 1) * width_, stack_.data() + depth_ * width_, width_);
  }
  const ReduceKernel<T>& kernel_;
  int64_t width_, depth_ = 0, leaves_ = 0;
  std::vector<T> stack_;
};

template <class T>
class Reducer {
 public:
  Reducer(const Tensor& x, DimSet dims, const ReduceSpec<T>& what, T* out)
      : what_(what),
        kernel_(reduce_kernels().get<T>(what.kind)),
        data_(static_cast<const char*>(x.data_ptr())),
        width_(int64_t(x.element_size())),
        load_(row_loader<T>(x.dtype())),
        native_(x.dtype() == dtype_of<T>),
        out_(out) {
    set_loops(x.sizes(), x.strides(), dims);
  }

  Reducer(const MadeElements<T>& x, DimSet dims, const ReduceSpec<T>& what, T* out)
      : what_(what), kernel_(reduce_kernels().get<T>(what.kind)), made_(&x), out_(out) {
    set_loops(x.sizes, x.strides, dims);
  }

  static bool reads_runs(IntArrayRef sizes, IntArrayRef strides, DimSet dims) {
    ReduceSpec<T> what{ReduceKind::Sum};
    MadeElements<T> none{sizes, strides, nullptr, nullptr};
    return Reducer(none, dims, what, nullptr).reads_runs();
  }

  // Whether every fetch is of neighbours.
  bool reads_runs() const {
    const Loop& inner = reduces_columns() ? kept_ : reduced_;
    return inner.rank == 0 || inner.step[0] == 1 || inner.size[0] == 1;
  }

  void run() {
    if (kept_.count() == 0) return;
    if (reduced_.count() == 0) {
      std::fill(out_, out_ + kept_.count(), kernel_.identity);
    } else if (reduces_columns()) {
      run_columns();
    } else {
      run_rows();
    }
  }

 private:
  void set_loops(IntArrayRef sizes, IntArrayRef strides, DimSet dims) {
    int64_t out_step = 1;
    for (int d = int(sizes.size()) - 1; d >= 0; --d) {
      int64_t size = sizes[d], step = strides[d];
      bool gone = dims >> d & 1;
      if (size != 1) gone ? reduced_.add(size, step, 0) : kept_.add(size, step, out_step);
      if (!gone) out_step *= size;
    }
    reduced_.settle();
    kept_.settle();
    if (reduced_.rank == 0 && kept_.rank == 0) reduced_.add(1, 1, 0);
  }

  bool reduces_columns() const {
    if (kept_.rank == 0) return false;
    if (reduced_.rank == 0 || (reduced_.count() <= kFewRows && kept_.size[0] >= kFewRows)) return true;
    if (reduced_.step[0] == 0) return kept_.step[0] != 0;
    return kept_.step[0] != 0 && kept_.step[0] < reduced_.step[0];
  }

  // n elements from `offset` on as neighbours of type T, n <= kTile unless they are that already.
  const T* fetch(int64_t offset, int64_t step, int64_t n, T* buffer) const {
    if (made_) {
      made_->make(made_->context, offset, n, buffer);
      return buffer;
    }
    const char* from = data_ + offset * width_;
    if (native_ && (step == 1 || n == 1)) return reinterpret_cast<const T*>(from);
    load_(buffer, from, step, n);
    return buffer;
  }
  bool is_direct(int64_t step) const { return native_ && step == 1; }

  // --- rows ---

  void row_into(T* lanes, int64_t offset, int64_t n, T param, T* buffer) const {
    int64_t step = reduced_.step[0], piece = is_direct(step) ? n : kTile;
    for (int64_t i = 0; i < n; i += piece) {
      int64_t count = std::min(piece, n - i);
      kernel_.row(lanes, fetch(offset + i * step, step, count, buffer), count, param, what_.constant);
    }
  }

  struct Leaves {
    int64_t count, pieces, rows;  // of an output; pieces a row, or rows a leaf
  };

  Leaves leaves() const {
    int64_t n = reduced_.size[0], rows = reduced_.count(1);
    if (n > kLeafElements) {
      int64_t pieces = (n + kLeafElements - 1) / kLeafElements;
      return {rows * pieces, pieces, 1};
    }
    int64_t per_leaf = kLeafElements / n;
    return {(rows + per_leaf - 1) / per_leaf, 1, per_leaf};
  }

  // Leaves [begin, end) of the output whose elements start at `base`.
  T reduce_leaves(const Leaves& leaves, int64_t begin, int64_t end, int64_t base, T param,
                  CounterTree<T>& tree) const {
    alignas(64) T lanes[kReduceLanes<T>], buffer[kTile];
    int64_t n = reduced_.size[0], rows = reduced_.count(1);
    tree.clear();
    Walk walk(reduced_, 1, begin / leaves.pieces * leaves.rows);
    for (int64_t leaf = begin; leaf < end; ++leaf) {
      std::fill(lanes, lanes + kReduceLanes<T>, kernel_.identity);
      if (leaves.pieces > 1) {
        int64_t piece = leaf % leaves.pieces, first = piece * kLeafElements;
        int64_t offset = base + walk.offset() + first * reduced_.step[0];
        row_into(lanes, offset, std::min(kLeafElements, n - first), param, buffer);
        if (piece + 1 == leaves.pieces) walk.advance(1);
      } else {
        int64_t last = std::min(rows, (leaf + 1) * leaves.rows);
        for (int64_t row = leaf * leaves.rows; row < last; ++row, walk.advance(1))
          row_into(lanes, base + walk.offset(), n, param, buffer);
      }
      T value = kernel_.fold(lanes);
      if (end - begin == 1) return value;
      *tree.next() = value;
      tree.push();
    }
    return *tree.finish();
  }

  T param(int64_t out) const { return what_.param ? what_.param[out] : T(0); }

  void run_rows() {
    Leaves per_output = leaves();
    int64_t outputs = kept_.count(), size = reduced_.count();
    if (outputs >= 2 * get_num_threads() || outputs * size <= kGrain || per_output.count == 1) {
      parallel_for(0, outputs, std::max<int64_t>(1, kGrain / size), [&](int64_t begin, int64_t end) {
        CounterTree<T> tree(kernel_, 1);
        Walk walk(kept_, 0, begin);
        for (int64_t i = begin; i < end; ++i, walk.advance(1)) {
          out_[walk.out()] =
              reduce_leaves(per_output, 0, per_output.count, walk.offset(), param(walk.out()), tree);
        }
      });
      return;
    }
    // Few long outputs: threads share each, in aligned groups of leaves.
    int64_t group = group_of(per_output.count), groups = (per_output.count + group - 1) / group;
    std::vector<T> partial(size_t(outputs * groups));
    parallel_for(0, outputs * groups, 1, [&](int64_t begin, int64_t end) {
      CounterTree<T> tree(kernel_, 1);
      for (int64_t i = begin; i < end; ++i) {
        Walk walk(kept_, 0, i / groups);
        int64_t first = i % groups * group, last = std::min(per_output.count, first + group);
        partial[size_t(i)] = reduce_leaves(per_output, first, last, walk.offset(), param(walk.out()), tree);
      }
    });
    CounterTree<T> tree(kernel_, 1);
    for (int64_t i = 0; i < outputs; ++i) {
      tree.clear();
      for (int64_t k = 0; k < groups; ++k) {
        *tree.next() = partial[size_t(i * groups + (fault(5) ? 0 : k))];
        tree.push();
      }
      out_[Walk(kept_, 0, i).out()] = *tree.finish();
    }
  }

  // A power of two, so that a group is a subtree; about 16 groups a thread at most.
  static int64_t group_of(int64_t leaves) {
    int64_t group = 1;
    while (group * 16 * get_num_threads() < leaves) group *= 2;
    return group;
  }

  // --- columns ---

  // A block of columns [first, first + n) of the outer kept position that `outer` stands at.
  struct Columns {
    int64_t offset, out, n;
  };

  Columns columns_of(int64_t task, int64_t tiles) const {
    Walk outer(kept_, 1, task / tiles);
    int64_t first = task % tiles * kColumnTile;
    return {outer.offset() + first * kept_.step[0], outer.out() + first * kept_.out[0],
            std::min(kColumnTile, kept_.size[0] - first)};
  }

  // Leaves [begin, end) of these columns.
  T* reduce_columns(const Columns& c, int64_t begin, int64_t end, CounterTree<T>& tree) const {
    alignas(64) T buffer[kColumnTile], params[kColumnTile];
    const T* param = what_.param ? params : nullptr;
    for (int64_t i = 0; param && i < c.n; ++i) params[i] = what_.param[c.out + i * kept_.out[0]];
    int64_t rows = reduced_.count(), step = kept_.step[0];
    Walk walk(reduced_, 0, begin * kLeafRows);
    for (int64_t leaf = begin; leaf < end; ++leaf) {
      T* acc = tree.next();
      int64_t left = std::min(rows, (leaf + 1) * kLeafRows) - leaf * kLeafRows;
      while (left > 0) {
        int64_t run = is_direct(step) ? std::min(left, walk.run()) : 1;
        int64_t row_step = reduced_.rank ? reduced_.step[0] : 0;
        kernel_.columns(acc, fetch(c.offset + walk.offset(), step, c.n, buffer), row_step, run, c.n, param,
                        what_.constant);
        walk.advance(run);
        left -= run;
      }
      tree.push();
    }
    return tree.finish();
  }

  void put(const Columns& c, const T* values) {
    for (int64_t i = 0; i < c.n; ++i) out_[c.out + i * kept_.out[0]] = values[i];
  }

  void run_columns() {
    int64_t rows = reduced_.count(), all_leaves = (rows + kLeafRows - 1) / kLeafRows;
    int64_t tiles = (kept_.size[0] + kColumnTile - 1) / kColumnTile, tasks = tiles * kept_.count(1);
    int64_t work = rows * std::min(kept_.size[0], kColumnTile);
    if (tasks >= 2 * get_num_threads() || tasks * work <= kGrain || all_leaves == 1) {
      parallel_for(0, tasks, std::max<int64_t>(1, kGrain / work), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Columns c = columns_of(i, tiles);
          CounterTree<T> tree(kernel_, c.n);
          put(c, reduce_columns(c, 0, all_leaves, tree));
        }
      });
      return;
    }
    int64_t group = group_of(all_leaves), groups = (all_leaves + group - 1) / group;
    std::vector<T> partial(size_t(tasks * groups * kColumnTile));
    parallel_for(0, tasks * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Columns c = columns_of(i / groups, tiles);
        int64_t first = i % groups * group;
        CounterTree<T> tree(kernel_, c.n);
        const T* values = reduce_columns(c, first, std::min(all_leaves, first + group), tree);
        std::copy(values, values + c.n, partial.data() + i * kColumnTile);
      }
    });
    for (int64_t i = 0; i < tasks; ++i) {
      Columns c = columns_of(i, tiles);
      CounterTree<T> tree(kernel_, c.n);
      for (int64_t k = 0; k < groups; ++k) {
        const T* values = partial.data() + (i * groups + k) * kColumnTile;
        std::copy(values, values + c.n, tree.next());
        tree.push();
      }
      put(c, tree.finish());
    }
  }

  const ReduceSpec<T>& what_;
  const ReduceKernel<T>& kernel_;
  const MadeElements<T>* made_ = nullptr;
  const char* data_ = nullptr;
  int64_t width_ = 0;
  ConvertRow load_ = nullptr;
  bool native_ = false;
  T* out_;
  Loop reduced_, kept_;
};

}  // namespace

template <class T>
void reduce_elements(const Tensor& x, DimSet dims, const ReduceSpec<T>& what, T* out) {
  Reducer<T>(x, dims, what, out).run();
}

template <class T>
void reduce_elements(const MadeElements<T>& x, DimSet dims, const ReduceSpec<T>& what, T* out) {
  Reducer<T>(x, dims, what, out).run();
}

bool reduces_runs(IntArrayRef sizes, IntArrayRef strides, DimSet dims) {
  return Reducer<float>::reads_runs(sizes, strides, dims);
}

template void reduce_elements(const MadeElements<float>&, DimSet, const ReduceSpec<float>&, float*);
template void reduce_elements(const MadeElements<double>&, DimSet, const ReduceSpec<double>&, double*);
template void reduce_elements(const MadeElements<int64_t>&, DimSet, const ReduceSpec<int64_t>&, int64_t*);
template void reduce_elements(const Tensor&, DimSet, const ReduceSpec<float>&, float*);
template void reduce_elements(const Tensor&, DimSet, const ReduceSpec<double>&, double*);
template void reduce_elements(const Tensor&, DimSet, const ReduceSpec<int64_t>&, int64_t*);

}  // namespace tarn::inline v1::detail
