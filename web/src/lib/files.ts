// Files in messages and artifacts: what they hold, and how they reach the disk.

import type { Part } from './a2a';
import { fileName } from './format';

/** Returns the bytes of a part, or nothing if they are elsewhere. */
export function content(part: Part): Uint8Array<ArrayBuffer> | undefined {
  if (part.raw === undefined) return undefined;
  try {
    // Both alphabets are met in the wild.
    const text = atob(part.raw.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

export async function toBase64(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text);
}

/** Saves something. It is always a download: nothing of a stranger's opens in this page. */
export function save(data: BlobPart, name: string | undefined): void {
  const url = URL.createObjectURL(new Blob([data], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName(name, 'artifact');
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const PICTURES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const PICTURE_BYTES = 10_000_000;

/** Whether a part is a picture that is shown: made of dots, and not too large. */
export function isPicture(part: Part): boolean {
  const type = (part.mediaType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return PICTURES.includes(type) && (part.raw?.length ?? Infinity) < PICTURE_BYTES;
}

/** Whether a part is a text that can be read here, whatever it claims to be beyond that. */
export function isText(part: Part): boolean {
  const type = (part.mediaType ?? '').toLowerCase();
  return /^text\/|json|xml|yaml|javascript|svg/.test(type);
}
