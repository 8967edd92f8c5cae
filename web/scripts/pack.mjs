// Compresses what was built, once and well, and holds it to its limit.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const LIMIT = 250_000;
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const files = (await readdir(dist, { recursive: true, withFileTypes: true }))
  .filter((file) => file.isFile() && !/\.(br|gz)$/.test(file.name))
  .map((file) => join(file.parentPath, file.name));

let total = 0;
for (const path of files) {
  const content = await readFile(path);
  const zipped = await promisify(gzip)(content, { level: 9 });
  const brotli = await promisify(brotliCompress)(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  total += zipped.length;
  await writeFile(`${path}.gz`, zipped);
  await writeFile(`${path}.br`, brotli);
}

const size = `${(total / 1000).toFixed(1)} kB gzipped of ${LIMIT / 1000} kB`;
if (total > LIMIT) {
  console.error(`the canvas has become too large: ${size}`);
  process.exit(1);
}
console.log(`${files.length} files, ${size}`);
