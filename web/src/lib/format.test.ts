import { describe, expect, it } from 'vitest';

import { ago, bytes, duration, fileName, inert, percent, safeLink, stateName } from './format';

describe('format', () => {
  it('tells how long ago something was', () => {
    const now = Date.parse('2026-11-16T12:00:00Z');
    expect(ago('2026-11-16T11:59:58Z', now)).toBe('just now');
    expect(ago('2026-11-16T11:58:00Z', now)).toBe('2m ago');
    expect(ago('2026-11-13T11:58:00Z', now)).toBe('3d ago');
    expect(ago('2026-11-16T13:00:00Z', now)).toBe('in 1h');
    expect(ago('soon', now)).toBe('–');
  });

  it('writes durations and sizes as people do', () => {
    expect([0.2, 850, 2400, 42_000, 185_000, 7_440_000].map(duration)).toEqual([
      '< 1 ms',
      '850 ms',
      '2.4 s',
      '42 s',
      '3 min 5 s',
      '2 h 4 min',
    ]);
    expect([17, 1200, 34_000, 3_400_000, 999_999].map(bytes)).toEqual([
      '17 B',
      '1.2 kB',
      '34 kB',
      '3.4 MB',
      '1.0 MB',
    ]);
    expect([0, 0.0004, 0.012, 0.5].map(percent)).toEqual(['0 %', '< 0.1 %', '1.2 %', '50 %']);
  });

  it('names states as people do', () => {
    expect(stateName('TASK_STATE_INPUT_REQUIRED')).toBe('input required');
    expect(stateName('input-required')).toBe('input required');
  });

  it('spells out what hides or turns text', () => {
    expect(inert('pay\u202eeruces')).toBe('pay⟨U+202E⟩eruces');
    expect(inert('a\u200bb\u001b[31m')).toBe('a⟨U+200B⟩b⟨U+001B⟩[31m');
    expect(inert('two\r\nlines\tand a tab')).toBe('two\nlines\tand a tab');
    expect(inert('family 👩‍👩‍👧 übrigens')).toBe('family 👩‍👩‍👧 übrigens');
  });

  it('makes names of downloads that lead nowhere', () => {
    expect(fileName('../../etc/passwd', 'x')).toBe('etc_passwd');
    expect(fileName('a\u202egnp.exe', 'x')).toBe('a_U+202E_gnp.exe');
    expect(fileName('', 'artifact')).toBe('artifact');
  });

  it('follows links of the web only', () => {
    expect(safeLink('https://a.example/x')).toBe('https://a.example/x');
    expect(safeLink('javascript:alert(1)')).toBeUndefined();
    expect(safeLink('data:text/html,x')).toBeUndefined();
    expect(safeLink('//a.example')).toBeUndefined();
  });
});
