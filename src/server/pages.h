#pragma once

#include <span>
#include <string_view>

#include "server/http_server.h"

/// What a browser gets: the files of ui/, as they were built into the program. No file is read, and
/// none is asked for elsewhere.

namespace headway::server {

/// One of them. All of it lives as long as the program.
struct PageFile {
  std::string_view path;  ///< "/index.html", "/assets/index-DkV9z2aQ.js"
  std::string_view type;  ///< media type
  std::string_view hash;  ///< of `body`: letters, digits, "-" and "_"
  std::string_view body;
  std::string_view gzip;    ///< `body`, compressed; empty: that would save nothing
  std::string_view brotli;  ///< likewise
  bool forever = false;     ///< its name changes with its content
};

/// Answers for these files and for the views of the page, all of which are its /index.html. Any
/// thread; it copies no file.
class Pages {
 public:
  /// Without files there is no page, and its views say so.
  explicit Pages(std::span<const PageFile> files) : files_(files) {}

  /// Whether it answers for the path.
  bool Has(std::string_view path) const;
  /// As GET and HEAD are to be answered: from the client's own copy (304), or with the smallest
  /// form that it takes.
  HttpResponse Answer(const HttpRequest& request) const;
  /// `text` for a program, and for a browser (which accepts text/html) the page, with the status of
  /// `text`; neither is kept. What the page shows there it asks for itself.
  HttpResponse OrPage(HttpResponse text, const HttpRequest& request) const;

 private:
  const PageFile* Find(std::string_view path) const;

  std::span<const PageFile> files_;
};

}  // namespace headway::server
