#include <tarn/data/tensorboard.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include <tarn/core/crc32c.h>
#include <tarn/core/ops/copy.h>
#include <tarn/data/png.h>
#include <tarn/data/protobuf.h>

namespace tarn::inline v1::utils::tensorboard {

using data::detail::Message;
using tarn::detail::crc32c;

namespace {

// Field numbers of tensorboard/compat/proto: event.proto and summary.proto.
namespace event {
enum { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
}
namespace session_log {
enum { status = 1, start = 1 };
}
namespace summary {
enum { value = 1 };
}
namespace value {
enum { tag = 1, simple_value = 2, image = 4, histogram = 5 };
}
namespace image {
enum { height = 1, width = 2, colorspace = 3, encoded = 4 };
}
namespace histogram {
enum { min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7 };
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void append_little_endian(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(char(number >> 8 * i));
}

// TFRecord: checksums are rotated and shifted, so that the checksum of data which holds a checksum stays
// good.
uint32_t masked_crc(std::string_view bytes) {
  uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string record(const std::string& data) {
  std::string out;
  append_little_endian(out, data.size(), 8);
  append_little_endian(out, masked_crc(out), 4);
  out += data;
  append_little_endian(out, masked_crc(data), 4);
  return out;
}

// TensorBoard finds files by "tfevents" and reads a folder's files in the order of their names.
std::string event_file_name() {
  static std::atomic<int> counter{0};
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%010lld", static_cast<long long>(now()));
  return str("events.out.tfevents.", seconds, ".", host, ".", long(getpid()), ".", counter++);
}

class EventFile {
 public:
  EventFile(const std::string& folder, std::optional<int64_t> purge_step) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    check(!error, "SummaryWriter: cannot make the folder ", folder, ": ", error.message());
    path_ = folder + "/" + event_file_name();
    file_.open(path_, std::ios::binary);
    check(file_.is_open(), "SummaryWriter: cannot create ", path_, ": ", std::strerror(errno));
    write(Message().real(event::wall_time, now()).bytes(event::file_version, "brain.Event:2"));
    if (purge_step)
      write(Message()
                .real(event::wall_time, now())
                .integer(event::step, *purge_step)
                .message(event::session_log, Message().integer(session_log::status, session_log::start)));
    flush();
  }

  void add(const Message& one_value, int64_t step) {
    write(Message()
              .real(event::wall_time, now())
              .integer(event::step, step)
              .message(event::summary, Message().message(summary::value, one_value)));
  }

  void flush() {
    file_.flush();
    check(bool(file_), "SummaryWriter: cannot write ", path_, ": ", std::strerror(errno));
  }

 private:
  void write(const Message& event) {
    std::string bytes = record(event.str());
    file_.write(bytes.data(), std::streamsize(bytes.size()));
    check(bool(file_), "SummaryWriter: cannot write ", path_, ": ", std::strerror(errno));
  }

  std::string path_;
  std::ofstream file_;
};

Message scalar_value(const std::string& tag, double number) {
  return Message().bytes(value::tag, tag).real32(value::simple_value, float(number));
}

// Floats in [0, 1] to bytes; what lies outside is clamped, NaN is black.
Tensor to_bytes(const Tensor& picture) {
  if (picture.dtype() == kByte) return picture;
  check(is_floating(picture.dtype()), "add_image: image must be uint8 or floating, got ", picture.dtype());
  Tensor floats = picture.detach().cpu().to(kFloat).contiguous();
  Tensor out = tarn::detail::make_tensor(floats.sizes(), kByte);
  const float* from = floats.data_ptr<float>();
  uint8_t* to = out.data_ptr<uint8_t>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    float x = from[i] * 255.0f + 0.5f;
    to[i] = uint8_t(x >= 255 ? 255 : x >= 1 ? x : 0);
  }
  return out;
}

// Upper edges of the bins: 1e-12 times powers of 1.1 up to 1e20, their negatives, zero, and the largest
// double for the rest; TensorFlow's default for histograms.
const std::vector<double>& bin_edges() {
  static const std::vector<double>& edges = *[] {
    std::vector<double> positive;
    for (double edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push_back(edge);
    auto* all = new std::vector<double>;
    for (size_t i = positive.size(); i > 0; --i) all->push_back(-positive[i - 1]);
    all->push_back(0);
    all->insert(all->end(), positive.begin(), positive.end());
    all->push_back(std::numeric_limits<double>::max());
    return all;
  }();
  return edges;
}

struct Histogram {
  double min = std::numeric_limits<double>::max(), max = -min, sum = 0, sum_squares = 0;
  std::vector<double> counts = std::vector<double>(bin_edges().size(), 0);

  void add(double x) {
    min = std::min(min, x);
    max = std::max(max, x);
    sum += x;
    sum_squares += x * x;
    const std::vector<double>& edges = bin_edges();
    counts[size_t(std::upper_bound(edges.begin(), edges.end() - 1, x) - edges.begin())] += 1;
  }
};

Histogram histogram_of(const Tensor& values) {
  Tensor dense = values.detach().cpu().to(kDouble).contiguous();
  check(dense.numel() > 0, "add_histogram: the tensor is empty");
  const double* from = dense.data_ptr<double>();
  Histogram h;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    check(std::isfinite(from[i]), "add_histogram: element ", i, " of ", dense.numel(), " is ", from[i]);
    h.add(from[i]);
  }
  return h;
}

Message histogram_value(const std::string& tag, const Histogram& h, int64_t count) {
  // Empty bins at both ends are left out but for one, from which TensorBoard takes the first bin's lower
  // edge.
  auto has_values = [](double n) { return n > 0; };
  size_t first = size_t(std::find_if(h.counts.begin(), h.counts.end(), has_values) - h.counts.begin());
  size_t last = h.counts.size() -
                size_t(std::find_if(h.counts.rbegin(), h.counts.rend(), has_values) - h.counts.rbegin());
  first -= first > 0;
  auto cut = [&](const std::vector<double>& v) {
    return std::vector<double>(v.begin() + std::ptrdiff_t(first), v.begin() + std::ptrdiff_t(last));
  };
  Message m;
  m.real(histogram::min, h.min).real(histogram::max, h.max).real(histogram::num, double(count));
  m.real(histogram::sum, h.sum).real(histogram::sum_squares, h.sum_squares);
  m.reals(histogram::bucket_limit, cut(bin_edges())).reals(histogram::bucket, cut(h.counts));
  return Message().bytes(value::tag, tag).message(value::histogram, m);
}

}  // namespace

struct SummaryWriter::State {
  std::string log_dir;
  std::optional<int64_t> purge_step;
  std::mutex mutex;  // guards what follows
  std::unique_ptr<EventFile> file;
  std::map<std::string, std::unique_ptr<EventFile>> children;  // of add_scalars, by folder

  EventFile& open_file() {
    check(file != nullptr, "SummaryWriter: ", log_dir, " is closed");
    return *file;
  }
  void add(const Message& one_value, int64_t step) {
    std::lock_guard lock(mutex);
    open_file().add(one_value, step);
  }
};

SummaryWriter::SummaryWriter(std::string log_dir, std::optional<int64_t> purge_step)
    : state_(std::make_unique<State>()) {
  state_->log_dir = std::move(log_dir);
  state_->purge_step = purge_step;
  state_->file = std::make_unique<EventFile>(state_->log_dir, purge_step);
}

SummaryWriter::~SummaryWriter() = default;

void SummaryWriter::add_scalar(const std::string& tag, double value, int64_t global_step) {
  state_->add(scalar_value(tag, value), global_step);
}

void SummaryWriter::add_scalars(const std::string& main_tag, const std::map<std::string, double>& values,
                                int64_t global_step) {
  std::lock_guard lock(state_->mutex);
  state_->open_file();
  for (const auto& [name, value] : values) {
    std::string folder = main_tag + "_" + name;
    std::replace(folder.begin(), folder.end(), '/', '_');
    folder = state_->log_dir + "/" + folder;
    std::unique_ptr<EventFile>& file = state_->children[folder];
    if (!file) file = std::make_unique<EventFile>(folder, state_->purge_step);
    file->add(scalar_value(main_tag, value), global_step);
  }
}

void SummaryWriter::add_image(const std::string& tag, const Tensor& picture, int64_t global_step) {
  Tensor bytes = to_bytes(picture);
  std::string png = data::encode_png(bytes);
  Message m;
  m.integer(image::height, bytes.size(-2)).integer(image::width, bytes.size(-1));
  m.integer(image::colorspace, bytes.dim() == 2 ? 1 : bytes.size(0)).bytes(image::encoded, png);
  state_->add(Message().bytes(value::tag, tag).message(value::image, m), global_step);
}

void SummaryWriter::add_histogram(const std::string& tag, const Tensor& values, int64_t global_step) {
  state_->add(histogram_value(tag, histogram_of(values), values.numel()), global_step);
}

void SummaryWriter::flush() {
  std::lock_guard lock(state_->mutex);
  if (state_->file) state_->file->flush();
  for (auto& [folder, file] : state_->children) file->flush();
}

void SummaryWriter::close() {
  flush();
  std::lock_guard lock(state_->mutex);
  state_->file.reset();
  state_->children.clear();
}

const std::string& SummaryWriter::log_dir() const { return state_->log_dir; }

}  // namespace tarn::inline v1::utils::tensorboard
