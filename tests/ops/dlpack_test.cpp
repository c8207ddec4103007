// DLPack: memory goes out and comes in without a copy, and is freed once.
#include <tarn/core/dlpack.h>

#include <tarn/core/ops/copy.h>
#include <tarn/core/ops/views.h>
#include <tarn/tests/support.h>

namespace tarn::testing {

namespace {

// As the C header of the specification spells it.
extern "C" {
struct ForeignManaged {
  struct {
    void* data;
    struct {
      int device_type;
      int32_t device_id;
    } device;
    int32_t ndim;
    struct {
      uint8_t code, bits;
      uint16_t lanes;
    } dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
  } dl_tensor;
  void* manager_ctx;
  void (*deleter)(ForeignManaged*);
};
}

int freed = 0;

struct Foreign {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  int64_t sizes[2] = {2, 2}, strides[2] = {1, 2};
  ForeignManaged managed{};
  Foreign() {
    freed = 0;
    managed.dl_tensor = {memory, {1, 0}, 2, {2, 32, 1}, sizes, strides, sizeof(float)};
    managed.deleter = [](ForeignManaged*) { ++freed; };
  }
};

}  // namespace

TEST_CASE("a foreign tensor is seen, not copied, and freed with its last alias") {
  Foreign foreign;
  {
    Tensor t = fromDLPack(&foreign.managed);
    CHECK_SAME(t.contiguous(), tensor_of({1, 3, 2, 4}, kFloat, {2, 2}));
    t.select(0, 0).fill_(9);
    CHECK((foreign.memory[1] == 9 && foreign.memory[3] == 9 && foreign.memory[0] == 0));
    Tensor alias = t.t();
    t.reset();
    CHECK(freed == 0);
  }
  CHECK(freed == 1);
}

TEST_CASE("an exported tensor lives until its deleter is called, and comes back as itself") {
  for (ScalarType dtype : {kFloat, kDouble, kHalf, kBFloat16, kLong, kInt, kShort, kChar, kByte, kBool}) {
    Tensor x = formula_tensor({3, 4}, dtype);
    dlpack::ManagedTensor* managed = toDLPack(x.t());
    CHECK(managed->dl_tensor.ndim == 2);
    CHECK(managed->dl_tensor.shape[0] == 4);
    CHECK(managed->dl_tensor.strides[0] == 1);
    void* memory = x.data_ptr();
    Tensor copy = x.clone();
    x.reset();
    Tensor back = fromDLPack(managed);
    CHECK(back.data_ptr() == memory);
    CHECK_SAME(back.t().clone(), copy);
  }
}

TEST_CASE("row-major foreign memory may leave its strides out; 0-dim and empty tensors pass") {
  Foreign foreign;
  foreign.managed.dl_tensor.strides = nullptr;
  CHECK_SAME(fromDLPack(&foreign.managed), tensor_of({1, 2, 3, 4}, kFloat, {2, 2}));
  foreign.managed.dl_tensor.ndim = 0;
  CHECK(fromDLPack(&foreign.managed).item<float>() == 1);
  foreign.managed.dl_tensor.ndim = 2;
  foreign.sizes[0] = 0;
  foreign.managed.dl_tensor.data = nullptr;
  CHECK(fromDLPack(&foreign.managed).numel() == 0);
}

TEST_CASE("what DLPack cannot carry is refused, and stays its owner's") {
  Foreign foreign;
  auto& t = foreign.managed.dl_tensor;
  CHECK_ERROR(fromDLPack(static_cast<ForeignManaged*>(nullptr)), "fromDLPack: the pointer is null");
  t.dtype.lanes = 4;
  CHECK_ERROR(fromDLPack(&foreign.managed),
              "fromDLPack: there is no dtype for code 2 with 32 bits and 4 lanes");
  t.dtype = {5, 64, 1};
  CHECK_ERROR(fromDLPack(&foreign.managed),
              "fromDLPack: there is no dtype for code 5 with 64 bits and 1 lanes");
  t.dtype = {2, 32, 1};
  t.device.device_type = 7;
  CHECK_ERROR(fromDLPack(&foreign.managed),
              "fromDLPack: devices of type 7 are not supported; use CPU (1), CUDA (2) or pinned memory (3)");
  t.device.device_type = 1;
  foreign.strides[1] = -2;
  CHECK_ERROR(fromDLPack(&foreign.managed), "fromDLPack: strides must be 0 or more, got [1, -2]");
  foreign.strides[1] = 2;
  t.ndim = 17;
  CHECK_ERROR(fromDLPack(&foreign.managed), "fromDLPack: rank 17 is above the limit of 16");
  t.ndim = 2;
  t.data = nullptr;
  CHECK_ERROR(fromDLPack(&foreign.managed), "fromDLPack: the data is null, but sizes [2, 2] have elements");
  CHECK(freed == 0);
  Tensor leaf = formula_tensor({2}).requires_grad_();
  CHECK_ERROR(toDLPack(leaf),
              "toDLPack: a tensor that requires grad cannot be exported; call detach() first");
}

}  // namespace tarn::testing
