// SPDX-License-Identifier: Apache-2.0
#include "plugin/session/nccl_library.h"

#include <dlfcn.h>

namespace ringside::session {
namespace {

using GetVersion = int (*)(int* version);

GetVersion find_in(void* library) {
  return library != nullptr ? reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"))
                            : nullptr;
}

}  // namespace

int nccl_version_of(const void* inside) noexcept {
  // Several NCCLs can be in one process. The one that called may be invisible to a plain lookup
  // (Python loads libraries RTLD_LOCAL), or linked into the program or another library.
  GetVersion get_version = nullptr;
  Dl_info where{};
  void* library = nullptr;
  if (inside != nullptr && dladdr(inside, &where) != 0 && where.dli_fname != nullptr) {
    library = dlopen(where.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    get_version = find_in(library);
  }
  if (get_version == nullptr) {
    get_version = reinterpret_cast<GetVersion>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  }
  int version = 0;
  if (get_version != nullptr && get_version(&version) != 0) {
    version = 0;
  }
  if (library != nullptr) {
    dlclose(library);
  }
  return version;
}

}  // namespace ringside::session
