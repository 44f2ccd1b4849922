// Makes one C++ file of a folder: node embed.ts FOLDER FILE.cc. See src/server/pages.h.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".md": "text/plain; charset=utf-8",
};
const LINE_BYTES = 32;

/** A string literal: printable characters as they are, others in octal, which ends by itself. */
function literal(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    const line = [...bytes.subarray(at, at + LINE_BYTES)].map((byte) =>
      byte < 32 || byte > 126 || byte === 34 || byte === 92 || byte === 63
        ? `\\${byte.toString(8).padStart(3, "0")}`
        : String.fromCharCode(byte),
    );
    lines.push(`    "${line.join("")}"`);
  }
  return lines.join("\n") || '    ""';
}

const [folder, target] = process.argv.slice(2);
if (folder === undefined || target === undefined) throw new Error("embed.ts FOLDER FILE.cc");

const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => posix.relative(folder, join(entry.parentPath, entry.name)))
  .sort();
const texts: string[] = [];
const rows: string[] = [];
for (const name of names) {
  const type = TYPES[posix.extname(name)];
  if (type === undefined) throw new Error(`${name}: no media type is known for it`);
  const body = readFileSync(join(folder, name));
  const brotli = brotliCompressSync(body, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
    },
  });
  const forms = [body, gzipSync(body, { level: 9 }), brotli];
  const views = forms.map((form, index) => {
    if (index > 0 && form.length >= body.length) return "{}";
    const constant = `k${rows.length}_${["Body", "Gzip", "Brotli"][index]}`;
    texts.push(`constexpr char ${constant}[] =\n${literal(form)};`);
    return `{${constant}, ${form.length}}`;
  });
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  const forever = name.startsWith("assets/");
  rows.push(`    {"/${name}", "${type}", "${hash}", ${views.join(", ")}, ${forever}},`);
}
writeFileSync(
  target,
  `// Made by ui/tools/embed.ts.
#include "daemon/ui_files.h"

namespace headway {
namespace {

${texts.join("\n\n")}

constexpr server::PageFile kFiles[] = {
${rows.join("\n")}
};

}  // namespace

std::span<const server::PageFile> UiFiles() { return kFiles; }

}  // namespace headway
`,
);
