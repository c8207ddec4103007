#include <tarn/core/emu/report.h>

#include <dlfcn.h>
#include <link.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include <tarn/core/emu/kernel.h>

// The linker's own symbols for the bounds of this library.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace tarn::inline v1::emu {

std::string format(const char* text, ...) {
  char buffer[1000];
  va_list arguments;
  va_start(arguments, text);
  int length = std::vsnprintf(buffer, sizeof buffer, text, arguments);
  va_end(arguments);
  return std::string(buffer, std::min<size_t>(length, sizeof buffer - 1));
}

// The lines that addr2line prints for an address of a loaded object; empty if it is not installed.
static std::vector<std::string> addr2line(const char* options, uintptr_t address) {
  std::vector<std::string> lines;
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(address), &info) || !info.dli_fname) return lines;
  char self[64];
  const char* path = info.dli_fname;
  if (!std::strchr(path, '/')) {
    std::snprintf(self, sizeof self, "/proc/self/exe");
    path = self;
  }
  std::string command = format("exec addr2line %s -e '%s' %#lx 2>/dev/null", options, path,
                               address - reinterpret_cast<uintptr_t>(info.dli_fbase));
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return lines;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe)) {
    buffer[std::strcspn(buffer, "\n")] = 0;
    if (char* discriminator = std::strstr(buffer, " (disc")) *discriminator = 0;
    lines.push_back(buffer);
  }
  pclose(pipe);
  return lines;
}

static void erase_all(std::string& text, const char* what) {
  for (size_t at; (at = text.find(what)) != std::string::npos;) text.erase(at, std::strlen(what));
}

std::string kernel_name(const void* kernel) {
  static auto* known = new std::map<const void*, std::string>;
  std::string& name = (*known)[kernel];
  if (!name.empty()) return name;
  std::vector<std::string> lines = addr2line("-fCs", reinterpret_cast<uintptr_t>(kernel));
  name = lines.empty() || lines[0] == "??" ? format("at %p", kernel) : lines[0];
  for (const char* noise : {"(anonymous namespace)::", "tarn::v1::", "detail::", "void "})
    erase_all(name, noise);
  // Up to the parameters: "softmax<(Mode)3>(float const*)".
  int depth = 0;
  size_t end = 0;
  for (; end < name.size() && (depth > 0 || name[end] != '('); ++end)
    depth += (name[end] == '<') - (name[end] == '>');
  return name = name.substr(0, end);
}

std::string source_line(uintptr_t pc) {
  std::vector<std::string> lines = addr2line("-is", pc - 1);
  if (lines.empty() || lines[0][0] == '?') return "an unknown line";
  return lines.size() == 1 ? lines[0] : lines.front() + ", inlined at " + lines.back();
}

std::string thread_name(uint32_t linear) {
  return format("thread (%u,%u,%u)", linear % block.size.x, linear / block.size.x % block.size.y,
                linear / block.size.x / block.size.y);
}

bool in_image(uintptr_t p) {
  if (p >= reinterpret_cast<uintptr_t>(__ehdr_start) && p < reinterpret_cast<uintptr_t>(_end)) return true;
  Dl_info info;  // a kernel from text has its constants in an object of its own
  return dladdr(reinterpret_cast<void*>(p), &info) != 0;
}

}  // namespace tarn::inline v1::emu
