#include <tarn/core/config.h>

#include <tarn/core/cpu/features.h>
#include <tarn/core/error.h>
#include <tarn/core/parallel.h>

#include <tarn_config.h>

#if TARN_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif
#include <Eigen/src/Core/util/Macros.h>
#if TARN_HAS_GLOO
#include <gloo/config.h>
#endif

#if TARN_HAS_NCCL
#include <nccl.h>
#endif

namespace tarn::inline v1 {

namespace {

const char* const kAbsent = "not in this build";

std::string onednn() {
#if TARN_HAS_ONEDNN
  const dnnl_version_t* v = dnnl_version();
  return str(v->major, ".", v->minor, ".", v->patch);
#else
  return kAbsent;
#endif
}

std::string gloo() {
#if TARN_HAS_GLOO
  return str(GLOO_VERSION_MAJOR, ".", GLOO_VERSION_MINOR, ".", GLOO_VERSION_PATCH);
#else
  return kAbsent;
#endif
}

// Loaded when it is used; this is the version that the code was compiled for.
std::string nccl() {
#if TARN_HAS_NCCL
  return str(NCCL_MAJOR, ".", NCCL_MINOR, ".", NCCL_PATCH);
#else
  return kAbsent;
#endif
}

std::string kernels() {
  std::string built = "generic";
  if (TARN_HAS_V3) built += ", v3";
  if (TARN_HAS_V4) built += ", v4";
  return str(detail::cpu_isa_name(detail::cpu_isa()), " of ", built);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> detail::config_items() {
  return {{"version", TARN_VERSION_STRING},
          {"kernels", kernels()},
          {"threads", str(get_num_threads(), ", ", TARN_THREADS_STD ? "std::thread" : "OpenMP")},
          {"Eigen", str(EIGEN_WORLD_VERSION, ".", EIGEN_MAJOR_VERSION, ".", EIGEN_MINOR_VERSION)},
          {"oneDNN", onednn()},
          {"Gloo", gloo()},
          {"NCCL", nccl()}};
}

std::string show_config() {
  std::string text;
  for (const auto& [name, value] : detail::config_items()) text += name + ": " + value + "\n";
  return text;
}

}  // namespace tarn::inline v1
