import { defineConfig } from "vite";

// Everything that is not the page itself has its content's hash in its name, and is kept for ever.
// `vite` itself shows what is being written, with the runs of the server that HEADWAY_SERVER names.
export default defineConfig({
  server: {
    proxy: {
      "^/(headway\\.v1\\.|healthz)": process.env["HEADWAY_SERVER"] ?? "http://127.0.0.1:8460",
    },
  },
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the page's policy lets nothing in that is not a file of this server
    reportCompressedSize: false,
    license: { fileName: "licenses.md" }, // of the packages that are in it
  },
});
