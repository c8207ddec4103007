// Prints tensors as libtorch does. make.py builds it with PyTorch's own headers and libraries and feeds it
// lines
//   dtype rank size... value...
// For each it writes the length of the text, a newline, and the text.
#include <ATen/ATen.h>

#include <iostream>
#include <sstream>

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string dtype, word;
    int64_t rank = 0;
    in >> dtype >> rank;
    std::vector<int64_t> sizes(rank);
    for (int64_t& size : sizes) in >> size;
    std::vector<double> values;
    while (in >> word) values.push_back(std::stod(word));
    at::ScalarType type = dtype == "float32"    ? at::kFloat
                          : dtype == "float64"  ? at::kDouble
                          : dtype == "float16"  ? at::kHalf
                          : dtype == "bfloat16" ? at::kBFloat16
                          : dtype == "int64"    ? at::kLong
                          : dtype == "int32"    ? at::kInt
                          : dtype == "uint8"    ? at::kByte
                                                : at::kBool;
    at::Tensor t = at::tensor(values, at::kDouble).reshape(sizes).to(type);
    std::ostringstream out;
    out << t;
    std::cout << out.str().size() << '\n' << out.str() << std::flush;
  }
}
