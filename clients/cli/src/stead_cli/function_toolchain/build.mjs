// node build.mjs SOURCE TARGET: makes a component of a JavaScript or TypeScript module.
import { build } from "esbuild";
import { componentize } from "componentize-qjs";
import { writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [source, target] = process.argv.slice(2).map((path) => resolve(path));

const entry = `
import "stead-prelude/globals.js";
import * as module from "stead-function";
import { makeHandler } from "stead-prelude/handler.js";
const run = makeHandler(module);
export function handle(request) { return run(request); }
`;

const bundled = await build({
  stdin: { contents: entry, resolveDir: dirname(source), sourcefile: "stead-entry.js" },
  bundle: true,
  write: false,
  format: "esm",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["worker", "browser", "import"],
  target: "es2022",
  supported: { "async-await": false, "async-generator": false, "for-await": false, "top-level-await": false },
  external: ["stead:function/*"],
  define: { STEAD_COMPATIBILITY_DATE: JSON.stringify(process.env.STEAD_COMPATIBILITY_DATE ?? "") },
  alias: { "stead-prelude": `${here}/prelude`, "stead-function": source },
  logLevel: "warning",
  legalComments: "none",
}).catch(() => process.exit(1)); // esbuild has said why, with file and line

try {
  const made = await componentize({ witPath: `${here}/function.wit`, jsSource: bundled.outputFiles[0].text, sync: true });
  await writeFile(target, made.component);
  console.log(`the component has ${made.component.length} bytes`);
} catch (error) {
  console.error(`the module could not be initialized: ${error.message}`);
  process.exit(1);
}
