// The expected texts are what libtorch 2.15 prints for the same tensors.
#include <tarn/core/print.h>

#include <sstream>

#include <tarn/core/ops/views.h>

#include <tarn/tests/support.h>

using namespace tarn;
using namespace tarn::testing;

namespace {

template <class F>
Tensor floats(IntArrayRef sizes, F value) {
  Tensor t = detail::make_tensor(sizes, kFloat);
  fill_with(t, value);
  return t;
}

std::string printed(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

}  // namespace

TEST_CASE("vectors and scalars print one number a line") {
  CHECK(printed(floats({}, [](int64_t) { return 3.5; })) == "3.5\n[ CPUFloatType{} ]");
  CHECK(printed(floats({3}, [](int64_t i) {
          return std::vector<double>{0.1, 2.5, -3.25}[size_t(i)];
        })) == " 0.1000\n 2.5000\n-3.2500\n[ CPUFloatType{3} ]");
  CHECK(printed(Tensor()) == "[ Tensor (undefined) ]");
}

TEST_CASE("integers print without a point") {
  CHECK(printed(floats({2, 3}, [](int64_t i) { return double(i); })) ==
        " 0  1  2\n 3  4  5\n[ CPUFloatType{2,3} ]");
}

TEST_CASE("wide ranges print in scientific form, small ones with a common scale") {
  CHECK(printed(floats({3}, [](int64_t i) {
          return std::vector<double>{1e-8, 1, 1e6}[size_t(i)];
        })) == " 1.0000e-08\n 1.0000e+00\n 1.0000e+06\n[ CPUFloatType{3} ]");
  CHECK(printed(floats({2, 2}, [](int64_t i) {
          return std::vector<double>{0.00123, 0.0045, 0.003, 0.001}[size_t(i)];
        })) == "0.001 *\n 1.2300  4.5000\n  3.0000  1.0000\n[ CPUFloatType{2,2} ]");
}

TEST_CASE("outer dims print matrix by matrix") {
  CHECK(printed(floats({2, 3, 2}, [](int64_t i) { return 0.37 * double(i); })) ==
        "(1,.,.) = \n 0.0000  0.3700\n  0.7400  1.1100\n  1.4800  1.8500\n\n"
        "(2,.,.) = \n 2.2200  2.5900\n  2.9600  3.3300\n  3.7000  4.0700\n[ CPUFloatType{2,3,2} ]");
}

TEST_CASE("columns that do not fit a line come in groups") {
  CHECK(printed(floats({2, 10}, [](int64_t i) { return 1.5 * double(i); })).substr(0, 30) ==
        "Columns 1 to 8  0.0000   1.500");
}

TEST_CASE("nan and infinity do not hide the other numbers") {
  CHECK(printed(floats({3}, [](int64_t i) {
          return std::vector<double>{NAN, 1, INFINITY}[size_t(i)];
        })) == "nan\n 1\ninf\n[ CPUFloatType{3} ]");
}
