// NodeTable: maps nodes to numbers by open addressing. The engine's holds the frontier of a backward, which
// is small, so it is one or two cache lines; erased entries leave no tombstones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tarn::inline v1::autograd {
struct Node;
}

namespace tarn::inline v1::detail {

class NodeTable {
 public:
  using Node = autograd::Node;
  NodeTable() : cells_(16) {}

  // The number of `node`, or null. Valid until the next insert or erase.
  uint32_t* find(const Node* node) {
    for (size_t i = home(node); cells_[i].node; i = next(i))
      if (cells_[i].node == node) return &cells_[i].value;
    return nullptr;
  }
  // `node` must not be there.
  void insert(const Node* node, uint32_t value) {
    if (++size_ * 2 > cells_.size()) grow();
    size_t i = home(node);
    while (cells_[i].node) i = next(i);
    cells_[i] = {node, value};
  }
  void erase(const Node* node) {
    size_t hole = home(node);
    while (cells_[hole].node != node) hole = next(hole);
    // Pull back those that were pushed past the hole.
    for (size_t i = next(hole); cells_[i].node; i = next(i)) {
      size_t from_home = (i - home(cells_[i].node)) & (cells_.size() - 1);
      size_t from_hole = (i - hole) & (cells_.size() - 1);
      if (from_home < from_hole) continue;
      cells_[hole] = cells_[i];
      hole = i;
    }
    cells_[hole].node = nullptr;
    --size_;
  }
  size_t size() const { return size_; }

 private:
  struct Cell {
    const Node* node = nullptr;
    uint32_t value = 0;
  };
  size_t home(const Node* node) const {
    return size_t((reinterpret_cast<uintptr_t>(node) >> 6) * 0x9E3779B97F4A7C15u >> 32) & (cells_.size() - 1);
  }
  size_t next(size_t i) const { return (i + 1) & (cells_.size() - 1); }
  void grow() {
    std::vector<Cell> old(cells_.size() * 2);
    old.swap(cells_);
    for (const Cell& cell : old) {
      if (!cell.node) continue;
      size_t i = home(cell.node);
      while (cells_[i].node) i = next(i);
      cells_[i] = cell;
    }
  }
  std::vector<Cell> cells_;
  size_t size_ = 0;
};

}  // namespace tarn::inline v1::detail
