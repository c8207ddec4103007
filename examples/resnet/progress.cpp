#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace {

using Clock = std::chrono::steady_clock;

// With it a line stays within 80 columns.
constexpr int kBarWidth = 16;
// Plain lines come after each quarter of an epoch.
constexpr int64_t kLines = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string clock_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%d:%02d", int(seconds) / 60, int(seconds) % 60);
  return text;
}

}  // namespace

Progress::Progress(std::string label, int64_t total)
    : label_(std::move(label)),
      total_(total),
      next_line_(total / kLines),
      terminal_(isatty(STDOUT_FILENO)),
      start_(Clock::now()),
      drawn_(start_) {}

double Progress::images_per_second() const { return double(done_) / std::max(1e-9, seconds_since(start_)); }
double Progress::mean_loss() const { return done_ ? loss_sum_ / double(done_) : 0; }

void Progress::add(int64_t images, double loss) {
  done_ += images;
  loss_sum_ += loss * double(images);
  if (terminal_) {
    if (seconds_since(drawn_) < 0.1 && done_ < total_) return;
    drawn_ = Clock::now();
    draw();
  } else if (done_ >= next_line_ && done_ < total_) {
    next_line_ += total_ / kLines;
    draw();
  }
}

void Progress::draw() {
  double speed = images_per_second();
  std::string left = clock_text(double(total_ - done_) / speed);
  if (terminal_) {
    int filled = int(kBarWidth * done_ / total_);
    std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
    std::printf("\r%s [%s] %3d %%  %.0f images/s  loss %.4f  %s left\x1b[K", label_.c_str(), bar.c_str(),
                int(100 * done_ / total_), speed, mean_loss(), left.c_str());
  } else {
    std::printf("%s  %lld/%lld  %.0f images/s  loss %.4f  %s left\n", label_.c_str(),
                static_cast<long long>(done_), static_cast<long long>(total_), speed, mean_loss(),
                left.c_str());
  }
  std::fflush(stdout);
}

void Progress::finish(const std::string& result) {
  std::printf("%s%s  loss %.4f  %s\n", terminal_ ? "\r\x1b[K" : "", label_.c_str(), mean_loss(),
              result.c_str());
  std::fflush(stdout);
}
