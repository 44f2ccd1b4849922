#pragma once

#include <span>

#include "server/pages.h"

namespace headway {

/// The files of ui/: what tools/embed.ts makes of what Vite builds. Only with HEADWAY_UI.
std::span<const server::PageFile> UiFiles();

}  // namespace headway
