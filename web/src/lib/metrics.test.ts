import { expect, it } from 'vitest';

import { quantile, readMetrics, sum, sums } from './metrics';

const text = `# TYPE calls counter
calls_total{agent="a",status="success"} 8
calls_total{agent="a",status="error"} 2
calls_total{agent="b \\"x\\"",status="success"} 1
time_bucket{le="0.1"} 5
time_bucket{le="1.0"} 10
time_bucket{le="+Inf"} 10
# EOF`;

it('adds up and estimates', () => {
  const samples = readMetrics(text);
  expect(sum(samples, 'calls_total')).toBe(11);
  expect(sums(samples, 'calls_total', 'status', { agent: 'a' })).toEqual({ success: 8, error: 2 });
  expect(sum(samples, 'calls_total', { agent: 'b "x"' })).toBe(1);
  expect(quantile(samples, 'time', 0.5)).toBeCloseTo(0.1);
  expect(quantile(samples, 'time', 0.75)).toBeCloseTo(0.55);
  expect(quantile(samples, 'other', 0.5)).toBeUndefined();
});
