#include <tarn/compile/tile.h>

#include <algorithm>
#include <cstring>

#include <tarn/core/cpu/convert.h>
#include <tarn/core/cpu/scratch.h>
#include <tarn/core/error.h>

namespace tarn::inline v1::detail {

namespace {

constexpr int64_t kMaxTile = 1024, kMinTile = 128;  // elements
constexpr int64_t kCacheBytes = 24 * 1024;          // of buffers; what is read and written needs its part too
constexpr int64_t kShortRow = 256;  // several rows share a tile where less than this is left of one
constexpr int kMaxPieces = 64;      // rows in one tile

const PointwiseTable& table_of(Held held) {
  return held == Held::F32 ? pointwise_f32() : held == Held::F64 ? pointwise_f64() : pointwise_i64();
}

}  // namespace

// The pieces of rows that make up one tile, and where each step's values are.
struct TileProgram::Tile {
  Tile(const IterationSpace& s, char* const* o, bool sharing, char* memory, size_t steps)
      : space(s), operands(o), shared(sharing), buffers(memory), values(steps), params(steps) {}

  const IterationSpace& space;
  char* const* operands;
  bool shared;
  char* buffers;
  std::vector<char*> values;
  std::vector<std::array<char, 24>> params;
  int64_t begin = 0, n = 0;
  int pieces = 0;
  int64_t length[kMaxPieces];
  IterationSpace::Offsets offset[kMaxPieces];

  void place(int64_t at, int64_t count) {
    begin = at, n = count, pieces = 0;
    space.for_rows(at, at + count, [&](const IterationSpace::Offsets& o, int64_t piece) {
      offset[pieces] = o;
      length[pieces++] = piece;
    });
  }
  // The operand's elements of this tile if they are neighbours, else null.
  char* neighbours(int operand, int64_t width) const {
    if (space.is_linear(operand)) return operands[operand] + begin * width;
    if (pieces == 1 && (space.step(operand) == width || n == 1))
      return operands[operand] + offset[0][size_t(operand)];
    return nullptr;
  }
};

TileProgram::TileProgram(const Expression& e) {
  for (const Step& s : e.steps) {
    Instruction i{.step = s};
    if (s.in[0] >= 0) i.from = e.steps[size_t(s.in[0])].held;
    if (held_size(s.held) == 8) width_ = 8;
    switch (s.kind) {
      case StepKind::Load:
        if (s.held != Held::Flag) i.load = table_of(s.held).load[int(s.dtype)];
        break;
      case StepKind::Row:
        i.kernel = table_of(s.computes).kernels[s.index][s.text];
        ensure(i.kernel, generic::kPointwiseRows[s.index].name, ": no kernel for text ", s.text);
        break;
      case StepKind::Round:
        i.store = table_of(i.from).store[int(s.dtype)];
        if (s.held != Held::Flag) i.load = table_of(s.held).load[int(s.dtype)];
        break;
      case StepKind::Convert:
        i.load = table_of(s.held).load[int(dtype_of_held(i.from))];
        break;
      case StepKind::Store:
        if (s.held != Held::Flag) i.store = table_of(s.held).store[int(s.dtype)];
        if (s.dtype == dtype_of_held(s.held)) instructions_[size_t(s.in[0])].direct = s.index;
        break;
      case StepKind::Number:
        break;
    }
    instructions_.push_back(i);
  }
  allocate();
  int64_t fitting = kCacheBytes / (width_ * (slots_ + 1)) / 64 * 64;
  tile_ = std::clamp(fitting, kMinTile, kMaxTile);
}

// Gives each value a buffer for as long as it is needed. Numbers keep theirs: they are filled once a run.
void TileProgram::allocate() {
  std::vector<size_t> last(instructions_.size());
  for (size_t i = 0; i < instructions_.size(); ++i)
    for (int from : instructions_[i].step.in)
      if (from >= 0) last[size_t(from)] = i;
  std::vector<int> free;
  auto take = [&] {
    if (free.empty()) return slots_++;
    int slot = free.back();
    free.pop_back();
    return slot;
  };
  for (Instruction& i : instructions_)
    if (i.step.kind == StepKind::Number) i.slot = slots_++;
  for (size_t at = 0; at < instructions_.size(); ++at) {
    Instruction& i = instructions_[at];
    // A row's kernel may write over what it reads where all have one width.
    bool over = i.step.kind == StepKind::Row;
    for (int from : i.step.in)
      over = over && (from < 0 || held_size(instructions_[size_t(from)].step.held) == held_size(i.step.held));
    if (!over && i.slot < 0 && i.step.kind != StepKind::Store) i.slot = take();
    for (int k = 0; k < 5; ++k) {
      int from = i.step.in[k];
      bool again = std::find(i.step.in, i.step.in + k, from) != i.step.in + k;
      if (from < 0 || again || last[size_t(from)] != at) continue;
      const Instruction& source = instructions_[size_t(from)];
      if (source.step.kind != StepKind::Number) free.push_back(source.slot);
    }
    if (i.slot < 0 && i.step.kind != StepKind::Store) i.slot = take();
  }
}

void TileProgram::fill_numbers(Tile& t, const int64_t* numbers, int64_t n) const {
  for (size_t at = 0; at < instructions_.size(); ++at) {
    const Step& s = instructions_[at].step;
    if (s.kind == StepKind::Number) {
      t.values[at] = t.buffers + instructions_[at].slot * tile_ * width_;
      table_of(s.held).load[int(dtype_of_held(s.held))](t.values[at], numbers + s.index, 0, n);
    }
    if (s.kind != StepKind::Row) continue;
    int size = held_size(s.computes);
    for (int i = 0; i < 3; ++i)
      if (s.params[i] >= 0) std::memcpy(t.params[at].data() + i * size, numbers + s.params[i], size_t(size));
  }
}

void TileProgram::run(const IterationSpace& space, char* const* operands, const int64_t* numbers,
                      int64_t begin, int64_t end, bool shared) const {
  Scratch<char> memory((slots_ + 1) * tile_ * width_);
  Tile t(space, operands, shared, memory.data(), instructions_.size());
  fill_numbers(t, numbers, std::min(tile_, end - begin));
  int64_t row = space.row_length();
  for (int64_t at = begin; at < end; at += t.n) {
    int64_t left = row - at % row, n = std::min(tile_, end - at);
    if (left >= std::min(n, kShortRow))
      n = std::min(n, left);
    else
      n = std::min(n, left + (kMaxPieces - 1) * row);
    t.place(at, n);
    run_tile(t);
  }
}

void TileProgram::run_tile(Tile& t) const {
  for (size_t at = 0; at < instructions_.size(); ++at) {
    const Instruction& i = instructions_[at];
    switch (i.step.kind) {
      case StepKind::Load:
        run_load(i, t, at);
        break;
      case StepKind::Row:
        run_row(i, t, at);
        break;
      case StepKind::Round:
        run_round(i, t, at);
        break;
      case StepKind::Convert:
        t.values[at] = t.buffers + i.slot * tile_ * width_;
        i.load(t.values[at], t.values[size_t(i.step.in[0])], 1, t.n);
        break;
      case StepKind::Store:
        run_store(i, t);
        break;
      case StepKind::Number:
        break;
    }
  }
}

void TileProgram::run_load(const Instruction& i, Tile& t, size_t at) const {
  int64_t width = int64_t(element_size(i.step.dtype));
  bool native = i.step.dtype == dtype_of_held(i.step.held);
  char* here = t.neighbours(i.step.index, width);
  if (here && native && !t.shared) {
    t.values[at] = here;
    return;
  }
  char* to = t.values[at] = t.buffers + i.slot * tile_ * width_;
  int64_t held = held_size(i.step.held), step = t.space.step(i.step.index);
  auto copy = [&](const char* from, int64_t by, int64_t n) {
    if (i.load) return i.load(to, from, by / width, n);
    for (int64_t k = 0; k < n; ++k) to[k] = from[k * by];
  };
  if (here) return copy(here, width, t.n);
  for (int p = 0; p < t.pieces; ++p) {
    copy(t.operands[i.step.index] + t.offset[p][size_t(i.step.index)], step, t.length[p]);
    to += t.length[p] * held;
  }
}

void TileProgram::run_row(const Instruction& i, Tile& t, size_t at) const {
  const void* slots[generic::kSlots] = {};
  for (int slot = 0; slot < generic::kSlots; ++slot)
    if (i.step.in[slot] >= 0) slots[slot] = t.values[size_t(i.step.in[slot])];
  char* to = nullptr;
  if (i.direct >= 0 && !t.shared) to = t.neighbours(i.direct, held_size(i.step.held));
  if (!to) to = t.buffers + i.slot * tile_ * width_;
  t.values[at] = to;
  i.kernel(to, slots, t.params[at].data(), t.n);
}

void TileProgram::run_round(const Instruction& i, Tile& t, size_t at) const {
  char* to = t.values[at] = t.buffers + i.slot * tile_ * width_;
  char* memory = i.load ? t.buffers + slots_ * tile_ * width_ : to;  // one more buffer
  i.store(memory, t.values[size_t(i.step.in[0])], 1, t.n);
  if (i.load) i.load(to, memory, 1, t.n);
}

void TileProgram::run_store(const Instruction& i, Tile& t) const {
  int64_t width = int64_t(element_size(i.step.dtype)), held = held_size(i.step.held);
  const char* from = t.values[size_t(i.step.in[0])];
  char* here = t.neighbours(i.step.index, width);
  if (here == from) return;
  auto copy = [&](char* to, int64_t by, int64_t n) {
    if (i.store) return i.store(to, from, by / width, n);
    for (int64_t k = 0; k < n; ++k) to[k * by] = from[k];
  };
  if (here) return copy(here, width, t.n);
  int64_t step = t.space.step(i.step.index);
  for (int p = 0; p < t.pieces; ++p) {
    copy(t.operands[i.step.index] + t.offset[p][size_t(i.step.index)], step, t.length[p]);
    from += t.length[p] * held;
  }
}

}  // namespace tarn::inline v1::detail
