#pragma once

#include "store/record_store.h"
#include "store/registry.h"

namespace headway::store {

/// All that a server keeps.
class Store : public RecordStore, public Registry {};

}  // namespace headway::store
