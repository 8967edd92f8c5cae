// Reads the hub's counts (OpenMetrics) for the few numbers that screens show.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function readMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([\w:]+)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      if (name)
        labels[name] = (value ?? '').replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
    }
    samples.push({ name: match[1] ?? '', labels, value: Number(match[3]) });
  }
  return samples;
}

export type Where = Record<string, string>;

function fits(sample: Sample, name: string, where: Where): boolean {
  return (
    sample.name === name &&
    Object.entries(where).every(([label, value]) => sample.labels[label] === value)
  );
}

export function sum(samples: Sample[], name: string, where: Where = {}): number {
  return samples.reduce((all, one) => (fits(one, name, where) ? all + one.value : all), 0);
}

/** Sums by the values of one label. */
export function sums(
  samples: Sample[],
  name: string,
  label: string,
  where: Where = {},
): Record<string, number> {
  const found: Record<string, number> = {};
  for (const sample of samples) {
    if (!fits(sample, name, where)) continue;
    const key = sample.labels[label] ?? '';
    found[key] = (found[key] ?? 0) + sample.value;
  }
  return found;
}

/** Estimates a quantile of a histogram, in its unit; nothing if nothing was counted. */
export function quantile(
  samples: Sample[],
  name: string,
  part: number,
  where: Where = {},
): number | undefined {
  const buckets = Object.entries(sums(samples, `${name}_bucket`, 'le', where))
    .map(([le, count]) => [le === '+Inf' ? Infinity : Number(le), count] as const)
    .sort(([a], [b]) => a - b);
  const total = buckets.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const wanted = total * part;
  let [lower, below] = [0, 0];
  for (const [upper, count] of buckets) {
    if (count >= wanted) {
      if (upper === Infinity) return lower;
      return lower + ((upper - lower) * (wanted - below)) / Math.max(1, count - below);
    }
    [lower, below] = [upper, count];
  }
  return lower;
}
