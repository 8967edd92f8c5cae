// Which version of a package is installed.

import { readFileSync } from 'node:fs';

/** @param {string} name */
export function sdkVersion(name) {
  const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  return String(JSON.parse(readFileSync(file, 'utf8')).version);
}
