// Choosing among the copies of a kernel file that were built per instruction set. A room's *_isa.cpp defines
// one table of function pointers, `const FooKernels foo_kernels = {...}`, in namespace TARN_ISA; a header
// says
//
//   TARN_DECLARE_KERNELS(FooKernels, foo_kernels)
//
// and detail::foo_kernels() is then the table of the best instruction set here.
#pragma once

#include <tarn/core/cpu/features.h>
#include <tarn_config.h>

#if TARN_HAS_V3
#define TARN_PICK_V3(table) \
  case CpuIsa::V3:          \
    return v3::table;
#else
#define TARN_PICK_V3(table)
#endif
#if TARN_HAS_V4
#define TARN_PICK_V4(table) \
  case CpuIsa::V4:          \
    return v4::table;
#else
#define TARN_PICK_V4(table)
#endif

// At namespace scope, outside of any namespace.
#define TARN_DECLARE_KERNELS(Table, table) \
  namespace tarn::inline v1 {              \
  namespace generic {                      \
  extern const detail::Table table;        \
  }                                        \
  namespace v3 {                           \
  extern const detail::Table table;        \
  }                                        \
  namespace v4 {                           \
  extern const detail::Table table;        \
  }                                        \
  namespace detail {                       \
  static inline const Table& table() {     \
    switch (cpu_isa()) {                   \
      TARN_PICK_V4(table)                  \
      TARN_PICK_V3(table)                  \
      default:                             \
        return generic::table;             \
    }                                      \
  }                                        \
  }                                        \
  }
