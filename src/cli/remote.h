#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uid.h"
#include "cli/asked_run.h"
#include "cli/beside.h"
#include "cli/place.h"
#include "model/config.h"
#include "runs/growing_run.h"
#include "transfer/source.h"

/// What commands do with a server. Unimplemented where headway was built without that.

namespace headway::cli {

/// The run as the server of `place` knows it.
Result<std::unique_ptr<AskedRun>> AskServer(const Place& place, const std::string& label,
                                            const TimeOptions& times);

/// The configurations of the run as the server of `place` knows them; what it could not read is
/// told on standard error.
Result<RunConfig> AskServerConfig(const Place& place, const std::string& label);

/// The newest run of that name at the server of `place`, to be read on as it grows; nothing is
/// asked yet. NotFound: none can have that name.
Result<std::unique_ptr<runs::GrowingRun>> FollowAtServer(const Place& place,
                                                         const std::string& run);

/// Rounds of bringing the journals of `scope` to a server, for a helper: each returns whether
/// nothing is left to do.
std::function<Result<bool>()> ShippingRounds(const transfer::Scope& scope,
                                             const std::string& server, const std::string& token,
                                             const std::string& ca);

struct ShipOptions {
  std::string dir;            ///< data directory whose journals are shipped
  std::string project;        ///< only its runs; empty: all
  std::optional<RunUid> uid;  ///< only this run of it, of that name
  std::string run;
  std::string file;  ///< only this journal of it, by its file's name; empty: all
  std::string server;
  std::string token;
  std::string ca;                  ///< file of trusted certificates; empty: the system's
  bool follow = false;             ///< goes on while processes of the runs live
  std::int64_t patience_ns = 0;    ///< how long a server that can't be reached is waited for
  const Beside* beside = nullptr;  ///< begun; the process it names is waited for without limit
};

struct Shipped {
  std::int64_t journals = 0;
  std::int64_t slots = 0;     ///< sent this time
  std::int64_t removed = 0;   ///< journals of runs that were removed there for ever, and stay here
  std::int64_t left_out = 0;  ///< copies and imports, which are sent where their run is named
};

/// Brings journals to a server. Unavailable: it could not be reached for as long as that; what it
/// has acknowledged is not sent again by the next call.
Result<Shipped> Ship(const ShipOptions& options);

}  // namespace headway::cli
