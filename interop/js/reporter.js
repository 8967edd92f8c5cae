// Says what failed, and one line for each suite.

/**
 * @param {AsyncIterable<{type: string, data: any}>} source
 */
export default async function* report(source) {
  let passed = 0;
  let skipped = 0;
  /** @type {{name: string, error: any}[]} */
  let failed = [];
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') yield data.message;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.nesting > 0) {
      if (data.skip !== undefined) skipped += 1;
      else if (type === 'test:pass') passed += 1;
      else failed.push({ name: data.name, error: data.details.error });
      continue;
    }
    for (const { name, error } of failed) {
      const why = String(error?.cause?.message ?? error?.cause ?? error?.message).slice(0, 600);
      yield `FAILED ${data.name}: ${name}: ${why}\n`;
    }
    // The suite itself can fail without any of its tests.
    if (type === 'test:fail' && failed.length === 0) {
      yield `FAILED ${data.name}: ${data.details.error?.cause ?? data.details.error}\n`;
    }
    const total = passed + skipped + failed.length;
    const without = skipped ? ` (${skipped} not in the SDK)` : '';
    const took = (data.details.duration_ms / 1000).toFixed(1);
    yield `interop: ${data.name}: ${passed + skipped} of ${total} cases passed${without}, ${took} s\n`;
    passed = 0;
    skipped = 0;
    failed = [];
  }
}
