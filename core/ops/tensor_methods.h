// Members of class Tensor, included inside it by tensor.h: methods of the ops that tensor.h does not spell
// out itself. Each does what the function of its name does, which is described in the header of its family:
// views.h, rearrange.h, indexing.h, order.h, reduction.h, contractions.h, random.h. `x.op_()` writes into x.

// --- views and their copies ---
Tensor swapaxes(int64_t dim0, int64_t dim1) const { return transpose(dim0, dim1); }
Tensor swapdims(int64_t dim0, int64_t dim1) const { return transpose(dim0, dim1); }
Tensor movedim(IntArrayRef from, IntArrayRef to) const;
Tensor moveaxis(int64_t from, int64_t to) const { return movedim(from, to); }
Tensor moveaxis(IntArrayRef from, IntArrayRef to) const { return movedim(from, to); }
Tensor squeeze(IntArrayRef dims) const;
Tensor adjoint() const { return mT(); }
Tensor sum_to_size(IntArrayRef sizes) const;
std::vector<Tensor> split_with_sizes(IntArrayRef sizes, int64_t dim = 0) const { return split(sizes, dim); }
std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
Tensor diag(int64_t diagonal = 0) const;
Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
Tensor tril(int64_t diagonal = 0) const;
Tensor triu(int64_t diagonal = 0) const;
Tensor& tril_(int64_t diagonal = 0) const;
Tensor& triu_(int64_t diagonal = 0) const;
Tensor& fill_diagonal_(const Scalar& value, bool wrap = false) const;
Tensor tile(IntArrayRef repeats) const;
Tensor repeat_interleave(int64_t repeats, std::optional<int64_t> dim = {}) const;
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim = {}) const;
Tensor rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) const;
Tensor fliplr() const;
Tensor flipud() const;

// --- like this one: dtype and device are this tensor's where the options do not say ---
Tensor new_empty(IntArrayRef sizes, const TensorOptions& options = {}) const;
Tensor new_zeros(IntArrayRef sizes, const TensorOptions& options = {}) const;
Tensor new_ones(IntArrayRef sizes, const TensorOptions& options = {}) const;
Tensor new_full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {}) const;

// --- indexing ---
Tensor index_put(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) const;
Tensor index_add(int64_t dim, const Tensor& index, const Tensor& src, const Scalar& alpha = 1) const;
Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& src, const Scalar& alpha = 1) const;
Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& src) const;
Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& src) const;
Tensor index_fill(int64_t dim, const Tensor& index, const Scalar& value) const;
Tensor index_fill(int64_t dim, const Tensor& index, const Tensor& value) const;
Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
Tensor& index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const;
Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src) const;
Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value) const;
Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self = true) const;
Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self = true) const;
Tensor masked_scatter(const Tensor& mask, const Tensor& source) const;
Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;
Tensor take(const Tensor& index) const;
Tensor take_along_dim(const Tensor& index, std::optional<int64_t> dim = {}) const;
Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false) const;
Tensor& put_(const Tensor& index, const Tensor& source, bool accumulate = false) const;
Tensor argwhere() const;

// --- reductions and order ---
Tensor any(IntArrayRef dims, bool keepdim = false) const;
Tensor all(IntArrayRef dims, bool keepdim = false) const;
std::tuple<Tensor, Tensor> aminmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
Tensor nansum(IntArrayRef dims = {}, bool keepdim = false, std::optional<ScalarType> dtype = {}) const;
Tensor nanmean(IntArrayRef dims = {}, bool keepdim = false, std::optional<ScalarType> dtype = {}) const;
Tensor count_nonzero(IntArrayRef dims = {}) const;
Tensor cumprod(int64_t dim, std::optional<ScalarType> dtype = {}) const;
Tensor& cumsum_(int64_t dim, std::optional<ScalarType> dtype = {}) const;
Tensor& cumprod_(int64_t dim, std::optional<ScalarType> dtype = {}) const;
std::tuple<Tensor, Tensor> cummax(int64_t dim) const;
std::tuple<Tensor, Tensor> cummin(int64_t dim) const;
Tensor logcumsumexp(int64_t dim) const;
std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
std::tuple<Tensor, Tensor> sort(std::optional<bool> stable, int64_t dim = -1, bool descending = false) const;
Tensor argsort(int64_t dim = -1, bool descending = false) const;
// A bool and nothing that converts to one: argsort(0) means dim 0.
template <std::same_as<bool> B>
Tensor argsort(B stable, int64_t dim = -1, bool descending = false) const {
  return std::get<1>(sort(std::optional<bool>(stable), dim, descending));
}
Tensor msort() const;
std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;
std::tuple<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) const;
Tensor median() const;
std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false) const;
Tensor nanmedian() const;
std::tuple<Tensor, Tensor> nanmedian(int64_t dim, bool keepdim = false) const;
std::tuple<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false) const;
Tensor quantile(const Tensor& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear") const;
Tensor quantile(double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                std::string_view interpolation = "linear") const;
Tensor nanquantile(const Tensor& q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear") const;
Tensor nanquantile(double q, std::optional<int64_t> dim = {}, bool keepdim = false,
                   std::string_view interpolation = "linear") const;
Tensor bincount(const Tensor& weights = {}, int64_t minlength = 0) const;
Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const;
Tensor diff(int64_t n = 1, int64_t dim = -1) const;
Tensor dist(const Tensor& other, const Scalar& p = 2) const;
Tensor cov(int64_t correction = 1) const;
Tensor corrcoef() const;

// --- contractions ---
Tensor vdot(const Tensor& other) const { return dot(other); }

// --- random ---
Tensor& exponential_(double lambda = 1) const;
Tensor& exponential_(double lambda, const Generator& generator) const;
Tensor& cauchy_(double median = 0, double sigma = 1) const;
Tensor& cauchy_(double median, double sigma, const Generator& generator) const;
Tensor& log_normal_(double mean = 1, double std = 2) const;
Tensor& log_normal_(double mean, double std, const Generator& generator) const;
Tensor& geometric_(double p) const;
Tensor& geometric_(double p, const Generator& generator) const;
Tensor& random_() const;
Tensor& random_(int64_t to) const;
Tensor& bernoulli_(const Tensor& p) const;
Tensor& bernoulli_(const Tensor& p, const Generator& generator) const;
Tensor bernoulli() const;
Tensor multinomial(int64_t num_samples, bool replacement = false) const;
Tensor multinomial(int64_t num_samples, bool replacement, const Generator& generator) const;
