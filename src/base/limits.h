#pragma once

#include <cstddef>
#include <cstdint>

/// Every limit of the product, in one place. What exceeds one is refused or cut with a clear answer
/// and counted, never silently; `docs/limits.md` lists them for users.

namespace headway::limits {

/// Names: project, run, metric, span, reason, attempt key, host. In bytes of UTF-8. The recorder
/// cuts a longer name at a character boundary (it may not fail in a training loop); set-up calls
/// refuse it.
inline constexpr std::size_t kNameBytes = 256;

/// One payload of a journal (config, stderr tail). A larger one is dropped and counted.
inline constexpr std::size_t kPayloadBytes = std::size_t{16} << 20;

/// Distinct names in one journal. Records with further names are kept under the empty name.
inline constexpr std::uint32_t kJournalNames = 1'000'000;

/// Records of one journal (64 GiB). Later ones are dropped and counted.
inline constexpr std::uint64_t kJournalRecords = std::uint64_t{1} << 31;

/// Problems of one journal that a reader lists one by one; further ones are only counted.
inline constexpr std::size_t kJournalFindings = 1000;

/// Recorders open in one process at a time. Opening another is refused (RESOURCE_EXHAUSTED).
inline constexpr std::size_t kOpenRecorders = 64;

/// Bytes of one name as a path component, after percent-encoding; longer ones end in a hash.
inline constexpr std::size_t kPathComponentBytes = 200;

/// An event file: bytes of a line (a longer one is a bad line), lines, and writers. A file with
/// more lines or writers is refused (RESOURCE_EXHAUSTED).
inline constexpr std::size_t kEventLineBytes = std::size_t{16} << 20;
inline constexpr std::size_t kEventLines = 0xfffffffe;
inline constexpr std::size_t kEventWriters = std::size_t{1} << 20;

/// Configurations: values of one record, which is told and left out when it has more, and so it is
/// when it and what the process said before in that class come to twice as many. Bytes of paths and
/// values of one list; values beyond are counted and left out.
inline constexpr std::uint64_t kConfigValues = 200'000;
inline constexpr std::size_t kConfigBytes = std::size_t{64} << 20;

/// Nesting of the JSON of one line, and of a configuration; a deeper one is a bad one.
inline constexpr int kJsonDepth = 64;

/// Copies of its state that an attempt keeps to correct guesses; beyond them the older ones are
/// thinned out, and correcting an old guess takes longer.
inline constexpr std::size_t kRewindPoints = 64;

/// Spans of one attempt that were closed for want of an end and may still get one; the end of an
/// older one counts as `span_unopened`.
inline constexpr std::size_t kClosedSpans = 65'536;

/// Steps, and stretches between them, of one attempt that wait for later steps to tell what is
/// normal. Beyond them it goes by what is known, as at the attempt's end.
inline constexpr std::size_t kWaitingRows = 65'536;

/// Journals of one run that are open at once; more are closed between their batches.
inline constexpr std::size_t kOpenJournals = 128;

/// The server of `/metrics`: connections at a time (further ones wait until one ends), bytes of a
/// request's head, and seconds that a request may take to arrive and an answer to be taken.
inline constexpr std::size_t kMetricsConnections = 32;
inline constexpr std::size_t kMetricsRequestBytes = std::size_t{8} << 10;
inline constexpr int kMetricsSeconds = 10;

/// The server: connections at a time (further ones wait), requests that wait for a worker and bytes
/// of all their bodies (further ones are answered 429), bytes of one body (of what is sent to be
/// kept, of a change, of a question) and of a request's head, and seconds that a head, a body or an
/// answer, and the next request may take.
inline constexpr std::size_t kServerConnections = 1024;
inline constexpr std::size_t kServerQueue = 256;
inline constexpr std::size_t kServerBodyBytes = std::size_t{512} << 20;
inline constexpr std::size_t kServerRequestBytes = std::size_t{64} << 20;
inline constexpr std::size_t kServerChangeBytes = std::size_t{16} << 20;
inline constexpr std::size_t kServerQuestionBytes = std::size_t{1} << 20;
/// Fields of a request, with those of the messages in it; large requests (when they are
/// decompressed) that are worked on at once, and bytes from which on one is large; bytes of JSON.
inline constexpr std::size_t kMessageParts = 1'000'000;
inline constexpr int kServerLargeRequests = 8;
inline constexpr std::size_t kServerLargeBytes = std::size_t{8} << 20;
inline constexpr std::size_t kServerJsonBytes = std::size_t{16} << 20;
inline constexpr std::size_t kServerHeadBytes = std::size_t{16} << 10;
inline constexpr std::size_t kServerAnswerBytes = std::size_t{256} << 20;
inline constexpr int kServerHeadSeconds = 10;
inline constexpr int kServerBodySeconds = 60;
inline constexpr int kServerSlowSeconds = 5;
inline constexpr int kServerIdleSeconds = 120;

/// Bytes of a file with a certificate or a key, and how often the server looks whether they have
/// changed.
inline constexpr std::size_t kServerPemBytes = std::size_t{1} << 20;
inline constexpr int kServerTlsLookSeconds = 1;

/// Runs whose ledgers the server holds in memory, and bytes of all of them; others are read again
/// when they are asked for. How long it keeps the saved ledger of a run that has ended.
inline constexpr std::size_t kServerLedgers = 4096;
inline constexpr std::size_t kServerLedgerBytes = std::size_t{1} << 30;
inline constexpr int kSavedLedgerDays = 7;

/// A journal whose writer lived counts as one of a dead writer when nobody has told the server of
/// it for so many seconds: sender and writer are gone, or what lies between.
inline constexpr int kServerSilenceSeconds = 60;

/// Pieces of journals in one request, and rows of one page of an answer.
inline constexpr int kAppendPieces = 1000;
inline constexpr std::uint64_t kAppendSlots = std::uint64_t{4} << 20;
inline constexpr int kRunsPage = 1000;
inline constexpr int kAuditPage = 1000;
inline constexpr int kOperationsPage = 1000;
inline constexpr int kProcessesPage = 1000;
inline constexpr int kFleetPage = 1000;
inline constexpr int kFleetPageUsual = 100;
inline constexpr int kConfigProblems = 1000;
inline constexpr int kRowsPage = 100'000;
inline constexpr int kRowsPageJson = 5'000;
/// Journals on a page of records, and readers of records that go on where their last page ended;
/// further ones read again what they had.
inline constexpr int kRecordsPageJournals = 1000;
inline constexpr std::size_t kRecordsReaders = 16;

/// What people and programs may say of a run.
inline constexpr std::size_t kRunLabels = 64;
inline constexpr std::size_t kRunLabelBytes = 1024;
inline constexpr std::size_t kRunConfigs = 1000;
inline constexpr std::size_t kRunConfigBytes = std::size_t{4} << 10;
inline constexpr std::size_t kRunTextBytes = std::size_t{4} << 10;
inline constexpr std::size_t kRunTools = 16;
inline constexpr std::int64_t kRunAccelerators = 10'000'000;
inline constexpr std::size_t kRequestIdBytes = 128;

/// Share links: how many there are at most, how long they live at most and without being told, when
/// they are forgotten after they ended, how often their use is written down, and what they say of
/// a view.
inline constexpr std::size_t kLinks = 100'000;
inline constexpr int kLinkDaysMost = 90;
inline constexpr int kLinkDays = 7;
inline constexpr int kLinkForgottenDays = 30;
inline constexpr int kLinkUseHours = 24;
inline constexpr std::size_t kLinkViewBytes = 1024;
inline constexpr int kLinksPage = 1000;

/// How long a deleted run can be shown again, before it is removed.
inline constexpr int kDeletedDays = 30;
/// Operations that have finished are forgotten after so many days.
inline constexpr int kOperationDays = 30;

/// Series of a run.
inline constexpr std::size_t kRunSeries = 100'000;

/// Entries of one packed column of a metric: times, steps or values.
inline constexpr std::size_t kSeriesColumn = 4096;

/// Parts that the axis of a chart is divided into.
inline constexpr std::size_t kChartBuckets = 1 << 16;

/// Cells of a quantile sketch for each sign: 64 powers of two of the finest. Values that are
/// further apart make its cells wider, and its error larger.
inline constexpr std::size_t kSketchCells = 4096;

}  // namespace headway::limits
