// The rules of Note [Clocks]: who may use which memory when.
#pragma once

#include <tarn/core/emu/stream.h>

namespace tarn::inline v1::emu {

uint64_t& at(Clock& clock, int stream);  // grows it
void merge(Clock& clock, const Clock& other);
bool before(const Access& access, const Clock& clock);  // done where this clock stands

// "argument 2 of softmax_rows on stream 1 of cuda:0".
std::string describe(const Access& access);

// Checks each use of the operation that `stream.clock` now stands for, and notes it for later ones.
Failure note_uses(CUstream_st& stream, const Operation& operation);

// The first use of the region that is not ordered before the clock, or null.
const Access* unordered_use(const Region& region, const Clock& clock);

// This thread's; cleared, its text stays.
const Failure& last_failure();
cudaError_t last_failure_code();
void clear_last_failure();

}  // namespace tarn::inline v1::emu
