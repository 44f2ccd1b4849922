#pragma once

#include "store/fleet_store.h"
#include "store/ledger_store.h"
#include "store/record_store.h"
#include "store/registry.h"
#include "store/run_items.h"
#include "store/series_store.h"

namespace headway::store {

/// All that a server keeps.
class Store : public RecordStore,
              public Registry,
              public RunItems,
              public FleetStore,
              public SeriesStore,
              public LedgerStore {};

}  // namespace headway::store
