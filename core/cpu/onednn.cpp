#include <tarn_config.h>

#if TARN_HAS_ONEDNN

#include <tarn/core/cpu/onednn.h>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
// Declared here instead of by <omp.h>, which a build with TARN_THREADS=std has no flags for; oneDNN brings
// the library.
extern "C" void omp_set_num_threads(int) __attribute__((weak));
extern "C" int omp_get_max_threads() __attribute__((weak));
#endif

namespace tarn::inline v1::detail::onednn {

void fail_status(const char* call, dnnl_status_t status) {
  if (status == dnnl_out_of_memory) fail("oneDNN: out of memory in ", call);
  fail("internal error, please report: oneDNN: ", call, " returned status ", int(status));
}

dnnl_engine_t engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t e = nullptr;
    ensure_ok(dnnl_engine_create(&e, dnnl_cpu, 0), "dnnl_engine_create");
    return e;
  }();
  return engine;
}

dnnl_stream_t stream() {
  static const dnnl_stream_t stream = [] {
    dnnl_stream_t s = nullptr;
    ensure_ok(dnnl_stream_create(&s, engine(), dnnl_stream_default_flags), "dnnl_stream_create");
    return s;
  }();
  return stream;
}

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
SerialScope::SerialScope() : before_(omp_get_max_threads ? omp_get_max_threads() : 1) {
  if (before_ != 1) omp_set_num_threads(1);
}
SerialScope::~SerialScope() {
  if (before_ != 1) omp_set_num_threads(before_);
}
#elif DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ
SerialScope::SerialScope() : before_(1) {}
SerialScope::~SerialScope() = default;
#else
#error \
    "oneDNN was built for a thread runtime other than OpenMP, which Tarn cannot hold to one thread: use TARN_WITH_ONEDNN=OFF"
#endif

}  // namespace tarn::inline v1::detail::onednn

#endif
