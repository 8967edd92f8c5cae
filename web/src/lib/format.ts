// Times, sizes, states and foreign text, as people read them.

const UNITS: [number, string][] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
];

/** `2m ago`; what lies ahead is `in 2m`. */
export function ago(date: string | number | undefined | null, now: number): string {
  if (date === undefined || date === null) return '–';
  const distance = now - new Date(date).getTime();
  if (Number.isNaN(distance)) return '–';
  const size = Math.abs(distance);
  // Clocks differ a little.
  if (size < 5000) return 'just now';
  const [unit, name] = UNITS.find(([unit]) => size >= unit) ?? [1000, 's'];
  const text = `${Math.floor(size / unit)}${name}`;
  return distance > 0 ? `${text} ago` : `in ${text}`;
}

/** The whole moment, in the reader's own time. */
export function moment(date: string | number | undefined | null): string {
  if (date === undefined || date === null) return '–';
  const at = new Date(date);
  if (Number.isNaN(at.getTime())) return String(date);
  return at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** The time of day with milliseconds: for events that follow each other closely. */
export function clock(date: string | number): string {
  const at = new Date(date);
  if (Number.isNaN(at.getTime())) return String(date);
  const two = (value: number): string => String(value).padStart(2, '0');
  const milliseconds = String(at.getMilliseconds()).padStart(3, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${milliseconds}`;
}

/** `850 ms`, `2.4 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds)) return '–';
  if (milliseconds < 1) return '< 1 ms';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `17 B`, `1.2 kB`, `3.4 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  const names = ['kB', 'MB', 'GB', 'TB'];
  let value = size / 1000;
  let index = 0;
  while (value >= 999.5 && index < names.length - 1) {
    value /= 1000;
    index += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${names[index]}`;
}

export function count(value: number): string {
  return value.toLocaleString('en');
}

export function percent(part: number): string {
  if (!Number.isFinite(part)) return '–';
  if (part === 0) return '0 %';
  if (part > 0 && part < 0.001) return '< 0.1 %';
  return `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
}

/** `TASK_STATE_INPUT_REQUIRED` is `input required`. */
export function stateName(state: string): string {
  return state
    .replace(/^TASK_STATE_/, '')
    .replaceAll('_', ' ')
    .replaceAll('-', ' ')
    .toLowerCase();
}

export type Tone = 'ok' | 'warn' | 'bad' | 'busy' | 'idle';

/** How a task is doing, as a colour. */
export function stateTone(state: string): Tone {
  switch (stateName(state)) {
    case 'completed':
      return 'ok';
    case 'failed':
    case 'rejected':
      return 'bad';
    case 'input required':
    case 'auth required':
    case 'waiting':
      return 'warn';
    case 'running':
    case 'working':
    case 'submitted':
      return 'busy';
    default:
      return 'idle';
  }
}

export function isOver(state: string): boolean {
  return ['completed', 'failed', 'rejected', 'canceled'].includes(stateName(state));
}

/** How an agent is, as a colour. */
export function statusTone(status: string): Tone {
  switch (status) {
    case 'online':
      return 'ok';
    case 'degraded':
      return 'warn';
    case 'failed':
    case 'offline':
      return 'bad';
    case 'provisioning':
      return 'busy';
    default:
      return 'idle';
  }
}

// Control codes, and characters that nobody sees or that turn the reading direction.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

/** Spells out what could hide in a text or make it look like another one. */
export function inert(text: string): string {
  return text.replace(HIDDEN, (letter) => {
    if (letter === '\r') return '';
    const code = letter.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** Pretty JSON of anything. */
export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? '';
}

/** A name that a download may have: no path, nothing hidden. */
export function fileName(name: string | undefined, fallback: string): string {
  const plain = inert(name ?? '')
    .replace(/[/\\:*?"<>|⟨⟩\n\t]/g, '_')
    .replace(/^[.\s_]+/, '')
    .slice(0, 120);
  return plain || fallback;
}

/** A link that a browser may follow, or nothing. */
export function safeLink(text: string): string | undefined {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : undefined;
  } catch {
    return undefined;
  }
}
