// Makes `src/lib/schema.d.ts` of the API's description; with `--check` only says whether it is fresh.
import { readFile, writeFile } from 'node:fs/promises';
import openapi, { astToString } from 'openapi-typescript';

const source = new URL('../../crates/hub/openapi.json', import.meta.url);
const target = new URL('../src/lib/schema.d.ts', import.meta.url);

const made =
  '// Made by `npm run types` of crates/hub/openapi.json.\n\n' +
  astToString(await openapi(source, { alphabetize: true }));

if (process.argv.includes('--check')) {
  const kept = await readFile(target, 'utf8').catch(() => '');
  if (kept !== made) {
    console.error('src/lib/schema.d.ts is not what openapi.json makes; run `npm run types`');
    process.exit(1);
  }
} else {
  await writeFile(target, made);
}
